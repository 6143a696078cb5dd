//! CREATE_INDEX, DROP_INDEX: their rows are entries that are written with the container's.

use super::request::{ANY, Request};
use super::work::Work;
use crate::GridError;
use crate::container::{ContainerChange, IndexRequest};
use crate::wire::{Options, Reader, Statement};

/// CREATE_INDEX.
pub(super) fn create<'a>(request: &Request<'a>, statement: &Statement<'_>, out: &mut Vec<u8>) -> Result<Work<'a>, GridError> {
    let (container, mut reader) = read_head(request, statement)?;
    let wanted = IndexRequest::read(container, &mut reader, false)?;
    if wanted.is_there(request.any_container(wanted.container)?)? {
        statement.reply.write_done(out);
        return Ok(Work::Answered);
    }
    Ok(Work::Change { change: ContainerChange::CreateIndex(wanted), starts_again: false })
}

/// DROP_INDEX: all indexes that are meant, which may be none.
pub(super) fn drop_all<'a>(request: &Request<'a>, statement: &Statement<'_>, out: &mut Vec<u8>) -> Result<Work<'a>, GridError> {
    let (container, mut reader) = read_head(request, statement)?;
    let wanted = IndexRequest::read(container, &mut reader, true)?;
    if !request.any_container(wanted.container)?.indexes().any(|index| wanted.is_about(index)) {
        statement.reply.write_done(out);
        return Ok(Work::Answered);
    }
    Ok(Work::Change { change: ContainerChange::DropIndexes(wanted), starts_again: false })
}

/// The container's number and its schema version, which is checked.
fn read_head<'s>(request: &Request<'_>, statement: &Statement<'s>) -> Result<((i64, i32), Reader<'s>), GridError> {
    let mut reader = statement.arguments;
    let id = reader.i64()?;
    let container = request.any_container(id)?;
    request.check(container, ANY)?;
    let version = reader.i32()?;
    container.check_version(version)?;
    Options::read(&mut reader)?;
    Ok(((id, version), reader))
}
