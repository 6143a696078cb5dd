//! The stable memory: images of segments that the device may not have, or not all of.

use super::{Engine, Item, Phase};
use crate::format::mark::Mark;
use crate::format::segment_header::{HeaderBlock, HeaderState, SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::format::witness::read_witnesses;
use crate::location::SegmentId;
use crate::segments::Usage;
use base::BLOCK_BYTES;

/// A valid header in a mirror slot.
#[derive(Clone, Copy)]
pub(super) struct Image {
    pub(super) slot: usize,
    pub(super) header: SegmentHeader,
}

impl Engine {
    pub(super) fn read_mirrors(&mut self) {
        let mut images = Vec::new();
        for slot in 0..self.mirror_slots {
            let mut bytes = [0; SEGMENT_HEADER_BYTES];
            self.stable.read(slot * self.config.segment_bytes as usize, &mut bytes);
            self.read_mark_of(slot);
            let ours = |header: &SegmentHeader| {
                (header.store, header.shard, header.segment_bytes) == (self.config.store, self.config.shard, self.config.segment_bytes)
                    && header.state == HeaderState::Used
                    && header.encrypted == self.config.log_key.is_some()
                    && header.segment < SegmentId::COUNT_MAX
            };
            match SegmentHeader::decode(&bytes).ok().filter(ours) {
                Some(header) => {
                    images.push(Image { slot, header });
                    self.read_witnesses_of(slot);
                }
                None => self.set_stale(slot),
            }
        }
        // Of several images of one segment only the last one counts.
        images.sort_by_key(|image| (image.header.segment, image.header.generation));
        let mut last: Vec<Image> = Vec::new();
        for image in images {
            self.log.saw_generation(image.header.generation);
            if let Some(older) = last.pop_if(|older| older.header.segment == image.header.segment) {
                self.set_stale(older.slot);
            }
            last.push(image);
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.evidence.images = last.iter().map(|image| image.header.generation).collect();
            recovery.images = last;
        }
    }

    /// Which run has written to the slot last, and of which shard.
    fn read_mark_of(&mut self, slot: usize) {
        let mut block = [0; BLOCK_BYTES];
        self.stable.read(slot * self.config.segment_bytes as usize, &mut block);
        let Some(recovery) = &mut self.recovery else { return };
        let (store, shard) = (self.config.store, self.config.shard);
        match Mark::read_block(&block) {
            Some(mark) if (mark.store, mark.shard) == (store, shard) => recovery.evidence.saw_in_stable(mark),
            Some(mark) => recovery.evidence.saw_foreign(mark.store, mark.shard),
            None => {}
        }
        let HeaderBlock::Valid(header) = SegmentHeader::read_block(&block) else { return };
        if (header.store, header.shard) == (store, shard) {
            recovery.evidence.newest_in_stable = recovery.evidence.newest_in_stable.max(header.generation);
        } else {
            recovery.evidence.saw_foreign(header.store, header.shard);
        }
    }

    /// The header block that an image has may be on the device or not: what it says of other segments counts.
    fn read_witnesses_of(&mut self, slot: usize) {
        let mut block = [0; BLOCK_BYTES];
        self.stable.read(slot * self.config.segment_bytes as usize, &mut block);
        let witnesses = read_witnesses(&block, self.config.store, self.config.shard);
        if let Some(recovery) = &mut self.recovery {
            witnesses.into_iter().for_each(|witness| recovery.vouched_in_stable.add(witness));
        }
    }

    /// The slot's image is not needed: to be cleared when recovery ends.
    pub(super) fn set_stale(&mut self, slot: usize) {
        if let Some(recovery) = &mut self.recovery {
            recovery.stale_slots.push(slot);
        }
    }

    /// Makes sure that what the slots hold is never taken for an image again.
    pub(super) fn clear_mirrors(&mut self) {
        for slot in 0..self.mirror_slots {
            self.stable.write(slot * self.config.segment_bytes as usize, &[0; SEGMENT_HEADER_BYTES]);
        }
    }

    /// Decides from which of device and mirror each segment is read, and in which order.
    pub(super) fn plan_segments(&mut self, now_us: u64) -> Option<Phase> {
        let beyond = {
            let recovery = self.recovery.as_ref()?;
            recovery.images.iter().map(|image| image.header.segment as usize + 1).max().unwrap_or(0)
        };
        let file_segments = self.recovery.as_ref()?.evidence.file_segments();
        if beyond > self.segments.len() && file_segments > self.segments.len() && !self.config.accepts_loss {
            // The file has been longer. It stays as it is until somebody has accepted that.
            let count = self.segments.len();
            self.recovery.as_mut()?.images.retain(|image| (image.header.segment as usize) < count);
        } else if beyond > self.segments.len() {
            // The capacity may have been lowered since, but what was acknowledged is kept.
            self.growth.reserve(beyond);
            self.grow_file(now_us, beyond);
            return Some(Phase::Extend);
        }
        // If that is accepted, the file may be an older copy: an image takes no place in which it has records.
        let is_older = self.config.accepts_loss && self.lacks_data();
        let images = std::mem::take(&mut self.recovery.as_mut()?.images);
        let mut items: Vec<Item> = Vec::new();
        for (segment, entry) in self.segments.iter().filter(|(_, entry)| entry.usage == Usage::Stored) {
            items.push(Item { segment, generation: entry.generation, on_device: true, image: None, load: None });
        }
        for image in images {
            let (segment, generation) = (SegmentId(image.header.segment), image.header.generation);
            let entry = *self.segments.get(segment);
            let is_free = entry.usage == Usage::Free;
            let is_over = entry.generation == generation && (is_free || entry.nonce != image.header.nonce);
            let is_taken = is_older && !is_free && entry.generation < generation;
            if entry.generation > generation || is_over || is_taken {
                // The device has a later use of the segment, or knows that this one is over.
                self.set_stale(image.slot);
            } else if entry.generation == generation {
                if let Some(item) = items.iter_mut().find(|item| item.segment == segment) {
                    item.image = Some(image);
                }
            } else {
                items.retain(|item| item.segment != segment);
                self.segments.claim(segment);
                let header = image.header;
                self.segments.adopt(segment, Usage::Stored, header.generation, header.nonce, header.base_sequence);
                self.log.saw_sequence(header.base_sequence);
                items.push(Item { segment, generation, on_device: false, image: Some(image), load: None });
            }
        }
        items.sort_by_key(|item| (item.generation, item.segment));
        self.progress.segments_total = items.len() as u64;
        self.recovery.as_mut()?.items = items.into();
        Some(Phase::Checkpoint)
    }

    pub(super) fn recover_extend(&mut self, now_us: u64) -> Option<Phase> {
        if self.growth.is_extending() {
            return None;
        }
        if !self.growth.may_grow() {
            // Without the space an image cannot be written back, and its records were acknowledged.
            self.recovery_failed(crate::error::OpenError::Device { error: io::DiskError::Full });
            return None;
        }
        self.plan_segments(now_us)
    }
}
