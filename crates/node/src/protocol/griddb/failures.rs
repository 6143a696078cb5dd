//! Failures of the node in GridDB's codes.

use crate::schema_changes::SchemaFailure;
use griddb::wire::Status;
use griddb::{ErrorCode, GridError};
use shard::{Refusal, ShardError};

/// A shard's failure as a client hears of it. After an error of the node it connects again and asks again, until its failover timeout: so it does, too, when a
/// connection breaks before the reply. What may have been done already is asked again only if it may be done twice.
pub(super) fn failure(error: &ShardError, is_repeatable: bool) -> (Status, ErrorCode) {
    match error {
        ShardError::NotPrimary | ShardError::Unavailable { .. } => (Status::NodeError, ErrorCode::TXN_PARTITION_STATE_UNMATCH),
        ShardError::OutcomeUnknown | ShardError::NoAnswer => {
            let status = if is_repeatable { Status::NodeError } else { Status::StatementError };
            (status, ErrorCode::TXN_REPLICATION_ACK_TIMEOUT)
        }
        other => match other.refusal() {
            Refusal::NotReady => (Status::NodeError, ErrorCode::TXN_PARTITION_STATE_UNMATCH),
            Refusal::Full | Refusal::Busy => (Status::StatementError, ErrorCode::CM_NO_MEMORY),
            Refusal::TooLarge => (Status::StatementError, ErrorCode::CM_LIMITS_EXCEEDED),
            Refusal::UnknownTable => (Status::StatementError, ErrorCode::TXN_CONTAINER_NOT_FOUND),
            Refusal::Damaged | Refusal::Poisoned | Refusal::Other => (Status::StatementError, ErrorCode::DS_DS_STATEMENT_FAILED),
        },
    }
}

/// Why a container could not be made, changed or dropped.
pub(super) fn schema_failure(failure: &SchemaFailure) -> GridError {
    match failure {
        SchemaFailure::Rejected { code, message } => GridError::new(ErrorCode(*code), message.clone()),
        SchemaFailure::Undecided => GridError::new(ErrorCode::TXN_STATEMENT_TIMEOUT, failure.to_string()),
        SchemaFailure::Statement(_)
        | SchemaFailure::RecordSet(_)
        | SchemaFailure::NotStored(_)
        | SchemaFailure::TruncationNotStored(_)
        | SchemaFailure::Refused(_) => GridError::new(ErrorCode::DS_DS_STATEMENT_FAILED, failure.to_string()),
    }
}

/// There are no users where nobody has to log in.
pub(super) fn nobody() -> GridError {
    GridError::new(
        ErrorCode::TXN_OPERATION_NOT_ALLOWED,
        "nobody has to log in to this server, so it has no users: see its setting authentication",
    )
}
