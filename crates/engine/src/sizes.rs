//! How many partitions a table has, and how large they are, nearly: for whoever divides a table among readers.
//!
//! Partitions are counted by slot, from what the index keeps anyway. Their sizes are those of a sample, from the lengths that
//! locations hold: nothing is read from the device.

use crate::engine::Engine;
use crate::index::{Partition, SlotIndex};
use crate::location::{Location, Target};
use base::{Slot, TableId};

/// So many partitions are sampled wherever they are, and after that those of some slots.
const SAMPLED_FIRST: u64 = 64;
/// One slot of so many is sampled.
const SAMPLED_SLOTS: u16 = 16;
/// So many partitions of a slot are sampled.
const SAMPLED_IN_SLOT: usize = 4;

/// A table's partitions on one shard. Deleted ones count until they are purged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSizes {
    /// How many there are.
    pub partitions: u64,
    /// How many of them were looked at.
    pub sampled: u64,
    /// The bytes that the sampled ones take on the device.
    pub sampled_bytes: u64,
}

impl TableSizes {
    /// What a partition takes, on average.
    #[must_use]
    pub fn partition_bytes(&self) -> u64 {
        self.sampled_bytes.checked_div(self.sampled).unwrap_or(0)
    }

    /// Adds what another shard has.
    pub fn add(&mut self, other: Self) {
        self.partitions += other.partitions;
        self.sampled += other.sampled;
        self.sampled_bytes += other.sampled_bytes;
    }
}

impl Engine {
    /// What a table has in those of its slots that `counts` takes.
    #[must_use]
    pub fn table_sizes(&self, table: TableId, counts: impl Fn(Slot) -> bool) -> TableSizes {
        let mut sizes = TableSizes::default();
        let Some(index) = self.index.table(table) else { return sizes };
        for slot in self.table_slots(table).filter(|slot| counts(*slot)) {
            let Some(cells) = index.slot(slot) else { continue };
            sizes.partitions += cells.count() as u64;
            if sizes.sampled < SAMPLED_FIRST || slot.0.is_multiple_of(SAMPLED_SLOTS) {
                self.sample(cells, &mut sizes);
            }
        }
        sizes
    }

    fn sample(&self, cells: &SlotIndex, sizes: &mut TableSizes) {
        for cell in cells.cells().take(SAMPLED_IN_SLOT) {
            let bytes = match cell.location.target() {
                Target::Partition(number) => self.index.partitions.try_get(number).map_or(0, partition_bytes),
                Target::Record => cell.location.padded() as u64,
                Target::Empty => 0,
            };
            sizes.sampled += 1;
            sizes.sampled_bytes += bytes;
        }
    }
}

/// All rows and pages are taken to be as long as the first ones are on average.
fn partition_bytes(partition: &Partition) -> u64 {
    let rows = &partition.rows;
    let first = rows.leaves_from(&[]).next().map_or(&[][..], |(_, leaf)| leaf.locations());
    let in_pages = rows.pages().map_or(0, |pages| pages.rows());
    let pages = rows.pages().map_or(0, |pages| extrapolate(pages.locations().take(SAMPLED_IN_SLOT), pages.len()));
    extrapolate(first.iter().copied(), rows.len() - in_pages) + pages
}

fn extrapolate(sample: impl Iterator<Item = Location>, all: usize) -> u64 {
    let (count, bytes) = sample.fold((0, 0), |(count, bytes), location| (count + 1, bytes + location.padded() as u64));
    (bytes * all as u64).checked_div(count).unwrap_or(0)
}
