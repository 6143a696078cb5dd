//! Rows of `system_schema` and `system_virtual_schema`: the schema, with the system's own keyspaces in it, as rows.

use super::row::{Named, RowBuilder, boolean, double, int, named_blob, text, text_map, texts, uuid};
use super::{Catalog, NodeView, catalog};
use crate::cdc::CdcOptions;
use crate::ddl::TableParameters;
use crate::describe::{index_target, type_text};
use crate::value::text::{to_literal, write_plain};
use crate::value::{build, layout};
use model::{ColumnKind, DataType, Keyspace, MaskArgument, NullInput, Order, Schema, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The keyspaces that `system_schema` lists.
fn listed(schema: &Schema) -> impl Iterator<Item = &Arc<Keyspace>> {
    catalog().ordinary.values().chain(schema.keyspaces.values())
}

fn tables_of<'a>(keyspaces: impl Iterator<Item = &'a Arc<Keyspace>>) -> impl Iterator<Item = &'a Arc<Table>> {
    keyspaces.flat_map(|keyspace| keyspace.tables.values())
}

pub(super) fn keyspaces(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for keyspace in listed(schema) {
        let mut replication = keyspace.replication.parameters.clone();
        replication.insert("class".to_owned(), keyspace.replication.class.clone());
        rows.row([
            ("keyspace_name", text(&keyspace.name)),
            ("durable_writes", boolean(keyspace.durable_writes)),
            ("replication", text_map(&replication)),
        ]);
    }
}

/// Users' keyspaces, where drivers are told of tablets.
pub(super) fn scylla_keyspaces(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    let Some(tablets) = view.tablets else { return };
    for keyspace in view.schema.keyspaces.values() {
        rows.row([("keyspace_name", text(&keyspace.name)), ("initial_tablets", int(tablets))]);
    }
}

/// Tables that have, or had, a CDC log.
pub(super) fn scylla_tables(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for table in schema.tables() {
        let Some(options) = CdcOptions::of(&table.options) else { continue };
        rows.row([("keyspace_name", text(&table.keyspace)), ("table_name", text(&table.name)), ("cdc", text_map(&options.entries()))]);
    }
}

pub(super) fn tables(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for table in tables_of(listed(schema)).filter(|table| table.view.is_none()) {
        let is_dense = table.compact && table.clustering_len > 0;
        let is_compound = !table.compact || table.clustering_len > 1;
        let flags = [("compound", is_compound), ("counter", table.is_counter()), ("dense", is_dense)];
        let flags: Vec<&str> = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag).collect();
        let identity: [Named<'_>; 4] = [
            ("keyspace_name", text(&table.keyspace)),
            ("table_name", text(&table.name)),
            ("id", uuid(table.uuid)),
            ("flags", texts(flags.iter().copied())),
        ];
        rows.row(identity.into_iter().chain(options(table)));
    }
}

/// Materialized views.
pub(super) fn views(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for table in tables_of(listed(schema)) {
        let Some(view) = &table.view else { continue };
        let base = schema.table(&table.keyspace, &view.base).map_or(0, |base| base.uuid);
        let identity: [Named<'_>; 7] = [
            ("keyspace_name", text(&table.keyspace)),
            ("view_name", text(&table.name)),
            ("base_table_id", uuid(base)),
            ("base_table_name", text(&view.base)),
            ("id", uuid(table.uuid)),
            ("include_all_columns", boolean(view.shows_all)),
            ("where_clause", text(&view.where_clause)),
        ];
        rows.row(identity.into_iter().chain(options(table)));
    }
}

/// The options of a table or view.
fn options(table: &Table) -> [Named<'static>; 20] {
    let parameters = TableParameters::of(&table.options);
    // ScyllaDB's drivers read here whether a table has a log, and their libraries for how long.
    let extension = parameters.change_log.filter(|options| options.enabled).map(|options| options.extension());
    let unless_default = |value: bool, default: bool| if value == default { None } else { boolean(value) };
    [
        ("additional_write_policy", text(&parameters.additional_write_policy)),
        ("allow_auto_snapshot", unless_default(parameters.allow_auto_snapshot, true)),
        ("bloom_filter_fp_chance", double(parameters.bloom_filter_fp_chance)),
        ("caching", text_map(&parameters.caching)),
        ("cdc", unless_default(parameters.cdc, false)),
        ("comment", text(&parameters.comment)),
        ("compaction", text_map(&parameters.compaction)),
        ("compression", text_map(&parameters.compression)),
        ("crc_check_chance", double(parameters.crc_check_chance)),
        ("dclocal_read_repair_chance", double(0.0)),
        ("default_time_to_live", int(parameters.default_time_to_live)),
        ("extensions", named_blob("cdc", extension.as_deref())),
        ("gc_grace_seconds", int(parameters.gc_grace_seconds)),
        ("incremental_backups", unless_default(parameters.incremental_backups, true)),
        ("max_index_interval", int(parameters.max_index_interval)),
        ("memtable_flush_period_in_ms", int(parameters.memtable_flush_period_in_ms)),
        ("min_index_interval", int(parameters.min_index_interval)),
        ("read_repair", text(&parameters.read_repair)),
        ("read_repair_chance", double(0.0)),
        ("speculative_retry", text(&parameters.speculative_retry)),
    ]
}

pub(super) fn columns(schema: &Schema, rows: &mut RowBuilder<'_>) {
    tables_of(listed(schema)).for_each(|table| columns_of(table, rows));
}

fn columns_of(table: &Table, rows: &mut RowBuilder<'_>) {
    let mut row = |name: &str, order: &str, kind: ColumnKind, position: i32, data_type: &str| {
        rows.row([
            ("keyspace_name", text(&table.keyspace)),
            ("table_name", text(&table.name)),
            ("column_name", text(name)),
            ("clustering_order", text(order)),
            ("column_name_bytes", text(name)),
            ("kind", text(kind_name(kind))),
            ("position", int(position)),
            ("type", text(data_type)),
        ]);
    };
    // Drivers know tables with COMPACT STORAGE by columns that Cassandra has in them and shows nowhere else.
    let has_single_rows = table.compact && table.clustering_len == 0;
    for (index, column) in table.columns.iter().enumerate() {
        let position = match column.kind {
            ColumnKind::PartitionKey => i32::try_from(index).unwrap_or(i32::MAX),
            ColumnKind::Clustering => i32::try_from(index - table.partition_key_len).unwrap_or(i32::MAX),
            ColumnKind::Static | ColumnKind::Regular => -1,
        };
        let order = match (column.kind, column.order) {
            (ColumnKind::Clustering, Order::Ascending) => "asc",
            (ColumnKind::Clustering, Order::Descending) => "desc",
            _ => "none",
        };
        let kind = if has_single_rows && column.kind == ColumnKind::Regular { ColumnKind::Static } else { column.kind };
        row(&column.name, order, kind, position, &type_text(&column.data_type));
    }
    if has_single_rows {
        row("column1", "asc", ColumnKind::Clustering, 0, "text");
        row("value", "none", ColumnKind::Regular, -1, if table.is_counter() { "counter" } else { "blob" });
    } else if table.compact && table.value_columns().is_empty() {
        row("value", "none", ColumnKind::Regular, -1, "empty");
    }
}

pub(super) fn column_masks(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for table in schema.tables() {
        for (column, mask) in table.columns.iter().filter_map(|column| Some((column, column.mask.as_ref()?))) {
            let types: Vec<String> = mask.arguments.iter().map(|argument| type_text(&argument.data_type)).collect();
            let value =
                |argument: &MaskArgument| argument.value.as_ref().map_or(String::new(), |value| string_of(&argument.data_type, value));
            let values: Vec<String> = mask.arguments.iter().map(value).collect();
            // A list has no nulls.
            let nulls = mask.arguments.iter().map(|argument| [u8::from(argument.value.is_none())]).collect::<Vec<_>>();
            let mut null_list = Vec::new();
            build::list(nulls.iter().map(<[u8; 1]>::as_slice), &mut null_list);
            rows.row([
                ("keyspace_name", text(&table.keyspace)),
                ("table_name", text(&table.name)),
                ("column_name", text(&column.name)),
                ("function_argument_nulls", Some(null_list)),
                ("function_argument_types", texts(types.iter().map(String::as_str))),
                ("function_argument_values", texts(values.iter().map(String::as_str))),
                ("function_keyspace", text(&mask.keyspace)),
                ("function_name", text(&mask.function)),
            ]);
        }
    }
}

/// A value as Cassandra's types write it where CQL is not meant: parts of tuples with colons between them, collections in hexadecimal.
fn string_of(data_type: &DataType, value: &[u8]) -> String {
    let part = |(data_type, part): (&DataType, Option<&[u8]>)| match part {
        Some(part) => string_of(data_type, part).replace(':', "\\:").replace('@', "\\@"),
        None => "@".to_owned(),
    };
    match data_type {
        DataType::Tuple(types) => types.iter().zip(layout::fields(value)).map(part).collect::<Vec<_>>().join(":"),
        DataType::Udt(user, _) => {
            user.fields.iter().map(|(_, data_type)| data_type).zip(layout::fields(value)).map(part).collect::<Vec<_>>().join(":")
        }
        DataType::Blob | DataType::List(..) | DataType::Set(..) | DataType::Map(..) | DataType::Vector(..) => {
            value.iter().map(|byte| format!("{byte:02x}")).collect()
        }
        _ => {
            let mut text = String::new();
            write_plain(data_type, value, &mut text);
            text
        }
    }
}

fn kind_name(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::PartitionKey => "partition_key",
        ColumnKind::Clustering => "clustering",
        ColumnKind::Static => "static",
        ColumnKind::Regular => "regular",
    }
}

pub(super) fn dropped_columns(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for table in tables_of(listed(schema)) {
        for (name, dropped) in &table.dropped_columns {
            rows.row([
                ("keyspace_name", text(&table.keyspace)),
                ("table_name", text(&table.name)),
                ("column_name", text(name)),
                ("dropped_time", Some(dropped.dropped_at_us.div_euclid(1000).to_be_bytes().to_vec())),
                ("kind", text(kind_name(dropped.kind))),
                ("type", text(type_text(&dropped.data_type))),
            ]);
        }
    }
}

pub(super) fn indexes(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for table in tables_of(listed(schema)) {
        for index in table.indexes.values() {
            let mut options = index.options.clone();
            options.insert("target".to_owned(), index_target(table, index));
            options.extend(index.class.clone().map(|class| ("class_name".to_owned(), class)));
            rows.row([
                ("keyspace_name", text(&table.keyspace)),
                ("table_name", text(&table.name)),
                ("index_name", text(&index.name)),
                ("kind", text(if index.class.is_some() { "CUSTOM" } else { "COMPOSITES" })),
                ("options", text_map(&options)),
            ]);
        }
    }
}

pub(super) fn types(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for user in listed(schema).flat_map(|keyspace| keyspace.types.values()) {
        let types: Vec<String> = user.fields.iter().map(|(_, data_type)| type_text(data_type)).collect();
        rows.row([
            ("keyspace_name", text(&user.keyspace)),
            ("type_name", text(&user.name)),
            ("field_names", texts(user.fields.iter().map(|(name, _)| name.as_str()))),
            ("field_types", texts(types.iter().map(String::as_str))),
        ]);
    }
}

pub(super) fn functions(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for function in schema.keyspaces.values().flat_map(|keyspace| keyspace.functions.functions()) {
        let types: Vec<String> = function.arguments.iter().map(|(_, data_type)| type_text(data_type)).collect();
        rows.row([
            ("keyspace_name", text(&function.keyspace)),
            ("function_name", text(&function.name)),
            ("argument_types", texts(types.iter().map(String::as_str))),
            ("argument_names", texts(function.arguments.iter().map(|(name, _)| name.as_str()))),
            ("body", text(&function.body)),
            ("called_on_null_input", boolean(function.null_input == NullInput::Called)),
            ("language", text(&function.language)),
            ("return_type", text(type_text(&function.returns))),
        ]);
    }
}

pub(super) fn aggregates(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for aggregate in schema.keyspaces.values().flat_map(|keyspace| keyspace.functions.aggregates()) {
        let types: Vec<String> = aggregate.arguments.iter().map(type_text).collect();
        let initial = |bytes: &Vec<u8>| text(to_literal(&aggregate.state_type, Some(bytes)));
        rows.row([
            ("keyspace_name", text(&aggregate.keyspace)),
            ("aggregate_name", text(&aggregate.name)),
            ("argument_types", texts(types.iter().map(String::as_str))),
            ("final_func", aggregate.final_function.as_ref().and_then(text)),
            ("initcond", aggregate.initial.as_ref().and_then(initial)),
            ("return_type", text(type_text(&aggregate.returns))),
            ("state_func", text(&aggregate.state_function)),
            ("state_type", text(type_text(&aggregate.state_type))),
        ]);
    }
}

fn virtual_catalog() -> &'static BTreeMap<String, Arc<Keyspace>> {
    let Catalog { virtual_keyspaces, .. } = catalog();
    virtual_keyspaces
}

pub(super) fn virtual_keyspaces(rows: &mut RowBuilder<'_>) {
    for name in virtual_catalog().keys() {
        rows.row([("keyspace_name", text(name))]);
    }
}

pub(super) fn virtual_tables(rows: &mut RowBuilder<'_>) {
    for table in tables_of(virtual_catalog().values()) {
        rows.row([("keyspace_name", text(&table.keyspace)), ("table_name", text(&table.name)), ("comment", text(&table.options.comment))]);
    }
}

pub(super) fn virtual_columns(rows: &mut RowBuilder<'_>) {
    tables_of(virtual_catalog().values()).for_each(|table| columns_of(table, rows));
}
