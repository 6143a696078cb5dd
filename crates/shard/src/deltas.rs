//! Deltas: writes to rows that are on the device, kept apart until the row is read anyway.
//!
//! A write of some columns has to be merged with the stored row. Reading the row would cost more than the write. So the write is stored alone, as
//! a delta, and merged when a read brings the row into memory: then the row is written whole and the delta forgotten.
//!
//! A delta is a row like others, under the same key in a companion table of the engine, whose records stay in memory. So everything that
//! holds for rows holds for deltas: they are durable when acknowledged, are recovered, moved and checkpointed.
//!
//! Invariants:
//! - A delta with a lower sequence than its row is outdated: the row contains it. After a restart there may be outdated deltas.
//! - A delta without a row is the row: the row's record was damaged, or another key has its token.
//! - Both are truncated and dropped together.
//!
//! `docs/decisions/0010-deltas.md` says why it is right, and what it gains.

use base::TableId;
use engine::Engine;
pub(crate) use engine::resident_of as companion;
use model::operation::batch_log;
use std::cell::Cell;
use std::collections::BTreeSet;

/// The part of the engine's memory that deltas may take. A byte of deltas saves more reads of the device than a byte of cached rows, which are larger.
const MEMORY_PART: f64 = 0.5;
/// What a delta takes besides its bytes: record header, alignment and index.
const OVERHEAD_BYTES: f64 = 96.0;
/// The mean size starts as if so many deltas of the usual size had been written.
const MEAN_OVER_LEAST: u64 = 64;
/// How often deltas are counted.
const COUNT_EVERY_US: u64 = 100_000;

/// The tables that a shard's engine has for those of the schema: each and its log of batches, with their companions.
pub fn stored_tables(tables: impl IntoIterator<Item = TableId>) -> BTreeSet<TableId> {
    tables.into_iter().flat_map(|table| [table, batch_log(table)]).flat_map(|table| [table, companion(table)]).collect()
}

/// How many deltas there are, and may be.
pub(crate) struct Deltas {
    /// At least as many as there are.
    count: Cell<u64>,
    /// The mean size of the deltas written last, about as many as there are.
    mean_bytes: Cell<f64>,
    /// Whether they were counted since the start.
    ready: bool,
    count_due_us: u64,
}

impl Default for Deltas {
    fn default() -> Self {
        Self { count: Cell::new(1), mean_bytes: Cell::new(256.0), ready: false, count_due_us: 0 }
    }
}

impl Deltas {
    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    /// Whether there may be one more.
    pub(crate) fn has_room(&self, engine: &Engine) -> bool {
        let bytes = self.count.get() as f64 * (self.mean_bytes.get() + OVERHEAD_BYTES);
        self.ready && bytes < engine.memory_limit_bytes() as f64 * MEMORY_PART && !engine.index_is_full()
    }

    /// One of so many bytes is being written.
    pub(crate) fn note(&self, bytes: usize) {
        let (mean, over) = (self.mean_bytes.get(), self.count.get().max(MEAN_OVER_LEAST));
        self.mean_bytes.set(mean + (bytes as f64 - mean) / over as f64);
        self.count.set(self.count.get() + 1);
    }

    /// Counts those of these tables, once in a while.
    pub(crate) fn count(&mut self, now_us: u64, engine: &Engine, tables: &BTreeSet<TableId>) {
        if now_us < self.count_due_us || !engine.is_ready() {
            return;
        }
        self.count_due_us = now_us.saturating_add(COUNT_EVERY_US);
        self.ready = true;
        self.count.set(tables.iter().map(|table| engine.table_rows(companion(*table))).sum());
    }
}
