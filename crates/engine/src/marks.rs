//! The marks of a run: what header blocks and the stable memory say of the run that wrote them (`format/mark.rs`).
//!
//! 1. Recovery numbers the run, puts its mark into the stable memory, and then into a header block, before anything is acknowledged.
//! 2. Header blocks written by the run carry its mark, and so do the mirror slots: what the device has for certain is put there after each sync.
//! 3. When the shard was told to end and the device has everything, one header block gets a mark that says so. The next run overwrites it.
//!
//! So recovery knows whether the device lacks what it had, and whether the stable memory is the one that the last run had, or is needed at all:
//! `recovery/losses.rs`.
//!
//! Invariants: of all marks on the device at most one says *ended*, and only while no run has been since; the stable memory never knows of less than
//! the device, unless the machine has lost power.

use crate::engine::Engine;
use crate::format::mark::{MARK_OFFSETS, Mark, RunState};
use crate::format::segment_header::HeaderState;
use crate::format::witness::{self, Witness};
use crate::key::Sequence;
use crate::location::SegmentId;
use crate::segments::Usage;
use base::{AlignedBuffer, BLOCK_BYTES};

/// The mark of this run.
#[derive(Default)]
pub(crate) struct Marks {
    /// `None` until recovery has everything on the device.
    current: Option<Mark>,
    /// What the device has for certain: generation of the latest segment, bytes of it.
    newest: (u64, u32),
    sequence: Sequence,
    file_segments: u32,
    ending: Ending,
}

/// How far the end of the run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ending {
    #[default]
    NotYet,
    /// The mark that says so is on its way.
    Writing,
    Done,
}

impl Marks {
    /// Adds the mark of this run to a header block.
    pub(crate) fn fill_block(&self, block: &mut [u8]) {
        if let Some(mark) = &self.current {
            mark.fill_block(block);
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ending == Ending::Done
    }
}

impl Engine {
    /// The run begins: all that was found is on the device. The stable memory gets the mark; the block that the last run has marked is to be
    /// rewritten, before anything is acknowledged.
    pub(crate) fn begin_run(&mut self, run: u32, state: RunState, last: Option<(SegmentId, Vec<Witness>)>) {
        let on_device = |usage| matches!(usage, Usage::Stored | Usage::Free | Usage::Draining);
        let newest =
            self.segments.iter().filter(|(_, entry)| on_device(entry.usage)).map(|(_, entry)| (entry.generation, entry.used)).max();
        self.marks.newest = newest.unwrap_or_default();
        self.marks.file_segments = self.segments.len() as u32;
        self.marks.sequence = self.log.last_sequence();
        self.marks.current =
            Some(Mark { state, store: self.config.store, shard: self.config.shard, run, boot: self.config.boot, ..Mark::default() });
        self.mark_stable();
        if let Some((segment, witnesses)) = last {
            self.rewrite_mark(segment, &witnesses, state);
        }
    }

    /// A cycle has ended: the device has these segments up to there, and the file so many.
    pub(crate) fn note_durable(&mut self, segments: &[(SegmentId, usize)], sequence: Sequence, file_segments: usize) {
        let newest = segments.iter().map(|(segment, used)| (self.segments.get(*segment).generation, *used as u32)).max();
        self.marks.newest = self.marks.newest.max(newest.unwrap_or_default());
        self.marks.file_segments = self.marks.file_segments.max(file_segments as u32);
        self.marks.sequence = self.marks.sequence.max(sequence);
        self.mark_stable();
        if self.marks.ending == Ending::Writing {
            self.marks.ending = Ending::Done;
        }
    }

    /// Puts the mark into every mirror slot.
    fn mark_stable(&mut self) {
        let Self { marks, stable, config, mirror_slots, .. } = self;
        let Some(mark) = &mut marks.current else { return };
        (mark.generation, mark.bytes) = marks.newest;
        (mark.segments, mark.sequence) = (marks.file_segments, marks.sequence.0);
        let bytes = mark.encode();
        for slot in 0..*mirror_slots {
            stable.write(slot * config.segment_bytes as usize + MARK_OFFSETS[0], &bytes);
        }
    }

    /// Once everything is on the device and the shard takes no more writes, a header block says so.
    pub(crate) fn end_run_tick(&mut self, now_us: u64) {
        if !self.closing || self.marks.ending != Ending::NotYet || self.poisoned.is_some() || !self.is_settled() {
            return;
        }
        let may_hold = |usage| matches!(usage, Usage::Stored | Usage::Free);
        let candidates = self.segments.iter().filter(|(_, entry)| may_hold(entry.usage) && entry.generation > 0);
        let Some((segment, _)) = candidates.max_by_key(|(_, entry)| entry.generation).map(|(id, entry)| (id, entry.generation)) else {
            // Nothing was ever written.
            self.marks.ending = Ending::Done;
            return;
        };
        let witnesses = self.witnesses();
        self.rewrite_mark(segment, &witnesses, RunState::Ended);
        self.marks.ending = Ending::Writing;
        self.flush.due_at(now_us);
    }

    /// Has a header block rewritten that says the same, with the mark of this run.
    fn rewrite_mark(&mut self, segment: SegmentId, witnesses: &[Witness], state: RunState) {
        let Some(mark) = self.marks.current else { return };
        let entry = self.segments.get(segment);
        let is_free = entry.usage == Usage::Free;
        let mut header = self.header_of(segment, if is_free { HeaderState::Free } else { HeaderState::Used });
        if is_free {
            // Of a free segment nothing else is remembered.
            header.base_sequence = Sequence(self.log.last_sequence().0);
        }
        let mut block = AlignedBuffer::zeroed(BLOCK_BYTES);
        header.fill_block(&mut block);
        witness::fill_block(&mut block, self.config.store, self.config.shard, witnesses);
        Mark { state, ..mark }.fill_block(&mut block);
        self.flush.patches.push((segment, 0, block));
    }
}
