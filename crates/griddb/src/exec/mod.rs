//! What statements do: decoded, then answered at once, made to a change of the schema, or run as an operation on the container's partition.
//!
//! | statement | module |
//! |---|---|
//! | containers: make, find, describe, list, drop | [`containers`] |
//! | rows by key: put, get, delete, append | [`by_key`] |
//! | many rows of several containers of one partition | [`many`] |
//! | queries: TQL, ranges of time, aggregation, sampling | [`query`] |
//! | sessions, which mean nothing without transactions | [`sessions`] |
//!
//! Whatever a statement writes is one atomic group, as a partition is on one core.

mod by_key;
mod containers;
mod head;
mod many;
mod operation;
mod query;
mod rows;
mod sessions;

pub use operation::{Execution, Request};

use crate::container::ContainerChange;
use crate::wire::{Statement, statement};
use crate::{ErrorCode, GridError};
use model::operation::Stop;

/// How many bytes of rows a reply has at most.
const REPLY_BYTES_MAX: usize = 32 << 20;

/// What a statement comes to.
pub enum Work<'a> {
    /// Its reply has been appended.
    Answered,
    /// The schema has to change. Then it is started again if the client hears of the container, and is done otherwise.
    Change {
        /// How.
        change: ContainerChange,
        /// Whether it is started again.
        starts_again: bool,
    },
    /// It runs on the core that owns the partition; the operation's reply is the whole reply.
    Run(Execution<'a>),
}

/// Decodes a statement, and answers it if that needs no rows. `is_changed`: the change of the schema that it asked for has been made.
///
/// # Errors
/// Why it cannot be done. What was appended to `out` is to be dropped.
pub fn start<'a>(request: Request<'a>, statement: &Statement<'a>, is_changed: bool, out: &mut Vec<u8>) -> Result<Work<'a>, GridError> {
    let answered = |answer: fn(&Request<'a>, &Statement<'a>, &mut Vec<u8>) -> Result<(), GridError>, out: &mut Vec<u8>| {
        let reply = statement.reply.begin(crate::wire::Status::Success, out);
        answer(&request, statement, out)?;
        reply.end(out);
        Ok(Work::Answered)
    };
    match statement.number() {
        statement::PUT_CONTAINER => containers::put(&request, statement, is_changed, out),
        statement::DROP_CONTAINER => containers::drop_container(&request, statement, out),
        statement::GET_CONTAINER => answered(containers::get, out),
        statement::GET_CONTAINER_PROPERTIES => answered(containers::properties, out),
        statement::GET_PARTITION_CONTAINER_NAMES => answered(containers::names, out),
        statement::CREATE_SESSION => answered(sessions::create, out),
        statement::CREATE_MULTIPLE_SESSIONS => answered(sessions::create_many, out),
        statement::CLOSE_SESSION | statement::CLOSE_MULTIPLE_SESSIONS | statement::FLUSH_LOG => answered(|_, _, _| Ok(()), out),
        statement::COMMIT_TRANSACTION => Err(no_transaction(ErrorCode::TM_TRANSACTION_COMMIT_NOT_ALLOWED)),
        statement::ABORT_TRANSACTION => Err(no_transaction(ErrorCode::TM_TRANSACTION_ABORT_NOT_ALLOWED)),
        _ => Execution::new(request, statement).map(Work::Run),
    }
}

fn no_transaction(code: ErrorCode) -> GridError {
    GridError::new(code, "no transaction has begun: every statement commits what it does")
}

/// Why an operation ends without its result.
enum Failure {
    /// The client is told.
    Refused(GridError),
    /// The shard must do something first.
    Stop(Stop),
}

impl From<GridError> for Failure {
    fn from(error: GridError) -> Self {
        Self::Refused(error)
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

#[cfg(test)]
mod tests;
