//! Containers as the node describes them.

use griddb::client::{ContainerId, Description, IndexDescription, get_properties, read_properties};
use griddb::schema::{ColumnDefinition, Kind};
use griddb::wire::{Options, Reader, put_i32, put_i64, statement};
use griddb::{ContainerName, ElementType, GridError, IndexKind, PARTITION_COUNT};
use sql::{Column, ColumnType, Table};
use std::sync::Arc;

use crate::client::{Client, Refusal};

/// Containers whose properties are asked for at once.
const NAMES_AT_ONCE: usize = 500;

/// A container.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) id: i64,
    pub(crate) version: i32,
    pub(crate) name: ContainerName,
    pub(crate) kind: Kind,
    pub(crate) columns: Vec<ColumnDefinition>,
    pub(crate) key_len: usize,
    pub(crate) indexes: Vec<IndexDescription>,
    /// As queries see it.
    pub(crate) table: Arc<Table>,
}

impl Container {
    /// Whether it has columns of times more precise than a millisecond.
    pub(crate) fn has_precise_times(&self) -> bool {
        self.columns.iter().any(|column| column.element.is_precise_time())
    }

    /// Asks for a container; none if there is no such.
    ///
    /// # Errors
    /// What the node says.
    pub(crate) fn find(client: &mut Client, name: &str) -> Result<Option<Self>, Refusal> {
        let name = ContainerName::parse(name);
        let answer = client.ask(statement::GET_CONTAINER_PROPERTIES, 0, |out| get_properties(&name, &[], out))?;
        Ok(Self::read(&mut answer.reader())?)
    }

    /// All containers that the client may know of.
    ///
    /// # Errors
    /// What the node says.
    pub(crate) fn all(client: &mut Client) -> Result<Vec<Self>, Refusal> {
        let mut names = Vec::new();
        for partition in 0..PARTITION_COUNT as i32 {
            let start = names.len();
            loop {
                let answer = client.ask(statement::GET_PARTITION_CONTAINER_NAMES, partition, |out| {
                    no_options(out);
                    put_i64(out, (names.len() - start) as i64);
                    put_i64(out, i64::MAX);
                })?;
                let mut reader = answer.reader();
                let total = reader.i64()?;
                let count = reader.count()?;
                for _ in 0..count {
                    names.push(ContainerName::read(&mut reader)?);
                }
                if count == 0 || (names.len() - start) as i64 >= total {
                    break;
                }
            }
        }
        let mut containers = Vec::with_capacity(names.len());
        for some in names.chunks(NAMES_AT_ONCE) {
            let Some((first, others)) = some.split_first() else { continue };
            let answer = client.ask(statement::GET_CONTAINER_PROPERTIES, 0, |out| get_properties(first, others, out))?;
            let mut reader = answer.reader();
            // Those that have gone meanwhile are left out.
            containers.extend(Self::read(&mut reader)?);
            let more = if others.is_empty() { 0 } else { reader.count()? };
            for _ in 0..more {
                containers.extend(Self::read(&mut reader)?);
            }
        }
        Ok(containers)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, GridError> {
        let Some(Description { id: ContainerId { id, version }, name, kind, columns, key_len, indexes }) = read_properties(reader)? else {
            return Ok(None);
        };
        let table = Arc::new(Table {
            name: name.to_string(),
            schema: None,
            columns: columns.iter().map(sql_column).collect(),
            key_len,
            indexed: indexes
                .iter()
                .filter(|index| index.kind == Some(IndexKind::Tree))
                .filter_map(|index| index.columns.first().copied())
                .collect(),
            lookup: None,
        });
        Ok(Some(Self { id, version, name, kind, columns, key_len, indexes, table }))
    }
}

fn sql_column(column: &ColumnDefinition) -> Column {
    let kind = if column.is_beyond_sql() { ColumnType::Opaque } else { column_type(column.element) };
    Column { name: column.name.clone(), kind, is_not_null: column.is_not_null }
}

fn column_type(element: ElementType) -> ColumnType {
    match element {
        ElementType::String => ColumnType::Text,
        ElementType::Bool => ColumnType::Bool,
        ElementType::Byte => ColumnType::Byte,
        ElementType::Short => ColumnType::Short,
        ElementType::Integer => ColumnType::Integer,
        ElementType::Long => ColumnType::Long,
        ElementType::Float => ColumnType::Float,
        ElementType::Double => ColumnType::Double,
        ElementType::Timestamp => ColumnType::Timestamp,
        ElementType::MicroTimestamp => ColumnType::MicroTimestamp,
        ElementType::NanoTimestamp => ColumnType::NanoTimestamp,
        ElementType::Blob => ColumnType::Blob,
        ElementType::Geometry => ColumnType::Opaque,
    }
}

/// The type of a container's column that is one of SQL's; none of what SQL cannot show.
pub(crate) fn element_type(kind: ColumnType) -> Option<ElementType> {
    Some(match kind {
        ColumnType::Text => ElementType::String,
        ColumnType::Bool => ElementType::Bool,
        ColumnType::Byte => ElementType::Byte,
        ColumnType::Short => ElementType::Short,
        ColumnType::Integer => ElementType::Integer,
        ColumnType::Long => ElementType::Long,
        ColumnType::Float => ElementType::Float,
        ColumnType::Double => ElementType::Double,
        ColumnType::Timestamp => ElementType::Timestamp,
        ColumnType::MicroTimestamp => ElementType::MicroTimestamp,
        ColumnType::NanoTimestamp => ElementType::NanoTimestamp,
        ColumnType::Blob => ElementType::Blob,
        ColumnType::Opaque => return None,
    })
}

/// The block of options of a request that has none.
pub(crate) fn no_options(out: &mut Vec<u8>) {
    put_i32(out, 0);
}

/// Reads options.
pub(crate) fn read_options<'a>(reader: &mut Reader<'a>) -> Result<Options<'a>, GridError> {
    Options::read(reader)
}
