//! What a database says of a keyspace in `system_schema`: of the source and of the target alike.

use crate::feed::{Cells, FeedError, Source, text};
use cql::value::layout;
use std::collections::BTreeMap;

/// A column as `system_schema.columns` has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Column {
    pub(super) kind: ColumnKind,
    /// Within the key.
    pub(super) position: i32,
    pub(super) name: String,
    /// In CQL.
    pub(super) data_type: String,
    pub(super) is_descending: bool,
}

/// In the order of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ColumnKind {
    Partition,
    Clustering,
    Static,
    Regular,
}

/// A user type: its fields' names and types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserType {
    pub(super) name: String,
    pub(super) fields: Vec<(String, String)>,
}

/// An index.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) is_custom: bool,
    pub(super) options: BTreeMap<String, String>,
}

/// A view.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) name: String,
    pub(super) where_clause: String,
    pub(super) columns: Vec<Column>,
}

/// A table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) id: Vec<u8>,
    pub(super) flags: Vec<String>,
    pub(super) comment: String,
    pub(super) default_ttl_s: i32,
    pub(super) gc_grace_s: i32,
    pub(super) columns: Vec<Column>,
    pub(super) indexes: Vec<Index>,
    pub(super) views: Vec<View>,
    /// Columns that not everybody sees.
    pub(super) masked: usize,
}

#[cfg(test)]
impl Table {
    /// A table `t` of these columns.
    pub(super) fn of(columns: &[(ColumnKind, &str, &str)]) -> Self {
        let column = |(kind, name, data_type): &(ColumnKind, &str, &str)| Column {
            kind: *kind,
            position: 0,
            name: (*name).to_owned(),
            data_type: (*data_type).to_owned(),
            is_descending: false,
        };
        Self {
            name: "t".to_owned(),
            id: Vec::new(),
            flags: Vec::new(),
            comment: String::new(),
            default_ttl_s: 0,
            gc_grace_s: 0,
            columns: columns.iter().map(column).collect(),
            indexes: Vec::new(),
            views: Vec::new(),
            masked: 0,
        }
    }
}

/// A keyspace.
#[derive(Clone, Debug)]
pub(super) struct Keyspace {
    pub(super) name: String,
    /// The largest number of replicas that a data centre has.
    pub(super) replicas: u32,
    pub(super) types: Vec<UserType>,
    pub(super) tables: Vec<Table>,
    /// Functions and aggregates.
    pub(super) functions: Vec<String>,
}

fn int(cell: Option<&Option<Vec<u8>>>) -> i32 {
    cell.and_then(Option::as_deref).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_be_bytes)
}

fn texts(cell: Option<&Option<Vec<u8>>>) -> Vec<String> {
    let word = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    layout::elements(cell.and_then(Option::as_deref).unwrap_or_default()).map(word).collect()
}

fn text_map(cell: Option<&Option<Vec<u8>>>) -> BTreeMap<String, String> {
    let word = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    layout::entries(cell.and_then(Option::as_deref).unwrap_or_default()).map(|(key, value)| (word(key), word(value))).collect()
}

/// Names of all keyspaces.
pub(super) fn keyspaces(source: &mut Source<'_>) -> Result<Vec<String>, FeedError> {
    let rows = source.all("SELECT keyspace_name FROM system_schema.keyspaces", &[])?;
    let mut names: Vec<String> = rows.iter().map(|row| text(row.first())).filter(|name| !name.starts_with("system")).collect();
    names.sort();
    Ok(names)
}

/// A keyspace with all that is in it; `None` where there is none.
pub(super) fn read(source: &mut Source<'_>, keyspace: &str) -> Result<Option<Keyspace>, FeedError> {
    let mut select = |columns: &str, table: &str| {
        let statement = format!("SELECT {columns} FROM system_schema.{table} WHERE keyspace_name = ?");
        source.all(&statement, &[keyspace.as_bytes()])
    };
    let Some(replication) = select("replication", "keyspaces")?.into_iter().next() else { return Ok(None) };
    let mut columns = columns(&select("table_name, column_name, kind, position, type, clustering_order", "columns")?);
    let mut indexes = indexes(&select("table_name, index_name, kind, options", "indexes")?);
    let mut views = views(&select("base_table_name, view_name, where_clause", "views")?, &mut columns);
    let types = select("type_name, field_names, field_types", "types")?.iter().map(user_type).collect();
    // Databases before Cassandra 5 have no masks.
    let masked: Vec<String> = match select("table_name", "column_masks") {
        Ok(rows) => rows.iter().map(|row| text(row.first())).collect(),
        Err(FeedError::Client(load::cql::client::ClientError::Refused { .. })) => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut functions: Vec<String> = select("function_name", "functions")?.iter().map(|row| text(row.first())).collect();
    functions.extend(select("aggregate_name", "aggregates")?.iter().map(|row| text(row.first())));
    let rows = select("table_name, id, flags, comment, default_time_to_live, gc_grace_seconds", "tables")?;
    let tables = rows.iter().map(|row| {
        let name = text(row.first());
        Table {
            id: row.get(1).cloned().flatten().unwrap_or_default(),
            flags: texts(row.get(2)),
            comment: text(row.get(3)),
            default_ttl_s: int(row.get(4)),
            gc_grace_s: int(row.get(5)),
            columns: columns.remove(&name).unwrap_or_default(),
            indexes: indexes.remove(&name).unwrap_or_default(),
            views: views.remove(&name).unwrap_or_default(),
            masked: masked.iter().filter(|masked| **masked == name).count(),
            name,
        }
    });
    Ok(Some(Keyspace {
        name: keyspace.to_owned(),
        replicas: replicas(&text_map(replication.first())),
        types,
        tables: tables.collect(),
        functions,
    }))
}

/// Of a keyspace's replication: the largest number in it. Transient replicas (`3/1`) count.
fn replicas(replication: &BTreeMap<String, String>) -> u32 {
    let counts = replication.values().filter_map(|value| value.split('/').next()?.parse().ok());
    counts.max().unwrap_or(1).max(1)
}

fn columns(rows: &[Cells]) -> BTreeMap<String, Vec<Column>> {
    let mut tables: BTreeMap<String, Vec<Column>> = BTreeMap::new();
    for row in rows {
        let kind = match &*text(row.get(2)) {
            "partition_key" => ColumnKind::Partition,
            "clustering" => ColumnKind::Clustering,
            "static" => ColumnKind::Static,
            _ => ColumnKind::Regular,
        };
        let is_key = matches!(kind, ColumnKind::Partition | ColumnKind::Clustering);
        tables.entry(text(row.first())).or_default().push(Column {
            kind,
            position: if is_key { int(row.get(3)) } else { 0 },
            name: text(row.get(1)),
            data_type: text(row.get(4)).replace(", ", ","),
            is_descending: text(row.get(5)).eq_ignore_ascii_case("desc"),
        });
    }
    tables.values_mut().for_each(|columns| columns.sort());
    tables
}

fn indexes(rows: &[Cells]) -> BTreeMap<String, Vec<Index>> {
    let mut tables: BTreeMap<String, Vec<Index>> = BTreeMap::new();
    for row in rows {
        let index = Index { name: text(row.get(1)), is_custom: text(row.get(2)) == "CUSTOM", options: text_map(row.get(3)) };
        tables.entry(text(row.first())).or_default().push(index);
    }
    tables
}

fn views(rows: &[Cells], columns: &mut BTreeMap<String, Vec<Column>>) -> BTreeMap<String, Vec<View>> {
    let mut tables: BTreeMap<String, Vec<View>> = BTreeMap::new();
    for row in rows {
        let name = text(row.get(1));
        let columns = columns.remove(&name).unwrap_or_default();
        tables.entry(text(row.first())).or_default().push(View { name, where_clause: text(row.get(2)), columns });
    }
    tables
}

fn user_type(row: &Cells) -> UserType {
    let types = texts(row.get(2)).into_iter().map(|data_type| data_type.replace(", ", ","));
    UserType { name: text(row.first()), fields: texts(row.get(1)).into_iter().zip(types).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_the_largest_number() {
        let map = |entries: &[(&str, &str)]| entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(replicas(&map(&[("class", "org.apache.cassandra.locator.SimpleStrategy"), ("replication_factor", "2")])), 2);
        assert_eq!(replicas(&map(&[("class", "NetworkTopologyStrategy"), ("paris", "3/1"), ("rome", "2")])), 3);
        assert_eq!(replicas(&map(&[("class", "EverywhereStrategy")])), 1);
    }

    #[test]
    fn columns_come_in_the_order_of_a_statement() {
        let row = |name: &str, kind: &str, position: i32, order: &str| -> Cells {
            let word = |text: &str| Some(text.as_bytes().to_vec());
            vec![word("t"), word(name), word(kind), Some(position.to_be_bytes().to_vec()), word("map<int, text>"), word(order)]
        };
        let read = columns(&[
            row("v", "regular", -1, "none"),
            row("c", "clustering", 0, "DESC"),
            row("b", "partition_key", 1, "none"),
            row("a", "partition_key", 0, "none"),
        ]);
        let names: Vec<&str> = read["t"].iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["a", "b", "c", "v"]);
        assert_eq!((read["t"][2].is_descending, &*read["t"][3].data_type, read["t"][3].position), (true, "map<int,text>", 0));
    }
}
