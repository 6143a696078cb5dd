//! The records of a segment's image go into the index, group by group; what lies between them is told apart: damage, and what a write left behind
//! that power loss has torn.

use super::{Engine, keyed_hash};
use crate::format::page::PageView;
use crate::format::record::{FLAG_CONTINUES, FLAG_STARTS, Record};
use crate::index::{Collision, NewPage, Recovered};
use crate::location::{Location, SegmentId, padded};
use crate::paging::purgeable;
use crate::resident::is_resident;
use crate::walk::{Step, Walk};
use base::BLOCK_BYTES;

/// What indexing the records of an image has found out.
pub(super) struct Indexed {
    pub(super) sealed: bool,
    pub(super) end: usize,
    /// Torn bytes to be padded: offset and length.
    pub(super) pads: Vec<(usize, usize)>,
    /// Whether there is damage among what an index from a checkpoint may name.
    pub(super) damaged: bool,
}

impl Default for Indexed {
    fn default() -> Self {
        Self { sealed: false, end: BLOCK_BYTES, pads: Vec::new(), damaged: false }
    }
}

/// The groups of an image as a walk over it comes to their records.
#[derive(Default)]
struct Groups {
    /// Records of a group that is not complete yet.
    open: Vec<usize>,
    /// Torn bytes whose end is not known yet.
    hole: Option<(usize, usize)>,
    indexed: Indexed,
}

impl Groups {
    /// A write that power loss has torn, like the group at the end of a segment without a seal.
    fn tear(&mut self, offset: usize, end: usize) {
        let start = self.open.first().copied().or(self.hole.map(|(start, _)| start)).unwrap_or(offset);
        self.open.clear();
        self.hole = Some((start, end - start));
        self.indexed.end = end;
    }

    /// The group at the end was not written whole: none of it counts.
    fn drop_open(&mut self) {
        self.indexed.end = self.open.first().copied().unwrap_or(self.indexed.end);
        self.open.clear();
    }
}

impl Engine {
    /// Whether the device was told to keep all of the segment before newer ones were opened: what is wrong in it is damage, not a write
    /// that was torn.
    fn was_synced(&self, segment: SegmentId) -> bool {
        let whole = self.config.file_bytes / u64::from(self.config.segment_bytes);
        if segment.index() as u64 == whole && self.config.accepts_loss {
            // The file has lost its end, which was accepted.
            return false;
        }
        self.segments.get(segment).generation + self.mirror_slots as u64 <= self.log.last_generation()
    }

    /// Up to here in the segment it is known what was durable: no write that was torn since can have spoiled it, and what is wrong there must not
    /// be written over, for the index may name it.
    fn durable_end(&self, segment: SegmentId) -> usize {
        let (newest, durable) = self.recovery.as_ref().map(|recovery| recovery.evidence.newest()).unwrap_or_default();
        let entry = self.segments.get(segment);
        // A checkpoint knows of records before this, which were durable when it was written.
        let named = entry.used as usize;
        // So does the mark of the run that wrote it.
        if entry.generation == newest { named.max(durable as usize) } else { named }
    }

    /// Indexes the records of an image, group by group.
    pub(super) fn recover_records(&mut self, segment: SegmentId, image: &[u8]) -> Indexed {
        let was_synced = self.was_synced(segment);
        // No power was lost since the stable memory got it: nothing in it can be torn but its end.
        let is_whole = self.recovery.as_ref().is_some_and(|recovery| recovery.imaged == Some(segment));
        let named = self.durable_end(segment);
        let walk = match (was_synced, is_whole) {
            (true, _) => Walk::finished,
            (false, true) => Walk::appended,
            (false, false) => Walk::new,
        };
        let mut walk = walk(image, self.segments.salt(segment), 0);
        let mut groups = Groups::default();
        let mut warmed = 0;
        while let Some(step) = walk.next() {
            match step {
                Step::Record { offset, record } => {
                    if offset >= warmed && self.puts_directly(record.table()) {
                        warmed = self.warm_index(image, offset, 0, |_, _| true);
                    }
                    self.recover_record(segment, image, (offset, &record), &mut groups);
                }
                Step::Damage { offset, end } if was_synced || is_whole || offset < named => {
                    self.report_damage(segment, offset, end - offset);
                    groups.indexed.damaged = true;
                    groups.indexed.end = end;
                }
                Step::Damage { offset, end } => groups.tear(offset, end),
                Step::Seal { end, record } => {
                    self.log.saw_sequence(record.sequence());
                    self.recover_group(segment, image, &mut groups.open);
                    groups.indexed.sealed = true;
                    groups.indexed.end = end;
                }
                Step::Torn => {
                    groups.drop_open();
                    if groups.indexed.end < named {
                        self.report_damage(segment, groups.indexed.end, named - groups.indexed.end);
                        groups.indexed.damaged = true;
                        groups.indexed.end = named;
                        walk = Walk::new(image, self.segments.salt(segment), named);
                    }
                }
            }
        }
        if was_synced {
            // If the seal is what is damaged, all that is left of the last group is here. The end is that of the image then, so that no new
            // seal is written over what another read may find.
            self.recover_group(segment, image, &mut groups.open);
        }
        groups.indexed.pads.extend(groups.hole);
        groups.indexed
    }

    /// Takes a record into its group, and indexes the group if it is the last of it.
    #[inline]
    fn recover_record(&mut self, segment: SegmentId, image: &[u8], (offset, record): (usize, &Record<'_>), groups: &mut Groups) {
        let next = offset + padded(record.length());
        if record.flags() & FLAG_STARTS != 0 {
            // What damage left of the group before is all there will ever be.
            self.recover_group(segment, image, &mut groups.open);
            groups.indexed.pads.extend(groups.hole.take());
        }
        groups.indexed.end = next;
        if let Some((_, length)) = &mut groups.hole {
            *length += next - offset;
            return;
        }
        groups.open.push(offset);
        if record.flags() & FLAG_CONTINUES == 0 {
            self.recover_group(segment, image, &mut groups.open);
        }
    }

    fn recover_group(&mut self, segment: SegmentId, image: &[u8], group: &mut Vec<usize>) {
        for offset in group.drain(..) {
            let record = Record::trusted(&image[offset..]);
            let location = Location::record(segment, offset, padded(record.length()));
            self.log.saw_sequence(record.sequence());
            self.progress.records += 1;
            let Some(recovery) = &mut self.recovery else { return };
            let Some(mark) = recovery.tables.get(&record.table()) else {
                if !self.config.was_dropped(record.table()) {
                    *recovery.unknown.entry(record.table()).or_default() += 1;
                }
                continue;
            };
            // Records from before a truncation are dead.
            if record.sequence() < *mark {
                continue;
            }
            self.segments.add_purgeable(segment, purgeable(&record, location));
            // What was there before it is not known.
            self.segments.set_replacing(segment);
            if record.is_page() {
                self.segments.set_lasting(segment);
            }
            if is_resident(record.table()) && record.sequence() < self.segments.get(segment).base_sequence {
                self.segments.note_old_resident(segment, record.sequence());
            }
            if self.segments.point(location) < recovery.start {
                continue;
            }
            let hash = keyed_hash(self.config.store, record.partition());
            let alone = !record.is_page() && record.clustering().is_empty();
            if alone {
                self.recover_row_alone(&record, hash, location);
            } else {
                self.recover_row(&record, hash, location);
            }
        }
    }

    /// A record that is not alone in its partition, or a page of them.
    fn recover_row(&mut self, record: &Record<'_>, hash: u64, location: Location) {
        self.put_directly_from_now(record.table());
        #[cfg(test)]
        let planted = self.planted;
        let Self { index, segments, recovery, .. } = self;
        let Some(recovery) = recovery else { return };
        let point = segments.point(location);
        let is_later = |place: Location| segments.point(place) >= point;
        let collided = if record.is_page() {
            let Some(page) = PageView::parse(record.row().bytes).filter(|page| page.high > record.clustering()) else {
                self.report_damage(location.segment(), location.offset(), location.padded());
                return;
            };
            let generation = page.generation;
            #[cfg(test)]
            let generation = if planted == Some(crate::tests::Planted::PagesOverAll) { u64::MAX } else { generation };
            let superseded = |at: Location| segments.get(at.segment()).generation < generation;
            let new = NewPage { low: record.clustering().into(), high: page.high.into(), location, rows: page.rows };
            let Some((old, collided)) = index.recover_page(&record.key(), hash, new, is_later, superseded) else { return };
            segments.add_live(location);
            old.into_iter().for_each(|old| segments.release(old));
            collided
        } else {
            let (recovered, collided) = index.recover(&record.key(), hash, location, is_later);
            match recovered {
                Recovered::New => segments.add_live(location),
                Recovered::Replaced(old) => {
                    segments.add_live(location);
                    segments.release(old);
                }
                Recovered::Known => {}
            }
            collided
        };
        if collided {
            recovery.collisions.insert(Collision { table: record.table(), token: record.token() });
        }
    }
}
