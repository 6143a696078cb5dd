//! What statements about rows begin with: the container, its session, its transaction.

use super::request::Request;
use crate::wire::{Options, Reader};
use crate::{Container, ErrorCode, GridError};
use std::sync::Arc;

const UUID_BYTES: usize = 16;
/// A statement that commits what it does.
const TRANSACTION_AUTO: u8 = 0;

/// Where the session's identifier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Uuid {
    /// Here.
    Own,
    /// Before all statements of a request.
    Shared,
}

/// Reads the head of a statement about rows.
pub(super) fn container<'a>(request: &Request<'a>, reader: &mut Reader<'a>, uuid: Uuid) -> Result<&'a Arc<Container>, GridError> {
    let container = request.container(reader.i64()?)?;
    let _session = reader.i64()?;
    if uuid == Uuid::Own {
        skip_uuid(reader)?;
    }
    check_version(container, reader.i32()?)?;
    let _session_mode = reader.u8()?;
    check_transaction(reader.u8()?)?;
    check_options(&Options::read(reader)?)?;
    Ok(container)
}

/// Skips the identifier of a session.
pub(super) fn skip_uuid(reader: &mut Reader<'_>) -> Result<(), GridError> {
    reader.take(UUID_BYTES).map(drop)
}

/// Refuses what begins a transaction.
pub(super) fn check_transaction(mode: u8) -> Result<(), GridError> {
    if mode == TRANSACTION_AUTO {
        return Ok(());
    }
    let message = "transactions of several statements are not supported yet: leave auto-commit on, and put many rows as one list";
    Err(GridError::new(ErrorCode::TM_TRANSACTION_BEGIN_NOT_ALLOWED, message))
}

/// Refuses locks, which only transactions have.
pub(super) fn check_options(options: &Options<'_>) -> Result<(), GridError> {
    if options.for_update || options.container_lock {
        return Err(GridError::new(ErrorCode::TQ_FOR_UPDATE_INVALID, "locks are not supported yet, as transactions are not"));
    }
    Ok(())
}

fn check_version(container: &Container, version: i32) -> Result<(), GridError> {
    if version == container.definition.version {
        return Ok(());
    }
    let message = format!("the schema of {} has changed since the client has read it: get the container again", container.definition.name);
    let error = GridError::new(ErrorCode::TXN_CONTAINER_SCHEMA_UNMATCH, message);
    Err(if version > container.definition.version { error.behind() } else { error })
}
