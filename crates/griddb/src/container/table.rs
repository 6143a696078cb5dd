//! The table of a container: made, and changed as its columns change.

use super::existing::Container;
use super::index::keep_indexes;
use crate::partitioning::Partitioning;
use crate::schema::{Definition, Kind};
use base::TableId;
use model::{
    CONTAINER_OPTION, Column, ColumnId, ColumnKind, DataType, DroppedColumn, KeptOption, Order, PARTITIONING_ENTRY, Table, TableOptions,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A name for a column of the table's own.
fn free_name(definition: &Definition, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    while definition.columns.iter().any(|column| column.name.eq_ignore_ascii_case(&name)) {
        name.push('_');
    }
    name
}

fn new_column(id: ColumnId, name: String, kind: ColumnKind, data_type: DataType) -> Column {
    Column { id, name, kind, order: Order::Ascending, data_type, mask: None }
}

/// The table of a new container.
pub(super) fn new_table(id: TableId, uuid: u128, keyspace: &str, name: &str, definition: &Definition) -> Table {
    let ids: Vec<ColumnId> = (1..=definition.columns.len() as u16).map(ColumnId).collect();
    let own = ids.iter().zip(&definition.columns).enumerate().map(|(position, (id, declared))| {
        let kind = if position < definition.key_len { ColumnKind::Clustering } else { ColumnKind::Regular };
        new_column(*id, declared.name.to_ascii_lowercase(), kind, declared.data_type())
    });
    let (mut keys, mut values): (Vec<_>, Vec<_>) = own.partition(|column| column.kind == ColumnKind::Clustering);
    let row_id = ColumnId(definition.columns.len() as u16 + 1);
    if keys.is_empty() {
        keys.push(new_column(row_id, free_name(definition, "row_id"), ColumnKind::Clustering, DataType::BigInt));
    }
    values.sort_by(|one, other| one.name.cmp(&other.name));
    let clustering_len = keys.len();
    let partition = new_column(ColumnId(0), free_name(definition, "partition"), ColumnKind::PartitionKey, DataType::Int);
    Table {
        id,
        uuid,
        keyspace: keyspace.to_owned(),
        name: name.to_owned(),
        columns: std::iter::once(partition).chain(keys).chain(values).collect(),
        partition_key_len: 1,
        clustering_len,
        next_column: ColumnId(row_id.0 + 1),
        dropped_columns: BTreeMap::new(),
        // Rows have one history: what is gone needs no time to be told to others.
        options: TableOptions {
            gc_grace_seconds: 0,
            comment: "container: CQL reads it, GridDB clients write it".to_owned(),
            kept: BTreeMap::from([(CONTAINER_OPTION.to_owned(), kept(definition, &ids, ids.len() as u16))]),
            ..TableOptions::default()
        },
        records: None,
        indexes: BTreeMap::new(),
        compact: false,
        views: BTreeSet::new(),
        view: None,
    }
}

/// The table of a container whose columns change: those of a known name keep their values.
pub(super) fn changed_table(container: &Container, wanted: &Definition, now_us: i64) -> Table {
    let mut table = Table::clone(&container.table);
    let first_value = table.partition_key_len + table.clustering_len;
    let (mut values, mut ids) = (table.columns.split_off(first_value), Vec::new());
    let mut kept_values = Vec::new();
    for (position, declared) in wanted.columns.iter().enumerate() {
        let known = container.position(&declared.name).map(|position| container.column_id(position));
        let id = known.unwrap_or(table.next_column);
        ids.push(id);
        if known.is_none() {
            table.next_column.0 += 1;
            kept_values.push(new_column(id, declared.name.to_ascii_lowercase(), ColumnKind::Regular, declared.data_type()));
        } else if position >= wanted.key_len {
            kept_values.extend(values.extract_if(.., |column| column.id == id));
        }
    }
    for column in values {
        let dropped = DroppedColumn { kind: column.kind, data_type: column.data_type, dropped_at_us: now_us };
        table.dropped_columns.insert(column.name, dropped);
    }
    for column in &kept_values {
        table.dropped_columns.remove(&column.name);
    }
    table.columns.append(&mut kept_values);
    name_columns(&mut table, wanted);
    let definition = Definition {
        name: container.definition.name.clone(),
        partition: container.definition.partition,
        version: container.definition.version + 1,
        partitioning: container.definition.partitioning.clone(),
        ..wanted.clone()
    };
    table.options.kept.insert(CONTAINER_OPTION.to_owned(), kept(&definition, &ids, container.first_columns));
    keep_indexes(&mut table, &ids);
    table
}

/// The table of a container in which a column has another name.
pub(super) fn renamed_table(container: &Container, position: usize, name: &str) -> Table {
    let mut table = Table::clone(&container.table);
    let mut definition = Definition::clone(&container.definition);
    let ids: Vec<ColumnId> = (0..definition.columns.len()).map(|position| container.column_id(position)).collect();
    let former = std::mem::replace(&mut definition.columns[position].name, name.to_owned());
    definition.version += 1;
    if let Some(partitioning) = &mut definition.partitioning {
        Arc::make_mut(partitioning).rename(&former, name);
    }
    let named = table.columns.iter_mut().find(|column| column.id == ids[position]);
    if let Some(column) = named {
        column.name = name.to_ascii_lowercase();
        table.dropped_columns.remove(&column.name);
    }
    name_columns(&mut table, &definition);
    table.options.kept.insert(CONTAINER_OPTION.to_owned(), kept(&definition, &ids, container.first_columns));
    table
}

/// After a change of names: the table's own columns give way to its container's, and values are in the order of their names.
fn name_columns(table: &mut Table, definition: &Definition) {
    let own = table.partition_key_len + if definition.key_len == 0 { table.clustering_len } else { 0 };
    for column in &mut table.columns[..own] {
        column.name = free_name(definition, &column.name);
    }
    let first_value = table.partition_key_len + table.clustering_len;
    table.columns[first_value..].sort_by(|one, other| one.name.cmp(&other.name));
}

/// The table whose rows are divided in another way.
pub(super) fn divided_table(container: &Container, partitioning: &Partitioning) -> Table {
    let mut table = Table::clone(&container.table);
    if let Some(KeptOption::Map(kept)) = table.options.kept.get_mut(CONTAINER_OPTION) {
        kept.insert(PARTITIONING_ENTRY.to_owned(), partitioning.to_text());
    }
    table
}

/// What a table's columns do not say.
fn kept(definition: &Definition, ids: &[ColumnId], first_columns: u16) -> KeptOption {
    let columns = definition.columns.iter().zip(ids).map(|(column, id)| {
        let (array, not_null) = (if column.is_array { "[]" } else { "" }, if column.is_not_null { " NOT-NULL" } else { "" });
        format!("{} {} {}{array}{not_null}\n", id.0, column.name, column.element.name())
    });
    let kind = if definition.kind == Kind::TimeSeries { "TIME_SERIES" } else { "COLLECTION" };
    let entries = [
        ("name", definition.name.to_string()),
        ("partition", definition.partition.to_string()),
        ("type", kind.to_owned()),
        ("columns", columns.collect()),
        ("row_key_columns", definition.key_len.to_string()),
        ("version", definition.version.to_string()),
        ("first_columns", first_columns.to_string()),
    ];
    let partitioning = definition.partitioning.iter().map(|partitioning| (PARTITIONING_ENTRY, partitioning.to_text()));
    KeptOption::Map(entries.into_iter().chain(partitioning).map(|(name, value)| (name.to_owned(), value)).collect())
}
