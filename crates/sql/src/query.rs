//! One statement that reads.

mod error;
mod found;

use crate::aggregates;
use crate::expressions::{self, Category, Kind};
use crate::form::{self, Form};
use crate::memory;
use crate::opening::open;
use crate::ranges;
use crate::result_types;
use crate::statement::{OwnedStatement, Prepared};
use crate::tables::{ColumnType, Tables, Times, Value, ValueRef};
use crate::virtual_table::Shared;
use error::error_of;
use found::{Found, NAMES_MAX, too_many_tables};
use rusqlite::InterruptHandle;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::opening::SQL_BYTES_MAX;
pub use error::QueryError;

/// What SQLite's program says of a table, before where it lies in the memory of this process: nobody is told that.
const VTAB: &str = "vtab";

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
        let mut found = Found::of(&mut connection, sql, &shared)?;
        for _ in 0..=NAMES_MAX {
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
            let category = match parameter.checked_sub(1).and_then(|at| values.get(at)) {
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

#[cfg(test)]
mod tests;
