//! A container without a row key as a table whose rows are locked as they are read, in a transaction that then changes them.

use crate::cells::Cells;
use crate::client::{Client, Refusal};
use crate::container::Container;
use crate::rows::{RowFormat, Rows};
use crate::source::{Source, lock, query_text};
use crate::transaction::Transaction;
use sql::{Condition, Order, RowName, Scan, SourceError, Table, Tables, Times, ValueRef};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The rows of a container, and other containers as they are.
pub(crate) struct LockedRows {
    client: Arc<Mutex<Client>>,
    container: Arc<Container>,
    others: Source,
    /// What was locked, by the numbers of the rows; and the transaction's number.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rows: BTreeMap<i64, Cells>,
    session: Option<i64>,
}

impl LockedRows {
    pub(crate) fn new(client: Arc<Mutex<Client>>, container: Arc<Container>) -> Self {
        Self { others: Source::new(Arc::clone(&client)), client, container, state: Mutex::default() }
    }

    /// Changes locked rows, and commits.
    pub(crate) fn apply(
        &self,
        change: impl FnOnce(&mut Transaction<'_>, &BTreeMap<i64, Cells>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut state = lock(&self.state);
        let Some(session) = state.session.take() else { return Ok(()) };
        let mut client = lock(&self.client);
        let mut transaction = Transaction::again(&mut client, &self.container, session);
        change(&mut transaction, &state.rows)?;
        transaction.commit()
    }
}

impl Drop for LockedRows {
    fn drop(&mut self) {
        let session = lock(&self.state).session.take();
        if let Some(session) = session {
            // Aborts it.
            drop(Transaction::again(&mut lock(&self.client), &self.container, session));
        }
    }
}

impl Tables for LockedRows {
    fn times(&self) -> Times {
        if self.container.has_precise_times() { Times::PreciseTexts } else { self.others.times() }
    }

    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        if name.eq_ignore_ascii_case(&self.container.table.name) {
            return Ok(Some(Arc::clone(&self.container.table)));
        }
        self.others.find(name)
    }

    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError> {
        if !Arc::ptr_eq(table, &self.container.table) {
            return self.others.scan(table, conditions, order, columns);
        }
        let mut state = lock(&self.state);
        let mut client = lock(&self.client);
        let mut transaction = match state.session {
            Some(session) => Transaction::again(&mut client, &self.container, session),
            None => Transaction::new(&mut client, &self.container),
        };
        let found = transaction.query(&query_text(&self.container, conditions, order));
        // From here on it is open, until it is applied or dropped.
        state.session = transaction.leave_open();
        let mut rows = found?;
        let format = RowFormat::new(&self.container.columns, self.container.kind);
        while rows.advance(&format, true)? {
            state.rows.insert(rows.number(), rows.cells(&format));
        }
        rows.rewind();
        Ok(Box::new(LockedScan { rows, format }))
    }
}

struct LockedScan {
    rows: Rows,
    format: RowFormat,
}

impl Scan for LockedScan {
    fn advance(&mut self) -> Result<bool, SourceError> {
        Ok(self.rows.advance(&self.format, true)?)
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.rows.value(&self.format, column)
    }

    fn row(&self) -> RowName<'_> {
        RowName::Number(self.rows.number())
    }
}
