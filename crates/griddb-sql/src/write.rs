//! INSERT, UPDATE, DELETE.
//!
//! The rows that are meant are read by a query, and then written in a transaction of their container. A row that is updated or deleted is locked and read again
//! first: if it is not what the query has seen, the whole statement begins anew. So what a statement has computed from a row is written over that row. A
//! container without a row key has no name for a row: its rows are locked by the query itself.
//!
//! A transaction takes so many rows and no more, of one data partition: a statement that changes more does so in several, and is not atomic then.

use crate::cells::{Cells, bytes_of, cell, check_bytes};
use crate::client::lock;
use crate::client::{Client, Refusal};
use crate::container::Container;
use crate::heads::statement_head;
use crate::locked::LockedRows;
use crate::running::Running;
use crate::source::Source;
use crate::transaction::{Transaction, done_in_part, done_or_not};
use crate::{cells, failures, places};
use griddb::wire::{put_i64, statement};
use griddb::{ErrorCode, GridError};
use sql::time::Moment;
use sql::{Query, Tables, Value, ValueRef};
use std::sync::{Arc, Mutex};

/// Rows of one transaction: the node allows some more.
const ROWS_AT_ONCE: usize = 8_192;
/// Bytes of them.
const BYTES_AT_ONCE: usize = 2 << 20;
/// Bytes of rows that are put without looking whether they are there.
const PUT_BYTES_AT_ONCE: usize = 16 << 20;
/// How often a statement begins anew.
const ATTEMPTS_MAX: usize = 100;

/// A statement that writes, and its values.
pub(crate) struct Writing<'w> {
    pub(crate) client: &'w Arc<Mutex<Client>>,
    pub(crate) running: &'w Running,
    pub(crate) parameters: &'w [Value],
}

/// Who has changed a row meanwhile.
enum Failure {
    Changed,
    Refused(Refusal),
}

impl<E: Into<Refusal>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

impl Writing<'_> {
    /// INSERT: says how many rows there are more.
    pub(crate) fn insert(&self, table: &str, columns: &[String], rows: &str, replaces: bool) -> Result<u64, Refusal> {
        let source = Arc::new(Source::new(Arc::clone(self.client)));
        let container = named(&source, table)?;
        let positions = positions(&container, columns)?;
        let tables: Arc<dyn Tables> = source;
        let mut query = self.prepare(&tables, rows)?;
        if query.columns().len() != positions.len() {
            let message = format!("{} columns are given, and {} values", positions.len(), query.columns().len());
            return Err(GridError::new(ErrorCode::SQL_COMPILE_SYNTAX_ERROR, message).into());
        }
        let mut written: Vec<Cells> = Vec::new();
        let mut bytes = 0;
        while query.step().map_err(failures::refusal)? {
            let mut row: Vec<ValueRef<'_>> = vec![ValueRef::Null; container.columns.len()];
            for (at, position) in positions.iter().enumerate() {
                row[*position] = query.value(at);
            }
            let row = container.columns.iter().zip(row).map(|(column, value)| cell(column, value)).collect::<Result<Cells, _>>()?;
            bytes += bytes_of(&row);
            check_bytes(bytes)?;
            written.push(row);
        }
        drop(query);
        let count = written.len() as u64;
        let mut client = lock(self.client);
        let mut is_first = true;
        for (place, rows) in places::of_rows(&mut client, &container, written)? {
            if replaces || container.key_len == 0 {
                put_all(&mut client, &place, &rows, &mut is_first)?;
            } else {
                insert_all(&mut client, &place, &rows, &mut is_first)?;
            }
        }
        Ok(count)
    }

    /// UPDATE, or DELETE if nothing is assigned: says how many rows were meant.
    pub(crate) fn change(&self, table: &str, assignments: &[(String, String)], rest: &str) -> Result<u64, Refusal> {
        for _ in 0..ATTEMPTS_MAX {
            match self.try_change(table, assignments, rest) {
                Ok(rows) => return Ok(rows),
                Err(Failure::Refused(refusal)) => return Err(refusal),
                Err(Failure::Changed) => self.running.check()?,
            }
        }
        let message = "other clients have changed the rows again and again while the statement ran: try again";
        Err(GridError::new(ErrorCode::DS_CON_LOCK_CONFLICT, message).into())
    }

    fn try_change(&self, table: &str, assignments: &[(String, String)], rest: &str) -> Result<u64, Failure> {
        let source = Arc::new(Source::new(Arc::clone(self.client)));
        let container = named(&source, table)?;
        let names: Vec<String> = assignments.iter().map(|(name, _)| name.clone()).collect();
        let assigned = if names.is_empty() { Vec::new() } else { positions(&container, &names)? };
        let is_place = |position: &&usize| {
            container.partitioning.as_ref().is_some_and(|partitioning| partitioning.is_by(&container.columns[**position].name))
        };
        if let Some(key) = assigned.iter().find(is_place) {
            let message = format!("the table is partitioned by the column {}, which keeps its value", container.columns[*key].name);
            return Err(GridError::new(ErrorCode::SQL_COMPILE_PARTITIONING_KEY_NOT_UPDATABLE, message).into());
        }
        if let Some(key) = assigned.iter().find(|position| **position < container.key_len) {
            let message = format!("the column {} is in the row key, which cannot be changed", container.columns[*key].name);
            return Err(GridError::new(ErrorCode::DS_COL_ROWKEY_INVALID, message).into());
        }
        let expressions: String = assignments.iter().map(|(_, expression)| format!(", ({expression})")).collect();
        if container.key_len == 0 {
            let is_free = |name: &&&str| !container.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
            let taken = || GridError::new(ErrorCode::SQL_COMPILE_UNSUPPORTED, "the table has columns of all names that rows are called by");
            let row = ["rowid", "_rowid_", "oid"].iter().find(is_free).ok_or_else(taken)?;
            return self.change_locked(&container, &assigned, &format!("SELECT {row}{expressions} FROM {rest}"));
        }
        let all: Vec<String> = container.columns.iter().map(|column| format!("\"{}\"", column.name.replace('"', "\"\""))).collect();
        // The values of parameters come in the order of the statement: those of SET are before those of WHERE here, too.
        let text = format!("SELECT {}{expressions} FROM {rest}", all.join(", "));
        let tables: Arc<dyn Tables> = source;
        let mut query = self.prepare(&tables, &text)?;
        let mut seen = Vec::new();
        let mut bytes = 0;
        while query.step().map_err(failures::refusal)? {
            let row = query.row();
            bytes += row.iter().map(size_of_value).sum::<usize>();
            check_bytes(bytes)?;
            seen.push(row);
        }
        drop(query);
        let count = seen.len() as u64;
        let (places, mut is_first) = (places::of_seen(&container, seen)?.ok_or(Failure::Changed)?, true);
        for (place, seen) in places {
            change_seen(&mut lock(self.client), &place, &assigned, &seen, &mut is_first)?;
        }
        Ok(count)
    }

    /// Changes rows of a container without a row key, which are locked as they are read.
    fn change_locked(&self, container: &Arc<Container>, assigned: &[usize], text: &str) -> Result<u64, Failure> {
        let locked = Arc::new(LockedRows::new(Arc::clone(self.client), Arc::clone(container)));
        let tables: Arc<dyn Tables> = Arc::clone(&locked) as Arc<dyn Tables>;
        let mut query = self.prepare(&tables, text)?;
        let mut changes = Vec::new();
        while query.step().map_err(failures::refusal)? {
            let ValueRef::Integer(number) = query.value(0) else { continue };
            let values: Vec<Value> = (0..assigned.len()).map(|at| query.value(at + 1).to_value()).collect();
            changes.push((number, values));
        }
        drop(query);
        let count = changes.len() as u64;
        locked.apply(&changes, |transaction, (number, row), values| {
            if assigned.is_empty() {
                transaction.delete_locked(number)
            } else {
                transaction.update_locked(number, &assign(container, assigned, values, row.clone())?)
            }
        })?;
        Ok(count)
    }

    fn prepare(&self, tables: &Arc<dyn Tables>, text: &str) -> Result<Query, Refusal> {
        let text = sql::syntax::with_units_quoted(text).map_err(|error| failures::syntax_error(&error))?;
        let mut query = Query::prepare(tables, &text).map_err(failures::refusal)?;
        self.running.runs(&query)?;
        query.bind(self.parameters).map_err(failures::refusal)?;
        Ok(query)
    }
}

/// How many parameters a statement that writes has, and whether it can be done.
pub(crate) fn parameters(client: &Arc<Mutex<Client>>, written: &sql::syntax::Statement) -> Result<usize, Refusal> {
    use sql::syntax::Statement;
    let text = match written {
        Statement::Insert { rows, .. } => rows.clone(),
        Statement::Update { assignments, rest, .. } => {
            let expressions: Vec<String> = assignments.iter().map(|(_, expression)| format!("({expression})")).collect();
            format!("SELECT {} FROM {rest}", expressions.join(", "))
        }
        Statement::Delete { rest, .. } => format!("SELECT 1 FROM {rest}"),
        _ => return Ok(0),
    };
    let tables: Arc<dyn Tables> = Arc::new(Source::new(Arc::clone(client)));
    let text = sql::syntax::with_units_quoted(&text).map_err(|error| failures::syntax_error(&error))?;
    Ok(Query::prepare(&tables, &text).map_err(failures::refusal)?.parameters())
}

/// The container of a name that a statement writes to.
pub(crate) fn named(source: &Source, name: &str) -> Result<Arc<Container>, Refusal> {
    let unknown = || GridError::new(ErrorCode::SQL_COMPILE_SYNTAX_ERROR, format!("no such table: {name}"));
    Ok(source.container(name)?.ok_or_else(unknown)?)
}

/// Where columns are; all if none is named.
pub(crate) fn positions(container: &Container, names: &[String]) -> Result<Vec<usize>, GridError> {
    if names.is_empty() {
        return Ok((0..container.columns.len()).collect());
    }
    let mut positions = Vec::with_capacity(names.len());
    for name in names {
        let position = container.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let unknown = || GridError::new(ErrorCode::SQL_COMPILE_SYNTAX_ERROR, format!("no such column: {name}"));
        let position = position.ok_or_else(unknown)?;
        if positions.contains(&position) {
            return Err(GridError::new(ErrorCode::SQL_COMPILE_SYNTAX_ERROR, format!("the column {name} is given twice")));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// Puts rows, whether they are there or not.
fn put_all(client: &mut Client, container: &Container, rows: &[Cells], is_first: &mut bool) -> Result<(), Refusal> {
    for some in in_pieces(rows, usize::MAX, PUT_BYTES_AT_ONCE) {
        let put = client.ask(statement::PUT_MULTIPLE_ROWS, 0, |out| {
            statement_head(container, out);
            put_i64(out, some.len() as i64);
            cells::put_rows(&container.columns, some, out);
        });
        // Rows with a key may be put twice.
        put.map_err(|refusal| match refusal {
            refusal if container.key_len > 0 => refusal,
            refusal if *is_first => done_or_not(refusal),
            refusal => done_in_part(refusal),
        })?;
        *is_first = false;
    }
    Ok(())
}

/// Puts rows that must not be there.
fn insert_all(client: &mut Client, container: &Container, rows: &[Cells], is_first: &mut bool) -> Result<(), Refusal> {
    for some in in_pieces(rows, ROWS_AT_ONCE, BYTES_AT_ONCE) {
        let mut transaction = Transaction::new(client, container);
        let inserted = some.iter().try_for_each(|row| {
            if transaction.put(row)? {
                let message = format!("the table {} has a row of this key already: INSERT OR REPLACE replaces it", container.name);
                return Err(GridError::new(ErrorCode::DS_COL_ROWKEY_INVALID, message).into());
            }
            Ok(())
        });
        // After the first rows it would not be done again as a whole.
        inserted.map_err(|refusal| if *is_first { refusal } else { done_in_part(refusal) })?;
        let committed = transaction.commit();
        committed.map_err(|refusal| if *is_first { refusal } else { done_in_part(refusal) })?;
        *is_first = false;
    }
    Ok(())
}

/// Writes what a query has computed from rows over them, if they are still what it has seen.
fn change_seen(
    client: &mut Client,
    container: &Container,
    assigned: &[usize],
    seen: &[Vec<Value>],
    is_first: &mut bool,
) -> Result<(), Failure> {
    for some in seen.chunks(ROWS_AT_ONCE) {
        let mut transaction = Transaction::new(client, container);
        match change_some(&mut transaction, container, assigned, some) {
            Ok(()) => {
                let committed = transaction.commit();
                committed.map_err(|refusal| if *is_first { refusal } else { done_in_part(refusal) })?;
            }
            Err(Failure::Refused(refusal)) if !*is_first => return Err(Failure::Refused(done_in_part(refusal))),
            Err(Failure::Changed) if !*is_first => {
                let message = "other clients have changed rows while the statement ran, and a part of its rows was written already";
                return Err(GridError::new(ErrorCode::DS_CON_LOCK_CONFLICT, message).into());
            }
            Err(failure) => return Err(failure),
        }
        *is_first = false;
    }
    Ok(())
}

fn change_some(transaction: &mut Transaction<'_>, container: &Container, assigned: &[usize], seen: &[Vec<Value>]) -> Result<(), Failure> {
    let mut written = Vec::new();
    for values in seen {
        let (row, computed) = values.split_at(container.columns.len());
        let keys = container.columns.iter().zip(row).take(container.key_len);
        let key = keys.map(|(column, value)| cell(column, value.as_ref())).collect::<Result<Cells, _>>()?;
        let found = transaction.get(&key)?.ok_or(Failure::Changed)?;
        let is_same = |(at, value): (usize, &Value)| same(found.value(transaction.format(), at), value.as_ref());
        if !row.iter().enumerate().all(is_same) {
            return Err(Failure::Changed);
        }
        if assigned.is_empty() {
            transaction.delete(&key)?;
        } else {
            written.push(assign(container, assigned, computed, found.cells(transaction.format()))?);
        }
    }
    if !written.is_empty() {
        transaction.put_all(&written)?;
    }
    Ok(())
}

/// Whether a value is what SQLite has made of it, which knows no NaN.
fn same(stored: ValueRef<'_>, seen: ValueRef<'_>) -> bool {
    match (stored, seen) {
        (ValueRef::Real(stored), ValueRef::Null) => stored.is_nan(),
        (ValueRef::Time(stored), ValueRef::Text(seen)) => Moment::parse(seen) == Some(stored),
        // A time of milliseconds, where other columns are more precise: an integer of another type is not seen as a text.
        (ValueRef::Integer(stored), ValueRef::Text(seen)) => Moment::parse(seen) == Some(Moment::of_ms(stored)),
        _ => stored == seen,
    }
}

/// The row with other values.
fn assign(container: &Container, assigned: &[usize], values: &[Value], mut row: Cells) -> Result<Cells, GridError> {
    for (position, value) in assigned.iter().zip(values) {
        row[*position] = cell(&container.columns[*position], value.as_ref())?;
    }
    Ok(row)
}

/// Rows, so many and so many bytes at a time.
fn in_pieces(rows: &[Cells], rows_max: usize, bytes_max: usize) -> impl Iterator<Item = &[Cells]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = rest.iter().take(rows_max).take_while(|row| {
            bytes += bytes_of(row);
            bytes <= bytes_max
        });
        // One that is too large goes alone: the node says so.
        let count = fits.count().max(1).min(rest.len());
        let (some, others) = rest.split_at(count);
        rest = others;
        (!some.is_empty()).then_some(some)
    })
}

fn size_of_value(value: &Value) -> usize {
    let bytes = match value {
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        Value::Null | Value::Integer(_) | Value::Real(_) | Value::Time(_) => 0,
    };
    size_of::<Value>() + bytes
}
