//! The engine of one shard: what it consists of, its turn, and what it says of itself.
//!
//! It is driven from outside: `complete` brings what the disk has done, `tick` lets background work go on for a slice, and
//! `take_requests` hands out what the disk shall do next. It reads no clock, opens no file and never blocks. One instance a core,
//! used by one thread.

use crate::cache::Cache;
use crate::checkpoint::Checkpoints;
use crate::cold::Cold;
use crate::config::Config;
use crate::damage::DamageWalk;
use crate::dead_runs::DeadRuns;
use crate::defrag::Defrag;
use crate::drops::Drops;
use crate::encryption::{DeviceCipher, Mirrors, Stable};
use crate::error::{NoSpace, OpenError, WriteError};
use crate::expiry::Expiry;
use crate::fetch::Fetches;
use crate::flush::Flush;
use crate::growth::Growth;
use crate::index::{Index, Limits};
use crate::key::Sequence;
use crate::large_partitions::LargePartitions;
use crate::load::Loads;
use crate::log::Log;
use crate::marks::Marks;
use crate::memory::Memory;
use crate::pages::Pages;
use crate::paging::Paging;
use crate::prefixes::Prefixes;
use crate::purging::Purging;
use crate::recovery::{DamageReport, Recovery, RecoveryProgress};
use crate::scrub::Scrub;
use crate::segments::Segments;
use crate::stats::Counters;
use crate::tags::Purpose;
use crate::witness::Turns;
use crate::write::Appender;
use base::{AlignedBuffer, TableId};
use io::{DiskCompletion, DiskError, DiskRequest, DiskTag, Now, StableMemory};
use std::collections::BTreeMap;

/// Index, log and memory of one shard.
pub struct Engine {
    pub(crate) config: Config,
    pub(crate) index: Index,
    pub(crate) memory: Memory,
    pub(crate) segments: Segments,
    pub(crate) log: Log,
    pub(crate) stable: Stable,
    pub(crate) mirror_slots: usize,
    pub(crate) flush: Flush,
    pub(crate) growth: Growth,
    pub(crate) fetches: Fetches,
    pub(crate) loads: Loads,
    pub(crate) cache: Cache,
    pub(crate) cold: Cold,
    pub(crate) defrag: Defrag,
    pub(crate) expiry: Expiry,
    pub(crate) purging: Purging,
    pub(crate) drops: Drops,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) scrub: Scrub,
    pub(crate) turns: Turns,
    pub(crate) marks: Marks,
    pub(crate) pages: Pages,
    pub(crate) paging: Paging,
    pub(crate) large_partitions: LargePartitions,
    pub(crate) prefixes: Prefixes,
    pub(crate) dead_runs: DeadRuns,
    /// What graphs of vectors take of the shard's memory.
    pub(crate) graph_bytes: usize,
    pub(crate) recovery: Option<Recovery>,
    pub(crate) progress: RecoveryProgress,
    pub(crate) damage_reports: Vec<DamageReport>,
    pub(crate) damage_walk: DamageWalk,
    pub(crate) accepted_losses: Vec<OpenError>,
    pub(crate) lacks_rows: bool,
    /// The last row that was written before the start.
    pub(crate) recovered_sequence: Sequence,
    /// Buffers of a checkpoint that is being loaded.
    pub(crate) spare_chunks: Vec<AlignedBuffer>,
    pub(crate) outbox: Vec<(DiskTag, DiskRequest)>,
    pub(crate) encryption: Option<Box<DeviceCipher>>,
    pub(crate) poisoned: Option<DiskError>,
    pub(crate) closing: bool,
    pub(crate) counters: Counters,
    #[cfg(test)]
    pub(crate) planted: Option<crate::tests::Planted>,
}

impl Engine {
    /// Opens a shard. Recovery starts at once: pass on requests and completions until `is_ready`.
    ///
    /// `tables` are the tables that exist, each with its truncation mark: records with lower sequences are dead. Records of other
    /// tables are dead altogether. `stable` is what the shard had before if the process died, and of the same size.
    ///
    /// # Errors
    /// When the configuration contradicts itself. What only the device can tell is found later: see `recovery_error`.
    pub fn open(config: Config, stable: Box<dyn StableMemory>, tables: &BTreeMap<TableId, Sequence>, now: Now) -> Result<Self, OpenError> {
        config.check(stable.len())?;
        let stable = Stable::new(stable, &config);
        let mut log = Log::new(config.store, now.wall_us, config.segment_bytes);
        let mut index = Index::new(Limits { leaf_rows: config.leaf_rows_max, overlay_rows: config.overlay_rows_max() });
        for (table, mark) in tables {
            index.create_table(*table);
            log.saw_sequence(*mark);
        }
        let file_segments = config.file_segments();
        let growth = Growth::new(file_segments, config.capacity_bytes, config.segment_bytes);
        let mut segments = Segments::new(config.store);
        segments.grow(file_segments);
        let mut engine = Self {
            index,
            memory: Memory::new(),
            segments,
            log,
            mirror_slots: stable.len() / config.segment_bytes as usize,
            stable,
            flush: Flush::new(config.segment_bytes as usize),
            growth,
            fetches: Fetches::new(),
            loads: Loads::default(),
            cache: Cache::default(),
            cold: Cold::default(),
            defrag: Defrag::default(),
            expiry: Expiry::default(),
            purging: Purging::default(),
            drops: Drops::default(),
            pages: Pages::new(config.memory_limit_bytes),
            paging: Paging::default(),
            large_partitions: LargePartitions::default(),
            prefixes: Prefixes::default(),
            dead_runs: DeadRuns::default(),
            graph_bytes: 0,
            checkpoints: Checkpoints::default(),
            scrub: Scrub::default(),
            turns: Turns::default(),
            marks: Marks::default(),
            recovery: Some(Recovery::new(tables.clone(), config.memory_limit_bytes, now.monotonic_us)),
            progress: RecoveryProgress::default(),
            damage_reports: Vec::new(),
            damage_walk: DamageWalk::default(),
            accepted_losses: Vec::new(),
            lacks_rows: false,
            recovered_sequence: Sequence(0),
            spare_chunks: Vec::new(),
            outbox: Vec::new(),
            encryption: config.log_key.as_ref().map(|key| Box::new(DeviceCipher::new(key, &config))),
            poisoned: None,
            closing: false,
            counters: Counters::default(),
            #[cfg(test)]
            planted: None,
            config,
        };
        engine.recover(now.monotonic_us);
        Ok(engine)
    }

    /// Takes the requests that the disk shall do now. Their tags are below 2^63.
    pub fn take_requests(&mut self) -> std::vec::Drain<'_, (DiskTag, DiskRequest)> {
        if let Some(encryption) = &mut self.encryption {
            let mirrors = Mirrors { stable: &self.stable, log: &self.log };
            encryption.requested(&mut self.outbox, &mirrors);
        }
        self.outbox.drain(..)
    }

    /// A request was done. Tags that are not the engine's are ignored.
    pub fn complete(&mut self, now: Now, mut completion: DiskCompletion) {
        let Some(purpose) = Purpose::of(completion.tag) else { return };
        if let Some(encryption) = &mut self.encryption {
            let ranges = if let Purpose::Fetch(place) = purpose { self.fetches.ranges(place) } else { None };
            encryption.completed(&mut completion, ranges);
        }
        match purpose {
            Purpose::FlushWrite | Purpose::FlushSync => self.flush_completed(now.monotonic_us, purpose, completion),
            Purpose::Extend => self.extended(completion.result),
            Purpose::Fetch(place) => self.fetched(place, completion),
            Purpose::Header(number) => self.header_read(number, completion),
            Purpose::Load(id) => {
                self.loaded(id, completion);
            }
            Purpose::CheckpointWrite | Purpose::CheckpointSync => self.checkpoint_completed(now, completion),
            Purpose::CheckpointRead(index) => self.checkpoint_read(index, completion),
            Purpose::Scrub => self.scrubbed(now.monotonic_us, &completion),
            Purpose::Populate => self.memory.populated(completion.buffer),
        }
        if self.recovery.is_some() {
            self.recover(now.monotonic_us);
        }
    }

    /// One slice of background work: flushing, releasing dropped tables, defragmentation, making pages, eviction, checkpoints, scrub. Call it
    /// once a turn.
    ///
    /// Returns when it wants to be called again although nothing happens, in monotonic microseconds; `now` means at once.
    pub fn tick(&mut self, now: Now) -> Option<u64> {
        if self.recovery.is_some() {
            return None;
        }
        self.pages.end_turn();
        self.flush_tick(now.monotonic_us);
        self.drop_slice();
        let mut more = self.drops.has_work();
        more |= self.expiry_tick(now);
        more |= self.defrag_tick(now);
        more |= self.page_tick(now);
        more |= self.cache_tick();
        more |= self.checkpoint_tick(now);
        more |= self.damage_tick();
        self.end_run_tick(now.monotonic_us);
        // Defragmentation may have sealed a segment.
        self.flush_tick(now.monotonic_us);
        if more {
            return Some(now.monotonic_us);
        }
        let scrub = self.scrub_tick(now.monotonic_us);
        [self.flush_due_us(), self.defrag_due_us(now.monotonic_us), self.checkpoint_due_us(now), scrub].into_iter().flatten().min()
    }

    /// When what was written since the last `tick` wants to be flushed, in monotonic microseconds.
    #[must_use]
    pub fn flush_due_us(&self) -> Option<u64> {
        if self.poisoned.is_none() { self.flush.due_us() } else { None }
    }

    /// Whether a write of ordinary size would be accepted now.
    #[must_use]
    pub fn writable(&self) -> bool {
        let has_memory = !(self.index_is_full() && self.index_shrinks());
        has_memory && self.check_accepting().is_ok() && self.segments.free_count() >= crate::write::RESERVE_PUT && {
            let room = self
                .log
                .open
                .as_ref()
                .is_some_and(|open| open.used + self.config.segment_bytes as usize / 8 <= self.config.segment_bytes as usize);
            room || (self.check_free_segments(Appender::Put).is_ok() && !self.log.slots_free.is_empty())
        }
    }

    /// Refuses further writes, sends everything to the device and writes a checkpoint. Done when `is_clean`, for which turns are needed;
    /// reads go on.
    pub fn shutdown(&mut self) {
        self.closing = true;
        self.request_flush();
    }

    /// Whether the device has everything that was written, nothing is under way, and, after `shutdown`, the device says that this is so.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.is_settled() && (!self.closing || self.marks.has_ended())
    }

    /// Whether the device has everything that was written, and nothing is under way.
    pub(crate) fn is_settled(&self) -> bool {
        self.recovery.is_none()
            && self.flush.is_idle()
            && self.flush.durable_position == self.log.position
            && self.log.sealed.is_empty()
            && self.log.cold.is_none()
            && self.flush.patches.is_empty()
            && self.fetches.is_idle()
            && self.loads.is_idle()
            && self.scrub.is_idle()
            && !self.growth.is_extending()
            && !self.checkpoint_is_pending()
    }

    /// The failure that poisoned the shard, if one has.
    #[must_use]
    pub fn poisoned(&self) -> Option<&DiskError> {
        self.poisoned.as_ref()
    }

    /// The tables that the engine knows.
    pub fn tables(&self) -> impl Iterator<Item = TableId> + '_ {
        self.index.table_ids()
    }

    /// Whether an ordinary write is refused for want of space, not for a moment only.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full().is_some()
    }

    /// What has no space, if an ordinary write is refused for that.
    #[must_use]
    pub fn full(&self) -> Option<NoSpace> {
        match self.check_free_segments(Appender::Put) {
            Err(WriteError::Full { space }) => Some(space),
            _ => None,
        }
    }

    /// Whether writes of new rows are refused for want of space, on the device or in the memory that the index may have.
    #[must_use]
    pub fn has_no_room(&self) -> bool {
        self.is_full() || self.index_is_full() && !self.index_shrinks()
    }
}
