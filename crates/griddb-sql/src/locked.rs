//! A container without a row key as a table whose rows are locked as they are read, in a transaction that then changes them.

use crate::cells::{Cells, bytes_of, check_bytes};
use crate::client::lock;
use crate::client::{Client, Refusal};
use crate::container::Container;
use crate::places::places;
use crate::query_text::{Values, query_text};
use crate::rows::{RowFormat, Rows};
use crate::source::Source;
use crate::transaction::{Transaction, done_in_part};
use sql::{Condition, Dialect, Order, RowName, Scan, SourceError, Table, Tables, Times, ValueRef};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// The rows of a container, and other containers as they are.
pub(crate) struct LockedRows {
    client: Arc<Mutex<Client>>,
    container: Arc<Container>,
    others: Source,
    /// What was locked, and by which transactions.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Each row by what it is called: its place, its number there, and what its columns hold.
    rows: BTreeMap<i64, (usize, i64, Cells)>,
    /// The places, each with the number of its transaction.
    places: Vec<(Container, i64)>,
    /// What the rows take.
    bytes: usize,
}

impl LockedRows {
    pub(crate) fn new(client: Arc<Mutex<Client>>, container: Arc<Container>) -> Self {
        Self { others: Source::new(Arc::clone(&client)), client, container, state: Mutex::default() }
    }

    /// Changes locked rows, by what they are called, and commits, place by place.
    pub(crate) fn apply<C>(
        &self,
        changes: &[(i64, C)],
        change: impl Fn(&mut Transaction<'_>, (i64, &Cells), &C) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut state = lock(&self.state);
        let mut client = lock(&self.client);
        let mut of_places: Vec<Vec<(i64, &Cells, &C)>> = state.places.iter().map(|_| Vec::new()).collect();
        let State { rows, places, .. } = &mut *state;
        for (name, change) in changes {
            let Some((place, number, row)) = rows.get(name) else { continue };
            of_places[*place].push((*number, row, change));
        }
        let mut is_first = true;
        // The others are aborted when this is dropped.
        while let Some((container, session)) = places.pop() {
            let changes = of_places.pop().unwrap_or_default();
            let mut transaction = Transaction::again(&mut client, &container, session);
            let changed = changes.iter().try_for_each(|(number, row, with)| change(&mut transaction, (*number, row), with));
            changed.and_then(|()| transaction.commit()).map_err(|refusal| if is_first { refusal } else { done_in_part(refusal) })?;
            is_first &= changes.is_empty();
        }
        Ok(())
    }
}

impl Drop for LockedRows {
    fn drop(&mut self) {
        for (container, session) in std::mem::take(&mut lock(&self.state).places) {
            // Aborts it.
            drop(Transaction::again(&mut lock(&self.client), &container, session));
        }
    }
}

impl Tables for LockedRows {
    fn dialect(&self) -> Dialect {
        Dialect::GridDb
    }

    fn zone_ms(&self) -> i64 {
        self.others.zone_ms()
    }

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
        let text = query_text(&self.container, conditions, order, Values::Told);
        let format = RowFormat::new(&self.container.columns, self.container.kind);
        let mut found = VecDeque::new();
        for place in places(&self.container, conditions, order) {
            let known = state.places.iter().position(|(known, _)| known.id == place.id);
            let mut transaction = match known {
                Some(at) => Transaction::again(&mut client, &place, state.places[at].1),
                None => Transaction::new(&mut client, &place),
            };
            let locked = transaction.query(&text);
            // From here on it is open, until it is applied or dropped.
            let session = transaction.leave_open();
            let at = known.unwrap_or(state.places.len());
            if let (None, Some(session)) = (known, session) {
                state.places.push((place.clone(), session));
            }
            let mut rows = locked?;
            while rows.advance(&format, true)? {
                let cells = rows.cells(&format);
                state.bytes += bytes_of(&cells);
                check_bytes(state.bytes)?;
                state.rows.insert(place.number_of_row(rows.number()), (at, rows.number(), cells));
            }
            rows.rewind();
            found.push_back((place, rows));
        }
        Ok(Box::new(LockedScan { found, format }))
    }
}

/// Rows of each place, the first one at which it is.
struct LockedScan {
    found: VecDeque<(Container, Rows)>,
    format: RowFormat,
}

impl Scan for LockedScan {
    fn advance(&mut self) -> Result<bool, SourceError> {
        while let Some((_, rows)) = self.found.front_mut() {
            if rows.advance(&self.format, true)? {
                return Ok(true);
            }
            self.found.pop_front();
        }
        Ok(false)
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.found.front().map_or(ValueRef::Null, |(_, rows)| rows.value(&self.format, column))
    }

    fn row(&self) -> RowName<'_> {
        RowName::Number(self.found.front().map_or(0, |(place, rows)| place.number_of_row(rows.number())))
    }
}
