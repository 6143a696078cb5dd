//! A shard that one thread drives: its disk, its turns, and waiting for what it waits for.

use super::error::RelayoutError;
use engine::{Engine, OpenError, Sequence};
use io_linux::{BlockingDisk, FileLayout, MappedMemory};
use shard::{Durability, Shard};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long to wait when nothing is under way, as for space that is asked for again later.
const PAUSE: Duration = Duration::from_millis(1);

/// A shard and its file.
pub(super) struct Store {
    pub(super) shard: Shard,
    disk: BlockingDisk,
}

impl Store {
    /// Opens the file and begins recovery. `configure` gets the file's length and read unit.
    pub(super) fn open(
        file: &FileLayout,
        memory: MappedMemory,
        tables: &BTreeSet<base::TableId>,
        truncations: BTreeMap<base::TableId, Sequence>,
        configure: impl FnOnce(u64, usize) -> engine::Config,
    ) -> Result<Result<Self, OpenError>, RelayoutError> {
        let disk = BlockingDisk::open(file)?;
        let marks = shard::stored_tables(tables.iter().copied());
        let marks = marks.into_iter().map(|table| (table, truncations.get(&table).copied().unwrap_or_default())).collect();
        let config = configure(disk.bytes(), disk.read_unit());
        Ok(Engine::open(config, Box::new(memory), &marks, BlockingDisk::now()).map(|engine| {
            // Nothing is answered before it is on the device.
            let mut shard = Shard::new(engine, Durability::Device, tables.clone(), truncations, 0);
            // Nobody runs operations here, only receivers and scans.
            shard.set_replicated(std::iter::empty());
            Self { shard, disk }
        }))
    }

    /// Turns until the log has been read.
    pub(super) fn recover(&mut self) -> Result<(), OpenError> {
        self.turn_until(|shard| shard.is_ready() || shard.engine().recovery_error().is_some());
        self.shard.engine().recovery_error().cloned().map_or(Ok(()), Err)
    }

    /// Turns until this is so, or the device has failed.
    pub(super) fn turn_until(&mut self, mut is_so: impl FnMut(&mut Shard) -> bool) {
        loop {
            self.shard.turn(BlockingDisk::now());
            for (tag, request) in self.shard.take_requests() {
                self.disk.start(tag, request);
            }
            let mut has_completed = false;
            while let Some(completion) = self.disk.next() {
                self.shard.completed(BlockingDisk::now(), completion);
                has_completed = true;
            }
            if is_so(&mut self.shard) || self.shard.engine().poisoned().is_some() {
                return;
            }
            if !has_completed && !self.shard.has_runnable() && !self.disk.wait() {
                std::thread::sleep(PAUSE);
            }
        }
    }
}
