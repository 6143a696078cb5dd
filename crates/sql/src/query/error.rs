//! Why a query fails.

use crate::memory;
use crate::opening::VALUE_BYTES_MAX;
use crate::ranges::RangesError;
use crate::spill::{self, SpillError};
use crate::statement::Failure;
use crate::tables::SourceError;
use crate::virtual_table::Shared;
use rusqlite::ffi;
use std::sync::PoisonError;

/// Why a query fails.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The statement is wrong.
    #[error("{0}")]
    Statement(String),
    /// A value cannot be computed.
    #[error("{0}")]
    Computation(String),
    /// Its tables could not be read.
    #[error("{0}")]
    Source(SourceError),
    /// It was interrupted.
    #[error("the statement was interrupted")]
    Interrupted,
    /// It cannot put elsewhere what is too much for memory.
    #[error(transparent)]
    Spill(SpillError),
    /// It takes more memory than there is for queries.
    #[error("the statement needs more memory than there is for all SQL statements: {} MiB", memory::MEMORY_MAX >> 20)]
    Memory,
}

impl From<RangesError> for QueryError {
    fn from(error: RangesError) -> Self {
        match error {
            RangesError::Syntax(error) => Self::Statement(error.0),
            RangesError::Source(error) => Self::Source(error),
        }
    }
}

/// Why a statement cannot be prepared.
pub(super) fn statement_error(failure: Failure, shared: &Shared) -> QueryError {
    match error_of(failure, shared) {
        QueryError::Computation(message) => QueryError::Statement(message),
        other => other,
    }
}

/// Why it goes on no more.
pub(super) fn error_of(failure: Failure, shared: &Shared) -> QueryError {
    if let Some(source) = shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return QueryError::Source(source);
    }
    let spilled = spill::take_failure();
    match failure.code & 0xFF {
        ffi::SQLITE_FULL | ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN if let Some(error) = spilled => QueryError::Spill(error),
        ffi::SQLITE_INTERRUPT => QueryError::Interrupted,
        ffi::SQLITE_NOMEM => QueryError::Memory,
        ffi::SQLITE_AUTH => QueryError::Statement("statements that read can do nothing else".to_owned()),
        ffi::SQLITE_TOOBIG => QueryError::Computation(format!("a value has at most {VALUE_BYTES_MAX} bytes")),
        _ => QueryError::Computation(failure.message),
    }
}
