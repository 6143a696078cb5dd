//! How far an import has come: a table of the target, in the keyspace that is imported.
//!
//! A range is done up to a token once the target has answered all writes before it. A table of the source has an id: another table of that name, or
//! of another database, begins anew.

use super::super::error::ImportError;
use super::plan::Plan;
use super::schema::Table;
use crate::feed::{Cells, Source, quoted};
use std::collections::HashMap;

/// Where it is kept.
pub(super) const STATE: &str = "tarndb_import";
/// Each run writes lists so much later than the one before, and each try of a page one later: see [`super::row`].
pub(super) const LATER_US: i64 = 1_000;

/// How far it has come, in the target.
pub(super) struct State<'c> {
    target: Source<'c>,
    table: String,
}

impl<'c> State<'c> {
    pub(super) fn new(target: Source<'c>, keyspace: &str) -> Self {
        Self { target, table: format!("{}.{STATE}", quoted(keyspace)) }
    }

    /// Makes the table where it is missing.
    pub(super) fn make(&mut self) -> Result<(), ImportError> {
        let comment = "How far tarndb import has come: ranges of tokens, and up to where each is done";
        let text = format!(
            "CREATE TABLE IF NOT EXISTS {} (table_name text, source_id uuid, after bigint, done_to bigint, runs int static, stored_at timestamp, \
             PRIMARY KEY (table_name, source_id, after)) WITH comment = '{comment}'",
            self.table
        );
        self.run(&text, &[])
    }

    fn run(&mut self, text: &str, values: &[&[u8]]) -> Result<(), ImportError> {
        self.target.run(text, values).map_err(ImportError::Target)
    }

    fn all(&mut self, text: &str, values: &[&[u8]]) -> Result<Vec<Cells>, ImportError> {
        self.target.all(text, values).map_err(ImportError::Target)
    }

    /// Counts a run, and gives how much later than the source's its lists are.
    pub(super) fn begin(&mut self, plan: &Plan) -> Result<i64, ImportError> {
        let text = format!("SELECT runs FROM {} WHERE table_name = ? LIMIT 1", self.table);
        let rows = self.all(&text, &[plan.table.as_bytes()])?;
        let runs = rows.first().and_then(|row| row.first()?.as_deref()?.try_into().ok()).map_or(0, i32::from_be_bytes);
        let text = format!("UPDATE {} SET runs = ? WHERE table_name = ?", self.table);
        self.run(&text, &[&(runs + 1).to_be_bytes(), plan.table.as_bytes()])?;
        Ok(i64::from(runs) * LATER_US)
    }

    /// Up to where each range is done, by the token after which it begins.
    pub(super) fn done(&mut self, plan: &Plan) -> Result<HashMap<i64, i64>, ImportError> {
        let text = format!("SELECT after, done_to FROM {} WHERE table_name = ? AND source_id = ?", self.table);
        let rows = self.all(&text, &[plan.table.as_bytes(), &plan.id])?;
        let token = |cell: Option<&Option<Vec<u8>>>| cell?.as_deref()?.try_into().ok().map(i64::from_be_bytes);
        Ok(rows.iter().filter_map(|row| Some((token(row.first())?, token(row.get(1))?))).collect())
    }

    /// A range is done up to a token.
    pub(super) fn store(&mut self, plan: &Plan, after: i64, done_to: i64) -> Result<(), ImportError> {
        let text = format!(
            "INSERT INTO {} (table_name, source_id, after, done_to, stored_at) VALUES (?, ?, ?, ?, toTimestamp(now()))",
            self.table
        );
        self.run(&text, &[plan.table.as_bytes(), &plan.id, &after.to_be_bytes(), &done_to.to_be_bytes()])
    }

    /// Nothing of a table is done.
    pub(super) fn forget(&mut self, table: &Table) -> Result<(), ImportError> {
        let text = format!("DELETE FROM {} WHERE table_name = ? AND source_id = ?", self.table);
        self.run(&text, &[table.name.as_bytes(), &table.id])
    }
}
