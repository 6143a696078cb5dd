//! One statement that reads.

use crate::aggregates;
use crate::expressions::{self, Category, Kind};
use crate::form::{self, Form};
use crate::memory;
use crate::opening::{VALUE_BYTES_MAX, authorize, open};
use crate::ranges::{self, RangesError};
use crate::result_types;
use crate::schemas::Schemas;
use crate::spill::{self, SpillError};
use crate::statement::{Failure, OwnedStatement, Prepared};
use crate::tables::{ColumnType, Dialect, SourceError, Table, Tables, Times, Value, ValueRef};
use crate::views::{VIEWS_MAX, Views};
use crate::virtual_table::Shared;
use rusqlite::hooks::{AuthContext, Authorization};
use rusqlite::{Connection, InterruptHandle, ffi};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

pub use crate::opening::SQL_BYTES_MAX;

/// Different tables that a statement may name.
const TABLES_MAX: usize = 64;
/// What SQLite's program says of a table, before where it lies in the memory of this process: nobody is told that.
const VTAB: &str = "vtab";

/// Why a query fails.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The statement is wrong.
    #[error("{0}")]
    Statement(String),
    /// A value cannot be computed.
    #[error("{0}")]
    Computation(String),
    /// Its tables could not be read.
    #[error("{0}")]
    Source(SourceError),
    /// It was interrupted.
    #[error("the statement was interrupted")]
    Interrupted,
    /// It cannot put elsewhere what is too much for memory.
    #[error(transparent)]
    Spill(SpillError),
    /// It takes more memory than there is for queries.
    #[error("the statement needs more memory than there is for all SQL statements: {} MiB", memory::MEMORY_MAX >> 20)]
    Memory,
}

/// Stops a query from another thread.
#[derive(Clone)]
pub struct Interrupter {
    handle: Arc<InterruptHandle>,
    is_interrupted: Arc<AtomicBool>,
}

impl Interrupter {
    /// The query fails at its next step with [`QueryError::Interrupted`]; so do all steps after it.
    pub fn interrupt(&self) {
        self.is_interrupted.store(true, Ordering::Release);
        self.handle.interrupt();
    }
}

impl From<RangesError> for QueryError {
    fn from(error: RangesError) -> Self {
        match error {
            RangesError::Syntax(error) => Self::Statement(error.0),
            RangesError::Source(error) => Self::Source(error),
        }
    }
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    /// Its label.
    pub name: String,
    /// What it holds, if it is a column of a table, or a function tells it.
    pub kind: Option<ColumnType>,
}

/// A statement that reads, prepared.
pub struct Query {
    statement: OwnedStatement,
    /// The same over a table that aggregates its rows itself, as long as it has not turned out that it cannot.
    aggregated: Option<OwnedStatement>,
    has_begun: bool,
    shared: Arc<Shared>,
    interrupter: Interrupter,
    is_over: bool,
    /// What columns hold that functions compute.
    computed: Vec<Option<Kind>>,
    has_union: bool,
    tells_program: bool,
    /// Parameters, from 1, and what they compare with.
    compared: Vec<(usize, Category)>,
}

impl Query {
    /// Prepares a statement.
    ///
    /// # Errors
    /// It is none that reads, or names what is not there.
    pub fn prepare(tables: &Arc<dyn Tables>, sql: &str) -> Result<Self, QueryError> {
        if sql.len() > SQL_BYTES_MAX {
            return Err(QueryError::Statement(format!("a statement has at most {SQL_BYTES_MAX} bytes")));
        }
        if sql.contains('\0') {
            return Err(QueryError::Statement("a statement has no NUL in it".to_owned()));
        }
        memory::bound();
        let ranges = ranges::rewrite(sql, &**tables)?;
        let sql = ranges.as_ref().map_or(sql, |ranges| &ranges.sql);
        let form = Arc::new(Form::new(tables.times(), tables.zone_ms()));
        if form.times() == Times::Milliseconds && result_types::tells_precise_times(sql) {
            form.be_precise();
        }
        let shared = Arc::new(Shared::new(tables, form));
        let is_interrupted = Arc::new(AtomicBool::new(false));
        let mut connection = open(&is_interrupted, &shared.form).map_err(|error| QueryError::Computation(error.to_string()))?;
        let mut found = Found::default();
        for table in tables.at_hand().map_err(QueryError::Source)? {
            add(&mut connection, &mut found.schemas, &table.name, &table, &shared)?;
        }
        for _ in 0..=TABLES_MAX + VIEWS_MAX {
            found.views.check(sql).map_err(QueryError::Statement)?;
            let written = expressions::rewrite(sql, found.schemas.tables(), &found.views.texts(), tables.dialect());
            let written = written.map_err(|error| QueryError::Statement(error.0))?;
            let (prepared, taken) = OwnedStatement::prepare(connection, &written.sql);
            match prepared {
                Prepared::Statement(statement) => {
                    check_reads(&statement, &written.sql[taken..])?;
                    let (computed, has_union) = match &ranges {
                        Some(ranges) => (ranges.kinds.clone(), false),
                        None => (written.kinds, result_types::has_union(sql)),
                    };
                    let is_plain = ranges.is_none() && found.views.is_empty();
                    let aggregate = || aggregates::prepare(&written.sql, found.schemas.tables(), &shared, &is_interrupted);
                    let aggregated = if is_plain { aggregate() } else { None };
                    let handle = Arc::new(statement.connection().get_interrupt_handle());
                    return Ok(Self {
                        tells_program: statement.tells_program(),
                        statement,
                        aggregated,
                        has_begun: false,
                        shared,
                        interrupter: Interrupter { handle, is_interrupted },
                        is_over: false,
                        computed,
                        has_union,
                        compared: written.compared,
                    });
                }
                Prepared::Nothing => return Err(QueryError::Statement("there is no statement".to_owned())),
                Prepared::Failed(mut failed, failure) => {
                    found.look_for(&mut failed, failure, &shared)?;
                    connection = failed;
                }
            }
        }
        Err(too_many_tables())
    }

    /// How many parameters it has.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.statement.parameters()
    }

    /// Binds its parameters, in their order.
    ///
    /// # Errors
    /// There are others, or one is too long.
    pub fn bind(&mut self, values: &[Value]) -> Result<(), QueryError> {
        if values.len() != self.parameters() {
            let message = format!("the statement has {} parameters, and {} values were given", self.parameters(), values.len());
            return Err(QueryError::Statement(message));
        }
        for (parameter, with) in &self.compared {
            let category = match values.get(parameter - 1) {
                Some(Value::Text(_)) => Category::Text,
                Some(Value::Time(_)) => Category::Time,
                Some(Value::Integer(_) | Value::Real(_)) => Category::Number,
                Some(Value::Null | Value::Blob(_)) | None => continue,
            };
            if !category.compares(*with) {
                let (own, other) = (category.name(), with.name());
                return Err(QueryError::Statement(format!("parameter {parameter} is {own}, and {own} is not compared with {other}")));
            }
        }
        // Cut to a millisecond it would compare as another time. Nothing has been computed yet.
        if values.iter().any(|value| matches!(value, Value::Time(moment) if moment.ns > 0)) {
            self.shared.form.be_precise();
        }
        for (at, value) in values.iter().enumerate() {
            if let Some(aggregated) = &mut self.aggregated {
                aggregated.bind(at + 1, value.as_ref()).map_err(|failure| error_of(failure, &self.shared))?;
            }
            let bound = match value {
                Value::Time(moment) if self.shared.form.is_precise() && !moment.has_comparable_text() => {
                    return Err(QueryError::Computation(format!("parameter {}: {}", at + 1, form::BEYOND)));
                }
                Value::Time(moment) if self.shared.form.is_precise() => self.statement.bind_moment(at + 1, *moment),
                value => self.statement.bind(at + 1, value.as_ref()),
            };
            bound.map_err(|failure| error_of(failure, &self.shared))?;
        }
        Ok(())
    }

    /// The columns of its result.
    #[must_use]
    pub fn columns(&self) -> Vec<ResultColumn> {
        let declared = |column| self.statement.declaration(column).as_deref().and_then(ColumnType::of_declaration);
        let is_precise = self.shared.form.is_precise();
        // What is put together may be of other types than the first part says.
        let is_known = |kind: &Kind| !self.has_union || kind.is_time();
        let computed = |column: usize| self.computed.get(column).copied().flatten().filter(is_known)?.column_type(is_precise);
        // Another part of a UNION may have more digits than the first, which tells the type.
        let widened = |kind: ColumnType| if is_precise && self.has_union && kind.is_time() { ColumnType::NanoTimestamp } else { kind };
        let kind = |column| declared(column).or_else(|| computed(column)).map(widened);
        (0..self.statement.columns()).map(|column| ResultColumn { name: self.statement.name(column), kind: kind(column) }).collect()
    }

    /// What stops it.
    #[must_use]
    pub fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }

    /// Goes to the next row, at first to the first one; false after the last, and from then on.
    ///
    /// # Errors
    /// Why it goes on no more.
    pub fn step(&mut self) -> Result<bool, QueryError> {
        if self.interrupter.is_interrupted.load(Ordering::Acquire) {
            return Err(QueryError::Interrupted);
        }
        if self.is_over {
            return Ok(false);
        }
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first && self.shared.form.is_precise() {
            // Times are texts then that tables do not know.
            self.aggregated = None;
        }
        let mut stepped = self.active_mut().step();
        if is_first && self.aggregated.is_some() && aggregates::has_refused(&self.shared, stepped.as_ref().ok()) {
            // Its table has to give rows, as any other.
            self.aggregated = None;
            stepped = self.statement.step();
        }
        let stepped = stepped.map_err(|failure| error_of(failure, &self.shared));
        self.is_over = !matches!(stepped, Ok(true));
        stepped
    }

    fn active_mut(&mut self) -> &mut OwnedStatement {
        self.aggregated.as_mut().unwrap_or(&mut self.statement)
    }

    fn active(&self) -> &OwnedStatement {
        self.aggregated.as_ref().unwrap_or(&self.statement)
    }

    /// A value of the row at which it is.
    #[must_use]
    pub fn value(&self, column: usize) -> ValueRef<'_> {
        match self.active().value(column) {
            ValueRef::Text(text) if self.tells_program && text.starts_with(VTAB) => ValueRef::Text(VTAB),
            value => value,
        }
    }

    /// All values of the row.
    #[must_use]
    pub fn row(&self) -> Vec<Value> {
        (0..self.active().columns()).map(|column| self.value(column).to_value()).collect()
    }
}

/// What a statement names, as far as it was looked for.
#[derive(Default)]
struct Found {
    schemas: Schemas,
    views: Views,
    tables: usize,
}

impl Found {
    /// Makes the table or the view be there that SQLite does not know.
    ///
    /// # Errors
    /// There is none, or it fails for another reason.
    fn look_for(&mut self, connection: &mut Connection, failure: Failure, shared: &Arc<Shared>) -> Result<(), QueryError> {
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

fn too_many_tables() -> QueryError {
    QueryError::Statement(format!("a statement names at most {TABLES_MAX} tables"))
}

/// Refuses a statement that does not read, or is followed by another one.
fn check_reads(statement: &OwnedStatement, rest: &str) -> Result<(), QueryError> {
    if !statement.reads_only() || statement.columns() == 0 {
        return Err(QueryError::Statement("this statement does not read".to_owned()));
    }
    if !crate::syntax::is_blank(rest) {
        return Err(QueryError::Statement("one statement at a time".to_owned()));
    }
    Ok(())
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

/// Why a statement cannot be prepared.
fn statement_error(failure: Failure, shared: &Shared) -> QueryError {
    match error_of(failure, shared) {
        QueryError::Computation(message) => QueryError::Statement(message),
        other => other,
    }
}

fn error_of(failure: Failure, shared: &Shared) -> QueryError {
    if let Some(source) = shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return QueryError::Source(source);
    }
    let spilled = spill::take_failure();
    match failure.code & 0xFF {
        ffi::SQLITE_FULL | ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN if let Some(error) = spilled => QueryError::Spill(error),
        ffi::SQLITE_INTERRUPT => QueryError::Interrupted,
        ffi::SQLITE_NOMEM => QueryError::Memory,
        ffi::SQLITE_AUTH => QueryError::Statement("statements that read can do nothing else".to_owned()),
        ffi::SQLITE_TOOBIG => QueryError::Computation(format!("a value has at most {VALUE_BYTES_MAX} bytes")),
        _ => QueryError::Computation(failure.message),
    }
}

#[cfg(test)]
mod tests;
