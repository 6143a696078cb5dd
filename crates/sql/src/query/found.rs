//! What a statement names, which is looked for as SQLite misses it.

use super::error::{QueryError, statement_error};
use crate::opening::authorize;
use crate::ranges;
use crate::result_types;
use crate::schemas::Schemas;
use crate::statement::Failure;
use crate::tables::{Dialect, Table, Times};
use crate::views::{VIEWS_MAX, Views};
use crate::virtual_table::Shared;
use rusqlite::hooks::{AuthContext, Authorization};
use rusqlite::{Connection, ffi};
use std::ffi::c_int;
use std::sync::Arc;

/// Different tables that a statement may name.
pub(super) const TABLES_MAX: usize = 64;
/// Different names that it may have.
pub(super) const NAMES_MAX: usize = TABLES_MAX + VIEWS_MAX;
/// Bytes of a statement that is written anew as often as a table is found.
const SHORT_BYTES_MAX: usize = 4 << 10;

/// What a statement names, as far as it was looked for.
#[derive(Default)]
pub(super) struct Found {
    pub(super) schemas: Schemas,
    pub(super) views: Views,
    tables: usize,
}

impl Found {
    /// What the source has at hand, and what a long statement names.
    ///
    /// # Errors
    /// The source fails, or has not what is named.
    pub(super) fn of(connection: &mut Connection, sql: &str, shared: &Arc<Shared>) -> Result<Self, QueryError> {
        let mut found = Self::default();
        for table in shared.tables.at_hand().map_err(QueryError::Source)? {
            add(connection, &mut found.schemas, &table.name, &table, shared)?;
        }
        found.look_for_all(connection, sql, shared)?;
        Ok(found)
    }

    /// Makes all be there that a long statement names, as it is written: to write it anew changes nothing in that, and takes its time each time.
    ///
    /// # Errors
    /// One is not there.
    fn look_for_all(&mut self, connection: &mut Connection, sql: &str, shared: &Arc<Shared>) -> Result<(), QueryError> {
        while sql.len() > SHORT_BYTES_MAX {
            self.views.check(sql).map_err(QueryError::Statement)?;
            let message = match connection.prepare(sql) {
                Err(rusqlite::Error::SqlInputError { msg, .. } | rusqlite::Error::SqliteFailure(_, Some(msg))) => msg,
                // What else is wrong may be right when it is written anew.
                _ => break,
            };
            if missing_table(&message).is_none() {
                break;
            }
            self.look_for(connection, Failure { code: ffi::SQLITE_ERROR, message }, shared)?;
        }
        Ok(())
    }

    /// Makes the table or the view be there that SQLite does not know.
    ///
    /// # Errors
    /// There is none, or it fails for another reason.
    pub(super) fn look_for(&mut self, connection: &mut Connection, failure: Failure, shared: &Arc<Shared>) -> Result<(), QueryError> {
        let Some(name) = missing_table(&failure.message) else { return Err(statement_error(failure, shared)) };
        let table = shared.tables.find(name).map_err(QueryError::Source)?;
        // One that is there already is not found by this name.
        let known = self.schemas.tables();
        let is_new = |table: &Arc<Table>| table.schema.is_none() || !known.iter().any(|known| Arc::ptr_eq(known, table));
        if let Some(table) = table.filter(is_new) {
            self.tables += 1;
            if self.tables > TABLES_MAX {
                return Err(too_many_tables());
            }
            add(connection, &mut self.schemas, name, &table, shared)?;
        } else if !add_view(&mut self.views, name, shared)? {
            let failure = if self.views.is_empty() { failure } else { missing_in_view(failure.code, name) };
            return Err(statement_error(failure, shared));
        }
        tell(connection, &mut self.views, self.schemas.tables(), shared.tables.dialect())
    }
}

pub(super) fn too_many_tables() -> QueryError {
    QueryError::Statement(format!("a statement names at most {TABLES_MAX} tables"))
}

/// Makes a table be there.
fn add(
    connection: &mut Connection,
    schemas: &mut Schemas,
    written: &str,
    table: &Arc<Table>,
    shared: &Arc<Shared>,
) -> Result<(), QueryError> {
    shared.form.follow(table);
    let mut added = || {
        connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
        schemas.add(connection, written, table, shared)?;
        connection.authorizer(Some(authorize))
    };
    added().map_err(|error| QueryError::Statement(error.to_string()))
}

/// Makes a view be there; false if there is no such.
fn add_view(views: &mut Views, name: &str, shared: &Arc<Shared>) -> Result<bool, QueryError> {
    if views.has(name) {
        return Ok(false);
    }
    let Some(text) = shared.tables.view(name).map_err(QueryError::Source)? else { return Ok(false) };
    let text = ranges::rewrite(&text, &*shared.tables)?.map_or(text, |rewritten| rewritten.sql);
    if shared.form.times() == Times::Milliseconds && result_types::tells_precise_times(&text) {
        shared.form.be_precise();
    }
    views.add(name, text).map_err(QueryError::Statement)?;
    Ok(true)
}

/// Makes SQLite know the views over the tables that are known.
fn tell(connection: &mut Connection, views: &mut Views, tables: &[Arc<Table>], dialect: Dialect) -> Result<(), QueryError> {
    if views.is_empty() {
        return Ok(());
    }
    let told = views.tell(connection, tables, dialect);
    connection.authorizer(Some(authorize)).map_err(|error| QueryError::Computation(error.to_string()))?;
    told.map_err(QueryError::Statement)
}

fn missing_in_view(code: c_int, name: &str) -> Failure {
    Failure { code, message: format!("no such table: {name}, which the statement or one of its views names") }
}

/// The table that SQLite does not know.
fn missing_table(message: &str) -> Option<&str> {
    let name = message.strip_prefix("no such table: ")?;
    Some(name.strip_prefix("main.").unwrap_or(name))
}
