//! A table of CQL as queries see it.

use super::bound::compares;
use model::{DataType, IndexPart};
use sql::{Column, ColumnType, Lookup};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A table.
pub(crate) struct CqlTable {
    /// In a statement of CQL.
    pub(super) name: String,
    pub(super) columns: Vec<CqlColumn>,
    pub(super) partition_key_len: usize,
    /// Columns of the primary key: the first ones.
    pub(super) key_len: usize,
    /// Whether it is one of the system's own.
    pub(super) is_system: bool,
    /// Whether the primary key tells rows apart: not where it is masked.
    pub(super) has_identity: bool,
    /// As SQLite sees it.
    pub(super) seen: Arc<sql::Table>,
}

/// A column.
pub(super) struct CqlColumn {
    /// In a statement of CQL.
    pub(super) name: String,
    pub(super) data_type: DataType,
    /// Whether its values are what is stored.
    pub(super) is_clear: bool,
}

impl CqlTable {
    /// A table in a schema of SQLite's. `sees_masked`: whether who asks sees masked columns as they are.
    pub(super) fn new(table: &model::Table, schema: &str, sees_masked: bool) -> Self {
        let is_clear = |column: &model::Column| sees_masked || column.mask.is_none();
        let column = |column: &model::Column| CqlColumn {
            name: quoted(&column.name),
            data_type: column.data_type.clone(),
            is_clear: is_clear(column),
        };
        let key_len = table.partition_key_len + table.clustering_len;
        let has_identity = table.columns[..key_len].iter().all(is_clear);
        let seen = sql::Table {
            name: table.name.clone(),
            schema: Some(schema.to_owned()),
            columns: seen_columns(table),
            // Rows come by token: by no order that SQLite knows.
            key_len: 0,
            indexed: if has_identity { indexed(table, &is_clear) } else { Vec::new() },
            lookup: if has_identity { lookup(table) } else { None },
        };
        Self {
            name: format!("{}.{}", quoted(&table.keyspace), quoted(&table.name)),
            columns: table.columns.iter().map(column).collect(),
            partition_key_len: table.partition_key_len,
            key_len,
            is_system: cql::system::keyspace(&table.keyspace).is_some(),
            has_identity,
            seen: Arc::new(seen),
        }
    }
}

/// A name in a statement of CQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Names that differ by capitals alone are one to SQLite: later ones get a number.
fn seen_columns(table: &model::Table) -> Vec<Column> {
    let mut taken = BTreeSet::new();
    let mut column = |column: &model::Column| {
        let (mut name, mut number) = (column.name.clone(), 1);
        while !taken.insert(name.to_ascii_lowercase()) {
            number += 1;
            name = format!("{}_{number}", column.name);
        }
        Column { name, kind: kind(&column.data_type), is_not_null: false }
    };
    table.columns.iter().map(&mut column).collect()
}

/// What a column's values are to SQLite.
fn kind(data_type: &DataType) -> ColumnType {
    match data_type {
        DataType::Boolean => ColumnType::Bool,
        DataType::TinyInt => ColumnType::Byte,
        DataType::SmallInt => ColumnType::Short,
        DataType::Int => ColumnType::Integer,
        DataType::BigInt | DataType::Counter | DataType::Varint => ColumnType::Long,
        DataType::Float => ColumnType::Float,
        DataType::Double | DataType::Decimal => ColumnType::Double,
        DataType::Blob | DataType::Custom(_) => ColumnType::Blob,
        DataType::Timestamp => ColumnType::TimestampText,
        _ => ColumnType::Text,
    }
}

/// Columns whose index answers `=`.
fn indexed(table: &model::Table, is_clear: &impl Fn(&model::Column) -> bool) -> Vec<usize> {
    let column = |index: &Arc<model::Index>| {
        let (position, column) = table.column_of_id(index.column)?;
        // Options change what of a text is compared.
        let answers = index.part == IndexPart::Value && index.options.is_empty() && compares(&column.data_type) && is_clear(column);
        answers.then_some(position)
    };
    table.indexes.values().filter_map(column).collect()
}

/// The partition key, and the clustering columns that may narrow what is read of a partition.
fn lookup(table: &model::Table) -> Option<Lookup> {
    if !table.partition_key().iter().all(|column| compares(&column.data_type)) {
        return None;
    }
    let clustering = table.clustering().iter().take_while(|column| compares(&column.data_type)).count();
    let first = table.partition_key_len;
    Some(Lookup { together: (0..first).collect(), then: (first..first + clustering).collect() })
}
