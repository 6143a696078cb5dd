//! Rows of wide partitions move from records of their own to pages, in the background.
//!
//! 1. The index notes where a leaf was split and where many rows have come to lie over a page (`Candidate`).
//! 2. A candidate stands for a range: a few leaves between pages, or a page with what lies over it. It is looked at when all single rows
//!    of the range are on the device, and when what is not in memory has been fetched.
//! 3. Rows that may be purged are left out; the others become pages of about `page_bytes_max`, which are appended as one atomic group.
//! 4. The index points to the pages; the places of the rows are dead.
//!
//! A page says: of this range, these are the rows that were written to segments of earlier generations than mine. So it takes the place of
//! all records before it, tombstones included, wherever defragmentation moves it; and rows that came after it lie over it.
//!
//! Invariants: a page has only rows that the device has already, so no part of a batch outlives the rest of it; a range that has a page
//! keeps one until nothing older can be in the log, an empty one if need be; while a table is being dropped or truncated no page is made, as
//! a crash may bring its rows back.

mod purged;
mod stretch;
mod work;

use crate::engine::Engine;
use crate::error::Miss;
use crate::fetch::PAGING_WAITER;
use crate::format::page::{self, PageView};
use crate::format::record::{HEADER_BYTES, Record};
use crate::index::bound_key::bound_between;
use crate::index::{Candidate, NewPage, Rows};
use crate::key::{CachePolicy, Row};
use crate::large_partitions::LargePartition;
use crate::location::{Location, SegmentId, padded};
use crate::memory::Stored;
use crate::merge::{Merge, Step};
use crate::purging::Purged;
use crate::scan::Direction;
use crate::segments::Usage;
use crate::write::Appender;
use base::{Compression, TableId};
use io::Now;
use std::collections::BTreeMap;
use std::ops::Bound;
use stretch::{Stretch, WORTH_PART};
use work::{Draft, PageFlags, Work, push_page_header};

/// Bytes of rows that one slice makes pages of.
const SLICE_BYTES: usize = 64 << 10;
/// Records that are fetched at once for pages.
const FETCHED_MAX: usize = 128;
/// While others wait for the device, too: each of their reads stays in its queue behind so many.
const FETCHED_BESIDE_OTHERS_MAX: usize = 8;
/// What the rows of a candidate take in the index, about.
const CANDIDATE_INDEX_BYTES: usize = 2 << 10;
/// Rows that wait for pages are urgent when they take more than this part of the memory.
const URGENT_MEMORY_PART: usize = 16;
/// Candidates that one slice puts off.
const PUT_OFF_MAX: usize = 32;

/// The state of page making.
#[derive(Default)]
pub(crate) struct Paging {
    /// The candidate whose records are being fetched.
    fetching: Option<Candidate>,
    /// Nothing can be done before the device has more, or has more room.
    pub(crate) idle: bool,
    work: Option<Box<Work>>,
    /// What pages are compressed with, of the tables that do not want what is usual.
    compressions: BTreeMap<TableId, Compression>,
}

impl Paging {
    /// Memory of buffers.
    pub(crate) fn bytes(&self) -> usize {
        self.work.as_ref().map_or(0, |work| work.bytes())
    }

    /// Empty buffers for pages of a table.
    fn take_work(&mut self, table: TableId) -> Box<Work> {
        let mut work = self.work.take().unwrap_or_else(|| Box::new(Work::new()));
        work.clear(self.compressions.get(&table).copied().unwrap_or_default());
        work
    }
}

/// What became of a candidate.
enum Outcome {
    /// Pages were made of so many bytes of rows.
    Made(usize),
    /// It is not worth a page, or not any more.
    Nothing,
    /// A row of the range is not on the device yet.
    TooEarly,
    /// Records have to be fetched first.
    Missing(Vec<Location>),
    /// The log has no room now.
    NoRoom,
}

/// What a range has, about.
struct Measured {
    count: usize,
    /// Without those of pages that are missing.
    bytes: usize,
    /// Records that are not in memory.
    missing: Vec<Location>,
}

impl Engine {
    /// What a table's pages are compressed with from now on.
    pub fn set_compression(&mut self, table: TableId, compression: Compression) {
        if compression == Compression::default() {
            self.paging.compressions.remove(&table);
        } else {
            self.paging.compressions.insert(table, compression);
        }
    }

    /// From now on partitions of more bytes than this are told of; `u64::MAX` for none.
    pub fn set_large_partition_bytes(&mut self, bytes: u64) {
        self.large_partitions.bytes_max = bytes;
    }

    /// Those that were found since the last call: of each table the largest.
    pub fn take_large_partitions(&mut self) -> impl Iterator<Item = LargePartition> + use<> {
        std::mem::take(&mut self.large_partitions.found).into_values()
    }

    /// Whether rows wait to be moved to pages.
    pub(crate) fn has_rows_for_pages(&self) -> bool {
        self.config.page_rows_max > 0 && (self.paging.fetching.is_some() || !self.index.candidates.is_empty())
    }

    /// Whether rows will move to pages although nothing more is written.
    pub(crate) fn will_make_pages(&self) -> bool {
        self.has_rows_for_pages() && (!self.paging.idle || !self.log.sealed.is_empty() || self.is_open_worth_sealing())
    }

    fn is_open_worth_sealing(&self) -> bool {
        self.log.open.as_ref().is_some_and(|open| open.used > self.config.segment_bytes as usize / 2)
    }

    /// How many records are fetched at once.
    fn fetched_at_once(&mut self) -> usize {
        let is_urgent = self.index.candidates.len() * CANDIDATE_INDEX_BYTES > self.config.memory_limit_bytes / URGENT_MEMORY_PART;
        let others_wait = self.fetches.take_fetched_by_others();
        if others_wait && !is_urgent { FETCHED_BESIDE_OTHERS_MAX } else { FETCHED_MAX }
    }

    /// One slice of page making. True when there is more to do at once.
    pub(crate) fn page_tick(&mut self, now: Now) -> bool {
        let more = self.page_slice(now);
        let is_stuck = self.paging.idle && self.log.sealed.is_empty() && self.has_rows_for_pages();
        if is_stuck && self.is_open_worth_sealing() && self.index_is_full() && self.check_accepting().is_ok() {
            // Writers wait for rows to move to pages, and these for the segment that only writers fill.
            self.seal_open(now);
        }
        more
    }

    fn page_slice(&mut self, now: Now) -> bool {
        if self.poisoned.is_some() || self.closing || self.config.page_rows_max == 0 || !self.drops.is_empty() {
            return false;
        }
        #[cfg(test)]
        if self.planted == Some(crate::tests::Planted::VolatilePages) {
            self.paging.idle = false;
        }
        let (mut bytes, mut put_off) = (0, 0);
        while bytes < SLICE_BYTES {
            let fetched = self.paging.fetching.is_some();
            if fetched && !self.fetches.take_paging_ready() || !fetched && self.paging.idle {
                return false;
            }
            let Some(candidate) = self.paging.fetching.take().or_else(|| self.index.candidates.pop_front()) else { return false };
            match self.page_candidate(now, &candidate) {
                Outcome::Made(made) => bytes += made,
                Outcome::Nothing => bytes += SLICE_BYTES / 256,
                Outcome::TooEarly => {
                    self.index.candidates.push_back(candidate);
                    put_off += 1;
                    self.paging.idle = put_off >= PUT_OFF_MAX.min(self.index.candidates.len());
                }
                Outcome::Missing(mut locations) => {
                    // The rest is missed again when these are there.
                    locations.truncate(self.fetched_at_once());
                    self.fetch(&Miss::many(locations, CachePolicy::Bypass), PAGING_WAITER);
                    self.paging.fetching = Some(candidate);
                    continue;
                }
                Outcome::NoRoom => {
                    self.index.candidates.push_front(candidate);
                    self.paging.idle = true;
                }
            }
            if fetched {
                self.finish(PAGING_WAITER);
            }
        }
        true
    }

    fn page_candidate(&mut self, now: Now, candidate: &Candidate) -> Outcome {
        let Some(partition) = self.index.partition_of(candidate) else { return Outcome::Nothing };
        let Some(stretch) = Stretch::choose(&self.config, &partition.rows, candidate) else { return Outcome::Nothing };
        let Measured { count, bytes, missing } = match self.measure(&partition.rows, partition.key.len(), &stretch) {
            Ok(measured) => measured,
            Err(outcome) => return outcome,
        };
        self.large_partitions.note(candidate.table, partition, (count, bytes));
        // Single rows are judged before they are fetched.
        let limits = &self.config;
        let too_few = stretch.is_gap && count < limits.page_rows_max.div_ceil(WORTH_PART);
        let too_large = stretch.is_gap && bytes > count * limits.page_row_bytes_max || bytes > limits.segment_bytes as usize / 4;
        if too_few || too_large {
            return Outcome::Nothing;
        }
        if !missing.is_empty() {
            return Outcome::Missing(missing);
        }
        let mut work = self.paging.take_work(candidate.table);
        let outcome = match self.draft(now, &partition.rows, &stretch, (count, bytes), &mut work) {
            Some(purged) => self.append_pages(now, candidate, &stretch, bytes, purged, &mut work),
            None => Outcome::Nothing,
        };
        self.paging.work = Some(work);
        outcome
    }

    /// What a range has, about; or why it cannot be looked at now.
    fn measure(&self, rows: &Rows, key_bytes: usize, stretch: &Stretch) -> Result<Measured, Outcome> {
        let (from, to) = (Bound::Included(&*stretch.low), Bound::Excluded(&*stretch.high));
        let (mut count, mut bytes) = (0, 0);
        let mut missing = Vec::new();
        for (_, location) in rows.range(from, to) {
            let segment = self.memory.device_location(location).segment();
            let usage = self.segments.get(segment).usage;
            let is_there = matches!(usage, Usage::Stored | Usage::Draining | Usage::Quarantined);
            #[cfg(test)]
            let is_there = is_there || self.planted == Some(crate::tests::Planted::VolatilePages);
            if !is_there {
                return Err(Outcome::TooEarly);
            }
            count += 1;
            bytes += location.padded().saturating_sub(HEADER_BYTES + key_bytes);
            match self.memory.stored(location) {
                Stored::Here(_) => {}
                Stored::Elsewhere => missing.push(location),
                Stored::Damaged(_) => return Err(Outcome::Nothing),
            }
        }
        for (_, page) in rows.page_range(from, to) {
            count += page.rows as usize;
            match self.memory.stored(page.location) {
                Stored::Here(record) => bytes += PageView::parse(record.row().bytes).ok_or(Outcome::Nothing)?.raw_bytes(),
                Stored::Elsewhere => missing.push(page.location),
                Stored::Damaged(_) => return Err(Outcome::Nothing),
            }
        }
        Ok(Measured { count, bytes, missing })
    }

    /// Makes pages of a range without giving them a place, and says what was left out. `None` if a row cannot be read.
    fn draft(&self, now: Now, rows: &Rows, stretch: &Stretch, (count, bytes): (usize, usize), work: &mut Work) -> Option<Purged> {
        let (rows_max, bytes_max) = (self.config.page_rows_max, self.config.page_bytes_max);
        let pages = count.div_ceil(rows_max).max(bytes.div_ceil(bytes_max)).max(1);
        let rows_each = count.div_ceil(pages);
        let mut low = stretch.low.clone();
        let mut purged = Purged::default();
        let bounds = (Bound::Included(&*stretch.low), Bound::Excluded(&*stretch.high));
        let mut merge = Merge::new(self, rows, bounds, Direction::Forward, CachePolicy::Bypass, None);
        loop {
            let (key, row): (&[u8], Row<'_>) = match merge.step().ok()? {
                Step::End => break,
                Step::Missing(_) | Step::Old(_) => return None,
                Step::Single(key, location) => (key, self.record(location, CachePolicy::Bypass).ok()??.row()),
                Step::InPage(number) => merge.in_page(number),
            };
            if row.kind.purge_after_s().is_some_and(|after| after < now.wall_s()) && self.purging.allows(row.sequence) {
                purged.note(row.sequence);
                continue;
            }
            let is_full = work.builder.len() >= rows_each || work.builder.raw_bytes() + key.len() + row.bytes.len() > bytes_max;
            if work.builder.len() > 0 && is_full {
                let bound = bound_between(&work.last_key, key);
                work.end_draft(std::mem::replace(&mut low, bound.into()), bound.into());
            }
            work.builder.push(key, &row);
            work.last_key.clear();
            work.last_key.extend_from_slice(key);
        }
        work.end_draft(low, stretch.high.clone());
        Some(purged)
    }

    /// Appends drafts as one group and points the index to them.
    fn append_pages(
        &mut self,
        now: Now,
        candidate: &Candidate,
        stretch: &Stretch,
        bytes: usize,
        purged: Purged,
        work: &mut Work,
    ) -> Outcome {
        let Work { payloads, group, drafts, .. } = work;
        let key_bytes = self.index.partitions.get(candidate.number).key.len();
        let length_of = |draft: &Draft| {
            let purge = if draft.purge_after_s().is_some() { 8 } else { 0 };
            HEADER_BYTES + purge + key_bytes + draft.low.len() + draft.payload.len()
        };
        let total: usize = drafts.iter().map(|draft| padded(length_of(draft))).sum();
        if total > self.batch_bytes_max() {
            return Outcome::Nothing;
        }
        if self.make_room(now, total, Appender::Put).is_err() {
            return Outcome::NoRoom;
        }
        let segment = self.log.open.as_ref().expect("room was made in it").segment;
        let generation = self.segments.get(segment).generation;
        for (number, draft) in drafts.iter().enumerate() {
            let start = group.len();
            let flags = PageFlags { first: number == 0, last: number + 1 == drafts.len() };
            let partition = &self.index.partitions.get(candidate.number).key;
            push_page_header(group, candidate, flags, draft.purge_after_s(), (partition, &draft.low), length_of(draft));
            let payload = group.len();
            group.extend_from_slice(&payloads[draft.payload.clone()]);
            page::set_generation(&mut group[payload..], generation);
            group.resize(start + padded(length_of(draft)), 0);
        }
        let mut offset = self.append_group(group);
        self.mirror_open();
        let mut new = Vec::with_capacity(drafts.len());
        for draft in drafts.drain(..) {
            let location = Location::record(segment, offset, padded(length_of(&draft)));
            offset += location.padded();
            self.note_live(segment, location);
            new.push(NewPage { low: draft.low, high: draft.high, location, rows: draft.made.rows });
        }
        let old = self.index.replace_pages(candidate.table, candidate.number, (&stretch.low, &stretch.high), new, |_| true);
        old.into_iter().for_each(|location| self.release(location));
        self.counters.page_bytes += total as u64;
        self.note_purged(purged);
        self.flush.due_at(now.monotonic_us.saturating_add(self.config.flush_interval_us / 2));
        Outcome::Made(bytes)
    }

    /// Counts a record that is in a frame and that the index points to from now on.
    pub(crate) fn note_live(&mut self, segment: SegmentId, location: Location) {
        self.segments.add_live(location);
        let frame = self.memory.frame(segment).expect("the record was just written to it");
        let record = Record::trusted(&frame.bytes[location.offset()..location.offset() + location.padded()]);
        let (purgeable, is_page) = (purgeable(&record, location), record.is_page());
        self.segments.add_purgeable(segment, purgeable);
        if is_page {
            self.segments.set_lasting(segment);
        }
    }
}

/// Bytes of a record that may be purged some day, and when.
pub(crate) fn purgeable(record: &Record<'_>, location: Location) -> Option<(usize, i64)> {
    let after = record.kind().purge_after_s()?;
    if !record.is_page() {
        return Some((location.padded(), after));
    }
    let page = PageView::parse(record.row().bytes)?;
    let part = |rows: u32| location.padded() * page.purgeable as usize / rows as usize;
    Some((if page.rows == 0 { location.padded() } else { part(page.rows) }, after))
}
