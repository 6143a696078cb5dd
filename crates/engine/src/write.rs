//! The write path: room in the open segment, the old places, one copy into the frame, one into the stable memory, the index.
//!
//! Invariant: when `apply` returns `Ok` the rows are in the stable memory. When it returns an error, nothing of the batch is.

mod opening;

use crate::batch::WriteBatch;
use crate::cache::Cache;
use crate::config::FRAMES_EXTRA;
use crate::encryption::Stable;
use crate::engine::Engine;
use crate::error::{Miss, WriteError};
use crate::format::record::{self, HEADER_BYTES, Record};
use crate::index::{Before, Page, Place, Unresolved};
use crate::key::{CachePolicy, Sequence};
use crate::location::{Location, SegmentId, padded};
use crate::log::Open;
use crate::memory::Memory;
use crate::paging::purgeable;
use crate::segments::Segments;
use base::{BLOCK_BYTES, TableId, Token};
use io::Now;

/// Who wants to append: the fewer free segments are left, the fewer may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appender {
    Put,
    Tombstone,
    Defrag,
}

/// Free segments that puts leave to tombstones and defragmentation.
pub(crate) const RESERVE_PUT: usize = 3;
/// Free segments that tombstones leave to defragmentation.
const RESERVE_TOMBSTONE: usize = 2;

impl Appender {
    fn reserve(self) -> usize {
        match self {
            Self::Put => RESERVE_PUT,
            Self::Tombstone => RESERVE_TOMBSTONE,
            Self::Defrag => 0,
        }
    }
}

/// Records that lie back to back in a frame.
#[derive(Clone, Copy)]
struct Records<'a> {
    segment: SegmentId,
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Iterator for Records<'a> {
    type Item = (Record<'a>, Location);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let record = Record::trusted(&self.bytes[self.at..self.end]);
        let location = Location::record(self.segment, self.at, padded(record.length()));
        self.at += location.padded();
        Some((record, location))
    }
}

impl Records<'_> {
    /// Takes the next records out that are of the same partition.
    fn take_neighbours(&mut self, record: &Record<'_>) -> Self {
        let start = self.at;
        let mut ahead = *self;
        while let Some((next, _)) = ahead.next()
            && next.is_neighbour(record)
        {
            self.at = ahead.at;
        }
        Self { at: start, end: self.at, ..*self }
    }
}

/// Counts a record that was written to its segment; whether there is a time from which on it is of no use.
fn count(segments: &mut Segments, record: &Record<'_>, location: Location) -> bool {
    let purgeable = purgeable(record, location);
    segments.add_live(location);
    segments.add_purgeable(location.segment(), purgeable);
    purgeable.is_some()
}

/// As `Engine::release`, while something of the engine is borrowed.
fn release(memory: &Memory, cache: &mut Cache, segments: &mut Segments, location: Location) {
    let device = memory.device_location(location);
    if device != location {
        cache.release(location);
    }
    segments.release(device);
}

impl Engine {
    /// The bytes that a batch may take in the log.
    #[must_use]
    pub fn batch_bytes_max(&self) -> usize {
        self.config.segment_bytes as usize - BLOCK_BYTES - HEADER_BYTES
    }

    /// Writes all rows of a batch, atomically. Done when it returns: the rows survive the death of the process.
    ///
    /// Returns the sequence of the last row; rows of a batch have consecutive sequences. For durability on the device wait until
    /// `durable_sequence` has reached it.
    ///
    /// # Errors
    /// `WriteError`; nothing was written then. After `Miss` fetch and try again, after `Busy` try again when `writable`.
    pub fn apply(&mut self, now: Now, batch: &WriteBatch) -> Result<Sequence, WriteError> {
        self.check_accepting()?;
        self.pages.end_operation();
        let bytes = batch.bytes();
        if bytes.len() > self.batch_bytes_max() {
            return Err(WriteError::TooLarge { bytes: bytes.len(), bytes_max: self.batch_bytes_max() });
        }
        let appender = if batch.has_live() { Appender::Put } else { Appender::Tombstone };
        self.make_room(now, bytes.len(), appender)?;
        for (table, token, cell) in self.check_rows(bytes)? {
            self.secure_beside(now, table, token, cell)?;
        }
        if bytes.is_empty() {
            return Ok(self.log.last_sequence());
        }
        let start = self.append_group(bytes);
        if batch.has_resident()
            && let Some(open) = &self.log.open
        {
            self.memory.set_resident(open.segment);
        }
        self.mirror_open();
        self.index_group(start, bytes.len());
        self.prefixes.note(batch);
        self.dead_runs.note(batch.rows().map(|row| (row.key, row.kind)));
        self.counters.rows_written += batch.len() as u64;
        self.counters.user_bytes += bytes.len() as u64;
        self.flush.due_at(now.monotonic_us.saturating_add(self.config.flush_interval_us / 2));
        Ok(self.log.last_sequence())
    }

    /// Whether the engine takes writes at all.
    pub(crate) fn check_accepting(&self) -> Result<(), WriteError> {
        if self.recovery.is_some() {
            return Err(WriteError::NotReady);
        }
        if let Some(error) = &self.poisoned {
            return Err(WriteError::Poisoned { error: error.clone() });
        }
        if self.closing {
            return Err(WriteError::ShuttingDown);
        }
        Ok(())
    }

    /// Whether the index leaves too little of the memory limit for the frames that writing needs: then no new keys are taken. What reads hold does not count:
    /// no key is refused for that.
    #[must_use]
    pub fn index_is_full(&self) -> bool {
        let frames = (self.mirror_slots + FRAMES_EXTRA) * self.config.segment_bytes as usize;
        let reads = self.fetches.buffer_bytes() + self.memory.pin_bytes();
        self.fixed_bytes() - reads + frames > self.config.memory_limit_bytes.max(2 * frames)
    }

    /// Whether the index is about to take less memory, without further writes: rows move to pages, or a dropped table is released.
    pub(crate) fn index_shrinks(&self) -> bool {
        self.drops.has_work() || self.drops.is_empty() && self.will_make_pages() && !self.is_full()
    }

    /// Every table is known, and every key can be compared with the one that the index has at its token. Returns the tokens that get a
    /// second key, and their cells.
    fn check_rows(&self, bytes: &[u8]) -> Result<Vec<(TableId, Token, Location)>, WriteError> {
        let mut is_full = None;
        let mut full = || *is_full.get_or_insert_with(|| self.index_is_full());
        let (mut missing, mut beside) = (Vec::new(), Vec::new());
        let mut at = 0;
        // A record whose neighbours need no look of their own.
        let mut settled: Option<Record<'_>> = None;
        while at < bytes.len() {
            let record = Record::trusted(&bytes[at..]);
            at += padded(record.length());
            if settled.is_some_and(|settled| record.is_neighbour(&settled)) {
                continue;
            }
            match self.index.find(record.table(), record.token(), record.partition(), &self.memory) {
                // Overwriting takes no more of the index.
                Ok(Place::Single(..)) if record.clustering().is_empty() => {}
                Ok(place) if full() && !self.has_row(&place, &record) => {
                    // Whoever writes faster than pages are made waits for them.
                    return Err(if self.index_shrinks() {
                        WriteError::Busy
                    } else {
                        WriteError::IndexFull { index_bytes: self.index.bytes() }
                    });
                }
                Ok(place @ (Place::Absent | Place::Beside(_))) => {
                    if self.drops.has_held() {
                        self.check_held(&record, &mut missing)?;
                    }
                    if let Place::Beside(cell) = place {
                        beside.push((record.table(), record.token(), cell));
                    }
                }
                Ok(Place::Partition(_)) => settled = Some(record).filter(|_| !full()),
                Ok(_) | Err(Unresolved::Damaged(_)) => {}
                Err(Unresolved::UnknownTable) => return Err(WriteError::UnknownTable { table: record.table() }),
                Err(Unresolved::Missing(location)) => missing.push(location),
            }
        }
        if missing.is_empty() { Ok(beside) } else { Err(WriteError::Miss(Miss::many(missing, CachePolicy::Keep))) }
    }

    /// Whether the row that a batch writes is there already.
    fn has_row(&self, place: &Place<'_>, record: &Record<'_>) -> bool {
        match place {
            Place::Absent | Place::Beside(_) => false,
            Place::Single(..) => record.clustering().is_empty(),
            Place::Partition(number) => {
                let rows = &self.index.partitions.get(*number).rows;
                // What a page has is not known without reading it: rows over it count as such until they are many.
                let few_over = |(_, page): (_, &Page)| page.overlay < 2 * self.config.overlay_rows_max();
                let page = || rows.pages()?.covering(record.clustering());
                rows.get(record.clustering()).is_some() || page().is_some_and(few_over)
            }
        }
    }

    /// Copies a batch into the open segment and completes its records. Returns where it starts.
    pub(crate) fn append_group(&mut self, bytes: &[u8]) -> usize {
        let open = self.log.open.as_mut().expect("make_room has opened a segment");
        let (start, end, salt) = (open.used, open.used + bytes.len(), open.salt);
        open.used = end;
        let frame = &mut self.memory.frame_mut(open.segment)[..end];
        frame[start..].copy_from_slice(bytes);
        let mut at = start;
        while at < end {
            let rest = &mut frame[at..];
            let length = Record::trusted(rest).length();
            record::set_sequence(rest, self.log.take_sequence());
            record::finish(rest, length, salt, at);
            at += padded(length);
        }
        self.log.position += bytes.len() as u64;
        start
    }

    /// Points the index to the records of a batch that was just appended.
    fn index_group(&mut self, start: usize, bytes: usize) {
        let Self { log, memory, index, segments, cache, progress, .. } = self;
        let segment = log.open.as_ref().expect("the batch was appended to it").segment;
        let frame = memory.frame(segment).expect("an open segment has a frame");
        let mut records = Records { segment, bytes: &frame.bytes, at: start, end: start + bytes };
        let (mut ends, mut replaces) = (false, false);
        let mut rest = records;
        if let Some((record, location)) = rest.next() {
            ends |= count(segments, &record, location);
            // Most writes are of one row: it has no neighbours to look for.
            if rest.at == rest.end {
                records = rest;
                if let Before::Row(old) = index.upsert(&record.key(), location, memory) {
                    replaces = true;
                    release(memory, cache, segments, old);
                }
            }
        }
        for (record, location) in rest {
            ends |= count(segments, &record, location);
        }
        let mut replaced = |old: Location| {
            replaces = true;
            release(memory, cache, segments, old);
        };
        while let Some((first, location)) = records.next() {
            let key = first.key();
            if let Before::Row(old) = index.upsert(&key, location, memory) {
                replaced(old);
            }
            let neighbours = records.take_neighbours(&first);
            if neighbours.at == neighbours.end {
                continue;
            }
            match index.partition_number(&key) {
                Some(number) => {
                    let rows = neighbours.map(|(record, location)| (record.clustering(), location));
                    index.upsert_rows((&key, number), rows, &mut replaced);
                }
                None => {
                    for (record, location) in neighbours {
                        if let Before::Row(old) = index.upsert(&record.key(), location, memory) {
                            replaced(old);
                        }
                    }
                }
            }
        }
        // What was found damaged may have been an older version, too. Where rows that end are together with others it does not matter.
        if ends && (replaces || progress.damaged > 0) {
            segments.set_replacing(segment);
        }
    }

    /// The index does not point to this place any more.
    pub(crate) fn release(&mut self, location: Location) {
        release(&self.memory, &mut self.cache, &mut self.segments, location);
    }

    /// Copies what is new in the open segment into the stable memory.
    pub(crate) fn mirror_open(&mut self) {
        let Self { memory, stable, log, config, .. } = self;
        #[cfg(test)]
        if self.planted == Some(crate::tests::Planted::SkipMirror) {
            return log.open.iter_mut().for_each(|open| open.mirrored = open.used);
        }
        if let Some(open) = &mut log.open {
            mirror(open, memory, stable, config.segment_bytes);
        }
    }

    /// The same of the cold segment.
    pub(crate) fn mirror_cold(&mut self) {
        let Self { memory, stable, log, config, .. } = self;
        if let Some(open) = &mut log.cold {
            mirror(open, memory, stable, config.segment_bytes);
        }
    }
}

/// Copies what is new in a segment that is being filled into its mirror slot.
fn mirror(open: &mut Open, memory: &Memory, stable: &mut Stable, segment_bytes: u32) {
    if open.mirrored == open.used {
        return;
    }
    let frame = memory.frame(open.segment).expect("a segment that is being filled has a frame");
    let base = open.slot * segment_bytes as usize;
    stable.write(base + open.mirrored, &frame.bytes[open.mirrored..open.used]);
    open.mirrored = open.used;
}
