//! Rows without those of data partitions that have expired, which their clients see no more from one moment on. The engine forgets them when it likes.

use crate::container::Container;
use base::{TableId, Token};
use model::operation::{Direction, PartitionKey, Position, RowStore, ScannedRow, Stop, Visit};

/// A data partition that has expired.
pub(super) struct Expired {
    table: TableId,
    partition: Box<[u8]>,
}

impl Expired {
    pub(super) fn of(container: &Container) -> Self {
        Self { table: container.table.id, partition: container.partition().bytes.into() }
    }
}

/// The rows of a store that have not expired.
pub(super) struct Unexpired<'s> {
    store: &'s dyn RowStore,
    expired: Vec<Expired>,
}

impl<'s> Unexpired<'s> {
    pub(super) fn new(store: &'s dyn RowStore, expired: Vec<Expired>) -> Self {
        Self { store, expired }
    }

    fn hides(&self, partition: &PartitionKey<'_>) -> bool {
        self.expired.iter().any(|expired| expired.table == partition.table && *expired.partition == *partition.bytes)
    }
}

impl RowStore for Unexpired<'_> {
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        if self.hides(partition) { Ok(None) } else { self.store.get(partition, clustering) }
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
        if self.hides(partition) { Ok(()) } else { self.store.scan(partition, from, to, direction, visit) }
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
