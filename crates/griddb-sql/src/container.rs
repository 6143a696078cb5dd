//! Containers as the node describes them.

use griddb::client::{ContainerId, Description, IndexDescription, get_properties_and_partitioning, read_properties};
use griddb::partitioning::Partitioning;
use griddb::schema::{ColumnDefinition, Kind};
use griddb::wire::{Options, Reader, put_i32, put_i64, statement};
use griddb::{ContainerName, ElementType, GridError, IndexKind, PARTITION_COUNT, id_of_part};
use sql::{Column, ColumnType, Lookup, ResultColumn, Table};
use std::sync::Arc;

use crate::client::{Client, Refusal};

/// Containers whose properties are asked for at once.
const NAMES_AT_ONCE: usize = 500;

/// Of a row's number in its data partition, with what is called by it: no data partition has so many rows, and no table so many data partitions that the sign changes.
const ROW_NUMBER_BITS: u32 = 36;

/// A container.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) id: i64,
    pub(crate) version: i32,
    pub(crate) name: ContainerName,
    pub(crate) kind: Kind,
    pub(crate) columns: Arc<[ColumnDefinition]>,
    pub(crate) key_len: usize,
    pub(crate) indexes: Arc<[IndexDescription]>,
    /// How its rows are divided, if it is a partitioned table.
    pub(crate) partitioning: Option<Arc<Partitioning>>,
    /// Which data partition it is, of such a table.
    pub(crate) part: Option<u32>,
    /// As queries see it.
    pub(crate) table: Arc<Table>,
}

impl Container {
    /// Whether it has columns of times more precise than a millisecond.
    pub(crate) fn has_precise_times(&self) -> bool {
        self.columns.iter().any(|column| column.element.is_precise_time())
    }

    /// A data partition of it.
    pub(crate) fn of_part(&self, part: u32) -> Self {
        Self { id: id_of_part(self.id, Some(part)), part: Some(part), ..self.clone() }
    }

    /// What a row without a key is called, which is unique in its data partition: unique in the table.
    pub(crate) fn number_of_row(&self, number: i64) -> i64 {
        self.part.map_or(number, |part| i64::from(part) << ROW_NUMBER_BITS | number)
    }

    /// Asks for a container; none if there is no such.
    ///
    /// # Errors
    /// What the node says.
    pub(crate) fn find(client: &mut Client, name: &str) -> Result<Option<Self>, Refusal> {
        let name = ContainerName::parse(name);
        let answer = client.ask(statement::GET_CONTAINER_PROPERTIES, 0, |out| get_properties_and_partitioning(&name, &[], out))?;
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
            let answer = client.ask(statement::GET_CONTAINER_PROPERTIES, 0, |out| get_properties_and_partitioning(first, others, out))?;
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
        Ok(read_properties(reader)?.map(Self::described))
    }

    /// The container that the node describes.
    pub(crate) fn described(description: Description) -> Self {
        let table = Arc::new(table_of(&description));
        let Description { id: ContainerId { id, version }, name, kind, columns, key_len, indexes, partitioning } = description;
        let (columns, indexes, partitioning) = (columns.into(), indexes.into(), partitioning.map(Arc::new));
        Self { id, version, name, kind, columns, key_len, indexes, partitioning, part: None, table }
    }
}

/// A container as queries see it. A partitioned table has the order of its key if its data partitions, one after the other, have.
fn table_of(description: &Description) -> Table {
    let Description { name, columns, key_len, indexes, partitioning, .. } = description;
    let of_trees = indexes.iter().filter(|index| index.kind == Some(IndexKind::Tree));
    let mut indexed: Vec<usize> = of_trees.filter_map(|index| index.columns.first().copied()).collect();
    let is_by_first = |partitioning: &Partitioning| {
        let intervals = partitioning.intervals().filter(|_| partitioning.hash().is_none());
        intervals.zip(columns.first()).is_some_and(|(intervals, first)| first.name.eq_ignore_ascii_case(&intervals.column))
    };
    let is_ordered = *key_len > 0 && partitioning.as_ref().is_none_or(is_by_first);
    let lookup = (!is_ordered && *key_len > 0).then(|| Lookup { together: (0..*key_len).collect(), then: Vec::new() });
    if lookup.is_some() {
        indexed.push(0);
    }
    let columns = columns.iter().map(sql_column).collect();
    Table { name: name.to_string(), schema: None, columns, key_len: if is_ordered { *key_len } else { 0 }, indexed, lookup }
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
        ColumnType::Text | ColumnType::TimestampText => ElementType::String,
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

/// A view's column; of what no type is known is called a text.
pub(crate) fn view_column(column: ResultColumn) -> ColumnDefinition {
    let element = column.kind.and_then(element_type).unwrap_or(ElementType::String);
    ColumnDefinition { name: column.name, element, is_array: false, is_not_null: false }
}

/// The block of options of a request that has none.
pub(crate) fn no_options(out: &mut Vec<u8>) {
    put_i32(out, 0);
}

/// Reads options.
pub(crate) fn read_options<'a>(reader: &mut Reader<'a>) -> Result<Options<'a>, GridError> {
    Options::read(reader)
}
