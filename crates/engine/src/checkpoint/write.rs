//! Writing one checkpoint: stamps and entries, chunks, sync, commit, sync.
//!
//! ```text
//! Walk ─► Drain ─► Settle ─► Sync ─► Commit ─► Last sync ─► complete
//!  slices   writes    log         the record
//!  of the   end       durable     in block 0
//!  index
//! ```
//! Invariants: nothing of the index is named by a complete checkpoint before the device has it; the commit is written after a sync that
//! covers all chunks; segments are freed only when no write to them is under way.

use crate::engine::Engine;
use crate::format::checkpoint::{CHUNK_HEADER_BYTES, Chunks, Commit, Item, SegmentState, Stamp, finish_chunk};
use crate::format::segment_header::{HeaderState, SegmentHeader};
use crate::index::SnapshotCursor;
use crate::key::Sequence;
use crate::location::SegmentId;
use crate::log::Point;
use crate::segments::Usage;
use crate::tags::Purpose;
use crate::write::RESERVE_PUT;
use base::{AlignedBuffer, BLOCK_BYTES};
use io::{DiskCompletion, DiskRequest, Now, WriteSource};

/// The part of a segment that is made of the stream in one slice, and writes in flight, beside ordinary work.
const SLICES_IN_SEGMENT: u32 = 256;
const IN_FLIGHT_MAX: usize = 2;
/// The same at shutdown, when there is no other work.
const CLOSING_SLICE_BYTES: usize = 1 << 20;
const CLOSING_IN_FLIGHT_MAX: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Walk,
    Drain,
    Settle,
    Sync,
    Commit,
    LastSync,
    /// Nothing more is written; the segments are freed when the last write has ended.
    Abandoned,
}

/// A checkpoint being written.
pub(super) struct Writer {
    number: u64,
    start: Point,
    /// The log's position at `start`.
    start_position: u64,
    /// The log's position when the last entry was taken.
    end_position: u64,
    cursor: SnapshotCursor,
    phase: Phase,
    pub(super) segments: Vec<SegmentId>,
    /// Entries that are not in chunks yet, from `taken` on.
    stream: Vec<u8>,
    taken: usize,
    stream_bytes: u64,
    chunk: Option<AlignedBuffer>,
    /// Bytes of the chunk that are in use.
    filled: usize,
    index: usize,
    in_flight: usize,
    in_flight_bytes: usize,
    pub(super) lacks_space: bool,
}

impl Writer {
    pub(super) fn buffer_bytes(&self) -> usize {
        self.stream.capacity() + self.chunk.as_ref().map_or(0, |chunk| chunk.len()) + self.in_flight_bytes
    }

    /// Whether the commit may be on the device already.
    pub(super) fn is_committing(&self) -> bool {
        matches!(self.phase, Phase::Commit | Phase::LastSync)
    }
}

impl Engine {
    /// The point at which the next record will be appended, or one between it and everything appended. While a cold segment is open records
    /// are appended at two points: the lower one.
    fn log_point(&self) -> Point {
        match self.log.cold.as_ref().or(self.log.open.as_ref()) {
            Some(open) => Point { generation: self.segments.get(open.segment).generation, offset: open.used as u32 },
            None => Point { generation: self.log.last_generation() + 1, offset: 0 },
        }
    }

    pub(super) fn begin_checkpoint(&mut self) {
        let start = self.log_point();
        self.checkpoints.last_number += 1;
        self.checkpoints.barrier = start;
        self.checkpoints.beside.clear();
        self.checkpoints.writer = Some(Writer {
            number: self.checkpoints.last_number,
            start,
            start_position: self.log.position,
            end_position: self.log.position,
            cursor: SnapshotCursor::default(),
            phase: Phase::Walk,
            segments: Vec::new(),
            stream: Vec::new(),
            taken: 0,
            stream_bytes: 0,
            chunk: None,
            filled: 0,
            index: 0,
            in_flight: 0,
            in_flight_bytes: 0,
            lacks_space: false,
        });
    }

    /// Stops writing, unless it is all but done.
    pub(super) fn abandon_checkpoint(&mut self, now: Now) {
        let Some(writer) = &mut self.checkpoints.writer else { return };
        if !writer.is_committing() {
            writer.phase = Phase::Abandoned;
            self.checkpoints.retry_us = now.monotonic_us.saturating_add(super::RETRY_US);
            self.checkpoints.refused = self.closing;
        }
    }

    /// Goes on with the checkpoint that is being written. True when there is more to do at once.
    pub(super) fn write_checkpoint(&mut self, now: Now) -> bool {
        if self.closing && self.drops.has_held() {
            // A truncation that will not be made durable any more.
            self.abandon_checkpoint(now);
        }
        let Some(mut writer) = self.checkpoints.writer.take() else { return false };
        let more = match writer.phase {
            Phase::Walk => self.walk_slice(now, &mut writer),
            Phase::Drain => {
                if self.fill_chunks(now, &mut writer) && writer.in_flight == 0 {
                    writer.phase = Phase::Settle;
                }
                writer.phase == Phase::Settle
            }
            Phase::Settle => {
                self.settle(now, &mut writer);
                false
            }
            Phase::Sync | Phase::Commit | Phase::LastSync => false,
            Phase::Abandoned if writer.in_flight > 0 => false,
            Phase::Abandoned => {
                self.free_checkpoint(now, &writer.segments);
                return true;
            }
        };
        self.checkpoints.writer = Some(writer);
        more
    }

    fn in_flight_max(&self) -> usize {
        if self.closing { CLOSING_IN_FLIGHT_MAX } else { IN_FLIGHT_MAX }
    }

    /// Takes the next entries from the index.
    fn walk_slice(&mut self, now: Now, writer: &mut Writer) -> bool {
        if !self.fill_chunks(now, writer) {
            return false;
        }
        let stamp = Stamp { point: self.log_point(), next_sequence: self.log.next_sequence() };
        Item::Stamp(stamp).encode(&mut writer.stream);
        let budget = if self.closing { CLOSING_SLICE_BYTES } else { (self.config.segment_bytes / SLICES_IN_SEGMENT) as usize };
        let memory = &self.memory;
        let device = |location| memory.device_location(location);
        let end = writer.stream.len() + budget;
        if !self.index.snapshot(&mut writer.cursor, &device, &mut writer.stream, end) {
            self.end_stream(writer);
            writer.phase = Phase::Drain;
        }
        writer.end_position = self.log.position;
        self.fill_chunks(now, writer)
    }

    /// What recovery will not find out as it does not read the segments.
    fn end_stream(&mut self, writer: &mut Writer) {
        #[cfg(test)]
        if self.planted == Some(crate::tests::Planted::LateStart) {
            writer.start = self.log_point();
        }
        for (segment, entry) in self.segments.iter() {
            if matches!(entry.usage, Usage::Free | Usage::Checkpoint | Usage::Open) || entry.generation >= writer.start.generation {
                continue;
            }
            let state = SegmentState {
                segment,
                used: entry.used,
                generation: entry.generation,
                purge_after_s: entry.purge_after_s,
                purgeable_bytes: entry.purgeable_bytes,
                lasting: entry.lasting,
                replacing: entry.replacing,
                has_old_residents: entry.oldest_resident < Sequence(u64::MAX),
            };
            Item::Segment(state).encode(&mut writer.stream);
        }
        Item::End { rows: writer.cursor.rows }.encode(&mut writer.stream);
    }

    /// Moves entries into chunks and writes those that are full, at the end of the walk all. False when that has to wait.
    fn fill_chunks(&mut self, now: Now, writer: &mut Writer) -> bool {
        let chunks = Chunks::new(self.config.segment_bytes);
        let ended = writer.phase == Phase::Drain;
        writer.lacks_space = false;
        while writer.taken < writer.stream.len() {
            if writer.chunk.is_none() {
                if writer.in_flight >= self.in_flight_max() {
                    return false;
                }
                if chunks.place(writer.index).0 == writer.segments.len() && !self.add_segment(now, writer) {
                    writer.lacks_space = true;
                    return false;
                }
                writer.chunk = Some(self.checkpoints.buffers.pop().unwrap_or_else(|| AlignedBuffer::zeroed(chunks.bytes)));
                writer.filled = CHUNK_HEADER_BYTES;
            }
            let Some(chunk) = &mut writer.chunk else { return false };
            let bytes = (chunks.bytes - writer.filled).min(writer.stream.len() - writer.taken);
            chunk[writer.filled..writer.filled + bytes].copy_from_slice(&writer.stream[writer.taken..writer.taken + bytes]);
            writer.filled += bytes;
            writer.taken += bytes;
            writer.stream_bytes += bytes as u64;
            if writer.filled == chunks.bytes {
                self.write_chunk(chunks, writer);
            }
        }
        writer.stream.clear();
        writer.taken = 0;
        if ended {
            self.write_chunk(chunks, writer);
        }
        true
    }

    fn write_chunk(&mut self, chunks: Chunks, writer: &mut Writer) {
        let Some(mut chunk) = writer.chunk.take() else { return };
        let (ordinal, offset) = chunks.place(writer.index);
        let segment = writer.segments[ordinal];
        finish_chunk(&mut chunk, writer.filled, writer.number, writer.index, self.segments.salt(segment), offset);
        writer.index += 1;
        self.write_of_checkpoint(writer, segment, offset, chunk, writer.filled.next_multiple_of(BLOCK_BYTES));
    }

    fn write_of_checkpoint(&mut self, writer: &mut Writer, segment: SegmentId, offset: usize, buffer: AlignedBuffer, bytes: usize) {
        writer.in_flight += 1;
        writer.in_flight_bytes += buffer.len();
        self.flush.bytes_written += bytes as u64;
        let offset = u64::from(segment.0) * u64::from(self.config.segment_bytes) + offset as u64;
        let source = WriteSource::Owned(buffer, bytes);
        self.outbox.push((Purpose::CheckpointWrite.tag(), DiskRequest::Write { file: self.config.file, offset, source }));
    }

    /// Takes a free segment, if writers can spare it.
    fn add_segment(&mut self, now: Now, writer: &mut Writer) -> bool {
        if self.segments.free_count() <= RESERVE_PUT + 1 {
            self.grow_file(now.monotonic_us, 0);
            self.defrag.look_soon();
            if self.closing && !self.growth.is_extending() && self.segments.soon_free_count() == 0 {
                writer.phase = Phase::Abandoned;
                self.checkpoints.refused = true;
            }
            return false;
        }
        let Some(segment) = self.segments.take_free() else { return false };
        let (generation, nonce) = (self.log.last_generation(), self.log.take_checkpoint_nonce());
        self.segments.adopt(segment, Usage::Checkpoint, generation, nonce, self.log.next_sequence());
        self.memory.forget_pins(segment);
        let mut block = AlignedBuffer::zeroed(BLOCK_BYTES);
        writer.segments.push(segment);
        self.checkpoint_header(writer, writer.segments.len() - 1).fill_block(&mut block);
        self.write_of_checkpoint(writer, segment, 0, block, BLOCK_BYTES);
        true
    }

    fn checkpoint_header(&self, writer: &Writer, ordinal: usize) -> SegmentHeader {
        SegmentHeader {
            base_sequence: Sequence(writer.number),
            ordinal: ordinal as u32,
            ..self.header_of(writer.segments[ordinal], HeaderState::Checkpoint)
        }
    }

    /// Once the device has all that the entries name, and no truncation may still be undone, the chunks are synced.
    fn settle(&mut self, now: Now, writer: &mut Writer) {
        // A cold segment's bytes count once it is sealed, which may be after the last entry was taken.
        let durable = self.log.cold.is_none() && self.flush.durable_position >= writer.end_position.max(self.cold.position);
        #[cfg(test)]
        let durable = durable || self.planted == Some(crate::tests::Planted::EarlyCommit);
        if !durable {
            return self.flush.due_at(now.monotonic_us);
        }
        if !self.drops.has_held() {
            writer.phase = Phase::Sync;
            self.sync_checkpoint(writer);
        }
    }

    fn sync_checkpoint(&mut self, writer: &mut Writer) {
        writer.in_flight += 1;
        self.flush.syncs += 1;
        self.outbox.push((Purpose::CheckpointSync.tag(), DiskRequest::Sync { file: self.config.file }));
    }

    /// A write or sync of a checkpoint ended.
    pub(crate) fn checkpoint_completed(&mut self, now: Now, completion: DiskCompletion) {
        let buffer_bytes = completion.buffer.as_ref().map_or(0, |buffer| buffer.len());
        if let Some(buffer) = completion.buffer.filter(|buffer| buffer.len() > BLOCK_BYTES)
            && self.checkpoints.buffers.len() < self.in_flight_max()
        {
            self.checkpoints.buffers.push(buffer);
        }
        if let Err(error) = completion.result {
            self.counters.device_failures += 1;
            self.poisoned.get_or_insert(error);
            return;
        }
        let Some(mut writer) = self.checkpoints.writer.take() else { return };
        writer.in_flight -= 1;
        writer.in_flight_bytes -= buffer_bytes;
        match writer.phase {
            Phase::Sync => {
                writer.phase = Phase::Commit;
                self.commit(&mut writer);
            }
            Phase::Commit => {
                writer.phase = Phase::LastSync;
                self.sync_checkpoint(&mut writer);
            }
            Phase::LastSync => return self.checkpoint_is_complete(now, writer),
            Phase::Walk | Phase::Drain | Phase::Settle | Phase::Abandoned => {}
        }
        self.checkpoints.writer = Some(writer);
    }

    fn commit(&mut self, writer: &mut Writer) {
        let first = writer.segments[0];
        let commit = Commit {
            number: writer.number,
            nonce: self.segments.get(first).nonce,
            start: writer.start,
            segments: writer.segments.len() as u32,
            stream_bytes: writer.stream_bytes,
        };
        let mut block = AlignedBuffer::zeroed(BLOCK_BYTES);
        self.checkpoint_header(writer, 0).fill_block(&mut block);
        commit.fill_block(&mut block);
        self.write_of_checkpoint(writer, first, 0, block, BLOCK_BYTES);
    }

    fn checkpoint_is_complete(&mut self, now: Now, writer: Writer) {
        let before = std::mem::replace(&mut self.checkpoints.complete, writer.segments);
        self.free_checkpoint(now, &before);
        self.checkpoints.begun_position = writer.start_position;
        self.checkpoints.carried_bytes = 0;
        self.checkpoints.written += 1;
        // The next one is far.
        self.checkpoints.buffers = Vec::new();
    }
}
