//! The statements that make keyspaces, types and tables.

use super::type_text::{quote_type_name, type_text};
use crate::cdc;
use crate::ddl::{TableParameters, java_double};
use crate::language::quote_identifier;
use crate::system;
use crate::value::text::to_literal;
use model::{Column, ColumnKind, DataType, Index, IndexPart, Keyspace, Order, Table, UserType, View};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How much a description of a table tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// What makes the table as it is to its users.
    Statement,
    /// Its id and the columns that it had, too.
    Internals,
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn map_literal<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{}: {}", literal(key), literal(value))).collect();
    format!("{{{}}}", entries.join(", "))
}

/// What stands in place of a statement for what no statement makes.
fn virtual_note(what: &str, name: &str, structure: &str) -> String {
    format!(
        "/*\nWarning: {what} {name} is a virtual {} and cannot be recreated with CQL.\nStructure, for reference:\n{structure}\n*/",
        what.to_lowercase()
    )
}

/// The same for a table that Cassandra lets nobody make again.
fn compact_note(name: &str, structure: &str) -> String {
    format!(
        "/*\nWarning: Table {name} omitted because it has constructs not compatible with CQL (was created via legacy API).\n\
         Approximate structure, for reference:\n(this should not be used to reproduce this schema)\n\n{structure}\n*/"
    )
}

/// The same for the log of another table.
fn log_note(name: &str, base: &str, structure: &str) -> String {
    format!("/*\nCDC log table {name} is made and dropped with cdc of table {base}.\nStructure, for reference:\n{structure}\n*/")
}

/// `CREATE KEYSPACE …;`
#[must_use]
pub fn create_keyspace(keyspace: &Keyspace) -> String {
    let name = quote_identifier(&keyspace.name);
    if system::is_virtual_keyspace(&keyspace.name) {
        return virtual_note("Keyspace", &name, &format!("VIRTUAL KEYSPACE {name};"));
    }
    let class = keyspace.replication.class.strip_prefix("org.apache.cassandra.locator.").unwrap_or(&keyspace.replication.class);
    let (class_key, class) = ("class".to_owned(), class.to_owned());
    let replication = map_literal(std::iter::once((&class_key, &class)).chain(&keyspace.replication.parameters));
    // The two spaces are Cassandra's.
    format!("CREATE KEYSPACE {name} WITH replication = {replication}  AND durable_writes = {};", keyspace.durable_writes)
}

/// `CREATE TYPE …;`
#[must_use]
pub fn create_type(user: &UserType) -> String {
    let fields: Vec<String> =
        user.fields.iter().map(|(name, data_type)| format!("    {} {}", quote_identifier(name), type_text(data_type))).collect();
    format!("CREATE TYPE {}.{} (\n{}\n);", quote_identifier(&user.keyspace), quote_type_name(&user.name), fields.join(",\n"))
}

/// `CREATE TABLE …;`
#[must_use]
pub fn create_table(table: &Table) -> String {
    describe_table(table, Detail::Statement)
}

/// `CREATE MATERIALIZED VIEW …;`
fn describe_view(table: &Table, view: &View, detail: Detail) -> String {
    let keyspace = quote_identifier(&table.keyspace);
    let selected = if view.shows_all { "*".to_owned() } else { names(&table.columns) };
    let mut clauses = Vec::new();
    if detail == Detail::Internals {
        clauses.push(format!("ID = {}", uuid_text(table.uuid)));
    }
    if table.clustering_len > 0 {
        clauses.push(format!("CLUSTERING ORDER BY ({})", clustering_order(table)));
    }
    // Its rows live as long as those of its base table.
    clauses.extend(options(table).into_iter().filter(|option| !option.starts_with("default_time_to_live")));
    format!(
        "CREATE MATERIALIZED VIEW {keyspace}.{} AS\n    SELECT {selected}\n    FROM {keyspace}.{}\n    WHERE {}\n    PRIMARY KEY {}\n WITH {};",
        quote_identifier(&table.name),
        quote_identifier(&view.base),
        view.where_clause,
        primary_key(table),
        clauses.join("\n    AND ")
    )
}

pub(super) fn describe_table(table: &Table, detail: Detail) -> String {
    if let Some(view) = &table.view {
        return describe_view(table, view, detail);
    }
    let name = format!("{}.{}", quote_identifier(&table.keyspace), quote_identifier(&table.name));
    let is_virtual = system::is_virtual_keyspace(&table.keyspace);
    let mut lines = Vec::with_capacity(table.columns.len());
    for column in described_columns(table) {
        // A column that was dropped and is back starts out as what was dropped.
        let dropped = table.dropped_columns.get(&column.name).filter(|_| detail == Detail::Internals);
        lines.push(column_line(table, column, dropped.map_or(&column.data_type, |dropped| &dropped.data_type)));
    }
    let dropped = table.dropped_columns.iter().filter(|_| detail == Detail::Internals);
    for (column, dropped) in dropped.clone().filter(|(column, _)| table.column(column).is_none()) {
        lines.push(format!("    {} {}{}", quote_identifier(column), type_text(&dropped.data_type), static_word(dropped.kind)));
    }
    if !has_short_key(table) {
        lines.push(format!("    PRIMARY KEY {}", primary_key(table)));
    }
    let mut clauses = Vec::new();
    if detail == Detail::Internals && !is_virtual {
        clauses.push(format!("ID = {}", uuid_text(table.uuid)));
    }
    if table.compact {
        clauses.push("COMPACT STORAGE".to_owned());
    }
    if table.compact && table.clustering_len == 0 {
        // Of the column that Cassandra has in such tables.
        clauses.push("CLUSTERING ORDER BY (column1 ASC)".to_owned());
    } else if table.clustering_len > 0 {
        clauses.push(format!("CLUSTERING ORDER BY ({})", clustering_order(table)));
    }
    let kind = if is_virtual { "VIRTUAL" } else { "CREATE" };
    clauses.extend(if is_virtual { vec![format!("comment = {}", literal(&table.options.comment))] } else { options(table) });
    let mut statement = format!("{kind} TABLE {name} (\n{}\n) WITH {};", lines.join(",\n"), clauses.join("\n    AND "));
    for (column, dropped) in dropped {
        let quoted = quote_identifier(column);
        statement.push_str(&format!("\nALTER TABLE {name} DROP {quoted} USING TIMESTAMP {};", dropped.dropped_at_us));
        if let Some((_, again)) = table.column(column) {
            let (data_type, word, mask) = (type_text(&again.data_type), static_word(again.kind), mask(again));
            statement.push_str(&format!("\nALTER TABLE {name} ADD {quoted} {data_type}{word}{mask};"));
        }
    }
    if let Some(base) = cdc::base_of(table) {
        return log_note(&name, base, &statement);
    }
    match (is_virtual, table.compact) {
        (true, _) => virtual_note("Table", &name, &statement),
        (false, true) => compact_note(&name, &statement),
        (false, false) => statement,
    }
}

/// What an index is of, as `CREATE INDEX` has it.
#[must_use]
pub fn index_target(table: &Table, index: &Index) -> String {
    let Some((_, column)) = table.column_of_id(index.column) else { return String::new() };
    let name = quote_identifier(&column.name);
    match index.part {
        IndexPart::Value if column.data_type.is_collection() => format!("full({name})"),
        IndexPart::Value => name.into_owned(),
        IndexPart::Keys => format!("keys({name})"),
        IndexPart::Values => format!("values({name})"),
        IndexPart::Entries => format!("entries({name})"),
    }
}

/// `CREATE INDEX …;`
#[must_use]
pub fn create_index(table: &Table, index: &Index) -> String {
    let (kind, name) = (if index.class.is_some() { "CUSTOM INDEX" } else { "INDEX" }, quote_identifier(&index.name));
    let table_name = format!("{}.{}", quote_identifier(&table.keyspace), quote_identifier(&table.name));
    let using = index.class.as_ref().map_or(String::new(), |class| format!(" USING {}", literal(class)));
    let options = if index.options.is_empty() { String::new() } else { format!(" WITH OPTIONS = {}", map_literal(&index.options)) };
    format!("CREATE {kind} {name} ON {table_name} ({}){using}{options};", index_target(table, index))
}

/// Key columns first, then static ones, then others; of both, those of one cell first.
fn described_columns(table: &Table) -> Vec<&Column> {
    let mut values: Vec<&Column> = table.value_columns().iter().collect();
    values.sort_by_key(|column| (column.kind != ColumnKind::Static, column.data_type.is_multi_cell(), &column.name));
    table.partition_key().iter().chain(table.clustering()).chain(values).collect()
}

/// Whether the primary key stands at its column.
fn has_short_key(table: &Table) -> bool {
    table.partition_key_len == 1 && table.clustering_len == 0 && !table.compact
}

fn column_line(table: &Table, column: &Column, data_type: &DataType) -> String {
    let is_whole_key = column.kind == ColumnKind::PartitionKey && has_short_key(table);
    let key = if is_whole_key { " PRIMARY KEY" } else { "" };
    format!("    {} {}{}{}{key}", quote_identifier(&column.name), type_text(data_type), static_word(column.kind), mask(column))
}

/// ` MASKED WITH …` of a column that has a mask.
fn mask(column: &Column) -> String {
    let Some(mask) = &column.mask else { return String::new() };
    let arguments: Vec<String> = mask.arguments.iter().map(|argument| to_literal(&argument.data_type, argument.value.as_deref())).collect();
    format!(" MASKED WITH {}.{}({})", quote_identifier(&mask.keyspace), quote_identifier(&mask.function), arguments.join(", "))
}

fn static_word(kind: ColumnKind) -> &'static str {
    if kind == ColumnKind::Static { " static" } else { "" }
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| quote_identifier(&column.name)).collect::<Vec<_>>().join(", ")
}

fn primary_key(table: &Table) -> String {
    let partition = names(table.partition_key());
    let partition = if table.partition_key_len > 1 { format!("({partition})") } else { partition };
    let separator = if table.clustering_len > 0 { ", " } else { "" };
    format!("({partition}{separator}{})", names(table.clustering()))
}

fn clustering_order(table: &Table) -> String {
    let order = |column: &Column| if column.order == Order::Descending { "DESC" } else { "ASC" };
    let columns = table.clustering().iter().map(|column| format!("{} {}", quote_identifier(&column.name), order(column)));
    columns.collect::<Vec<_>>().join(", ")
}

/// Every option, in the order in which Cassandra tells them.
fn options(table: &Table) -> Vec<String> {
    let parameters = TableParameters::of(&table.options);
    let values: [(&str, String); 19] = [
        ("additional_write_policy", literal(&parameters.additional_write_policy)),
        ("allow_auto_snapshot", parameters.allow_auto_snapshot.to_string()),
        ("bloom_filter_fp_chance", java_double(parameters.bloom_filter_fp_chance)),
        ("caching", map_literal(&parameters.caching)),
        ("cdc", parameters.change_log.map_or_else(|| parameters.cdc.to_string(), |options| map_literal(&options.entries()))),
        ("comment", literal(&parameters.comment)),
        ("compaction", map_literal(&parameters.compaction)),
        ("compression", map_literal(&parameters.compression)),
        ("memtable", literal("default")),
        ("crc_check_chance", java_double(parameters.crc_check_chance)),
        ("default_time_to_live", parameters.default_time_to_live.to_string()),
        ("extensions", map_literal(&BTreeMap::new())),
        ("gc_grace_seconds", parameters.gc_grace_seconds.to_string()),
        ("incremental_backups", parameters.incremental_backups.to_string()),
        ("max_index_interval", parameters.max_index_interval.to_string()),
        ("memtable_flush_period_in_ms", parameters.memtable_flush_period_in_ms.to_string()),
        ("min_index_interval", parameters.min_index_interval.to_string()),
        ("read_repair", literal(&parameters.read_repair)),
        ("speculative_retry", literal(&parameters.speculative_retry)),
    ];
    values.into_iter().map(|(name, value)| format!("{name} = {value}")).collect()
}

fn uuid_text(uuid: u128) -> String {
    let digits = format!("{uuid:032x}");
    let group = |from, to| digits.get(from..to).unwrap_or_default();
    [group(0, 8), group(8, 12), group(12, 16), group(16, 20), group(20, 32)].join("-")
}

/// The user types of a keyspace: each after those that it has, else by name.
pub(super) fn dependencies_first(keyspace: &Keyspace) -> Vec<&Arc<UserType>> {
    let mut left: BTreeMap<&str, &Arc<UserType>> = keyspace.types.iter().map(|(name, user)| (name.as_str(), user)).collect();
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waiting: BTreeSet<&str> = left.keys().copied().collect();
        let (ready, later): (BTreeMap<_, _>, BTreeMap<_, _>) =
            left.into_iter().partition(|(_, user)| !user.fields.iter().any(|(_, field)| names_any(field, &waiting)));
        assert!(!ready.is_empty(), "user types never contain themselves");
        ordered.extend(ready.into_values());
        left = later;
    }
    ordered
}

/// Whether `data_type` names one of these user types itself, not through another user type.
fn names_any(data_type: &DataType, names: &BTreeSet<&str>) -> bool {
    match data_type {
        DataType::List(element, _) | DataType::Set(element, _) | DataType::Vector(element, _) => names_any(element, names),
        DataType::Map(key, value, _) => names_any(key, names) || names_any(value, names),
        DataType::Tuple(fields) => fields.iter().any(|field| names_any(field, names)),
        DataType::Udt(user, _) => names.contains(user.name.as_str()),
        _ => false,
    }
}
