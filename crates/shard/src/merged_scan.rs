//! A scan of a table that has deltas: rows and deltas are in the same order, and each row is visited merged with its delta.

use crate::deltas::companion;
use crate::store::EngineStore;
use base::Token;
use engine::{ReadError, Sequence, TableCursor, TableRow, TableScan};
use model::operation::{PartitionKey, ScannedRow, Stop, Visit};
use std::cell::Cell;
use std::cmp::Ordering;

impl EngineStore<'_> {
    /// Visits the rows of `scan`; `next_slot` is the first slot of which it has not been asked yet whether it is served.
    pub(crate) fn scan_merged(
        &self,
        scan: &TableScan<'_>,
        next_slot: &Cell<u16>,
        visit: &mut dyn FnMut(ScannedRow<'_>) -> Visit,
    ) -> Result<(), Stop> {
        let deltas = TableScan { table: companion(scan.table), ..*scan };
        let mut rows = Walk::new(self.engine.scan_table(scan).map_err(|error| self.stop(error))?);
        let mut deltas = Walk::new(self.engine.scan_table(&deltas).map_err(|error| self.stop(error))?);
        let (mut whole, mut shown) = (Vec::new(), Vec::new());
        loop {
            let (row, delta) = match (rows.peek(), deltas.peek()) {
                (Ok(row), Ok(delta)) => (row, delta),
                (row, delta) => {
                    let errors = [(row.err(), rows.cursor.slot()), (delta.err(), deltas.cursor.slot())];
                    let stops = errors.map(|(error, slot)| error.map(|error| self.stop_at(scan.table, next_slot, slot, error)));
                    return Err(stops.into_iter().flatten().max_by_key(|stop| *stop != Stop::Miss).unwrap_or(Stop::Miss));
                }
            };
            let (at, order) = match (row, delta) {
                (None, None) => return self.pass(scan.table, next_slot, scan.to),
                (Some(row), None) => (row, Ordering::Less),
                (None, Some(delta)) => (delta, Ordering::Greater),
                (Some(row), Some(delta)) => match row.place().cmp(&delta.place()) {
                    Ordering::Greater => (delta, Ordering::Greater),
                    order => (row, order),
                },
            };
            let (mut bytes, mut newest) = (&at.bytes, at.sequence);
            if let (Some(row), Some(delta)) = (row, delta)
                && order == Ordering::Equal
                && delta.sequence > row.sequence
            {
                whole.clear();
                self.merge(&row.bytes, &delta.bytes, &mut whole);
                (bytes, newest) = (&whole, delta.sequence);
            }
            let Some(token) = at.token else { return Ok(()) };
            self.pass(scan.table, next_slot, token)?;
            self.saw_sequence(newest);
            let partition = PartitionKey { table: scan.table, token, bytes: &at.partition };
            let row = self.shown(scan.table, bytes, &mut shown);
            if visit(ScannedRow { partition, clustering: &[], row }) == Visit::Stop {
                return Ok(());
            }
            if order != Ordering::Greater {
                rows.advance();
            }
            if order != Ordering::Less {
                deltas.advance();
            }
        }
    }
}

/// One side of a scan of rows and deltas.
struct Walk<'a> {
    cursor: TableCursor<'a>,
    /// The row that was met last.
    seen: Seen,
    at: At,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Between,
    Row,
    End,
}

/// A row that was met, copied: the cursor lends one only until it moves on.
#[derive(Default)]
struct Seen {
    token: Option<Token>,
    partition: Vec<u8>,
    sequence: Sequence,
    bytes: Vec<u8>,
}

impl Seen {
    fn take(&mut self, found: &TableRow<'_>) {
        self.token = Some(found.token);
        self.partition.clear();
        self.partition.extend_from_slice(found.partition);
        self.sequence = found.row.sequence;
        self.bytes.clear();
        self.bytes.extend_from_slice(found.row.bytes);
    }

    fn place(&self) -> (Option<Token>, &[u8]) {
        (self.token, &self.partition)
    }
}

impl<'a> Walk<'a> {
    fn new(cursor: TableCursor<'a>) -> Self {
        Self { cursor, seen: Seen::default(), at: At::Between }
    }

    /// The next row, until `advance`.
    fn peek(&mut self) -> Result<Option<&Seen>, ReadError> {
        if self.at == At::Between {
            self.at = match self.cursor.next()? {
                Some(found) => {
                    self.seen.take(&found);
                    At::Row
                }
                None => At::End,
            };
        }
        Ok((self.at == At::Row).then_some(&self.seen))
    }

    fn advance(&mut self) {
        if self.at == At::Row {
            self.at = At::Between;
        }
    }
}
