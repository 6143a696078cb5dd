//! From a statement to what must happen for it.

use super::operation::Execution;
use super::request::Request;
use super::work::Work;
use super::{containers, indexes, sessions, unmade};
use crate::GridError;
use crate::wire::{Statement, Status, statement};

/// Decodes a statement, and answers it if that needs no rows. `is_changed`: the change of the schema that it asked for has been made.
///
/// # Errors
/// Why it cannot be done. What was appended to `out` is to be dropped.
pub fn start<'a>(request: Request<'a>, statement: &Statement<'a>, is_changed: bool, out: &mut Vec<u8>) -> Result<Work<'a>, GridError> {
    let answered = |answer: fn(&Request<'a>, &Statement<'a>, &mut Vec<u8>) -> Result<(), GridError>, out: &mut Vec<u8>| {
        let reply = statement.reply.begin(Status::Success, out);
        answer(&request, statement, out)?;
        reply.end(out);
        Ok(Work::Answered)
    };
    match statement.number() {
        statement::PUT_CONTAINER => containers::put(&request, statement, is_changed, out),
        statement::DROP_CONTAINER => containers::drop_container(&request, statement, out),
        statement::CREATE_INDEX => indexes::create(&request, statement, out),
        statement::DROP_INDEX => indexes::drop_all(&request, statement, out),
        statement::GET_CONTAINER => answered(containers::get, out),
        statement::GET_CONTAINER_PROPERTIES => answered(containers::properties, out),
        statement::GET_PARTITION_CONTAINER_NAMES => answered(containers::names, out),
        statement::CREATE_SESSION => answered(sessions::create, out),
        statement::CREATE_MULTIPLE_SESSIONS => answered(sessions::create_many, out),
        statement::FLUSH_LOG => answered(|_, _, _| Ok(()), out),
        _ => Execution::new(request, statement).map(Work::Run).or_else(|error| match error.unmade() {
            Some(interval) => unmade::serve(&request, statement, interval, is_changed, out),
            None => Err(error),
        }),
    }
}
