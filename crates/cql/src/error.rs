//! What a statement can be answered with besides its result.

use crate::wire::{Consistency, WriteType};

/// What a statement has asked for, as timeouts and failures tell of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The level.
    pub consistency: Consistency,
    /// How many replicas have to answer for it.
    pub required: u16,
    /// What it writes; none if it reads.
    pub writes: Option<WriteType>,
}

impl Default for Asked {
    /// To read from anybody.
    fn default() -> Self {
        Self { consistency: Consistency::One, required: 1, writes: None }
    }
}

/// An error in CQL's own terms: a code and a message as Cassandra words it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CqlError {
    /// 0x2000: the text is not CQL.
    #[error("{0}")]
    Syntax(String),
    /// 0x2200: correct CQL that cannot be done.
    #[error("{0}")]
    Invalid(String),
    /// 0x2300: a configuration problem in a schema statement.
    #[error("{0}")]
    Config(String),
    /// 0x2400: the keyspace or table exists.
    #[error("{message}")]
    AlreadyExists {
        /// The keyspace.
        keyspace: String,
        /// The table; empty for a keyspace.
        table: String,
        /// For people.
        message: String,
    },
    /// 0x0100: nobody by this name and password.
    #[error("{0}")]
    BadCredentials(String),
    /// 0x2100: not allowed.
    #[error("{0}")]
    Unauthorized(String),
    /// 0x2500: this prepared statement is not known here: prepare it again.
    #[error("Prepared query with ID {} not found (either the query was not prepared on this host (maybe the host has been restarted?) or you have prepared too many queries and it has been evicted from the internal cache)", hex(.0))]
    Unprepared([u8; 16]),
    /// 0x000A: the message breaks the protocol.
    #[error("{0}")]
    Protocol(String),
    /// 0x0000: something unexpected here.
    #[error("{0}")]
    Server(String),
    /// 0x1001: too much at once; try again later.
    #[error("{0}")]
    Overloaded(String),
    /// 0x1300: a read failed on the device or met damage.
    #[error("{0}")]
    ReadFailure(String, Asked),
    /// 0x1400: a function or an operation has no result for its arguments.
    #[error("{message}")]
    FunctionFailure {
        /// Its keyspace: `system`, or a user's.
        keyspace: String,
        /// Its name.
        function: String,
        /// The types of its arguments.
        argument_types: Vec<String>,
        /// For people.
        message: String,
    },
    /// 0x1500: a write failed on the device.
    #[error("{0}")]
    WriteFailure(String, Asked),
    /// 0x1000: too few replicas, or none that may answer.
    #[error("Cannot achieve consistency level {consistency}: {required} required, {alive} alive")]
    Unavailable {
        /// The level asked for.
        consistency: Consistency,
        /// How many replicas it needs.
        required: u16,
        /// How many there are that have everything.
        alive: u16,
    },
    /// 0x1200: no answer in time.
    #[error("Operation timed out: no answer of the replica that serves the partition")]
    ReadTimeout(Asked),
    /// 0x1100: not acknowledged in time: it may have been done or not.
    #[error("Operation timed out: the write was not acknowledged by all replicas in time; it may have been done or not")]
    WriteTimeout(Asked),
    /// 0x1002: this node serves clients no more; nothing was done, and drivers go to the next node.
    #[error("This node is about to end and serves no requests any more; ask another one")]
    Leaving,
    /// 0x1002: this node does not serve yet; drivers go to another one.
    #[error("This node has no part in its cluster yet; ask another member")]
    Bootstrapping,
    /// 0x1003: a truncation failed.
    #[error("{0}")]
    Truncate(String),
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl CqlError {
    /// An [`CqlError::Invalid`] from anything that reads as text.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}
