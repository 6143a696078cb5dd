//! Moved records and fresh writes in segments of their own.
//!
//! What defragmentation moves has lived for a while and will live on; of what is being written much is overwritten soon. In one segment the one
//! keeps the other from being cheap to reclaim. So what is live in victims is gathered in a frame, and a full frame gets a segment of its own:
//! the cold one.
//!
//! 1. Live records of victims are copied into the frame. The index goes on naming the victims.
//! 2. When writers have filled their segment and a full frame waits, the cold segment is opened, and after it the next one for writers. If that takes too long, or
//!    space, or rows that wait to be purged, cannot wait for it, the records go to the writers' segment.
//! 3. In slices, what the index still has at its old place is copied into the cold segment, and the index is pointed there.
//! 4. The cold segment is sealed, and the victims are empty.
//!
//! Recovery takes a later place (generation, offset) for a later version, and that holds: the cold segment's generation is higher than those
//! of its victims and of all that was written before, and lower than that of every segment which writers append to while it is open.
//!
//! Invariants: victims are kept until all that was gathered from them has moved, so a place in them never names another record; segments opened
//! after the cold one keep their mirror slots until it is durable, so what recovery concludes from newer generations is right; its bytes
//! count in the log's position only once it is sealed, and no checkpoint is committed before that.

use crate::config::FRAMES_EXTRA;
use crate::engine::Engine;
use crate::format::record::{self, HEADER_BYTES, Record};
use crate::location::{Location, SegmentId};
use crate::log::{Open, Sealed};
use crate::segments::Usage;
use crate::write::{Appender, RESERVE_PUT};
use base::{AlignedBuffer, BLOCK_BYTES};
use io::Now;
use std::rc::Rc;

/// Mirror slots without which records are moved one by one: the full segment's, the cold one's, the writers'.
const MIRRORS_MIN: usize = 3;
/// Frames that must be left for others.
const FRAMES_SPARE: usize = 2;
/// Victims that wait for a frame to be full, at most.
const VICTIMS_MAX: usize = 8;
/// How long a full frame waits for writers to have filled their segment. Until then nothing else is reclaimed, or purged.
const WAIT_US_MAX: u64 = 10_000_000;

/// Records on their way to a cold segment.
#[derive(Default)]
pub(crate) struct Cold {
    /// Records as they were, back to back from the first block's end on.
    frame: Option<Rc<AlignedBuffer>>,
    /// Where they are.
    sources: Vec<Location>,
    used: usize,
    /// Those before have moved: number and offset.
    done: (usize, usize),
    /// The frame waits for its segment.
    waits: bool,
    /// Until when: after that its records go to the writers' segment.
    until_us: Option<u64>,
    /// Segments that the records are in.
    victims: Vec<SegmentId>,
    /// The log's position when the last cold segment was sealed.
    pub(crate) position: u64,
}

impl Cold {
    /// Memory that is not frames.
    pub(crate) fn bytes(&self) -> usize {
        self.sources.capacity() * size_of::<Location>()
    }

    /// Whether no further victim's records may be gathered now.
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// When that will be over at latest.
    pub(crate) fn due_us(&mut self, now_us: u64) -> Option<u64> {
        let is_late = self.waits && self.is_late(now_us);
        self.until_us.filter(|_| self.waits && !is_late)
    }

    /// Whether it has waited for too long.
    fn is_late(&mut self, now_us: u64) -> bool {
        now_us >= *self.until_us.get_or_insert(now_us + WAIT_US_MAX)
    }

    /// Whether space will be gained once the records have moved.
    pub(crate) fn is_hopeful(&self) -> bool {
        !self.victims.is_empty()
    }

    /// No more records come for the time being.
    pub(crate) fn end_gathering(&mut self) {
        self.waits = !self.victims.is_empty();
    }

    /// What has been gathered is to move at once.
    pub(crate) fn hurry(&mut self, now_us: u64) {
        self.end_gathering();
        self.until_us = Some(now_us + 1);
    }

    /// All records of this segment that are live have been gathered.
    pub(crate) fn add_victim(&mut self, segment: SegmentId) {
        self.victims.push(segment);
        self.waits |= self.victims.len() >= VICTIMS_MAX;
    }
}

impl Engine {
    /// Whether the records of a victim shall be gathered rather than moved one by one, which takes no memory and gains space at once.
    pub(crate) fn may_gather(&mut self) -> bool {
        if self.cold.frame.is_some() {
            return true;
        }
        let frames = self.mirror_slots + FRAMES_EXTRA + FRAMES_SPARE;
        let may = self.mirror_slots >= MIRRORS_MIN && self.segments.free_count() > RESERVE_PUT && self.frames_allowed() >= frames;
        if may {
            self.cold.frame = Some(self.take_log_frame());
            self.cold.used = BLOCK_BYTES;
            self.cold.done = (0, BLOCK_BYTES);
        }
        may
    }

    /// Copies a live record of a victim into the frame. False when there is no room.
    pub(crate) fn gather_record(&mut self, source: Location, record: &Record<'_>) -> bool {
        let cold = &mut self.cold;
        let end = cold.used + source.padded();
        let Some(frame) = cold.frame.as_mut().filter(|_| end + HEADER_BYTES <= self.config.segment_bytes as usize) else {
            cold.waits = true;
            return false;
        };
        let frame = Rc::get_mut(frame).expect("nobody shares the frame while records are gathered");
        let whole = record.whole();
        frame[cold.used..cold.used + whole.len()].copy_from_slice(whole);
        frame[cold.used + whole.len()..end].fill(0);
        cold.sources.push(source);
        cold.used = end;
        true
    }

    /// Whether a cold segment may be opened together with the next one for writers.
    pub(crate) fn wants_cold_segment(&self) -> bool {
        let room = self.segments.free_count() >= RESERVE_PUT + 2 && self.log.slots_free.len() >= 2;
        room && self.cold.waits && self.log.cold.is_none() && self.cold.done.0 < self.cold.sources.len() && self.fills_segment()
    }

    /// Whether what is still in the frame is worth a segment.
    fn fills_segment(&self) -> bool {
        self.cold.used - self.cold.done.1 > (self.config.segment_bytes as usize - BLOCK_BYTES) / 4 * 3
    }

    /// Goes on with moving what was gathered, over about `budget` bytes. True when there is more to do at once.
    pub(crate) fn cold_slice(&mut self, now: Now, budget: usize) -> bool {
        let crowded = self.segments.free_count() <= RESERVE_PUT + 1;
        self.cold.waits |= crowded && !self.cold.victims.is_empty();
        if !self.cold.waits {
            return false;
        }
        let late = self.cold.is_late(now.monotonic_us);
        if self.cold.done.0 < self.cold.sources.len() {
            // The writers' segment has to take the records when nobody fills it as writers wait for space, or have nothing to write, or if they are few.
            let beside = self.log.cold.is_some();
            if !beside && !crowded && !late && self.fills_segment() {
                return false;
            }
            let soon = self.log.open.as_ref().is_some_and(|open| open.used > self.config.segment_bytes as usize / 2);
            let moved = self.move_gathered(now, if soon && beside { usize::MAX } else { budget });
            self.mirror_open();
            self.mirror_cold();
            if !moved || self.cold.done.0 < self.cold.sources.len() {
                return moved;
            }
        }
        self.seal_cold(now);
        self.end_gathered(now)
    }

    /// Moves gathered records that are still where they were. False when there is no room.
    fn move_gathered(&mut self, now: Now, budget: usize) -> bool {
        let Some(frame) = self.cold.frame.clone() else { return true };
        let (mut number, mut offset) = self.cold.done;
        let (end, used) = (offset.saturating_add(budget), self.cold.used);
        let (mut warmed, mut room) = (offset, true);
        while number < self.cold.sources.len() && offset < end {
            if offset >= warmed {
                warmed = self.warm_index(&frame[..used], offset, 0, |_, _| true);
            }
            let source = self.cold.sources[number];
            let record = Record::trusted(&frame[offset..offset + source.padded()]);
            if self.log.cold.is_none() && self.make_room(now, source.padded(), Appender::Defrag).is_err() {
                room = false;
                break;
            }
            let key = record.key();
            if let Some(place) = self.index.locate(&key, |at| self.memory.device_location(at) == source) {
                if let Some(mut open) = self.log.cold.take() {
                    self.append_moved(&mut open, source, place, &record);
                    self.log.cold = Some(open);
                } else if let Some(mut open) = self.log.open.take() {
                    self.append_moved(&mut open, source, place, &record);
                    self.log.open = Some(open);
                    self.log.position += source.padded() as u64;
                    self.flush.due_at(now.monotonic_us.saturating_add(self.config.flush_interval_us / 2));
                }
            }
            number += 1;
            offset += source.padded();
        }
        self.cold.done = (number, offset);
        room
    }

    /// Ends the cold segment, if one is open: from now on it is flushed as others are.
    fn seal_cold(&mut self, now: Now) {
        let Some(mut open) = self.log.cold.take() else { return };
        let sequence = self.log.last_sequence();
        let frame = self.memory.frame_mut(open.segment);
        record::write_seal(&mut frame[open.used..], sequence, open.salt, open.used);
        open.used += HEADER_BYTES;
        frame[open.used..open.used.next_multiple_of(BLOCK_BYTES)].fill(0);
        self.log.position += (open.used - BLOCK_BYTES) as u64;
        self.cold.position = self.log.position;
        self.log.cold = Some(open);
        self.mirror_cold();
        let Some(Open { segment, slot, used, mirrored, durable, .. }) = self.log.cold.take() else { return };
        self.counters.segments_cold += 1;
        self.segments.set_usage(segment, Usage::Sealed);
        self.segments.set_used(segment, used);
        // Mirror slots are given back in the order of the generations.
        let generation = self.segments.get(segment).generation;
        let place = self.log.sealed.partition_point(|sealed| self.segments.get(sealed.segment).generation < generation);
        self.log.sealed.insert(place, Sealed { segment, slot, used, mirrored, durable });
        self.flush.due_at(now.monotonic_us);
    }

    /// The victims of what has moved are empty. False while entries of a table being dropped may name them.
    fn end_gathered(&mut self, now: Now) -> bool {
        if !self.drops.is_empty() {
            return false;
        }
        for victim in std::mem::take(&mut self.cold.victims) {
            self.end_victim(now, victim);
        }
        self.forget_gathered();
        self.defrag.look_soon();
        true
    }

    fn forget_gathered(&mut self) {
        self.cold.sources.clear();
        self.cold.waits = false;
        self.cold.until_us = None;
        if let Some(frame) = self.cold.frame.take() {
            self.memory.recycle(frame);
        }
    }

    /// Shutdown: what has not moved stays where it is.
    pub(crate) fn stop_gathering(&mut self, now: Now) {
        self.seal_cold(now);
        for victim in std::mem::take(&mut self.cold.victims) {
            self.segments.set_usage(victim, Usage::Stored);
        }
        self.forget_gathered();
    }
}
