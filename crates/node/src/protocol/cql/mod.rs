//! CQL on a core: statements, prepared ones, what a node shows of itself, and failures in CQL's terms.

mod batches;
mod prepared;
mod statements;
pub(crate) mod travel;
mod view;

pub use prepared::SharedStatements;

pub(crate) use batches::BatchLogs;
pub(crate) use prepared::CoreStatements;
pub(crate) use statements::Statements;

use crate::schema_changes::{SchemaFailure, SchemaOutcome};
use cql::wire::{self, Consistency, Opcode, ProtocolVersion, StreamId};
use cql::{Asked, CqlError, reply};
use shard::{Refusal, ShardError};

/// What a reply frame starts with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyHeader {
    /// The connection's version.
    pub(crate) version: ProtocolVersion,
    /// The request's stream.
    pub(crate) stream: StreamId,
    /// What timeouts and failures tell of the request.
    pub(crate) asked: Asked,
}

impl ReplyHeader {
    pub(crate) fn new(version: ProtocolVersion, stream: StreamId) -> Self {
        Self { version, stream, asked: Asked::default() }
    }

    pub(crate) fn asking(self, asked: Asked) -> Self {
        Self { asked, ..self }
    }

    pub(crate) fn write_error(self, error: &CqlError, out: &mut Vec<u8>) {
        reply::write_error(out, self.version, self.stream, error);
    }

    /// Appends what came of a schema statement.
    pub(crate) fn write_schema_outcome(self, outcome: &SchemaOutcome, out: &mut Vec<u8>) {
        match outcome {
            Ok(done) => {
                let extras = wire::ResponseExtras { warnings: &done.warnings, ..wire::ResponseExtras::default() };
                reply::write_frame_with(out, self.version, self.stream, Opcode::Result, &extras, |body| match done.events.first() {
                    Some(event) => wire::write_schema_change(body, &event.as_wire(), self.version),
                    None => wire::write_void(body),
                });
            }
            Err(SchemaFailure::Statement(error)) => self.write_error(error, out),
            Err(failure) => self.write_error(&CqlError::Server(failure.to_string()), out),
        }
    }
}

/// A shard's failure in CQL's terms.
pub(crate) fn failure(error: &ShardError, asked: Asked) -> CqlError {
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
