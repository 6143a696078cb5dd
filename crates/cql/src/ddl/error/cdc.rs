//! Why a statement about change logs, or a table that has one, is refused.

use super::kind::DdlErrorKind;
use crate::cdc::CdcOptionError;

/// Why a statement about change logs, or a table that has one, is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the fields are what the messages name
pub enum CdcError {
    #[error("{0}")]
    Option(CdcOptionError),
    #[error("Cannot create CDC log table for table {keyspace}.{table} because a table of name {keyspace}.{log} already exists")]
    LogExists { keyspace: String, table: String, log: String },
    #[error("Cannot create a CDC log for a table {keyspace}.{table}, because creating nested CDC logs is not allowed")]
    Nested { keyspace: String, table: String },
    #[error("Cannot create CDC log for table {keyspace}.{table}. Counter support not implemented")]
    OfCounters { keyspace: String, table: String },
    #[error("Cannot create CDC log for table {keyspace}.{table}: the name of its column {column} begins as those of the log do")]
    Column { keyspace: String, table: String, column: String },
    #[error("Cannot create CDC log for materialized view {0}: enable it for the base table")]
    OfView(String),
    #[error("Cannot alter CDC log table {keyspace}.{table}: it follows its base table")]
    AlterLog { keyspace: String, table: String },
    #[error("Cannot drop CDC log table {keyspace}.{table}: disable cdc of its base table first, or drop that")]
    DropLog { keyspace: String, table: String },
    #[error("{what} are not supported on CDC log table {keyspace}.{table}")]
    OnLog { what: &'static str, keyspace: String, table: String },
}

impl CdcError {
    /// Its error code.
    #[must_use]
    pub fn kind(&self) -> DdlErrorKind {
        match self {
            Self::Option(_) => DdlErrorKind::Config,
            _ => DdlErrorKind::Invalid,
        }
    }
}
