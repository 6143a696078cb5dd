//! From the frames to the device: flush cycles of writes and one sync, one cycle at a time.
//!
//! A cycle writes 1. what is new of the sealed segments, from their frames, 2. free markers of segments whose records have all moved to
//! durable places, 3. seals that recovery puts at the end of segments that had none, and marks of runs, 4. what is new of the open segment, through a few
//! bounce buffers, one after the other, as it goes on changing. Then it syncs. Everything that was appended before the cycle started is
//! durable when it ends.
//!
//! Invariants: no two writes to the same block are in flight; a mirror slot and a segment are given free only after the sync; the
//! tail block of the open segment is rewritten with the same bytes before its new ones, so a torn sector write loses nothing that was
//! durable. The first failure poisons the shard: nothing is written after it.

use crate::engine::Engine;
use crate::format::segment_header::HeaderState;
use crate::key::Sequence;
use crate::location::SegmentId;
use crate::log::Sealed;
use crate::segments::Usage;
use crate::tags::Purpose;
use base::{AlignedBuffer, BLOCK_BYTES};
use io::{DiskCompletion, DiskRequest, WriteSource};
use std::ops::Range;
use std::rc::Rc;

/// One write to the device is at most this long, so that reads are not stuck behind it.
const WRITE_BYTES_MAX: usize = 1 << 20;
/// A bounce buffer, if segments are not shorter.
const BOUNCE_BYTES_MAX: usize = 256 << 10;
/// So many bounce buffers there are at most. They are kept: fresh memory costs more than copying into it.
const BOUNCES_MAX: usize = 4;

/// A flush cycle under way.
struct Cycle {
    writes_left: usize,
    syncing: bool,
    position: u64,
    sequence: Sequence,
    /// What is still to be written of the segment that was open when the cycle began.
    open: Option<(SegmentId, Range<usize>)>,
    /// How far each segment will be durable.
    segments: Vec<(SegmentId, usize)>,
    /// How many segments the file has had since the cycle began.
    file_segments: usize,
    /// Segments whose free marker the cycle writes.
    freed: Vec<SegmentId>,
}

/// The state of flushing.
pub(crate) struct Flush {
    cycle: Option<Cycle>,
    /// When the next cycle has to start.
    due_us: Option<u64>,
    pub(crate) durable_position: u64,
    pub(crate) durable_sequence: Sequence,
    bounce_bytes: usize,
    buffers: Vec<AlignedBuffer>,
    /// Blocks that recovery or the end of a run wants written: segment, offset, bytes.
    pub(crate) patches: Vec<(SegmentId, usize, AlignedBuffer)>,
    /// The next cycle syncs even if it has nothing to write.
    pub(crate) sync_anyway: bool,
    pub(crate) bytes_written: u64,
    pub(crate) syncs: u64,
}

impl Flush {
    pub(crate) fn new(segment_bytes: usize) -> Self {
        Self {
            cycle: None,
            due_us: None,
            durable_position: 0,
            durable_sequence: Sequence(0),
            bounce_bytes: segment_bytes.min(BOUNCE_BYTES_MAX),
            buffers: Vec::new(),
            patches: Vec::new(),
            sync_anyway: false,
            bytes_written: 0,
            syncs: 0,
        }
    }

    /// A cycle has to start by then.
    pub(crate) fn due_at(&mut self, us: u64) {
        self.due_us = Some(self.due_us.map_or(us, |due| due.min(us)));
    }

    pub(crate) fn due_us(&self) -> Option<u64> {
        self.due_us.filter(|_| self.cycle.is_none())
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.cycle.is_none()
    }

    /// Memory of bounce buffers that are not in flight.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffers.len() * self.bounce_bytes
    }

    fn bounce(&mut self) -> AlignedBuffer {
        self.buffers.pop().unwrap_or_else(|| AlignedBuffer::zeroed(self.bounce_bytes))
    }
}

impl Engine {
    /// The sequence of the row that was written last.
    #[must_use]
    pub fn last_sequence(&self) -> Sequence {
        self.log.last_sequence()
    }

    /// The last sequence that the device has, with all before it: what survives the loss of power.
    #[must_use]
    pub fn durable_sequence(&self) -> Sequence {
        self.flush.durable_sequence
    }

    /// Asks for everything written so far to go to the device now (group commit): `durable_sequence` tells when it is there. The
    /// requests go out at the next `tick`.
    pub fn request_flush(&mut self) {
        self.flush.due_us = Some(0);
    }

    /// Starts a cycle if one is due and none is under way.
    pub(crate) fn flush_tick(&mut self, now_us: u64) {
        if self.poisoned.is_none() && self.flush.due_us().is_some_and(|due| due <= now_us) {
            self.start_cycle();
        }
    }

    fn start_cycle(&mut self) {
        self.flush.due_us = None;
        let mut cycle = Cycle {
            writes_left: 0,
            syncing: false,
            position: self.log.position,
            sequence: self.log.last_sequence(),
            open: None,
            segments: Vec::new(),
            file_segments: self.segments.len(),
            freed: Vec::new(),
        };
        self.write_sealed(&mut cycle);
        self.write_free_markers(&mut cycle);
        self.write_patches(&mut cycle);
        self.begin_open(&mut cycle);
        self.write_open(&mut cycle);
        let (writes, sync) = (cycle.writes_left, std::mem::take(&mut self.flush.sync_anyway));
        if writes > 0 || sync {
            self.flush.cycle = Some(cycle);
        }
        if writes == 0 && sync {
            self.sync_cycle();
        }
    }

    fn sync_cycle(&mut self) {
        if let Some(cycle) = &mut self.flush.cycle {
            cycle.syncing = true;
            self.flush.syncs += 1;
            self.outbox.push((Purpose::FlushSync.tag(), DiskRequest::Sync { file: self.config.file }));
        }
    }

    fn device_offset(&self, segment: SegmentId, offset: usize) -> u64 {
        u64::from(segment.0) * u64::from(self.config.segment_bytes) + offset as u64
    }

    fn write(&mut self, cycle: &mut Cycle, segment: SegmentId, offset: usize, source: WriteSource) {
        let bytes = match &source {
            WriteSource::Owned(_, bytes) => *bytes,
            WriteSource::Shared(_, range) => range.len(),
        };
        self.flush.bytes_written += bytes as u64;
        cycle.writes_left += 1;
        let offset = self.device_offset(segment, offset);
        self.outbox.push((Purpose::FlushWrite.tag(), DiskRequest::Write { file: self.config.file, offset, source }));
    }

    fn write_sealed(&mut self, cycle: &mut Cycle) {
        for index in 0..self.log.sealed.len() {
            let Sealed { segment, used, durable, .. } = self.log.sealed[index];
            cycle.segments.push((segment, used));
            let frame = Rc::clone(&self.memory.frame(segment).expect("a sealed segment keeps its frame").bytes);
            let end = used.next_multiple_of(BLOCK_BYTES);
            let mut start = durable / BLOCK_BYTES * BLOCK_BYTES;
            while durable < used && start < end {
                let stop = end.min(start + WRITE_BYTES_MAX);
                self.write(cycle, segment, start, WriteSource::Shared(Rc::clone(&frame), start..stop));
                start = stop;
            }
        }
    }

    fn begin_open(&mut self, cycle: &mut Cycle) {
        let Some(open) = &self.log.open else { return };
        cycle.segments.push((open.segment, open.used));
        if open.durable < open.used {
            cycle.open = Some((open.segment, open.durable / BLOCK_BYTES * BLOCK_BYTES..open.used));
        }
    }

    /// Goes on with the segment that was open, as far as there are buffers. What was appended before the cycle began does not change any more.
    fn write_open(&mut self, cycle: &mut Cycle) {
        while cycle.writes_left < BOUNCES_MAX
            && let Some((segment, Range { start, end })) = cycle.open.take()
        {
            let stop = end.min(start + self.flush.bounce_bytes);
            let blocks = (stop - start).next_multiple_of(BLOCK_BYTES);
            let mut buffer = self.flush.bounce();
            let frame = self.memory.frame(segment).expect("a segment keeps its frame until it is durable");
            buffer[..stop - start].copy_from_slice(&frame.bytes[start..stop]);
            buffer[stop - start..blocks].fill(0);
            self.write(cycle, segment, start, WriteSource::Owned(buffer, blocks));
            cycle.open = (stop < end).then_some((segment, stop..end));
        }
    }

    fn write_free_markers(&mut self, cycle: &mut Cycle) {
        if self.segments.soon_free_count() == 0 {
            return;
        }
        let durable = self.flush.durable_position;
        let ready = self.segments.iter().filter(|(_, segment)| matches!(segment.usage, Usage::Emptied { until } if until <= durable));
        cycle.freed = ready.map(|(id, _)| id).collect();
        for index in 0..cycle.freed.len() {
            let segment = cycle.freed[index];
            self.segments.set_usage(segment, Usage::Freeing);
            let mut buffer = AlignedBuffer::zeroed(BLOCK_BYTES);
            self.header_of(segment, HeaderState::Free).fill_block(&mut buffer);
            self.bear_witness(&mut buffer);
            self.write(cycle, segment, 0, WriteSource::Owned(buffer, BLOCK_BYTES));
        }
    }

    fn write_patches(&mut self, cycle: &mut Cycle) {
        for (segment, offset, buffer) in std::mem::take(&mut self.flush.patches) {
            let bytes = buffer.len();
            self.write(cycle, segment, offset, WriteSource::Owned(buffer, bytes));
        }
    }

    /// A write of the cycle or its sync ended.
    pub(crate) fn flush_completed(&mut self, now_us: u64, purpose: Purpose, completion: DiskCompletion) {
        // Markers and seals are shorter.
        let Flush { buffers, bounce_bytes, .. } = &mut self.flush;
        buffers.extend(completion.buffer.filter(|buffer| buffer.len() == *bounce_bytes));
        if let Err(error) = completion.result {
            self.counters.device_failures += 1;
            self.poisoned.get_or_insert(error);
        }
        let Some(mut cycle) = self.flush.cycle.take() else { return };
        if purpose == Purpose::FlushWrite {
            cycle.writes_left -= 1;
        }
        if self.poisoned.is_none() {
            self.write_open(&mut cycle);
        }
        if cycle.writes_left > 0 {
            self.flush.cycle = Some(cycle);
            return;
        }
        if self.poisoned.is_some() {
            // Nothing more is written; memory and mirror slots stay as they are.
            return;
        }
        #[cfg(test)]
        if self.planted == Some(crate::tests::Planted::SkipSync) {
            return self.end_cycle(now_us, &cycle);
        }
        if cycle.syncing {
            return self.end_cycle(now_us, &cycle);
        }
        self.flush.cycle = Some(cycle);
        self.sync_cycle();
    }

    fn end_cycle(&mut self, now_us: u64, cycle: &Cycle) {
        self.flush.durable_position = cycle.position;
        self.flush.durable_sequence = cycle.sequence;
        for (segment, durable) in &cycle.segments {
            if let Some(open) = self.log.open.as_mut().filter(|open| open.segment == *segment) {
                open.durable = *durable;
            }
            if let Some(sealed) = self.log.sealed.iter_mut().find(|sealed| sealed.segment == *segment) {
                sealed.durable = *durable;
            }
        }
        while let Some(sealed) = self.log.sealed.pop_front() {
            let generation = |segment| self.segments.get(segment).generation;
            let before_cold = self.log.cold.as_ref().is_none_or(|cold| generation(sealed.segment) < generation(cold.segment));
            if sealed.durable < sealed.used || !before_cold {
                self.log.sealed.push_front(sealed);
                break;
            }
            self.log.slots_free.push(sealed.slot);
            self.segments.set_usage(sealed.segment, Usage::Stored);
        }
        for segment in &cycle.freed {
            self.segments.mark_free(*segment);
        }
        self.note_durable(&cycle.segments, cycle.sequence, cycle.file_segments);
        self.paging.idle = false;
        if !self.log.sealed.is_empty() {
            self.flush.due_at(now_us);
        }
        if self.segments.soon_free_count() > 0 {
            let wait = if self.is_short_of_space() { 0 } else { self.config.flush_interval_us / 2 };
            self.flush.due_at(now_us.saturating_add(wait));
        }
    }
}
