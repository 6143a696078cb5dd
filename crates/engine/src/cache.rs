//! Which frames stay in memory: the budget, the clock, and the cache of records read from the device.
//!
//! A record that had to be read is copied into the open cache frame and the index is pointed to the copy; the copy remembers its place
//! on the device. Frames are evicted as a whole, in the order they came unless they were read since the clock passed: records that were
//! read move to the open cache frame, other copies give way to their places on the device. Records of resident tables move to cache frames of
//! their own, which are evicted when half of what is in them is not needed any more. Eviction goes on in slices ahead of need.
//!
//! Invariants: frames in memory never exceed what `memory_limit_bytes` leaves after index, pins and buffers, except for the frames
//! without which nothing can be written; sealed segments keep their frames until the device has them.

use crate::config::FRAMES_EXTRA;
use crate::engine::Engine;
use crate::format::record::Record;
use crate::location::{Location, RECORD_ALIGN, SegmentId, padded};
use crate::memory::Frame;
use crate::resident::is_resident;
use crate::segments::Usage;
use crate::tags::Purpose;
use base::{AlignedBuffer, BLOCK_BYTES};
use io::DiskRequest;
use std::collections::VecDeque;
use std::rc::Rc;

/// Bytes of a frame that one slice of eviction looks at.
const SLICE_BYTES: usize = 256 << 10;
/// Frames for what eviction keeps. Were they not there all the time, each frame evicted would be new memory taken and given back.
const EVICTION_FRAMES: usize = 1;

/// A frame being evicted.
struct Evicting {
    segment: SegmentId,
    offset: usize,
    end: usize,
    /// Bytes of records that moved to the open cache frame.
    kept: usize,
}

/// What is known of a cache frame besides its bytes.
#[derive(Clone, Copy, Default)]
struct CacheFrame {
    used: usize,
    live_bytes: usize,
    /// Whether it is for records of resident tables.
    resident: bool,
}

impl CacheFrame {
    /// Whether too much of it stays in memory for eviction to gain anything.
    fn is_full_of_residents(&self) -> bool {
        self.resident && self.live_bytes * 2 > self.used
    }
}

/// Whether a record of a frame that is evicted is worth a place in a cache frame, if it is live.
fn is_kept(frame: &Frame, at: usize, record: &Record<'_>) -> bool {
    is_resident(record.table()) || frame.was_touched(at)
}

/// The clock over frames and the open cache frames.
#[derive(Default)]
pub(crate) struct Cache {
    /// For records that were read, and for those of resident tables.
    open: [Option<SegmentId>; 2],
    frames: Vec<CacheFrame>,
    clock: VecDeque<SegmentId>,
    evicting: Option<Evicting>,
}

impl Cache {
    /// A cached copy is not pointed to any more.
    pub(crate) fn release(&mut self, location: Location) {
        self.frames[location.segment().index()].live_bytes -= location.padded();
    }

    /// A frame became resident and may be evicted some day.
    pub(crate) fn enters(&mut self, segment: SegmentId) {
        self.clock.push_back(segment);
    }

    /// A frame is gone.
    pub(crate) fn leaves(&mut self, segment: SegmentId) {
        self.clock.retain(|other| *other != segment);
        if self.evicting.as_ref().is_some_and(|evicting| evicting.segment == segment) {
            self.evicting = None;
        }
    }
}

impl Engine {
    /// Memory that is not frames.
    pub(crate) fn fixed_bytes(&self) -> usize {
        let buffers = self.fetches.buffer_bytes() + self.flush.buffer_bytes() + self.loads.buffer_bytes();
        let background = self.cold.bytes() + self.checkpoints.buffer_bytes() + self.scrub.buffer_bytes() + self.paging.bytes();
        let recovery = self.recovery.as_ref().map_or(0, crate::recovery::Recovery::buffer_bytes);
        let reads = self.memory.pin_bytes() + self.pages.bytes() + self.prefixes.bytes() + self.dead_runs.bytes();
        let encryption = self.encryption.as_ref().map_or(0, |encryption| encryption.buffer_bytes());
        self.index.bytes() + self.graph_bytes + reads + buffers + background + recovery + encryption
    }

    /// How many frames there is memory for now.
    fn frames_most(&self) -> usize {
        let left = self.config.memory_limit_bytes.saturating_sub(self.fixed_bytes());
        (left / self.config.segment_bytes as usize).max(self.frames_least())
    }

    /// Without so many nothing can be written.
    fn frames_least(&self) -> usize {
        self.mirror_slots + FRAMES_EXTRA
    }

    /// How many frames may be in use now: eviction has one of its own besides, but where there are as few as can be.
    pub(crate) fn frames_allowed(&self) -> usize {
        (self.frames_most() - EVICTION_FRAMES).max(self.frames_least())
    }

    /// How many more may come into use.
    fn frames_to_spare(&self) -> usize {
        self.frames_allowed().saturating_sub(self.memory.resident)
    }

    pub(crate) fn frames_held(&self) -> usize {
        self.memory.held()
    }

    /// A frame without eviction: from the pool, or a new one. Eviction has one of its own: it gives one back soon.
    fn take_spare_frame(&mut self, evicting: bool) -> Option<Rc<AlignedBuffer>> {
        let allowed = self.frames_allowed() + if evicting { EVICTION_FRAMES } else { 0 };
        if self.memory.resident >= allowed {
            return None;
        }
        if let Some(bytes) = self.memory.pool_take() {
            return Some(bytes);
        }
        if self.frames_held() >= allowed {
            return None;
        }
        self.memory.resident += 1;
        Some(Rc::new(AlignedBuffer::zeroed(self.config.segment_bytes as usize)))
    }

    /// A frame for the log, which cannot go on without: evicts what it has to, and exceeds the budget when nothing can be evicted.
    pub(crate) fn take_log_frame(&mut self) -> Rc<AlignedBuffer> {
        loop {
            if let Some(bytes) = self.take_spare_frame(false) {
                return bytes;
            }
            // Much is missing at once: `cache_tick` evicts the rest, a little at a time.
            if self.memory.resident > self.frames_allowed() + EVICTION_FRAMES
                && let Some(bytes) = self.memory.pool_take()
            {
                return bytes;
            }
            if !self.evict_slice(usize::MAX) {
                self.memory.resident += 1;
                return Rc::new(AlignedBuffer::zeroed(self.config.segment_bytes as usize));
            }
        }
    }

    /// Evicts ahead of need, so that whoever wants a frame finds one.
    pub(crate) fn cache_tick(&mut self) -> bool {
        let (held, most, allowed) = (self.frames_held(), self.frames_most(), self.frames_allowed());
        self.memory.pressed = held + 2 >= allowed;
        if held > most {
            self.memory.pool_shrink(self.memory.pool_len().saturating_sub(held - most));
        }
        if held + 1 < allowed && self.memory.begin_to_populate() {
            // Whoever wants the next frame does not touch its memory first: that takes milliseconds.
            let buffer = AlignedBuffer::zeroed(self.config.segment_bytes as usize);
            self.outbox.push((Purpose::Populate.tag(), DiskRequest::Populate { buffer }));
        }
        self.frames_to_spare() == 0 && self.evict_slice(SLICE_BYTES) && self.frames_to_spare() == 0
    }

    /// Copies a record that came from the device into the cache and points the index to it.
    pub(crate) fn cache_insert(&mut self, device: Location, bytes: &[u8]) {
        if bytes.len() > self.config.segment_bytes as usize / 8 {
            return;
        }
        let key = Record::trusted(bytes).key();
        if self.index.locate(&key, |at| at == device).is_none() {
            return;
        }
        if let Some(copy) = self.cache_copy(device, bytes, false) {
            self.index.relocate(&key, |at| at == device, copy);
            self.counters.cache_inserts += 1;
        }
        if self.memory.pressed && self.frames_to_spare() == 0 {
            self.evict_slice(2 * (bytes.len() + RECORD_ALIGN));
        }
    }

    /// Appends a copy to an open cache frame; `None` when there is no frame to be had.
    fn cache_copy(&mut self, device: Location, bytes: &[u8], evicting: bool) -> Option<Location> {
        let needed = RECORD_ALIGN + padded(bytes.len());
        let resident = is_resident(Record::trusted(bytes).table());
        let open = usize::from(resident);
        let room = |cache: &Cache, segment: SegmentId| cache.frames[segment.index()].used + needed <= self.config.segment_bytes as usize;
        if !self.cache.open[open].is_some_and(|segment| room(&self.cache, segment)) {
            let frame = self.take_spare_frame(evicting)?;
            let segment = self.memory.unused_cache();
            self.memory.put_frame(segment, frame);
            self.cache.enters(segment);
            if self.cache.frames.len() <= segment.index() {
                self.cache.frames.resize(segment.index() + 1, CacheFrame::default());
            }
            self.cache.frames[segment.index()] = CacheFrame { resident, ..CacheFrame::default() };
            self.cache.open[open] = Some(segment);
        }
        let segment = self.cache.open[open]?;
        let state = &mut self.cache.frames[segment.index()];
        let start = state.used;
        let location = Location::record(segment, start + RECORD_ALIGN, padded(bytes.len()));
        state.used += needed;
        state.live_bytes += location.padded();
        let frame = &mut self.memory.frame_mut(segment)[start..start + needed];
        frame[..8].copy_from_slice(&device.word().to_le_bytes());
        frame[RECORD_ALIGN..RECORD_ALIGN + bytes.len()].copy_from_slice(bytes);
        Some(location)
    }

    fn is_evictable(&self, segment: SegmentId) -> bool {
        if segment.is_cache() {
            return !self.cache.open.contains(&Some(segment)) && self.drops.is_empty();
        }
        match self.segments.get(segment).usage {
            Usage::Stored | Usage::Quarantined => true,
            // Its records have been gathered.
            Usage::Draining => !self.defrag.is_reading(segment),
            _ => false,
        }
    }

    /// The next frame to go: the first one that was not read since the clock last passed it.
    fn choose_frame(&mut self) -> Option<Evicting> {
        let frames = self.cache.clock.len();
        for looked_at in 0..2 * frames {
            let segment = self.cache.clock.pop_front()?;
            let Some(frame) = self.memory.frame(segment) else { continue };
            if looked_at < frames && segment.is_cache() && self.cache.frames[segment.index()].is_full_of_residents() {
                self.cache.clock.push_back(segment);
                continue;
            }
            let read = frame.referenced.replace(false);
            let live = if segment.is_cache() {
                self.cache.frames[segment.index()].live_bytes
            } else {
                self.segments.get(segment).live_bytes as usize
            };
            self.cache.clock.push_back(segment);
            if self.is_evictable(segment) && (!read || live == 0) {
                let (offset, end) = if segment.is_cache() {
                    (0, self.cache.frames[segment.index()].used)
                } else {
                    (BLOCK_BYTES, self.segments.get(segment).used as usize)
                };
                return Some(Evicting { segment, offset, end: if live == 0 { offset } else { end }, kept: 0 });
            }
        }
        None
    }

    /// Goes on with eviction over at most `budget` bytes of a frame. False when nothing can be evicted.
    pub(crate) fn evict_slice(&mut self, budget: usize) -> bool {
        let evicting = self.cache.evicting.take().filter(|evicting| self.is_evictable(evicting.segment));
        let Some(mut evicting) = evicting.or_else(|| self.choose_frame()) else { return false };
        let segment = evicting.segment;
        let untouched = !segment.is_cache() && self.memory.frame(segment).is_none_or(Frame::is_untouched);
        let stop = if untouched { evicting.end } else { evicting.offset.saturating_add(budget).min(evicting.end) };
        let mut warmed = evicting.offset;
        while !untouched && evicting.offset < stop {
            if evicting.offset >= warmed
                && let Some(frame) = self.memory.frame(segment)
            {
                let prefix = if segment.is_cache() { RECORD_ALIGN } else { 0 };
                let looked_up = |at: usize, record: &Record<'_>| prefix > 0 || is_kept(frame, at, record);
                warmed = self.warm_index(&frame.bytes[..evicting.end], evicting.offset, prefix, looked_up);
            }
            evicting.offset = self.evict_record(&mut evicting);
        }
        if untouched || evicting.offset >= evicting.end {
            self.memory.drop_frame(segment);
            self.cache.leaves(segment);
            self.counters.frames_evicted += 1;
        } else {
            self.cache.evicting = Some(evicting);
        }
        true
    }

    /// Evicts the record at the offset and returns where the next one starts.
    fn evict_record(&mut self, evicting: &mut Evicting) -> usize {
        let segment = evicting.segment;
        let prefix = if segment.is_cache() { RECORD_ALIGN } else { 0 };
        let start = evicting.offset + prefix;
        let Some(frame) = self.memory.frame(segment) else { return evicting.end };
        let bytes = Rc::clone(&frame.bytes);
        let Some(record) = frame.record_in(&bytes, start) else { return start + RECORD_ALIGN };
        let resident = is_resident(record.table());
        let touched = is_kept(frame, start, &record);
        let here = Location::record(segment, start, padded(record.length()));
        let next = start + here.padded();
        if record.is_seal() || (prefix == 0 && !touched) {
            return next;
        }
        let key = record.key();
        if self.index.locate(&key, |at| at == here).is_none() {
            return next;
        }
        let device = self.memory.device_location(here);
        let segment_bytes = self.config.segment_bytes as usize;
        // Something must be gained.
        let kept_max = if resident { segment_bytes / 8 * 7 } else { segment_bytes / 2 };
        let keeps = touched && evicting.kept < kept_max && record.length() <= segment_bytes / 8;
        let copy = if keeps { self.cache_copy(device, record.whole(), true) } else { None };
        if copy.is_some() {
            evicting.kept += here.padded();
        }
        if prefix > 0 {
            self.cache.release(here);
        }
        if copy.is_some() || prefix > 0 {
            self.index.relocate(&key, |at| at == here, copy.unwrap_or(device));
        }
        next
    }

    /// A segment's frame is not needed any more, as nothing in it is live.
    pub(crate) fn drop_device_frame(&mut self, segment: SegmentId) {
        self.memory.drop_frame(segment);
        self.cache.leaves(segment);
    }
}
