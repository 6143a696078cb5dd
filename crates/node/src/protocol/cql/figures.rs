//! What statements count as in a node's figures: found out once for each that is prepared.

use crate::request_figures::RequestKind;
use crate::table_figures::{TableRequest, TableUse};
use base::TableId;
use cql::plan::Statement;
use model::Table;

/// What a statement counts as in figures: its kind, and what it does with a table; of a batch if all of it is about one.
pub(super) fn figures_of(statement: &Statement) -> (RequestKind, TableUse) {
    let of = |table: &Table, request| TableUse::new(table.id, request);
    match statement {
        Statement::Select(select) if select.partition.is_empty() => (RequestKind::Read, of(&select.table, TableRequest::Scan)),
        Statement::Select(select) => (RequestKind::Read, of(&select.table, TableRequest::Read)),
        Statement::Modify(modify) => (RequestKind::Write, of(&modify.table, TableRequest::Write)),
        Statement::Batch(batch) => (RequestKind::Write, written(batch.statements.iter().map(|modify| modify.table.id))),
        Statement::Truncate(_) | Statement::Use(_) | Statement::Schema(_) | Statement::Describe(_) => (RequestKind::Other, TableUse::NONE),
    }
}

/// A write of all these, which counts for a table if they are one.
pub(super) fn written(mut tables: impl Iterator<Item = TableId>) -> TableUse {
    match tables.next() {
        Some(first) if tables.all(|other| other == first) => TableUse::new(first, TableRequest::Write),
        _ => TableUse::NONE,
    }
}
