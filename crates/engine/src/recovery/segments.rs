//! Reading the used segments: each from the device, from the stable memory's image of it, or from both; `records` puts what is in it into the index.

use super::records::Indexed;
use super::{Engine, Item, Phase};
use crate::error::OpenError;
use crate::format::mark::Mark;
use crate::format::record::{self, HEADER_BYTES};
use crate::format::segment_header::HeaderState;
use crate::format::witness::{self, read_witnesses};
use crate::load::Pace;
use crate::location::SegmentId;
use crate::log::{Point, Sealed};
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
}
