//! Reading the used segments and putting their records into the index.

use super::{Engine, Item, Phase, keyed_hash};
use crate::error::OpenError;
use crate::format::mark::Mark;
use crate::format::page::PageView;
use crate::format::record::{self, FLAG_CONTINUES, FLAG_STARTS, HEADER_BYTES, Record};
use crate::format::segment_header::HeaderState;
use crate::format::witness::{self, read_witnesses};
use crate::index::{Collision, NewPage, Recovered};
use crate::load::Pace;
use crate::location::{Location, SegmentId, padded};
use crate::log::{Point, Sealed};
use crate::paging::purgeable;
use crate::resident::is_resident;
use crate::segments::Usage;
use crate::walk::{Step, Walk};
use base::{AlignedBuffer, BLOCK_BYTES};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Segments that are being read at the same time, at least and at most; between them a part of the frames.
const AHEAD: (usize, usize) = (3, 8);
const FRAMES_BY_AHEAD: usize = 16;
/// How what could not be read as a whole is read again.
const AGAIN: Pace = Pace { piece_bytes: 256 << 10, in_flight_max: 4 };

/// Copies what is valid in the image of a mirror and not in the device's. Both are of the same use of the segment, so valid records at
/// the same place are the same. `walk` is over the mirror. Returns whether there was anything to copy.
fn merge(device: &mut [u8], mirror: &[u8], mut walk: Walk<'_>) -> bool {
    let mut contributed = false;
    while let Some(step) = walk.next() {
        let range = match step {
            Step::Record { offset, record } => offset..offset + record.length(),
            Step::Seal { end, .. } => end - HEADER_BYTES..end,
            Step::Damage { .. } | Step::Torn => continue,
        };
        if device[range.clone()] != mirror[range.clone()] {
            device[range.clone()].copy_from_slice(&mirror[range]);
            contributed = true;
        }
    }
    contributed
}

/// What indexing the records of an image has found out.
struct Indexed {
    sealed: bool,
    end: usize,
    /// Torn bytes to be padded: offset and length.
    pads: Vec<(usize, usize)>,
    /// Whether there is damage among what an index from a checkpoint may name.
    damaged: bool,
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
    pub(super) fn recover_segments(&mut self) -> Option<Phase> {
        loop {
            self.load_ahead();
            let recovery = self.recovery.as_mut()?;
            let Some(first) = recovery.items.front() else {
                self.end_gathering();
                let unknown = std::mem::take(&mut self.recovery.as_mut()?.unknown);
                if !unknown.is_empty() {
                    // Before anything is written: their segments would count as empty.
                    let records = unknown.values().sum();
                    let loss = OpenError::UnknownTables { tables: unknown.into_keys().collect(), records };
                    if !self.config.accepts_loss {
                        self.recovery_failed(loss);
                        return None;
                    }
                    self.accepted_losses.push(loss);
                    self.report_loss();
                }
                return Some(Phase::Collisions);
            };
            if first.load.is_some_and(|serial| !self.loads.is_done(serial)) {
                return None;
            }
            let item = recovery.items.pop_front()?;
            self.recover_item(&item);
            self.progress.segments_done += 1;
        }
    }

    fn load_ahead(&mut self) {
        for index in 0..(self.frames_allowed() / FRAMES_BY_AHEAD).clamp(AHEAD.0, AHEAD.1) {
            let Some(item) = self.recovery.as_ref().and_then(|recovery| recovery.items.get(index)) else { return };
            if !item.on_device || item.load.is_some() {
                continue;
            }
            let segment = item.segment;
            let staging = self.take_log_frame();
            let serial = self.load_whole(segment, staging, AGAIN);
            if let Some(item) = self.recovery.as_mut().and_then(|recovery| recovery.items.get_mut(index)) {
                item.load = Some(serial);
            }
        }
    }

    fn recover_item(&mut self, item: &Item) {
        let salt = self.segments.salt(item.segment);
        if let Some(recovery) = &mut self.recovery {
            recovery.imaged = Some(item.segment).filter(|_| item.image.is_some() && recovery.evidence.trusts_images);
        }
        let mut device = item.load.and_then(|serial| self.loads.take(serial)).map(|(_, bytes)| bytes);
        if let Some(image) = item.image {
            let mut frame = self.take_log_frame();
            let mirror = Rc::get_mut(&mut frame).expect("a frame that was just taken is not shared");
            self.stable.read(image.slot * self.config.segment_bytes as usize, mirror);
            let Some(mut device) = device.take() else { return self.adopt_image(item.segment, image.slot, frame) };
            let bytes = Rc::get_mut(&mut device).expect("a load's frame is not shared");
            let is_whole = self.recovery.as_ref().is_some_and(|recovery| recovery.imaged.is_some());
            let walk = if is_whole { Walk::appended } else { Walk::new };
            let contributed = merge(bytes, mirror, walk(mirror, salt, 0));
            self.memory.recycle(frame);
            if contributed {
                return self.adopt_image(item.segment, image.slot, device);
            }
            self.set_stale(image.slot);
            return self.recover_device(item.segment, device);
        }
        if let Some(device) = device {
            self.recover_device(item.segment, device);
        }
    }

    /// A segment that the device has.
    fn recover_device(&mut self, segment: SegmentId, mut device: Rc<AlignedBuffer>) {
        let indexed = self.recover_records(segment, &device);
        self.carry(segment, &indexed);
        self.segments.set_used(segment, indexed.end);
        let bytes = Rc::get_mut(&mut device).expect("a load's frame is not shared");
        self.patch_segment(segment, bytes, &indexed);
        self.memory.recycle(device);
    }

    /// What of a segment no checkpoint covers counts for when the next one is due.
    fn carry(&mut self, segment: SegmentId, indexed: &Indexed) {
        let start = self.recovery.as_ref().map_or(Point::default(), |recovery| recovery.start);
        let covered = if self.segments.get(segment).generation == start.generation { start.offset as usize } else { BLOCK_BYTES };
        self.checkpoints.carry(indexed.end.saturating_sub(covered) as u64);
    }

    /// An image that the device lacks becomes a sealed segment that waits to be flushed.
    fn adopt_image(&mut self, segment: SegmentId, slot: usize, mut frame: Rc<AlignedBuffer>) {
        let header = self.header_of(segment, HeaderState::Used);
        let indexed = self.recover_records(segment, &frame);
        self.carry(segment, &indexed);
        let bytes = Rc::get_mut(&mut frame).expect("a frame that was just taken is not shared");
        let witnesses = read_witnesses(&bytes[..BLOCK_BYTES], header.store, header.shard);
        let mark = Mark::read_block(&bytes[..BLOCK_BYTES]);
        header.fill_block(bytes);
        witness::fill_block(bytes, header.store, header.shard, &witnesses);
        // The run that has written it: what this one does with it may be cut short.
        if let Some(mark) = mark {
            mark.fill_block(bytes);
        }
        for (offset, length) in indexed.pads {
            record::write_pad(bytes, header.salt(), offset, length);
        }
        let mut used = indexed.end;
        // What is damaged up to the end has no room for one.
        if !indexed.sealed && used + HEADER_BYTES <= bytes.len() {
            record::write_seal(&mut bytes[used..], self.log.last_sequence(), header.salt(), used);
            used += HEADER_BYTES;
            self.stable.write(slot * self.config.segment_bytes as usize + indexed.end, &bytes[indexed.end..used]);
        }
        bytes[used..used.next_multiple_of(BLOCK_BYTES)].fill(0);
        self.memory.put_frame(segment, frame);
        if indexed.damaged {
            self.memory.suspect(segment, header.salt());
        }
        self.cache.enters(segment);
        self.segments.set_usage(segment, Usage::Sealed);
        self.segments.set_used(segment, used);
        self.log.sealed.push_back(Sealed { segment, slot, used, mirrored: 0, durable: 0 });
    }

    /// Has the places rewritten that a torn write left behind: pads over holes, and a seal at the end, so that later damage is not taken
    /// for another torn write, nor this one for damage.
    fn patch_segment(&mut self, segment: SegmentId, image: &mut [u8], indexed: &Indexed) {
        let salt = self.segments.salt(segment);
        let mut blocks = BTreeSet::new();
        for (offset, length) in &indexed.pads {
            record::write_pad(image, salt, *offset, *length);
            blocks.extend([offset / BLOCK_BYTES, (offset + HEADER_BYTES - 1) / BLOCK_BYTES]);
        }
        let (end, after) = (indexed.end, indexed.end + HEADER_BYTES);
        if !indexed.sealed && after <= image.len() {
            record::write_seal(&mut image[end..], self.log.last_sequence(), salt, end);
            let block_end = after.next_multiple_of(BLOCK_BYTES);
            image[after..block_end].fill(0);
            self.segments.set_used(segment, after);
            blocks.extend([end / BLOCK_BYTES, (after - 1) / BLOCK_BYTES]);
        }
        for block in blocks {
            let mut buffer = AlignedBuffer::zeroed(BLOCK_BYTES);
            buffer.copy_from_slice(&image[block * BLOCK_BYTES..(block + 1) * BLOCK_BYTES]);
            self.flush.patches.push((segment, block * BLOCK_BYTES, buffer));
        }
    }

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
    fn recover_records(&mut self, segment: SegmentId, image: &[u8]) -> Indexed {
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
