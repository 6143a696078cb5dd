//! Statements about containers.

use super::request::{ANY, Request, check_undivided};
use super::rows;
use super::work::Work;
use crate::container::{Container, ContainerChange, Renaming};
use crate::partitioning::{Division, Partitioning};
use crate::schema::{Definition, Kind, read_columns, write_columns};
use crate::wire::{Options, Reader, Statement, Status, put_i32, put_i64, put_string};
use crate::{ContainerName, ErrorCode, GridError, PARTITION_COUNT};
use std::sync::Arc;

/// How many names a reply has at most.
const NAMES_MAX: usize = 10_000;
/// How many containers' properties are asked for at once, at most.
const PROPERTIES_MAX: usize = 1_024;

/// A container that is no part of another. Partitioned tables say so, too: of others GridDB's client asks how it finds their parts, in a form of its own.
const ATTRIBUTE_SINGLE: i32 = 0x10;

mod property {
    pub(super) const ID: u8 = 0;
    pub(super) const SCHEMA: u8 = 1;
    pub(super) const INDEX: u8 = 2;
    pub(super) const EVENT_NOTIFICATION: u8 = 3;
    pub(super) const TRIGGER: u8 = 4;
    pub(super) const ATTRIBUTE: u8 = 5;
    pub(super) const INDEX_DETAIL: u8 = 6;
    pub(super) use crate::client::PARTITIONING;
}

/// PUT_CONTAINER.
pub(super) fn put<'a>(
    request: &Request<'a>,
    statement: &Statement<'_>,
    is_changed: bool,
    out: &mut Vec<u8>,
) -> Result<Work<'a>, GridError> {
    let Put { definition, is_modifiable, special, is_by_sql } = read_put(statement)?;
    if let Some(change) = special {
        return change_by_sql(request, statement, (&definition.name, change), is_changed, out);
    }
    if let Some(container) = request.allowed(&definition.name, ANY)? {
        if !is_by_sql {
            check_undivided(container)?;
        }
        if container.accepts(&definition, is_modifiable)? {
            let reply = statement.reply.begin(Status::Success, out);
            write_identity(container, out);
            write_columns(container.definition.columns.iter(), container.definition.key_len, out);
            reply.end(out);
            return Ok(Work::Answered);
        }
    } else if is_changed {
        return Err(GridError::new(ErrorCode::TXN_CONTAINER_NOT_FOUND, "the container was dropped while it was being made"));
    }
    Ok(Work::Change { change: ContainerChange::Put { definition, is_modifiable }, starts_again: true })
}

/// PUT_CONTAINER that makes or drops data partitions, or gives a column another name.
fn change_by_sql<'a>(
    request: &Request<'a>,
    statement: &Statement<'_>,
    (name, change): (&ContainerName, ContainerChange),
    is_changed: bool,
    out: &mut Vec<u8>,
) -> Result<Work<'a>, GridError> {
    if !is_changed {
        if let ContainerChange::Rename(_, renaming) = &change
            && let Some(container) = request.allowed(name, ANY)?
        {
            renaming.position(container)?;
        }
        return Ok(Work::Change { change, starts_again: true });
    }
    let gone = || GridError::new(ErrorCode::TXN_CONTAINER_NOT_FOUND, format!("there is no table {name} any more"));
    let container = request.find(name).ok_or_else(gone)?;
    let reply = statement.reply.begin(Status::Success, out);
    write_identity(container, out);
    write_columns(container.definition.columns.iter(), container.definition.key_len, out);
    reply.end(out);
    Ok(Work::Answered)
}

/// DROP_CONTAINER.
pub(super) fn drop_container<'a>(request: &Request<'a>, statement: &Statement<'_>, out: &mut Vec<u8>) -> Result<Work<'a>, GridError> {
    let mut reader = statement.arguments;
    Options::read(&mut reader)?;
    let name = ContainerName::read(&mut reader)?;
    let kind = Kind::of_wire(reader.u8()?)?;
    if request.find(&name).is_none() {
        statement.reply.write_done(out);
        return Ok(Work::Answered);
    }
    Ok(Work::Change { change: ContainerChange::Drop(name, kind), starts_again: false })
}

/// GET_CONTAINER.
pub(super) fn get(request: &Request<'_>, statement: &Statement<'_>, out: &mut Vec<u8>) -> Result<(), GridError> {
    let mut reader = statement.arguments;
    Options::read(&mut reader)?;
    let name = ContainerName::read(&mut reader)?;
    let kind = Kind::of_wire(reader.u8()?)?;
    let container = request.allowed(&name, ANY)?;
    out.push(u8::from(container.is_some()));
    if let Some(container) = container {
        if kind.is_some_and(|kind| kind != container.definition.kind) {
            let message = format!("the container {} is of the other type", container.definition.name);
            return Err(GridError::new(ErrorCode::TXN_CONTAINER_TYPE_INVALID, message));
        }
        check_undivided(container)?;
        write_identity(container, out);
        write_columns(container.definition.columns.iter(), container.definition.key_len, out);
    }
    Ok(())
}

/// GET_CONTAINER_PROPERTIES: of one container, or of several.
pub(super) fn properties(request: &Request<'_>, statement: &Statement<'_>, out: &mut Vec<u8>) -> Result<(), GridError> {
    let mut reader = statement.arguments;
    let version = Options::read(&mut reader)?.acceptable_feature_version;
    let first = ContainerName::read(&mut reader)?;
    let count = reader.count()?;
    let wanted = reader.take(count)?;
    let start = out.len();
    write_properties(told(request, &first, version)?, wanted, start, out)?;
    if reader.rest().is_empty() {
        return Ok(());
    }
    let names = reader.i32()?;
    if !(1..=PROPERTIES_MAX as i32).contains(&names) {
        return Err(GridError::malformed("a number of containers that cannot be"));
    }
    put_i32(out, names - 1);
    for _ in 1..names {
        let name = ContainerName::read(&mut reader)?;
        write_properties(told(request, &name, version)?, wanted, start, out)?;
    }
    Ok(())
}

/// The container of a name, if there is one, that a client of this version can be told of.
fn told<'a>(request: &Request<'a>, name: &ContainerName, version: i32) -> Result<Option<&'a Container>, GridError> {
    let container = request.allowed(name, ANY)?;
    container.map_or(Ok(()), |container| container.check_client(version))?;
    Ok(container.map(AsRef::as_ref))
}

/// GET_PARTITION_CONTAINER_NAMES: how many there are that the client may know of, and their names from one position on.
pub(super) fn names(request: &Request<'_>, statement: &Statement<'_>, out: &mut Vec<u8>) -> Result<(), GridError> {
    let mut reader = statement.arguments;
    Options::read(&mut reader)?;
    let size = |value: i64| usize::try_from(value).map_err(|_| GridError::malformed("a negative position or limit"));
    let (start, limit) = (size(reader.i64()?)?, size(reader.i64()?)?);
    let partition = partition(statement)?;
    let containers = request.catalog.of_partition(request.schema, request.database, partition);
    let listed = containers.filter(|container| request.lists(container));
    let names: Vec<&ContainerName> = listed.map(|container| &container.definition.name).collect();
    let listed = names.iter().skip(start).take(limit.min(NAMES_MAX));
    put_i64(out, names.len() as i64);
    put_i32(out, listed.len() as i32);
    listed.for_each(|name| name.write(out));
    Ok(())
}

fn partition(statement: &Statement<'_>) -> Result<u32, GridError> {
    let partition = u32::try_from(statement.partition).ok().filter(|partition| *partition < PARTITION_COUNT);
    let unknown = || GridError::new(ErrorCode::TXN_PARTITION_ID_INVALID, format!("there is no partition {}", statement.partition));
    partition.ok_or_else(unknown)
}

/// What PUT_CONTAINER sends.
struct Put {
    definition: Definition,
    /// Whether a container that is there may be changed to it.
    is_modifiable: bool,
    /// A change of the table's data partitions, or of a column's name, instead.
    special: Option<ContainerChange>,
    /// Whether the client is this server's SQL, which knows partitioned tables.
    is_by_sql: bool,
}

fn read_put(statement: &Statement<'_>) -> Result<Put, GridError> {
    let mut reader = statement.arguments;
    let Options { partitioning: asked, renaming, .. } = Options::read(&mut reader)?;
    let name = ContainerName::read(&mut reader)?;
    if name.is_system() {
        return Err(GridError::new(ErrorCode::DS_DS_CONTAINER_NAME_INVALID, format!("{name} is a name of the system's own")));
    }
    let kind = Kind::of_wire(reader.u8()?)?.ok_or(GridError::malformed("a container without a type"))?;
    let is_modifiable = reader.bool()?;
    let (columns, key_len) = read_columns(&mut reader)?;
    if kind == Kind::TimeSeries && (key_len != 1 || columns[0].element != crate::ElementType::Timestamp) {
        return Err(GridError::new(ErrorCode::DS_DS_SCHEMA_INVALID, "a time series has a row key of one TIMESTAMP of milliseconds"));
    }
    let _affinity = reader.string()?;
    check_time_series_properties(kind, &mut reader)?;
    let renaming = renaming.map(|(from, to)| Renaming { from: from.to_owned(), to: to.to_owned() });
    let (mut partitioning, mut special) = (None, renaming.map(|renaming| ContainerChange::Rename(name.clone(), renaming)));
    match asked {
        None | Some("") => {}
        Some(text) if text.starts_with("interval") || text.starts_with("hash") => {
            let read = Partitioning::of_text(text).ok_or(GridError::malformed("a partitioning that is none"))?;
            read.check(&columns, key_len)?;
            partitioning = Some(Arc::new(read));
        }
        Some(text) => special = Some(ContainerChange::Divide(name.clone(), Division::of_text(text)?)),
    }
    let definition = Definition { name, partition: partition(statement)?, kind, columns, key_len, version: 0, partitioning };
    Ok(Put { definition, is_modifiable, special, is_by_sql: asked.is_some() })
}

/// Refuses rows that expire.
fn check_time_series_properties(kind: Kind, reader: &mut Reader<'_>) -> Result<(), GridError> {
    if kind == Kind::TimeSeries && reader.bool()? && reader.i32()? > 0 {
        let message =
            "rows do not expire one by one, as in GridDB from 5.0 on: partition the table by intervals, with an expiration, in SQL";
        return Err(GridError::new(ErrorCode::CM_NOT_SUPPORTED, message));
    }
    Ok(())
}

/// Version, number and name.
fn write_identity(container: &Container, out: &mut Vec<u8>) {
    put_i32(out, container.definition.version);
    put_i64(out, container.id());
    container.definition.name.write(out);
}

/// Appends a container's properties to the answer, which begins at `answer`.
fn write_properties(container: Option<&Container>, wanted: &[u8], answer: usize, out: &mut Vec<u8>) -> Result<(), GridError> {
    out.push(u8::from(container.is_some()));
    let Some(container) = container else { return Ok(()) };
    put_i32(out, wanted.len() as i32);
    for key in wanted {
        out.push(*key);
        let start = out.len();
        put_i32(out, 0);
        match *key {
            property::ID => write_identity(container, out),
            property::SCHEMA => {
                out.push(container.definition.kind as u8);
                write_columns(container.definition.columns.iter(), container.definition.key_len, out);
                put_string(out, "");
                if container.is_time_series() {
                    out.push(0);
                }
            }
            property::ATTRIBUTE => put_i32(out, ATTRIBUTE_SINGLE),
            property::PARTITIONING => {
                let partitioning = container.definition.partitioning.as_ref();
                put_string(out, &partitioning.map_or(String::new(), |partitioning| partitioning.to_text()));
            }
            property::INDEX => {
                let of_one_column = || container.indexes().filter(|index| index.columns.len() == 1);
                put_i32(out, of_one_column().count() as i32);
                of_one_column().for_each(|index| index.write_short(out));
            }
            property::INDEX_DETAIL => {
                put_i32(out, container.indexes().count() as i32);
                container.indexes().for_each(|index| index.write(out));
            }
            // There are none.
            property::EVENT_NOTIFICATION | property::TRIGGER => put_i32(out, 0),
            _ => {}
        }
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        rows::check_reply(out.len() - answer)?;
    }
    Ok(())
}
