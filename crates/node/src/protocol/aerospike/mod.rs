//! Aerospike on a core: records, what a node shows of itself, users and what they may do, and failures as result codes.
//!
//! `client` is a connection with its client, whom `security` logs in; `connection` is what the node asks of it; `rights` says what that may do, `role_changes` changes users and roles,
//! `indexes` makes and drops secondary indexes, `modules` registers modules of functions, `jobs` starts and ends scans and queries in the background, `transactions` ends transactions that
//! their clients have left.

mod answer;
mod audit;
mod audited;
mod client;
mod connection;
mod declarations;
mod failures;
mod indexes;
mod jobs;
mod modules;
mod records;
mod rights;
mod role_changes;
mod security;
mod state;
mod transactions;
mod travel;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use self::answer::Answer;
pub(crate) use self::client::Connected;
pub(crate) use self::state::CoreState;

use self::declarations::Declaration;
use self::failures::{failure, schema_failure};
use super::{ClientProtocol, ReplyForm, RequestCoordinator};
use crate::cluster::Asker;
use crate::core::Core;
use crate::message::Message;
use crate::schema_changes::{SchemaChange, SchemaOutcome};
use aerospike::ResultCode;
use aerospike::exec::RecordCoordinator;
use aerospike::security::write_result;
use io::{ConnectionId, Reactor};
use model::operation::{Coordinator, Step};
use shard::ShardError;

/// Aerospike's protocol.
pub(crate) struct Aerospike;

impl ClientProtocol for Aerospike {
    type Session = Connected;
    type Reply = Answer;
    type Coordinator = Box<dyn RecordCoordinator>;

    const FORWARD_MARK: Option<u16> = Some(travel::MARK);

    fn run_forwarded<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R, asker: Asker, request: &[u8], part: Option<&[u8]>) {
        core.run_forwarded_records(reactor, asker, travel::unpack(request).unwrap_or_default(), part);
    }

    fn start_again<R: Reactor<Message = Message>>(
        core: &mut Core,
        reactor: &mut R,
        connection: ConnectionId,
        body: &[u8],
        outcome: &SchemaOutcome,
        _: Answer,
    ) {
        core.start_record_again(reactor, connection, body, outcome);
    }

    fn schema_changed(core: &mut Core) {
        core.protocols.aerospike.schema_changed();
    }

    fn turn<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R) -> Option<u64> {
        Self::sweep(core, reactor)
    }
}

impl ReplyForm for Answer {
    fn write_failure(self, error: &ShardError, out: &mut Vec<u8>) {
        match self {
            Self::Message(shape) => shape.write(out, failure(error)),
            Self::Info => write_value(out, Err((ResultCode::SERVER_ERROR, error.to_string()))),
            Self::Security => write_result(out, failure(error)),
        }
    }

    fn write_schema_outcome(self, outcome: &SchemaOutcome, out: &mut Vec<u8>) {
        match self {
            Self::Message(shape) => shape.write(out, outcome.as_ref().err().map_or(ResultCode::OK, schema_failure)),
            Self::Security => write_result(out, outcome.as_ref().err().map_or(ResultCode::OK, schema_failure)),
            Self::Info => write_value(out, outcome.as_ref().map(|_| ()).map_err(|failure| (schema_failure(failure), failure.to_string()))),
        }
    }
}

impl RequestCoordinator for Box<dyn RecordCoordinator> {
    type Reply = Answer;

    fn step(&mut self, answer: Answer, results: Vec<Vec<u8>>, out: &mut Vec<u8>) -> Step {
        let start = out.len();
        let Answer::Message(shape) = answer else { unreachable!("commands are not coordinated") };
        Coordinator::step(&mut **self, results, out).unwrap_or_else(|code| {
            out.truncate(start);
            shape.write(out, code);
            Step::Done
        })
    }

    fn part_failed(&self, part: u16, error: ShardError) -> Result<Vec<u8>, ShardError> {
        RecordCoordinator::part_failed(&**self, part.into(), failure(&error)).ok_or(error)
    }

    fn take_schema_change(&mut self) -> Option<Box<dyn SchemaChange>> {
        let needs = RecordCoordinator::take_needs(&mut **self);
        (!needs.is_empty()).then(|| Box::new(Declaration(needs)) as Box<dyn SchemaChange>)
    }

    fn take_log(&mut self) -> Vec<(i64, String)> {
        RecordCoordinator::take_log(&mut **self)
    }

    fn is_open(&self) -> bool {
        true
    }
}

/// Appends the value of a command that changes something.
fn write_value(out: &mut Vec<u8>, outcome: Result<(), (ResultCode, String)>) {
    match outcome {
        Ok(()) => out.extend_from_slice(b"ok"),
        // As clients look for it.
        Err((ResultCode::NOT_FOUND, failure)) => out.extend_from_slice(format!("error={failure}").as_bytes()),
        Err((code, failure)) => out.extend_from_slice(format!("ERROR:{}:{failure}", code.0).as_bytes()),
    }
}
