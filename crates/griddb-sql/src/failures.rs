//! Why statements of SQL fail, in GridDB's terms.

use crate::client::{Refusal, cancelled};
use griddb::{ErrorCode, GridError};
use sql::QueryError;
use sql::syntax::SyntaxError;

/// A statement that cannot be read.
pub(crate) fn syntax_error(error: &SyntaxError) -> GridError {
    GridError::new(ErrorCode::SQL_COMPILE_SYNTAX_ERROR, error.to_string())
}

/// Why a query fails, in GridDB's terms.
pub(crate) fn refusal(error: QueryError) -> Refusal {
    let code = match &error {
        QueryError::Statement(_) => ErrorCode::SQL_COMPILE_SYNTAX_ERROR,
        QueryError::Computation(_) => ErrorCode::SQL_EXECUTION_FAILED,
        QueryError::Memory | QueryError::Spill(_) => ErrorCode::CM_NO_MEMORY,
        QueryError::Interrupted => return cancelled().into(),
        QueryError::Source(_) => ErrorCode::DS_DS_STATEMENT_FAILED,
    };
    match error {
        QueryError::Source(source) => match source.downcast::<Refusal>() {
            Ok(refusal) => *refusal,
            Err(source) => match source.downcast::<GridError>() {
                Ok(error) => (*error).into(),
                Err(other) => GridError::new(code, other.to_string()).into(),
            },
        },
        other => GridError::new(code, other.to_string()).into(),
    }
}

/// A statement that says what cannot be.
pub(crate) fn wrong(message: String) -> GridError {
    GridError::new(ErrorCode::SQL_COMPILE_SYNTAX_ERROR, message)
}
