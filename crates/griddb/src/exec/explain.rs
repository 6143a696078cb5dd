//! EXPLAIN: what is told of a statement, as rows of (number, depth, type, type of the value, value, text).

use crate::client::{Access, Figures};
use crate::container::{Container, ContainerIndex, IndexKind};
use crate::tql::{Answer, Explained, Select};
use crate::wire::{put_i32, put_i64, put_var_bytes, put_var_size};
use base::TableId;

/// Four texts follow the two numbers.
const TEXTS: usize = 4;

/// What is told.
pub(super) struct Explanation {
    explained: Explained,
    fixed: Vec<u8>,
    variable: Vec<u8>,
    rows: i32,
}

impl Explanation {
    /// Begins with how a statement will be done: whose entries it may look at, how it sorts. None if it is not explained.
    pub(super) fn begin(select: &Select, container: &Container, indexes: impl Iterator<Item = TableId>) -> Option<Self> {
        let mut explanation = Self { explained: select.explained()?, fixed: Vec::new(), variable: Vec::new(), rows: 0 };
        explanation.add(0, "SELECTION", "CONDITION", "NULL");
        for entries in indexes {
            explanation.add(1, "USE_INDEX", "STRING", &columns(container, entries));
        }
        for (column, is_descending) in select.order() {
            explanation.add(0, "QUERY_RESULT_SORT", "BOOLEAN", "TRUE");
            let direction = if *is_descending { "DESC" } else { "ASC" };
            explanation.add_about(1, "QUERY_RESULT_SORT_EXPRESSION", "STRING", &container.definition.columns[*column].name, direction);
        }
        Some(explanation)
    }

    /// Whether the statement is to be run.
    pub(super) fn needs_answer(&self) -> bool {
        self.explained == Explained::Analysis
    }

    /// Adds how it was done: by whose entries, or by a scan, and how many rows it has found: `rest` beside those of the answer.
    pub(super) fn add_answer(&mut self, answer: &Answer, rest: u64, container: &Container, entries: Option<TableId>) {
        let map = entries.map_or_else(|| "ROWMAP".to_owned(), |entries| columns(container, entries));
        let is_spatial = |index: &ContainerIndex| entries.is_some() && index.entries == entries && index.kind == IndexKind::Spatial;
        let kind = if container.indexes().any(is_spatial) { "SPATIAL" } else { "BTREE" };
        self.add(0, "SEARCH_EXECUTE", "MAP_TYPE", kind);
        self.add(1, "SEARCH_MAP", "STRING", &map);
        let rows = match answer {
            Answer::Rows(found) => found.rows() + rest,
            Answer::Aggregate(value) => u64::from(value.is_some()),
            Answer::Partials(_) => 1,
        };
        self.add(0, "QUERY_EXECUTE_RESULT_ROWS", "INTEGER", &rows.to_string());
    }

    fn add(&mut self, depth: i32, kind: &str, value_kind: &str, value: &str) {
        self.add_about(depth, kind, value_kind, value, "");
    }

    fn add_about(&mut self, depth: i32, kind: &str, value_kind: &str, value: &str, about: &str) {
        put_i64(&mut self.fixed, self.variable.len() as i64);
        // None is null.
        self.fixed.push(0);
        put_i32(&mut self.fixed, self.rows);
        put_i32(&mut self.fixed, depth);
        put_var_size(&mut self.variable, TEXTS);
        [kind, value_kind, value, about].iter().for_each(|text| put_var_bytes(&mut self.variable, text.as_bytes()));
        self.rows += 1;
    }

    /// Appends the number of rows, then all of them.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_i64(out, i64::from(self.rows));
        out.extend_from_slice(&self.fixed);
        out.extend_from_slice(&self.variable);
    }
}

/// How rows were found: by whose entries, and within a range of row keys or not; how many were looked at.
pub(super) fn write_figures(container: &Container, entries: Option<TableId>, is_bounded: bool, rows: u64, out: &mut Vec<u8>) {
    let access = match entries {
        Some(_) => Access::Index,
        None if is_bounded => Access::Keys,
        None => Access::Scan,
    };
    let named = container.indexes().find(|index| entries.is_some() && index.entries == entries && !index.name.is_empty());
    let unnamed = || entries.map_or_else(String::new, |entries| columns(container, entries));
    let index = named.map_or_else(unnamed, |index| index.name.clone());
    Figures { access, index: &index, rows }.write(out);
}

/// The names of an index's columns.
fn columns(container: &Container, entries: TableId) -> String {
    let index = container.indexes().find(|index| index.entries == Some(entries));
    let positions = index.map_or(&[][..], |index| &index.columns);
    let names: Vec<&str> = positions.iter().map(|position| &*container.definition.columns[*position].name).collect();
    names.join(",")
}
