//! Aerospike on a core: records, what a node shows of itself, and failures as result codes.

mod records;
mod travel;
mod view;

pub(crate) use records::Records;
pub(crate) use travel::unpack;

use crate::schema_changes::SchemaFailure;
use aerospike::ResultCode;
use aerospike::exec;
use shard::{Refusal, ShardError};

/// A shard's failure as a client hears of it.
pub(crate) fn failure(error: &ShardError) -> ResultCode {
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
pub(crate) fn schema_failure(failure: &SchemaFailure) -> ResultCode {
    match failure {
        SchemaFailure::RecordSet(error) => exec::declaration_failure(error),
        SchemaFailure::Undecided => ResultCode::TIMEOUT,
        SchemaFailure::Statement(_) | SchemaFailure::NotStored(_) | SchemaFailure::TruncationNotStored(_) | SchemaFailure::Refused(_) => {
            ResultCode::SERVER_ERROR
        }
    }
}

/// Appends the value of a command that changes something.
pub(crate) fn write_value(out: &mut Vec<u8>, outcome: Result<(), String>) {
    match outcome {
        Ok(()) => out.extend_from_slice(b"ok"),
        Err(failure) => out.extend_from_slice(format!("ERROR:{}:{failure}", ResultCode::SERVER_ERROR.0).as_bytes()),
    }
}
