//! Checkpoints of the index: when one is begun, which segments it has, and when it is given up.
//!
//! 1. A checkpoint is begun when the log has grown enough since the last one, and when the shard is shut down.
//! 2. The index goes out in slices, into segments from the free ones (`write`).
//! 3. When the device has all of it, and everything that it names, it is committed by a record in the header block of its first segment.
//! 4. Then the segments of the one before are freed.
//!
//! Recovery loads the last one and reads only what was appended since it was begun: `recovery/checkpoint.rs`.
//! `docs/decisions/0006-checkpoints.md` says why it is right.
//!
//! Invariants: a checkpoint never costs a write: its segments are given back before the device is called full; the segments of the last
//! complete one are kept until the next is committed, or none is wanted any more.

mod beside;
mod write;

use crate::engine::Engine;
use crate::format::checkpoint::Chunks;
use crate::location::SegmentId;
use crate::log::Point;
use crate::segments::Usage;
use crate::write::RESERVE_PUT;
use base::{AlignedBuffer, TableId, Token};
use io::Now;
use std::collections::BTreeMap;
use write::Writer;

/// A checkpoint is begun when the log has grown by this many times what one takes.
const INDEX_FACTOR: u64 = 4;
/// At shutdown the log must have grown by this part of what is asked for otherwise.
const SHUTDOWN_SHARE: u64 = 64;
/// How long to wait after one was given up.
const RETRY_US: u64 = 10_000_000;

/// The shard's checkpoints.
#[derive(Default)]
pub(crate) struct Checkpoints {
    /// The segments of the last complete one.
    complete: Vec<SegmentId>,
    writer: Option<Writer>,
    /// The last number given out or seen.
    last_number: u64,
    /// Where the log was when the last complete one was begun.
    begun_position: u64,
    /// Bytes that the log had grown since then when the shard was opened.
    carried_bytes: u64,
    /// Where the log was when the last one was begun, complete or not: see `beside`.
    barrier: Point,
    /// Tokens that have got a second key since then, or will: what of the log the device must have before.
    beside: BTreeMap<(TableId, Token), u64>,
    retry_us: u64,
    /// Shutdown goes on without one.
    refused: bool,
    buffers: Vec<AlignedBuffer>,
    pub(crate) written: u64,
}

impl Checkpoints {
    /// Segments that are not the log's.
    pub(crate) fn segments_held(&self) -> usize {
        self.complete.len() + self.writer.as_ref().map_or(0, |writer| writer.segments.len())
    }

    /// Memory of buffers, in flight and kept.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.len()).sum::<usize>() + self.writer.as_ref().map_or(0, Writer::buffer_bytes)
    }

    /// Recovery has seen this number.
    pub(crate) fn saw_number(&mut self, number: u64) {
        self.last_number = self.last_number.max(number);
    }

    /// Recovery has loaded a checkpoint that was begun at `start`.
    pub(crate) fn loaded(&mut self, start: Point, segments: Vec<SegmentId>) {
        self.complete = segments;
        self.barrier = start;
    }

    /// Recovery has read this many bytes of log that no checkpoint covers.
    pub(crate) fn carry(&mut self, bytes: u64) {
        self.carried_bytes += bytes;
    }
}

impl Engine {
    /// One slice of writing a checkpoint. True when there is more to do at once.
    pub(crate) fn checkpoint_tick(&mut self, now: Now) -> bool {
        if self.poisoned.is_some() {
            return false;
        }
        if self.checkpoints_are_too_much() {
            self.give_up_checkpoints(now);
        }
        if self.checkpoints.writer.is_none() && self.wants_checkpoint(now.monotonic_us) {
            self.begin_checkpoint();
        }
        self.write_checkpoint(now)
    }

    /// When `checkpoint_tick` wants to be called although nothing happens.
    pub(crate) fn checkpoint_due_us(&self, now: Now) -> Option<u64> {
        const LOOK_INTERVAL_US: u64 = 5_000;
        self.checkpoints.writer.as_ref().filter(|writer| writer.lacks_space).map(|_| now.monotonic_us.saturating_add(LOOK_INTERVAL_US))
    }

    /// Whether shutdown has to wait for a checkpoint.
    pub(crate) fn checkpoint_is_pending(&self) -> bool {
        self.closing && self.poisoned.is_none() && (self.checkpoints.writer.is_some() || self.wants_checkpoint(u64::MAX))
    }

    /// What the log has grown by since the last complete checkpoint was begun.
    fn log_growth(&self) -> u64 {
        self.log.position - self.checkpoints.begun_position + self.checkpoints.carried_bytes
    }

    fn wants_checkpoint(&self, now_us: u64) -> bool {
        let bytes_min = self.config.checkpoint_bytes_min;
        if bytes_min == u64::MAX || self.recovery.is_some() {
            return false;
        }
        let least =
            if self.closing { bytes_min / SHUTDOWN_SHARE } else { bytes_min.max(INDEX_FACTOR * self.index.snapshot_bytes() as u64) };
        if self.log_growth() <= least {
            return false;
        }
        let allowed = if self.closing { !self.checkpoints.refused && !self.drops.has_held() } else { now_us >= self.checkpoints.retry_us };
        allowed && self.has_room_for_checkpoint()
    }

    /// Segments that the file can have, as far as is known.
    fn segments_possible(&self) -> u64 {
        if self.growth.may_grow() { self.growth.capacity() as u64 } else { self.segments.len() as u64 }
    }

    /// Whether what is live leaves room for one more.
    fn has_room_for_checkpoint(&self) -> bool {
        let segment_bytes = u64::from(self.config.segment_bytes);
        let needed = Chunks::new(self.config.segment_bytes).segments(self.index.snapshot_bytes() as u64) + 1;
        let held = self.checkpoints.segments_held() as u64;
        self.segments.live_bytes() + (held + needed + RESERVE_PUT as u64) * segment_bytes
            <= self.segments_possible() * segment_bytes / 8 * 7
    }

    /// Whether what is live needs the room of the checkpoints.
    fn checkpoints_are_too_much(&self) -> bool {
        let held = self.checkpoints.segments_held();
        if held == 0 || self.growth.may_grow() {
            return false;
        }
        let segment_bytes = u64::from(self.config.segment_bytes);
        let crowded = self.segments.live_bytes() + held as u64 * segment_bytes > self.segments.len() as u64 * segment_bytes / 16 * 15;
        let stuck = self.segments.free_count() + self.segments.soon_free_count() <= RESERVE_PUT && !self.defrag.hopeful;
        crowded || stuck
    }

    /// Gives the segments of all checkpoints back, as soon as nothing is being written to them. The next start reads the whole log.
    fn give_up_checkpoints(&mut self, now: Now) {
        self.abandon_checkpoint(now);
        if self.checkpoints.writer.as_ref().is_some_and(Writer::is_committing) {
            return;
        }
        let segments = std::mem::take(&mut self.checkpoints.complete);
        // All of the log has to be read now.
        self.checkpoints.carried_bytes = self.segments.live_bytes();
        self.free_checkpoint(now, &segments);
    }

    /// Frees segments that no write is on its way to.
    fn free_checkpoint(&mut self, now: Now, segments: &[SegmentId]) {
        for segment in segments {
            self.segments.set_usage(*segment, Usage::Emptied { until: 0 });
        }
        if !segments.is_empty() {
            self.flush.due_at(now.monotonic_us);
        }
    }
}
