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

use crate::engine::Engine;
use crate::error::Miss;
use crate::fetch::PAGING_WAITER;
use crate::format::page::{self, Made, PageBuilder, PageView};
use crate::format::record::{self, FLAG_CONTINUES, FLAG_PAGE, FLAG_PURGE, FLAG_STARTS, Fields, HEADER_BYTES, Record};
use crate::index::bound_key::bound_between;
use crate::index::{Candidate, NewPage, Rows};
use crate::key::{CachePolicy, Kind, Row, Sequence};
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
use std::ops::{Bound, Range};

/// Bytes of rows that one slice makes pages of.
const SLICE_BYTES: usize = 64 << 10;
/// Candidates that one slice puts off.
const PUT_OFF_MAX: usize = 32;
/// A page with less than this part of the rows it may have is not worth making, or is joined with the one after it.
const WORTH_PART: usize = 4;
/// The purge time of a page without rows: it goes as soon as nothing older can be left.
const EMPTY_PURGE_S: i64 = i64::MIN;

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

/// Buffers that are used again and again.
struct Work {
    builder: PageBuilder,
    /// The key of the row that came last.
    last_key: Vec<u8>,
    payloads: Vec<u8>,
    group: Vec<u8>,
    drafts: Vec<Draft>,
}

/// A page without a place.
struct Draft {
    low: Box<[u8]>,
    high: Box<[u8]>,
    payload: Range<usize>,
    made: Made,
}

impl Paging {
    /// Memory of buffers.
    pub(crate) fn bytes(&self) -> usize {
        self.work
            .as_ref()
            .map_or(0, |work| work.builder.heap_bytes() + work.last_key.capacity() + work.payloads.capacity() + work.group.capacity())
    }

    /// Empty buffers for pages of a table.
    fn take_work(&mut self, table: TableId) -> Box<Work> {
        let new =
            || Work { builder: PageBuilder::new(), last_key: Vec::new(), payloads: Vec::new(), group: Vec::new(), drafts: Vec::new() };
        let mut work = self.work.take().unwrap_or_else(|| Box::new(new()));
        work.builder.clear();
        work.builder.set_compression(self.compressions.get(&table).copied().unwrap_or_default());
        work.payloads.clear();
        work.group.clear();
        work.drafts.clear();
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

/// A range of clustering keys that pages are made of.
struct Stretch {
    low: Box<[u8]>,
    high: Box<[u8]>,
    /// Whether it has no page yet.
    is_gap: bool,
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

    /// One slice of page making. True when there is more to do at once.
    pub(crate) fn page_tick(&mut self, now: Now) -> bool {
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
                Outcome::Missing(locations) => {
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
        let Some(stretch) = self.choose_stretch(&partition.rows, candidate) else { return Outcome::Nothing };
        let (count, bytes) = match self.measure(&partition.rows, partition.key.len(), &stretch) {
            Ok(measured) => measured,
            Err(outcome) => return outcome,
        };
        let limits = &self.config;
        let too_few = stretch.is_gap && count < limits.page_rows_max.div_ceil(WORTH_PART);
        let too_large = stretch.is_gap && bytes > count * limits.page_row_bytes_max || bytes > limits.segment_bytes as usize / 4;
        if too_few || too_large {
            return Outcome::Nothing;
        }
        let mut work = self.paging.take_work(candidate.table);
        let outcome = match self.draft(now, &partition.rows, &stretch, (count, bytes), &mut work) {
            Some(purged) => self.append_pages(now, candidate, &stretch, bytes, purged, &mut work),
            None => Outcome::Nothing,
        };
        self.paging.work = Some(work);
        outcome
    }

    /// The range that a candidate stands for.
    fn choose_stretch(&self, rows: &Rows, candidate: &Candidate) -> Option<Stretch> {
        let rows_max = self.config.page_rows_max;
        let mut key = &*candidate.key;
        if let Some((low, page)) = rows.pages().and_then(|pages| pages.covering(key)) {
            let pages = rows.pages()?;
            let mut high = pages.high_of(low, page);
            if page.overlay >= self.config.overlay_rows_max() || (candidate.purge && page.overlay > 0) {
                let few = |rows: usize| rows < rows_max.div_ceil(WORTH_PART);
                if few((page.rows + page.overlay) as usize)
                    && let Some(next) = pages.at(high)
                    && (page.rows + page.overlay + next.rows + next.overlay) as usize <= rows_max
                {
                    high = pages.high_of(high, next);
                }
                return Some(Stretch { low: low.into(), high: high.into(), is_gap: false });
            }
            // The page has a part of a leaf: what comes after it may be worth another.
            let (_, _, next) = rows.leaf_around(key);
            if next.is_none_or(|next| next <= high) || pages.covering(high).is_some() {
                return None;
            }
            key = high;
        }
        let (bound, mut count, next) = rows.leaf_around(key);
        // The last leaf stays as it is: there the partition grows.
        let mut high = next?;
        let low = rows.pages().and_then(|pages| pages.end_before(key)).map_or(bound, |end| bound.max(end));
        let gap_end = rows.pages().and_then(|pages| pages.next_low(key));
        while gap_end.is_none_or(|end| high < end)
            && let (_, more, Some(next)) = rows.leaf_around(high)
            && count + more <= rows_max
        {
            count += more;
            high = next;
        }
        let high = gap_end.map_or(high, |end| high.min(end));
        Some(Stretch { low: low.into(), high: high.into(), is_gap: true })
    }

    /// How many rows and bytes a range has, about; or why it cannot be looked at now.
    fn measure(&self, rows: &Rows, key_bytes: usize, stretch: &Stretch) -> Result<(usize, usize), Outcome> {
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
        if missing.is_empty() { Ok((count, bytes)) } else { Err(Outcome::Missing(missing)) }
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

    /// Moves a page of which rows may be purged, without them. False when there is no room now.
    pub(crate) fn move_purged_page(&mut self, now: Now, place: Location, record: &Record<'_>, oldest_base: Sequence) -> bool {
        let key = record.key();
        let Some(view) = PageView::parse(record.row().bytes) else { return true };
        if view.rows == 0 && record.sequence() < oldest_base {
            self.index.remove_page(&key);
            self.release(place);
            return true;
        }
        let mut work = self.paging.take_work(key.table);
        let kept = self.purge_page(now, &view, &mut work);
        let made = kept.and_then(|purged| Some((work.drafts.pop()?, purged)));
        self.paging.work = Some(work);
        // What cannot be read stays where it is, and the segment with it.
        let Some((draft, purged)) = made else { return true };
        let length = HEADER_BYTES + 8 * usize::from(draft.purge_after_s().is_some()) + key.partition.len() + key.clustering.len();
        let length = length + draft.payload.len();
        if self.make_room(now, padded(length), Appender::Defrag).is_err() {
            return false;
        }
        let Some(work) = &mut self.paging.work else { return false };
        let name = Candidate { table: key.table, token: key.token, number: 0, key: Box::default(), purge: false };
        let flags = PageFlags { first: true, last: true };
        push_page_header(&mut work.group, &name, flags, draft.purge_after_s(), (key.partition, key.clustering), length);
        work.group.extend_from_slice(&work.payloads[draft.payload.clone()]);
        work.group.resize(padded(length), 0);
        let Some(open) = &mut self.log.open else { return false };
        let (segment, offset, salt) = (open.segment, open.used, open.salt);
        open.used += padded(length);
        let target = &mut self.memory.frame_mut(segment)[offset..offset + padded(length)];
        target.copy_from_slice(&work.group);
        record::set_sequence(target, record.sequence());
        record::finish(target, length, salt, offset);
        self.log.position += padded(length) as u64;
        self.counters.defrag_bytes += padded(length) as u64;
        self.note_purged(purged);
        let location = Location::record(segment, offset, padded(length));
        self.note_live(segment, location);
        let new = NewPage { low: key.clustering.into(), high: view.high.into(), location, rows: draft.made.rows };
        let old = self.index.replace_page(&key, new);
        old.into_iter().for_each(|old| self.release(old));
        self.flush.due_at(now.monotonic_us.saturating_add(self.config.flush_interval_us / 2));
        true
    }

    /// Drafts a page of the rows of another that may not be purged yet.
    fn purge_page(&self, now: Now, view: &PageView<'_>, work: &mut Work) -> Option<Purged> {
        let mut purged = Purged::default();
        let mut rows = self.pages.buffer();
        let read = self.pages.read(view, &mut rows);
        for number in 0..rows.len() {
            let row = rows.row(number);
            if row.kind.purge_after_s().is_some_and(|after| after < now.wall_s()) && self.purging.allows(row.sequence) {
                purged.note(row.sequence);
            } else {
                work.builder.push(rows.key(number), &row);
            }
        }
        self.pages.close(rows);
        let made = work.builder.finish(view.generation, view.high, &mut work.payloads);
        let payload = 0..work.payloads.len();
        work.drafts.push(Draft { low: Box::default(), high: Box::default(), payload, made });
        read.map(|()| purged)
    }
}

impl Work {
    /// Ends the page that is being built.
    fn end_draft(&mut self, low: Box<[u8]>, high: Box<[u8]>) {
        let start = self.payloads.len();
        let made = self.builder.finish(0, &high, &mut self.payloads);
        self.drafts.push(Draft { low, high, payload: start..self.payloads.len(), made });
    }
}

impl Draft {
    fn purge_after_s(&self) -> Option<i64> {
        if self.made.rows == 0 { Some(EMPTY_PURGE_S) } else { self.made.purge_after_s }
    }
}

/// A page's place in its group.
#[derive(Clone, Copy)]
struct PageFlags {
    first: bool,
    last: bool,
}

fn push_page_header(
    out: &mut Vec<u8>,
    name: &Candidate,
    place: PageFlags,
    purge_after_s: Option<i64>,
    (partition, low): (&[u8], &[u8]),
    length: usize,
) {
    let flag = |flag: u8, is_set: bool| if is_set { flag } else { 0 };
    let flags = FLAG_PAGE | flag(FLAG_STARTS, place.first) | flag(FLAG_CONTINUES, !place.last) | flag(FLAG_PURGE, purge_after_s.is_some());
    let kind = purge_after_s.map_or(Kind::Live, |purge_after_s| Kind::Expiring { purge_after_s });
    let (partition_bytes, clustering_bytes) = (partition.len() as u16, low.len() as u16);
    let fields = Fields { length, flags, token: name.token, table: name.table, partition_bytes, clustering_bytes };
    record::push_header(out, &fields, kind);
    out.extend_from_slice(partition);
    out.extend_from_slice(low);
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
