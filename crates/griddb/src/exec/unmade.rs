//! Statements about a row of a partitioned table, by its key, whose interval has no data partition: to put it makes one.

use super::request::Request;
use super::work::Work;
use crate::container::{Catalog, ContainerChange};
use crate::partitioning::Division;
use crate::wire::{Statement, Status, statement};
use crate::{ErrorCode, GridError};

/// Has the data partition made, or says that no row is there.
#[cold]
pub(super) fn serve<'a>(
    request: &Request<'a>,
    statement: &Statement<'_>,
    interval: i64,
    is_changed: bool,
    out: &mut Vec<u8>,
) -> Result<Work<'a>, GridError> {
    let id = { statement.arguments }.i64()?;
    let definition = &request.any_container(id)?.definition;
    let partitioning = definition.partitioning.as_ref().ok_or_else(|| Catalog::unknown(id))?;
    if matches!(statement.number(), statement::PUT_ROW | statement::PUT_MULTIPLE_ROWS) {
        partitioning.check_not_dropped(interval)?;
        // What has expired already is put nowhere.
        if !partitioning.is_expired(interval, request.received_s) {
            if is_changed {
                let message = format!("this member has not heard of the data partition of {}", definition.name);
                return Err(GridError::new(ErrorCode::TXN_CONTAINER_NOT_FOUND, message).behind());
            }
            let change = ContainerChange::Divide(definition.name.clone(), Division::Add(vec![interval]));
            return Ok(Work::Change { change, starts_again: true });
        }
    }
    let reply = statement.reply.begin(Status::Success, out);
    out.push(0);
    reply.end(out);
    Ok(Work::Answered)
}
