//! A container as its transaction sees it: committed rows, and what it has done itself.

use super::layout::{self, Change, Lock};
use crate::container::Container;
use base::{TableId, Token};
use model::operation::{Direction, PartitionKey, Position, RowStore, ScannedRow, Stop, Visit};
use std::collections::BTreeMap;

/// The rows that a statement of a transaction reads.
pub(crate) struct Overlay<'a> {
    container: &'a Container,
    number: i64,
    store: &'a dyn RowStore,
}

impl<'a> Overlay<'a> {
    pub(crate) fn new(container: &'a Container, number: i64, store: &'a dyn RowStore) -> Self {
        Self { container, number, store }
    }

    /// The row key that the transaction has locked by this number.
    pub(crate) fn locked_key(&self, ordinal: u64) -> Result<Option<&'a [u8]>, Stop> {
        let row = self.store.get(&layout::partition(self.container), &layout::change_key(self.number, ordinal))?;
        Ok(row.and_then(Change::of_row).map(|(key, _)| key))
    }

    fn own(&self, row_key: &[u8]) -> Result<Option<Change<'a>>, Stop> {
        let partition = layout::partition(self.container);
        let lock = self.store.get(&partition, &layout::lock_key(row_key))?.and_then(Lock::of_row);
        let Some(lock) = lock.filter(|lock| lock.number == self.number) else { return Ok(None) };
        let change = self.store.get(&partition, &layout::change_key(self.number, lock.ordinal))?;
        Ok(change.and_then(Change::of_row).map(|(_, change)| change))
    }

    /// Rows that it has put or deleted, in a range of keys.
    fn own_between(&self, from: &[u8], to: Option<&[u8]>) -> Result<BTreeMap<Vec<u8>, Option<Vec<u8>>>, Stop> {
        let mut own = BTreeMap::new();
        layout::scan_changes(self.container, self.number, self.store, &mut |_, key, change| {
            let row = match change {
                Change::Locked => return,
                Change::Put(row) => Some(row.to_vec()),
                Change::Deleted => None,
            };
            if from <= key && to.is_none_or(|to| key < to) {
                own.insert(key.to_vec(), row);
            }
        })?;
        Ok(own)
    }
}

impl RowStore for Overlay<'_> {
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        if partition.table == self.container.table.id {
            match self.own(clustering)? {
                Some(Change::Put(row)) => return Ok(Some(row)),
                Some(Change::Deleted) => return Ok(None),
                Some(Change::Locked) | None => {}
            }
        }
        self.store.get(partition, clustering)
    }

    fn has_rows(&self, table: TableId) -> bool {
        self.store.has_rows(table)
    }

    fn scan(
        &self,
        partition: &PartitionKey<'_>,
        from: &[u8],
        to: Option<&[u8]>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        if partition.table != self.container.table.id {
            return self.store.scan(partition, from, to, direction, visit);
        }
        let own = self.own_between(from, to)?;
        let mut own: Vec<_> = own.into_iter().collect();
        if direction == Direction::Reverse {
            own.reverse();
        }
        let mut own = own.into_iter().peekable();
        let is_before = |one: &[u8], other: &[u8]| if direction == Direction::Forward { one < other } else { one > other };
        let mut verdict = Visit::Continue;
        self.store.scan(partition, from, to, direction, &mut |key, row| {
            while let Some((own_key, own_row)) = own.next_if(|(own_key, _)| is_before(own_key, key)) {
                verdict = own_row.map_or(Visit::Continue, |own_row| visit(&own_key, &own_row));
                if verdict == Visit::Stop {
                    return Visit::Stop;
                }
            }
            verdict = match own.next_if(|(own_key, _)| own_key == key) {
                Some((_, own_row)) => own_row.map_or(Visit::Continue, |own_row| visit(key, &own_row)),
                None => visit(key, row),
            };
            verdict
        })?;
        for (key, row) in own {
            if verdict == Visit::Stop {
                break;
            }
            verdict = row.map_or(Visit::Continue, |row| visit(&key, &row));
        }
        Ok(())
    }

    fn scan_table(
        &self,
        table: TableId,
        from: Position<'_>,
        until: Token,
        visit: &mut dyn FnMut(ScannedRow<'_>) -> Visit,
    ) -> Result<(), Stop> {
        self.store.scan_table(table, from, until, visit)
    }
}
