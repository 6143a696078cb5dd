//! The open segment: whether it has room, its end, and the next one.

use super::Appender;
use crate::engine::Engine;
use crate::error::{NoSpace, WriteError};
use crate::format::record::{self, HEADER_BYTES};
use crate::format::segment_header::{HeaderState, SegmentHeader};
use crate::location::SegmentId;
use crate::log::{Open, Sealed};
use crate::segments::Usage;
use base::BLOCK_BYTES;
use io::Now;

impl Engine {
    /// Makes sure that the open segment has room for `bytes`.
    pub(crate) fn make_room(&mut self, now: Now, bytes: usize, appender: Appender) -> Result<(), WriteError> {
        // The reserve holds for the room left in the open segment, too: defragmentation may have opened it with one of the last.
        let allowed = self.segments.free_count() >= appender.reserve();
        if let Some(open) = &self.log.open
            && allowed
            && open.used + bytes + HEADER_BYTES <= self.config.segment_bytes as usize
        {
            return Ok(());
        }
        self.check_free_segments(appender)?;
        if self.log.slots_free.is_empty() {
            return Err(WriteError::Busy);
        }
        self.seal_open(now);
        if self.wants_cold_segment() {
            let cold = self.open_segment();
            self.segments.set_cold(cold.segment);
            self.log.cold = Some(cold);
        }
        self.log.open = Some(self.open_segment());
        #[cfg(test)]
        if self.planted == Some(crate::tests::Planted::ColdOverWriters) && self.log.cold.is_some() {
            std::mem::swap(&mut self.log.cold, &mut self.log.open);
        }
        Ok(())
    }

    /// Whether another segment may be opened.
    pub(crate) fn check_free_segments(&self, appender: Appender) -> Result<(), WriteError> {
        let reserve = appender.reserve();
        if self.segments.free_count() > reserve {
            return Ok(());
        }
        let soon = self.segments.free_count() + self.segments.soon_free_count() > reserve || self.checkpoints.segments_held() > 0;
        if soon || appender == Appender::Defrag || self.growth.may_grow() || self.defrag.hopeful || !self.drops.is_empty() {
            return Err(WriteError::Busy);
        }
        Err(WriteError::Full { space: self.no_space() })
    }

    fn no_space(&self) -> NoSpace {
        let bytes = |segments: usize| segments as u64 * u64::from(self.config.segment_bytes);
        let (segments, capacity) = (self.growth.segments(), self.growth.capacity());
        if segments < capacity {
            NoSpace::FileSystem { bytes: bytes(segments), capacity_bytes: bytes(capacity) }
        } else {
            NoSpace::Capacity { bytes: bytes(capacity), live_bytes: self.segments.live_bytes() }
        }
    }

    /// Ends the open segment.
    pub(crate) fn seal_open(&mut self, now: Now) {
        let sequence = self.log.last_sequence();
        let Some(open) = &mut self.log.open else { return };
        let frame = self.memory.frame_mut(open.segment);
        record::write_seal(&mut frame[open.used..], sequence, open.salt, open.used);
        self.log.usual_fill = (self.log.usual_fill * 7 + (open.used - BLOCK_BYTES) as u64) / 8;
        open.used += HEADER_BYTES;
        frame[open.used..open.used.next_multiple_of(BLOCK_BYTES)].fill(0);
        self.log.position += HEADER_BYTES as u64;
        self.mirror_open();
        let Some(open) = self.log.open.take() else { return };
        self.segments.set_usage(open.segment, Usage::Sealed);
        self.segments.set_used(open.segment, open.used);
        let Open { segment, slot, used, mirrored, durable, .. } = open;
        self.log.sealed.push_back(Sealed { segment, slot, used, mirrored, durable });
        self.flush.due_at(now.monotonic_us);
    }

    /// Opens the next segment; a free one and a mirror slot are there.
    fn open_segment(&mut self) -> Open {
        let bytes = self.take_log_frame();
        let segment = self.segments.take_free().expect("the caller has counted the free segments");
        let slot = self.log.slots_free.pop().expect("the caller has looked for a free slot");
        let (generation, nonce) = self.log.take_generation();
        let base_sequence = self.log.next_sequence();
        self.segments.adopt(segment, Usage::Open, generation, nonce, base_sequence);
        self.memory.forget_pins(segment);
        self.memory.put_frame(segment, bytes);
        self.defrag.look_soon();
        self.cache.enters(segment);
        let header = self.header_of(segment, HeaderState::Used);
        let mut block = [0; BLOCK_BYTES];
        header.fill_block(&mut block);
        self.bear_witness(&mut block);
        self.turns.opened(segment);
        self.memory.frame_mut(segment)[..BLOCK_BYTES].copy_from_slice(&block);
        self.stable.write(slot * self.config.segment_bytes as usize, &block);
        Open { segment, slot, salt: header.salt(), used: BLOCK_BYTES, mirrored: BLOCK_BYTES, durable: 0 }
    }

    /// The header that belongs into a segment's first block.
    pub(crate) fn header_of(&self, segment: SegmentId, state: HeaderState) -> SegmentHeader {
        let entry = self.segments.get(segment);
        SegmentHeader {
            state,
            encrypted: self.config.log_key.is_some(),
            store: self.config.store,
            shard: self.config.shard,
            segment: segment.0,
            generation: entry.generation,
            base_sequence: entry.base_sequence,
            segment_bytes: self.config.segment_bytes,
            nonce: entry.nonce,
            ordinal: 0,
        }
    }
}
