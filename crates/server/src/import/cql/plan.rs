//! How a table is read and written: its SELECT, and the statements that its rows become.
//!
//! ```text
//! SELECT  key…, then for each column its value and, where the source tells them, its WRITETIME and TTL
//! INSERT  key…, columns of one cell, USING TIMESTAMP ? AND TTL ?: makes the row exist, once a row
//! UPDATE  all columns, each with what it gets, USING TIMESTAMP ? AND TTL ?: once for each other timestamp and time to live
//! UPDATE  the same of static columns
//! ```
//! A marker of what a statement does not write is unset, so three statements serve all rows and no null writes a tombstone.

use super::schema::{Column, ColumnKind, Table, UserType};
use super::statements::mentions;
use crate::feed::quoted;

/// How a column keeps its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cells {
    /// One.
    One,
    /// One, of a field of a user type that is not frozen.
    Field,
    /// One for each element.
    Set,
    /// One for each key.
    Map,
    /// One for each element, and no name for it: replaced as a whole.
    List,
    /// One for each field of a user type of which the source tells no timestamps: replaced as a whole.
    Fields,
}

/// What is read, and written, as one: a column, or a field of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// As statements have it.
    name: String,
    /// The column, where that is another name.
    column: String,
    pub(super) cells: Cells,
    pub(super) is_static: bool,
    /// Where its value is among those of a row.
    pub(super) at: usize,
    /// Whether its timestamps and times to live are read, after it.
    pub(super) has_times: bool,
}

/// Whether the source tells timestamps of collections and user types that are not frozen: Cassandra 5 and TarnDB do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    OfElements,
    OfCellsOnly,
}

/// How a table is read and written.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) keyspace: String,
    pub(super) table: String,
    pub(super) id: Vec<u8>,
    pub(super) partition: Vec<String>,
    pub(super) clustering: Vec<String>,
    pub(super) parts: Vec<Part>,
    /// Values of a row.
    pub(super) width: usize,
    /// Of a range of tokens.
    pub(super) select: String,
    /// Of the target: INSERT, UPDATE, and UPDATE of static columns, those that the table has.
    pub(super) writes: Vec<String>,
    pub(super) has_static: bool,
}

/// The number of a statement in [`Plan::writes`].
pub(super) const INSERT: usize = 0;
pub(super) const UPDATE: usize = 1;
pub(super) const UPDATE_STATIC: usize = 2;

impl Plan {
    /// `types` are names of the keyspace's user types, with their fields.
    pub(super) fn new(keyspace: &str, table: &Table, types: &[UserType], times: Times) -> Self {
        let names =
            |kind| table.columns.iter().filter(move |column| column.kind == kind).map(|column| column.name.clone()).collect::<Vec<_>>();
        let (partition, clustering) = (names(ColumnKind::Partition), names(ColumnKind::Clustering));
        let values = table.columns.iter().filter(|column| matches!(column.kind, ColumnKind::Static | ColumnKind::Regular));
        let mut parts: Vec<Part> = values.flat_map(|column| parts_of(column, types, times)).collect();
        let mut at = partition.len() + clustering.len();
        for part in &mut parts {
            part.at = at;
            at += if part.has_times { 3 } else { 1 };
        }
        let mut plan = Self {
            keyspace: keyspace.to_owned(),
            table: table.name.clone(),
            id: table.id.clone(),
            partition,
            clustering,
            has_static: parts.iter().any(|part| part.is_static),
            parts,
            width: at,
            select: String::new(),
            writes: Vec::new(),
        };
        plan.select = plan.select();
        plan.writes = plan.writes();
        plan
    }

    pub(super) fn key_len(&self) -> usize {
        self.partition.len() + self.clustering.len()
    }

    fn quoted_table(&self) -> String {
        format!("{}.{}", quoted(&self.keyspace), quoted(&self.table))
    }

    /// The parts that an INSERT has.
    pub(super) fn inserted(&self) -> impl Iterator<Item = (usize, &Part)> {
        self.parts.iter().enumerate().filter(|(_, part)| !part.is_static && part.cells == Cells::One)
    }

    /// The parts that an UPDATE has.
    pub(super) fn updated(&self, is_static: bool) -> impl Iterator<Item = (usize, &Part)> {
        self.parts.iter().enumerate().filter(move |(_, part)| part.is_static == is_static)
    }

    fn select(&self) -> String {
        let mut wanted: Vec<String> = self.partition.iter().chain(&self.clustering).map(|name| quoted(name)).collect();
        for part in &self.parts {
            wanted.push(part.name.clone());
            if part.has_times {
                wanted.extend([format!("WRITETIME({})", part.name), format!("TTL({})", part.name)]);
            }
        }
        let partition: Vec<String> = self.partition.iter().map(|name| quoted(name)).collect();
        let token = format!("token({})", partition.join(", "));
        format!("SELECT {} FROM {} WHERE {token} > ? AND {token} <= ?", wanted.join(", "), self.quoted_table())
    }

    fn writes(&self) -> Vec<String> {
        let key: Vec<String> = self.partition.iter().chain(&self.clustering).map(|name| quoted(name)).collect();
        let columns: Vec<String> = key.iter().cloned().chain(self.inserted().map(|(_, part)| part.name.clone())).collect();
        let (table, markers) = (self.quoted_table(), vec!["?"; columns.len()].join(", "));
        let insert = format!("INSERT INTO {table} ({}) VALUES ({markers}) USING TIMESTAMP ? AND TTL ?", columns.join(", "));
        let update = |is_static: bool, key: &[String]| {
            let set: Vec<String> = self.updated(is_static).map(|(_, part)| part.assignment()).collect();
            let key: Vec<String> = key.iter().map(|name| format!("{name} = ?")).collect();
            format!("UPDATE {table} USING TIMESTAMP ? AND TTL ? SET {} WHERE {}", set.join(", "), key.join(" AND "))
        };
        let mut writes = vec![insert];
        let has = |is_static| self.updated(is_static).next().is_some();
        // The numbers of statements are fixed. A table without regular columns has no UPDATE of them, and none is run.
        if has(false) || has(true) {
            writes.push(if has(false) { update(false, &key) } else { writes[INSERT].clone() });
        }
        if has(true) {
            writes.push(update(true, &key[..self.partition.len()]));
        }
        writes
    }
}

impl Part {
    fn assignment(&self) -> String {
        let Self { name, column, .. } = self;
        match self.cells {
            Cells::Set | Cells::Map => format!("{column} = {column} + ?"),
            _ => format!("{name} = ?"),
        }
    }
}

/// A column, or the fields of one of a user type, whose cells are then read one by one.
fn parts_of(column: &Column, types: &[UserType], times: Times) -> Vec<Part> {
    let name = quoted(&column.name);
    let part = |name: &str, cells: Cells, has_times: bool| Part {
        name: name.to_owned(),
        column: quoted(&column.name),
        cells,
        is_static: column.kind == ColumnKind::Static,
        at: 0,
        has_times,
    };
    let known = times == Times::OfElements;
    let user = types.iter().find(|user| !column.data_type.contains('<') && mentions(&column.data_type, &user.name));
    match (column.data_type.split('<').next(), user) {
        (_, Some(user)) if known => {
            user.fields.iter().map(|(field, _)| part(&format!("{name}.{}", quoted(field)), Cells::Field, true)).collect()
        }
        (_, Some(_)) => vec![part(&name, Cells::Fields, false)],
        (Some("set"), _) => vec![part(&name, Cells::Set, known)],
        (Some("map"), _) => vec![part(&name, Cells::Map, known)],
        (Some("list"), _) => vec![part(&name, Cells::List, known)],
        _ => vec![part(&name, Cells::One, true)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types() -> Vec<UserType> {
        vec![UserType { name: "u".to_owned(), fields: vec![("a".to_owned(), "int".to_owned()), ("b".to_owned(), "int".to_owned())] }]
    }

    const COLUMNS: [(ColumnKind, &str, &str); 6] = [
        (ColumnKind::Partition, "p", "int"),
        (ColumnKind::Clustering, "c", "int"),
        (ColumnKind::Static, "s", "int"),
        (ColumnKind::Regular, "m", "map<int,int>"),
        (ColumnKind::Regular, "u", "u"),
        (ColumnKind::Regular, "f", "frozen<u>"),
    ];

    #[test]
    fn cells_are_read_with_their_times() {
        let plan = Plan::new("k", &Table::of(&COLUMNS), &types(), Times::OfElements);
        assert_eq!(
            plan.select,
            "SELECT \"p\", \"c\", \"s\", WRITETIME(\"s\"), TTL(\"s\"), \"m\", WRITETIME(\"m\"), TTL(\"m\"), \"u\".\"a\", WRITETIME(\"u\".\"a\"), \
             TTL(\"u\".\"a\"), \"u\".\"b\", WRITETIME(\"u\".\"b\"), TTL(\"u\".\"b\"), \"f\", WRITETIME(\"f\"), TTL(\"f\") \
             FROM \"k\".\"t\" WHERE token(\"p\") > ? AND token(\"p\") <= ?"
        );
        assert_eq!(
            plan.writes,
            [
                "INSERT INTO \"k\".\"t\" (\"p\", \"c\", \"f\") VALUES (?, ?, ?) USING TIMESTAMP ? AND TTL ?",
                "UPDATE \"k\".\"t\" USING TIMESTAMP ? AND TTL ? SET \"m\" = \"m\" + ?, \"u\".\"a\" = ?, \"u\".\"b\" = ?, \"f\" = ? WHERE \"p\" = ? AND \"c\" = ?",
                "UPDATE \"k\".\"t\" USING TIMESTAMP ? AND TTL ? SET \"s\" = ? WHERE \"p\" = ?",
            ]
        );
        assert_eq!((plan.width, plan.parts.last().map(|part| part.at)), (17, Some(14)));
    }

    #[test]
    fn a_source_without_times_of_elements_is_read_without() {
        let plan = Plan::new("k", &Table::of(&COLUMNS), &types(), Times::OfCellsOnly);
        assert_eq!(
            plan.select,
            "SELECT \"p\", \"c\", \"s\", WRITETIME(\"s\"), TTL(\"s\"), \"m\", \"u\", \"f\", WRITETIME(\"f\"), TTL(\"f\") \
             FROM \"k\".\"t\" WHERE token(\"p\") > ? AND token(\"p\") <= ?"
        );
        assert!(plan.writes[UPDATE].contains("\"u\" = ?") && plan.parts.iter().any(|part| part.cells == Cells::Fields));
    }

    #[test]
    fn a_table_of_keys_has_one_statement() {
        let plan = Plan::new("k", &Table::of(&COLUMNS[..2]), &[], Times::OfElements);
        assert_eq!(plan.writes, ["INSERT INTO \"k\".\"t\" (\"p\", \"c\") VALUES (?, ?) USING TIMESTAMP ? AND TTL ?"]);
        assert_eq!((plan.width, plan.key_len(), plan.has_static), (2, 2, false));
    }
}
