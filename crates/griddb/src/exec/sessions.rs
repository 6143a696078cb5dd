//! Sessions. A client makes one before it writes to a container without a row key or to several containers; nothing is kept of it: what it
//! needs for a transaction is kept from the transaction's first statement on.

use super::head::{check_options, uuid};
use super::request::{ANY, Request, check_undivided};
use crate::wire::{Options, Statement, put_i32, put_i64};
use crate::{ContainerName, ErrorCode, GridError};

pub(super) fn create(request: &Request<'_>, statement: &Statement<'_>, _: &mut Vec<u8>) -> Result<(), GridError> {
    let mut reader = statement.arguments;
    // Of a partitioned table as well: rows are put without a transaction there.
    request.check(request.any_container(reader.i64()?)?, ANY)
}

/// CREATE_MULTIPLE_SESSIONS: the containers' numbers.
pub(super) fn create_many(request: &Request<'_>, statement: &Statement<'_>, out: &mut Vec<u8>) -> Result<(), GridError> {
    let mut reader = statement.arguments;
    uuid(&mut reader)?;
    Options::read(&mut reader)?;
    let with_number = reader.bool()?;
    let count = reader.count()?;
    put_i32(out, count as i32);
    for _ in 0..count {
        let container = if with_number {
            request.container(reader.i64()?, ANY)?
        } else {
            check_options(&Options::read(&mut reader)?)?;
            let name = ContainerName::read(&mut reader)?;
            let absent = || GridError::new(ErrorCode::TXN_CONTAINER_NOT_FOUND, format!("there is no container {name}"));
            {
                let container = request.allowed(&name, ANY)?.ok_or_else(absent)?;
                check_undivided(container)?;
                container
            }
        };
        let _session = reader.i64()?;
        put_i64(out, container.id());
    }
    Ok(())
}
