//! A keyspace's parts as the statements that make them, in CQL that all databases share.

use super::schema::{Column, ColumnKind, Index, Table, UserType, View};
use crate::feed::quoted;

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn names<'c>(columns: impl Iterator<Item = &'c Column>) -> String {
    columns.map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ")
}

fn of_kind(columns: &[Column], kind: ColumnKind) -> impl Iterator<Item = &Column> {
    columns.iter().filter(move |column| column.kind == kind)
}

/// `(p1, p2), c`.
fn primary_key(columns: &[Column]) -> String {
    let clustering = names(of_kind(columns, ColumnKind::Clustering));
    let separator = if clustering.is_empty() { "" } else { ", " };
    format!("({}){separator}{clustering}", names(of_kind(columns, ColumnKind::Partition)))
}

/// `CLUSTERING ORDER BY (…)`, where a table has clustering columns.
fn order(columns: &[Column]) -> Option<String> {
    let direction = |column: &Column| format!("{} {}", quoted(&column.name), if column.is_descending { "DESC" } else { "ASC" });
    let all: Vec<String> = of_kind(columns, ColumnKind::Clustering).map(direction).collect();
    (!all.is_empty()).then(|| format!("CLUSTERING ORDER BY ({})", all.join(", ")))
}

pub(super) fn create_keyspace(keyspace: &str, replicas: u32) -> String {
    let keyspace = quoted(keyspace);
    format!("CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}")
}

pub(super) fn create_type(keyspace: &str, user: &UserType) -> String {
    let fields: Vec<String> = user.fields.iter().map(|(name, data_type)| format!("{} {data_type}", quoted(name))).collect();
    format!("CREATE TYPE IF NOT EXISTS {}.{} ({})", quoted(keyspace), quoted(&user.name), fields.join(", "))
}

pub(super) fn create_table(keyspace: &str, table: &Table) -> String {
    let column = |column: &Column| {
        let word = if column.kind == ColumnKind::Static { " static" } else { "" };
        format!("{} {}{word}", quoted(&column.name), column.data_type)
    };
    let columns: Vec<String> = table.columns.iter().map(column).collect();
    let mut options: Vec<String> = order(&table.columns).into_iter().collect();
    options.push(format!("comment = {}", literal(&table.comment)));
    options.push(format!("default_time_to_live = {}", table.default_ttl_s));
    options.push(format!("gc_grace_seconds = {}", table.gc_grace_s));
    format!(
        "CREATE TABLE IF NOT EXISTS {}.{} ({}, PRIMARY KEY ({})) WITH {}",
        quoted(keyspace),
        quoted(&table.name),
        columns.join(", "),
        primary_key(&table.columns),
        options.join(" AND ")
    )
}

pub(super) fn create_index(keyspace: &str, table: &str, index: &Index) -> String {
    let option = |name: &str| index.options.get(name).map_or("", String::as_str);
    let more: Vec<String> = index
        .options
        .iter()
        .filter(|(name, _)| !["target", "class_name"].contains(&&***name))
        .map(|(name, value)| format!("{}: {}", literal(name), literal(value)))
        .collect();
    let (kind, using) =
        if index.is_custom { ("CUSTOM INDEX", format!(" USING {}", literal(option("class_name")))) } else { ("INDEX", String::new()) };
    let options = if more.is_empty() { String::new() } else { format!(" WITH OPTIONS = {{{}}}", more.join(", ")) };
    let (name, target) = (quoted(&index.name), option("target"));
    format!("CREATE {kind} IF NOT EXISTS {name} ON {}.{} ({target}){using}{options}", quoted(keyspace), quoted(table))
}

pub(super) fn create_view(keyspace: &str, table: &str, view: &View) -> String {
    let order = order(&view.columns).map_or(String::new(), |order| format!(" WITH {order}"));
    format!(
        "CREATE MATERIALIZED VIEW IF NOT EXISTS {keyspace}.{} AS SELECT {} FROM {keyspace}.{} WHERE {} PRIMARY KEY ({}){order}",
        quoted(&view.name),
        names(view.columns.iter()),
        quoted(table),
        view.where_clause,
        primary_key(&view.columns),
        keyspace = quoted(keyspace),
    )
}

/// Types in an order in which each comes after those that it has.
pub(super) fn in_order(types: &[UserType]) -> Vec<&UserType> {
    let (mut ordered, mut left): (Vec<&UserType>, Vec<&UserType>) = (Vec::new(), types.iter().collect());
    while !left.is_empty() {
        let has_any = |user: &UserType| left.iter().any(|other| user.fields.iter().any(|(_, data_type)| mentions(data_type, &other.name)));
        let (later, now): (Vec<&UserType>, Vec<&UserType>) = left.iter().partition(|user| has_any(user));
        if now.is_empty() {
            // No such types can be; the target says what is wrong with them.
            ordered.extend(later);
            break;
        }
        ordered.extend(now);
        left = later;
    }
    ordered
}

/// Whether a type is built from the user type `name`.
pub(super) fn mentions(data_type: &str, name: &str) -> bool {
    let mut parts = data_type.split(['<', '>', ',']).map(str::trim);
    parts.any(|part| part == name || part == quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn column(kind: ColumnKind, name: &str, data_type: &str) -> Column {
        Column { kind, position: 0, name: name.to_owned(), data_type: data_type.to_owned(), is_descending: name == "d" }
    }

    fn columns() -> Vec<Column> {
        vec![
            column(ColumnKind::Partition, "p", "int"),
            column(ColumnKind::Partition, "Q", "text"),
            column(ColumnKind::Clustering, "c", "int"),
            column(ColumnKind::Clustering, "d", "int"),
            column(ColumnKind::Static, "s", "text"),
            column(ColumnKind::Regular, "v", "map<int,frozen<u>>"),
        ]
    }

    #[test]
    fn a_table_is_made_as_it_was() {
        let table = Table {
            name: "t".to_owned(),
            id: Vec::new(),
            flags: Vec::new(),
            comment: "it's".to_owned(),
            default_ttl_s: 5,
            gc_grace_s: 6,
            columns: columns(),
            indexes: Vec::new(),
            views: Vec::new(),
            masked: 0,
        };
        assert_eq!(
            create_table("k", &table),
            "CREATE TABLE IF NOT EXISTS \"k\".\"t\" (\"p\" int, \"Q\" text, \"c\" int, \"d\" int, \"s\" text static, \"v\" map<int,frozen<u>>, \
             PRIMARY KEY ((\"p\", \"Q\"), \"c\", \"d\")) WITH CLUSTERING ORDER BY (\"c\" ASC, \"d\" DESC) AND comment = 'it''s' \
             AND default_time_to_live = 5 AND gc_grace_seconds = 6"
        );
        let view = View { name: "w".to_owned(), where_clause: "p IS NOT NULL".to_owned(), columns: columns()[..1].to_vec() };
        assert_eq!(
            create_view("k", "t", &view),
            "CREATE MATERIALIZED VIEW IF NOT EXISTS \"k\".\"w\" AS SELECT \"p\" FROM \"k\".\"t\" WHERE p IS NOT NULL PRIMARY KEY ((\"p\"))"
        );
    }

    #[test]
    fn an_index_is_made_as_it_was() {
        let options = |entries: &[(&str, &str)]| {
            entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
        };
        let plain = Index { name: "i".to_owned(), is_custom: false, options: options(&[("target", "values(v)")]) };
        assert_eq!(create_index("k", "t", &plain), "CREATE INDEX IF NOT EXISTS \"i\" ON \"k\".\"t\" (values(v))");
        let all = [("target", "v"), ("class_name", "StorageAttachedIndex"), ("case_sensitive", "false")];
        let custom = Index { name: "i".to_owned(), is_custom: true, options: options(&all) };
        assert_eq!(
            create_index("k", "t", &custom),
            "CREATE CUSTOM INDEX IF NOT EXISTS \"i\" ON \"k\".\"t\" (v) USING 'StorageAttachedIndex' WITH OPTIONS = {'case_sensitive': 'false'}"
        );
    }

    #[test]
    fn types_come_after_those_that_they_have() {
        let user = |name: &str, data_type: &str| UserType { name: name.to_owned(), fields: vec![("f".to_owned(), data_type.to_owned())] };
        let types = [user("a", "frozen<map<int,frozen<\"B\">>>"), user("B", "frozen<c>"), user("c", "int"), user("d", "ab")];
        let names: Vec<&str> = in_order(&types).iter().map(|user| &*user.name).collect();
        assert_eq!(names, ["c", "d", "B", "a"]);
        assert_eq!(in_order(&[user("x", "frozen<x>")]).len(), 1, "what cannot be is no endless loop");
    }
}
