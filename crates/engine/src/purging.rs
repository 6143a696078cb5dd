//! What may be purged: rows whose time has passed, unless somebody who was not there when they were written still has to hear of them.
//!
//! Invariant: no row is purged whose sequence is above the floor, on whatever way rows go: record by record (`defrag`), with the page they are in
//! (`paging`), or with their segment (`expiry`).

use crate::engine::Engine;
use crate::key::Sequence;

/// The floor, and what was purged so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purging {
    floor: Sequence,
    newest: Sequence,
}

/// Rows that were left out of something.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Purged {
    rows: u64,
    newest: Sequence,
}

impl Default for Purging {
    fn default() -> Self {
        Self { floor: Sequence(u64::MAX), newest: Sequence(0) }
    }
}

impl Purging {
    /// Whether a row of this sequence may be purged.
    pub(crate) fn allows(&self, sequence: Sequence) -> bool {
        sequence <= self.floor
    }
}

impl Purged {
    /// So many rows, none with a later sequence than this.
    pub(crate) fn new(rows: u64, newest: Sequence) -> Self {
        Self { rows, newest }
    }

    /// One row more.
    pub(crate) fn note(&mut self, sequence: Sequence) {
        self.rows += 1;
        self.newest = self.newest.max(sequence);
    }
}

impl Engine {
    /// All rows in segments of lower generations may be purged, for all that the floor says.
    pub(crate) fn purgeable_generation(&self) -> u64 {
        match self.purging.floor {
            Sequence(u64::MAX) => u64::MAX,
            floor => self.segments.generation_after(floor),
        }
    }

    /// Rows are gone.
    pub(crate) fn note_purged(&mut self, purged: Purged) {
        self.counters.rows_purged += purged.rows;
        self.purging.newest = self.purging.newest.max(purged.newest);
    }

    /// No row of a later sequence is purged from now on: somebody may not have it yet. `None` sets no limit, as at the start.
    pub fn set_purge_floor(&mut self, floor: Option<Sequence>) {
        self.purging.floor = floor.unwrap_or(Sequence(u64::MAX));
        #[cfg(test)]
        if self.planted == Some(crate::tests::Planted::PurgeAboveFloor) {
            self.purging.floor = Sequence(u64::MAX);
        }
        self.defrag.look_soon();
    }

    /// Whether rows of later sequences may have been purged, so that what is there does not tell all that was written after this one. After a
    /// start all rows of before may have been, unless [`Engine::restore_purged`] says better.
    #[must_use]
    pub fn purged_above(&self, sequence: Sequence) -> bool {
        self.purging.newest > sequence
    }

    /// Before this start no row of a later sequence was purged: the floor that the caller kept has seen to it. For when the engine has become
    /// ready, before its first `tick`.
    pub fn restore_purged(&mut self, newest: Sequence) {
        self.purging.newest = newest;
    }

    /// Nothing is known of what was purged before this start.
    pub(crate) fn forget_purged(&mut self) {
        self.purging.newest = self.recovered_sequence;
    }
}
