//! LOGIN: what a client says of itself, and what becomes of it.
//!
//! CONNECT has told it to send the digest of its password as it is: mode 0 of GridDB's authentication modes. What comes of that the server may say later.

use crate::client::AUTHENTICATION_MODE;
use crate::wire::{Options, Reader, ReplyHeader, Status, put_i32, put_i64};
use crate::{ErrorCode, GridError, PUBLIC_DATABASE};

/// The features that clients may use: those of 5.6.
const FEATURES: i32 = 7;
/// How long a transaction lasts, and may last.
const TRANSACTION_TIMEOUT_S: u32 = 300;

/// The longest names of users and databases: those of clients that wait are kept.
const NAME_BYTES_MAX: usize = 1_024;

/// What a client has said as it logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The database that it wants.
    pub database: Box<str>,
    /// How long its transactions last.
    pub transaction_timeout_s: u32,
}

/// Who a client says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login<'a> {
    /// Its name.
    pub user: &'a str,
    /// SHA-256 of its password, in hexadecimal.
    pub digest: &'a str,
}

/// What LOGIN asks for.
pub(super) struct LoginRequest<'a> {
    pub(super) login: Login<'a>,
    cluster_name: &'a str,
    pub(super) database: &'a str,
    transaction_timeout_s: u32,
}

/// A log-in that has not been decided yet.
#[derive(Debug)]
pub(super) struct PendingLogin {
    reply: ReplyHeader,
    /// As whom its client is served, if it may log in.
    granted: Result<Granted, GridError>,
}

/// What a client gets that may log in.
#[derive(Debug)]
pub(super) struct Granted {
    client: Client,
    database_number: i64,
}

impl<'a> LoginRequest<'a> {
    pub(super) fn read(arguments: &mut Reader<'a>) -> Result<Self, GridError> {
        let options = Options::read(arguments)?;
        let login = Login { user: arguments.string()?, digest: arguments.string()? };
        let (_timeout_s, _is_owner) = (arguments.i32()?, arguments.bool()?);
        let cluster_name = arguments.string()?;
        let mode = if arguments.rest().is_empty() { AUTHENTICATION_MODE } else { arguments.u8()? };
        if mode != AUTHENTICATION_MODE {
            let message = format!("log in by authentication mode {AUTHENTICATION_MODE}, as CONNECT has answered: {mode} is not offered");
            return Err(GridError::new(ErrorCode::TXN_AUTH_FAILED, message));
        }
        if login.user.len() > NAME_BYTES_MAX || options.database.is_some_and(|name| name.len() > NAME_BYTES_MAX) {
            let message = format!("names of users and databases have at most {NAME_BYTES_MAX} bytes");
            return Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, message));
        }
        let database = options.database.filter(|name| !name.is_empty()).unwrap_or(PUBLIC_DATABASE);
        let timeout_s =
            options.transaction_timeout_s.and_then(|timeout_s| u32::try_from(timeout_s).ok()).filter(|timeout_s| *timeout_s > 0);
        let transaction_timeout_s = timeout_s.map_or(TRANSACTION_TIMEOUT_S, |timeout_s| timeout_s.min(TRANSACTION_TIMEOUT_S));
        Ok(Self { login, cluster_name, database, transaction_timeout_s })
    }

    pub(super) fn check_cluster(&self, name: &str) -> Result<(), GridError> {
        if self.cluster_name.is_empty() || self.cluster_name == name {
            return Ok(());
        }
        let message = format!("the cluster is called {name}, not {}", self.cluster_name);
        Err(GridError::new(ErrorCode::TXN_CLUSTER_NAME_INVALID, message))
    }

    /// What comes of it once its password is known to be right, by the number of its database if that is there: nobody else is told which databases there are.
    pub(super) fn pending(&self, reply: ReplyHeader, database_number: Option<i64>) -> PendingLogin {
        let Self { database, transaction_timeout_s, .. } = *self;
        let unknown = || GridError::new(ErrorCode::TXN_DATABASE_NOT_EXIST, format!("there is no database {database}"));
        let granted = database_number.ok_or_else(unknown);
        let client = Client { database: database.into(), transaction_timeout_s };
        PendingLogin { reply, granted: granted.map(|database_number| Granted { client, database_number }) }
    }
}

impl PendingLogin {
    /// Appends the whole reply to a log-in that has succeeded, or not. Gives the client, if it has.
    pub(super) fn finish(self, outcome: Result<(), GridError>, out: &mut Vec<u8>) -> Option<Client> {
        match outcome.and(self.granted) {
            Ok(Granted { client, database_number }) => {
                let reply = self.reply.begin(Status::Success, out);
                out.push(AUTHENTICATION_MODE);
                put_i64(out, database_number);
                put_i32(out, FEATURES);
                reply.end(out);
                Some(client)
            }
            Err(error) => {
                self.reply.write_error(Status::StatementError, &error, out);
                None
            }
        }
    }
}
