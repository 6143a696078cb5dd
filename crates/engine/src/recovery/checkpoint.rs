//! Loading the last complete checkpoint, so that only what was appended since it was begun has to be read.
//!
//! 1. The commit with the highest number names the checkpoint; its segments are known from their headers.
//! 2. Its chunks are read, several at once, and their entries put into the index in order.
//! 3. Cells that point into a segment which was opened after their stamp are left out: what was there has moved, and the log after the
//!    stamp has it, or was purged. So are rows of tables that are gone, or were truncated after their stamp.
//! 4. Segments of the log from before the checkpoint are not read; it says what has to be known of them.
//!
//! Invariant: a checkpoint with anything wrong in it is not used at all: the index is emptied again and the whole log is read.

use super::{Engine, Phase, Recovery};
use crate::config::Config;
use crate::format::checkpoint::{Chunks, Commit, Item, Malformed, SegmentState, Stamp, read_chunk};
use crate::index::Restore;
use crate::location::{Location, SegmentId};
use crate::segments::{Segments, Usage};
use crate::tags::Purpose;
use base::{AlignedBuffer, BLOCK_BYTES, TableId};
use io::{DiskCompletion, DiskRequest};
use std::collections::BTreeMap;

/// Chunks being read, or waiting for one before them.
const READS_AHEAD: usize = 32;

/// Bytes of a chunk that are added at once to an entry which began in the chunk before.
const STEP_BYTES: usize = 4096;

/// A checkpoint being loaded.
pub(super) struct Loading {
    commit: Commit,
    chunks: Chunks,
    segments: Vec<SegmentId>,
    next_read: usize,
    next_chunk: usize,
    arrived: BTreeMap<usize, Option<AlignedBuffer>>,
    /// An entry whose end has not come yet.
    partial: Vec<u8>,
    reader: Reader,
}

/// What the entries so far have said.
#[derive(Default)]
struct Reader {
    stamp: Stamp,
    /// The table that the entries are of, if it exists and was not truncated after the stamp.
    table: Option<TableId>,
    named_table: Option<TableId>,
    restore: Restore,
    states: Vec<SegmentState>,
    rows: u64,
    /// Records beyond the end of the file.
    records_beyond: u64,
    ended: bool,
}

/// Counts rows of a table that nobody knows.
fn note_unknown(config: &Config, recovery: Option<&mut Recovery>, table: Option<TableId>, rows: u64) {
    if let Some((recovery, table)) = recovery.zip(table)
        && !recovery.tables.contains_key(&table)
        && !config.was_dropped(table)
    {
        *recovery.unknown.entry(table).or_default() += rows;
    }
}

/// What has become of a record that the stream names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum There {
    Yes,
    /// Its segment has been used anew.
    Moved,
    /// The file has lost it.
    Beyond,
}

fn is_there(segments: &Segments, config: &Config, stamp: &Stamp, location: Location) -> Result<There, Malformed> {
    let (segment, end) = (location.segment(), location.offset() + location.padded());
    let sensible = location.is_record()
        && !segment.is_cache()
        && location.offset() >= BLOCK_BYTES
        && location.padded() > 0
        && end <= config.segment_bytes as usize;
    if !sensible {
        return Err(Malformed);
    }
    if u64::from(segment.0) * u64::from(config.segment_bytes) + end as u64 > config.file_bytes {
        return Ok(There::Beyond);
    }
    let entry = segments.get(segment);
    let there = entry.usage == Usage::Stored && segments.point(location) < stamp.point;
    Ok(if there { There::Yes } else { There::Moved })
}

impl Engine {
    /// The checkpoint to be loaded: the last one that was committed, if all of its segments are still its own.
    fn choose_checkpoint(&self) -> Option<Loading> {
        let recovery = self.recovery.as_ref()?;
        let (first, commit) = *recovery.commits.iter().max_by_key(|(_, commit)| commit.number)?;
        let chunks = Chunks::new(self.config.segment_bytes);
        let mut parts: Vec<(u32, SegmentId)> =
            recovery.parts.iter().filter(|part| part.0 == commit.number).map(|part| (part.1, part.2)).collect();
        parts.sort_unstable();
        let in_order = parts.iter().enumerate().all(|(ordinal, part)| part.0 as usize == ordinal);
        let segments: Vec<SegmentId> = parts.into_iter().map(|(_, segment)| segment).collect();
        let entry = self.segments.get(first);
        let whole = in_order
            && segments.len() as u64 == u64::from(commit.segments)
            && segments.len() as u64 == chunks.segments(commit.stream_bytes)
            && segments.first() == Some(&first)
            && segments.iter().all(|segment| self.segments.get(*segment).usage == Usage::Checkpoint)
            && entry.nonce == commit.nonce;
        whole.then(|| Loading {
            commit,
            chunks,
            segments,
            next_read: 0,
            next_chunk: 0,
            arrived: BTreeMap::new(),
            partial: Vec::new(),
            reader: Reader::default(),
        })
    }

    /// Loads what has arrived and asks for more.
    pub(super) fn recover_checkpoint(&mut self) -> Option<Phase> {
        if !self.recovery.as_ref()?.looked_for_checkpoint {
            let loading = self.choose_checkpoint();
            let recovery = self.recovery.as_mut()?;
            recovery.looked_for_checkpoint = true;
            recovery.loading = loading;
        }
        let Some(mut loading) = self.recovery.as_mut()?.loading.take() else { return Some(self.end_without_checkpoint()) };
        let count = loading.chunks.count(loading.commit.stream_bytes) as usize;
        while let Some(chunk) = loading.arrived.remove(&loading.next_chunk) {
            let index = loading.next_chunk;
            loading.next_chunk += 1;
            if self.load_chunk(&mut loading, index, chunk.as_deref()).is_err() {
                let (ordinal, offset) = loading.chunks.place(index);
                self.report_damage(loading.segments[ordinal], offset, loading.chunks.bytes);
                return Some(self.end_without_checkpoint());
            }
            self.spare_chunks.extend(chunk);
        }
        if loading.next_chunk == count {
            if let Some(recovery) = &mut self.recovery {
                recovery.evidence.records_beyond = Some(loading.reader.records_beyond);
            }
            if self.lacks_data() {
                // It names what is gone, and knows nothing of the versions before.
                return Some(self.end_without_checkpoint());
            }
            if !loading.reader.ended || !loading.partial.is_empty() {
                self.report_damage(loading.segments[0], 0, 0);
                return Some(self.end_without_checkpoint());
            }
            return Some(self.end_with_checkpoint(loading));
        }
        while loading.next_read < count && loading.next_read < loading.next_chunk + READS_AHEAD {
            let (ordinal, offset) = loading.chunks.place(loading.next_read);
            let offset = u64::from(loading.segments[ordinal].0) * u64::from(self.config.segment_bytes) + offset as u64;
            let buffer = self.spare_chunks.pop().unwrap_or_else(|| AlignedBuffer::zeroed(loading.chunks.bytes));
            let tag = Purpose::CheckpointRead(loading.next_read as u64).tag();
            self.outbox.push((tag, DiskRequest::Read { file: self.config.file, offset, buffer }));
            loading.next_read += 1;
        }
        self.recovery.as_mut()?.loading = Some(loading);
        None
    }

    pub(crate) fn checkpoint_read(&mut self, index: u64, completion: DiskCompletion) {
        if completion.result.is_err() {
            self.counters.device_failures += 1;
        }
        let Some(loading) = self.recovery.as_mut().and_then(|recovery| recovery.loading.as_mut()) else { return };
        loading.arrived.insert(index as usize, completion.buffer.filter(|_| completion.result.is_ok()));
    }

    fn load_chunk(&mut self, loading: &mut Loading, index: usize, chunk: Option<&[u8]>) -> Result<(), Malformed> {
        let payload = loading.chunks.payload();
        let left = loading.commit.stream_bytes - index as u64 * payload as u64;
        let expected = payload.min(usize::try_from(left).unwrap_or(usize::MAX));
        let (ordinal, offset) = loading.chunks.place(index);
        let salt = self.segments.salt(loading.segments[ordinal]);
        let whole = read_chunk(chunk.ok_or(Malformed)?, expected, loading.commit.number, index, salt, offset).ok_or(Malformed)?;
        let mut bytes = whole;
        // An entry that began in the chunk before: a little more of this one at a time, until it is whole.
        let mut partial = std::mem::take(&mut loading.partial);
        while !partial.is_empty() {
            if let Some((item, length)) = Item::decode(&partial)? {
                self.load_item(&mut loading.reader, item)?;
                // What is left of the step that completed it is of the entries after it.
                let surplus = partial.len() - length;
                bytes = &whole[whole.len() - bytes.len() - surplus..];
                partial.clear();
            } else if bytes.is_empty() {
                break;
            } else {
                let (more, rest) = bytes.split_at(bytes.len().min(STEP_BYTES));
                partial.extend_from_slice(more);
                bytes = rest;
            }
        }
        while let Some((item, length)) = Item::decode(bytes)? {
            self.load_item(&mut loading.reader, item)?;
            bytes = &bytes[length..];
        }
        if partial.is_empty() {
            partial.extend_from_slice(bytes);
        }
        loading.partial = partial;
        Ok(())
    }

    fn load_item(&mut self, reader: &mut Reader, item: Item<'_>) -> Result<(), Malformed> {
        let Self { index, segments, config, recovery, .. } = self;
        #[cfg(test)]
        let planted = self.planted;
        if reader.ended {
            return Err(Malformed);
        }
        let stamp = reader.stamp;
        let mut beyond = 0;
        let mut keep = |location: Location| {
            let there = is_there(segments, config, &stamp, location)?;
            if there == There::Beyond {
                beyond += 1;
                return Ok(false);
            }
            let there = there == There::Yes;
            #[cfg(test)]
            let there =
                there || planted == Some(crate::tests::Planted::IgnoreReuse) && segments.get(location.segment()).usage == Usage::Stored;
            if there {
                segments.add_live(location);
                // What a checkpoint names was durable when it was written: see `durable_end`.
                let end = location.offset() + location.padded();
                segments.set_used(location.segment(), end.max(segments.get(location.segment()).used as usize));
            }
            Ok(there)
        };
        match item {
            Item::Stamp(stamp) => {
                reader.stamp = stamp;
                self.log.saw_generation(stamp.point.generation.saturating_sub(u64::from(stamp.point.offset == 0)));
                self.log.saw_sequence(crate::key::Sequence(stamp.next_sequence.0.saturating_sub(1)));
                self.choose_table(reader)?;
            }
            Item::Table(table) => {
                reader.named_table = Some(table);
                self.choose_table(reader)?;
            }
            Item::Cells { slot, cells } => {
                let rows = (cells.len() / crate::format::checkpoint::CELL_BYTES) as u64;
                reader.rows += rows;
                note_unknown(config, recovery.as_mut(), reader.named_table, rows);
                if reader.table.is_some() {
                    index.restore_cells(&mut reader.restore, slot, cells, &mut keep)?;
                }
            }
            Item::Partition { slot, tail, key } => {
                if reader.table.is_some() {
                    index.restore_partition(&mut reader.restore, slot, tail, key)?;
                }
            }
            Item::Rows(bytes) => {
                let rows = u64::from(bytes.first_chunk().map_or(0, |rows| u32::from_le_bytes(*rows)));
                reader.rows += rows;
                note_unknown(config, recovery.as_mut(), reader.named_table, rows);
                if reader.table.is_some() {
                    index.restore_rows(&mut reader.restore, bytes, &mut keep)?;
                }
            }
            Item::Pages(bytes) => {
                note_unknown(config, recovery.as_mut(), reader.named_table, 1);
                if reader.table.is_some() {
                    index.restore_pages(&mut reader.restore, bytes, &mut keep)?;
                }
            }
            Item::Segment(state) => reader.states.push(state),
            Item::End { rows } => {
                index.restore_slot(&mut reader.restore)?;
                reader.ended = true;
                if rows != reader.rows {
                    return Err(Malformed);
                }
            }
        }
        reader.records_beyond += beyond;
        Ok(())
    }

    /// Decides whether the entries of the named table, taken at the stamp, count.
    fn choose_table(&mut self, reader: &mut Reader) -> Result<(), Malformed> {
        let tables = self.recovery.as_ref().map(|recovery| &recovery.tables);
        let mark = reader.named_table.and_then(|table| tables.and_then(|tables| tables.get(&table)));
        let counts = mark.is_some_and(|mark| reader.stamp.next_sequence > *mark);
        #[cfg(test)]
        let counts = counts || mark.is_some() && self.planted == Some(crate::tests::Planted::IgnoreTruncation);
        reader.table = reader.named_table.filter(|_| counts);
        match reader.table {
            Some(table) => self.index.restore_table(&mut reader.restore, table),
            None => Ok(()),
        }
    }

    /// The index is as the checkpoint and what was appended since say: only the latter is read.
    fn end_with_checkpoint(&mut self, loading: Loading) -> Phase {
        let Loading { commit, segments, reader, .. } = loading;
        self.progress.checkpoint_rows = Some(self.index.rows());
        self.free_stale_checkpoints(&segments);
        self.checkpoints.loaded(commit.start, segments);
        let mut before = Vec::new();
        if let Some(recovery) = &mut self.recovery {
            recovery.start = commit.start;
            recovery.items.retain(|item| {
                let read = !item.on_device || item.generation >= commit.start.generation;
                if !read {
                    before.extend(item.image.map(|image| image.slot));
                    // Until the checkpoint says otherwise; nothing that it does not know is live.
                    self.segments.set_used(item.segment, self.config.segment_bytes as usize);
                    self.segments.set_lasting(item.segment);
                }
                read
            });
            self.progress.segments_total = recovery.items.len() as u64;
        }
        for slot in before {
            self.set_stale(slot);
        }
        for state in reader.states {
            if state.segment.index() >= self.segments.len() {
                continue;
            }
            let entry = self.segments.get(state.segment);
            if entry.generation < state.generation && matches!(entry.usage, Usage::Free | Usage::Stored) {
                // No header of another segment says so any more, but the checkpoint knows that the device had it.
                self.miss_header(state.segment);
                continue;
            }
            let known = state.used <= self.config.segment_bytes;
            if known && self.segments.get(state.segment).generation == state.generation && state.generation < commit.start.generation {
                self.segments.set_used(state.segment, state.used as usize);
                self.segments.set_purgeable(&state);
            }
        }
        self.spare_chunks = Vec::new();
        Phase::Segments
    }

    /// There is no checkpoint, or not one that can be used: the whole log is read.
    fn end_without_checkpoint(&mut self) -> Phase {
        if let Some(recovery) = &mut self.recovery {
            self.index.reset(recovery.tables.keys().copied());
            recovery.unknown.clear();
        }
        self.segments.forget_live();
        self.free_stale_checkpoints(&[]);
        self.spare_chunks = Vec::new();
        Phase::Segments
    }

    /// Segments of checkpoints other than the one that was loaded become free.
    fn free_stale_checkpoints(&mut self, kept: &[SegmentId]) {
        let stale = |(id, segment): (SegmentId, &crate::segments::Segment)| {
            (segment.usage == Usage::Checkpoint && !kept.contains(&id)).then_some(id)
        };
        let stale: Vec<SegmentId> = self.segments.iter().filter_map(stale).collect();
        for segment in stale {
            self.segments.set_usage(segment, Usage::Emptied { until: 0 });
        }
    }
}
