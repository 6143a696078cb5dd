//! Failures of the node as result codes.

use crate::schema_changes::SchemaFailure;
use aerospike::ResultCode;
use aerospike::exec;
use shard::{Refusal, ShardError};

/// A shard's failure as a client hears of it.
pub(super) fn failure(error: &ShardError) -> ResultCode {
    match error {
        ShardError::NotPrimary | ShardError::Unavailable { .. } => ResultCode::PARTITION_UNAVAILABLE,
        ShardError::OutcomeUnknown | ShardError::NoAnswer => ResultCode::TIMEOUT,
        other => match other.refusal() {
            Refusal::Full => ResultCode::OUT_OF_MEMORY,
            Refusal::Busy => ResultCode::DEVICE_OVERLOAD,
            Refusal::TooLarge => ResultCode::RECORD_TOO_BIG,
            Refusal::NotReady => ResultCode::PARTITION_UNAVAILABLE,
            Refusal::UnknownTable | Refusal::Damaged | Refusal::Poisoned | Refusal::Other => ResultCode::SERVER_ERROR,
        },
    }
}

/// Why a set or its bins could not be declared.
pub(super) fn schema_failure(failure: &SchemaFailure) -> ResultCode {
    match failure {
        SchemaFailure::RecordSet(error) => exec::declaration_failure(error),
        SchemaFailure::Rejected { code, .. } => u8::try_from(*code).map_or(ResultCode::SERVER_ERROR, ResultCode),
        SchemaFailure::Undecided => ResultCode::TIMEOUT,
        SchemaFailure::Statement(_) | SchemaFailure::NotStored(_) | SchemaFailure::TruncationNotStored(_) | SchemaFailure::Refused(_) => {
            ResultCode::SERVER_ERROR
        }
    }
}
