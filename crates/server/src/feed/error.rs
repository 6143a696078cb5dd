//! Why a feed does not go on.

use super::position::NoPosition;
use load::cql::client::ClientError;

/// Why a feed does not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    /// What the CQL port says, or that it says nothing.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// No position.
    #[error(transparent)]
    Position(#[from] NoPosition),
    /// No such table.
    #[error("there is no table {keyspace}.{table}")]
    NoTable {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        table: String,
    },
    /// Nobody has asked for a log.
    #[error("{keyspace}.{table} has no log of its changes: ALTER TABLE {keyspace}.{table} WITH cdc = {{'enabled': true}} begins one")]
    NoLog {
        /// The table's keyspace.
        keyspace: String,
        /// Its name.
        table: String,
    },
    /// Changes after the position are gone.
    #[error(
        "changes after this position are gone: the log keeps them for {ttl_s} s (cdc = {{'ttl': …}}), and the position is {age_s} s old. Read the table anew \
         and begin with since=now before that, or since=oldest for what the log still has"
    )]
    Expired {
        /// For how long changes are kept.
        ttl_s: u32,
        /// How long ago everything was read.
        age_s: i64,
    },
    /// The log is another one.
    #[error(
        "this position is of another log: the table or its log was dropped and made again. Read the table anew and begin with since=oldest, which has all \
         changes of the new log"
    )]
    Replaced,
    /// A log that cannot be understood.
    #[error("the log says what this version does not understand: {0}")]
    Strange(&'static str),
}

/// CQL's codes of what may pass: the server is overloaded, starting, or lacks replicas just now.
const PASSING: [i32; 8] = [0x0000, 0x1000, 0x1001, 0x1002, 0x1100, 0x1200, 0x1300, 0x1500];
const UNAUTHORIZED: i32 = 0x2100;
const BAD_CREDENTIALS: i32 = 0x0100;
/// An invalid statement: the table or a column of it is gone.
const INVALID: i32 = 0x2200;

impl FeedError {
    /// Whether it may be otherwise when it is tried again.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Client(ClientError::Io(_)) => true,
            Self::Client(ClientError::Refused { code, .. }) => PASSING.contains(code),
            _ => false,
        }
    }

    /// The status of HTTP that says so.
    pub(crate) fn status(&self) -> &'static str {
        match self {
            Self::Position(_) => "400 Bad Request",
            Self::NoTable { .. } | Self::Client(ClientError::Refused { code: INVALID, .. }) => "404 Not Found",
            Self::NoLog { .. } => "409 Conflict",
            Self::Expired { .. } | Self::Replaced => "410 Gone",
            Self::Client(ClientError::Refused { code: UNAUTHORIZED | BAD_CREDENTIALS, .. }) => "403 Forbidden",
            Self::Client(_) => "503 Service Unavailable",
            Self::Strange(_) => "500 Internal Server Error",
        }
    }
}
