//! Failures of the node in CQL's terms.

use crate::limits::OverLimit;
use crate::logins::{LoginRefusal, LoginTag};
use cql::wire::{Consistency, StreamId};
use cql::{Asked, CqlError};
use shard::{Refusal, ShardError};

/// A shard's failure in CQL's terms.
pub(super) fn failure(error: &ShardError, asked: Asked) -> CqlError {
    let message = error.to_string();
    match error {
        ShardError::OutcomeUnknown if asked.writes.is_some() => CqlError::WriteTimeout(asked),
        ShardError::OutcomeUnknown | ShardError::NoAnswer => CqlError::ReadTimeout(asked),
        ShardError::NotPrimary => CqlError::Unavailable { consistency: asked.consistency, required: asked.required, alive: 0 },
        ShardError::Unavailable { consistency, required, alive } => {
            let consistency = Consistency::try_from(*consistency).unwrap_or(Consistency::One);
            CqlError::Unavailable { consistency, required: *required, alive: *alive }
        }
        other => match other.refusal() {
            Refusal::Full | Refusal::Busy => CqlError::Overloaded(message),
            Refusal::TooLarge | Refusal::UnknownTable => CqlError::Invalid(message),
            Refusal::Damaged => CqlError::ReadFailure(message, asked),
            Refusal::Poisoned => CqlError::WriteFailure(message, asked),
            Refusal::NotReady | Refusal::Other => CqlError::Server(message),
        },
    }
}

/// A request that is one too many of its role, in CQL's terms.
#[cold]
pub(super) fn over_limit(over: &OverLimit) -> CqlError {
    CqlError::Overloaded(over.to_string())
}

/// The request of this stream logs in.
pub(super) fn login_tag(stream: StreamId) -> LoginTag {
    LoginTag(u64::from(stream.0 as u16))
}

/// Why a client is not logged in, in CQL's terms.
pub(super) fn login_failure(refusal: &LoginRefusal) -> CqlError {
    match refusal {
        LoginRefusal::TooManyFailures(_) | LoginRefusal::Overloaded | LoginRefusal::OverLimit(_) => {
            CqlError::Overloaded(refusal.to_string())
        }
        _ => CqlError::BadCredentials(refusal.to_string()),
    }
}
