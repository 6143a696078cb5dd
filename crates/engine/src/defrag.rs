//! Reclaiming the space of records that were overwritten, deleted or dropped.
//!
//! 1. A segment with nothing live is emptied at once; one in which everything has expired, without being read (`expiry`).
//! 2. When free segments get few, the file grows as long as more than half of what is used is live; otherwise a victim is chosen: the
//!    segment that gives the most space for what is copied, the older the rather (`benefit`). Its image comes from its frame or the
//!    device, and its live records move in slices: to a segment of moved records (`cold`), or if space or memory is too short for
//!    that, to the open one.
//! 3. An emptied segment waits until everything appended so far is durable, then a free marker is written over its header, and only
//!    after that marker's sync may it be opened again.
//!
//! A tombstone or expired row is dropped instead of moved when its time has passed and no segment but the victim can hold an older
//! version of its key: every other segment in use was opened after the row was written. When many such rows wait, the oldest segment is
//! the victim, which moves that point on.
//!
//! Invariants: a record is moved only if the index points to it and its checksum is right; a segment in which live records remain that
//! cannot be read is never reused.

use crate::engine::Engine;
use crate::format::record::{self, FLAG_CONTINUES, FLAG_STARTS, Record};
use crate::index::Gap;
use crate::key::Sequence;
use crate::load::Pace;
use crate::location::{Location, SegmentId, padded};
use crate::log::Open;
use crate::purging::Purged;
use crate::resident::{is_resident, resident_of};
use crate::segments::{Expired, Segment, Usage};
use crate::walk::{Step, Walk};
use crate::write::{Appender, RESERVE_PUT};
use base::{AlignedBuffer, BLOCK_BYTES, TableId, Token};
use io::Now;
use std::rc::Rc;

/// Free segments beyond the reserve at which defragmentation starts, at most.
const AHEAD_MAX: usize = 16;
/// Segments with more live eighths of what usually fits into a segment are not worth moving.
const LIVE_EIGHTHS_MAX: u64 = 7;
/// Bytes of a victim that one slice looks at when there is no hurry.
const SLICE_BYTES: usize = 128 << 10;
/// Records whose index cells are touched ahead.
const WARM_RECORDS: usize = 16;
/// How often to look for a victim when there was none and space is short.
const LOOK_INTERVAL_SHORT_US: u64 = 5_000;
/// How a victim is read: small pieces, so that reads of clients get through.
const PACE: Pace = Pace { piece_bytes: 256 << 10, in_flight_max: 2 };

/// A segment whose live records are being moved.
struct Victim {
    segment: SegmentId,
    /// The load that reads it, until it is done.
    loading: Option<u64>,
    image: Option<Rc<AlignedBuffer>>,
    /// Whether the image is a staging frame of our own.
    staged: bool,
    /// Whether its records are gathered for a cold segment.
    gathered: bool,
    /// Whether some were, so that it has to be kept until they have moved.
    waited_for: bool,
    offset: usize,
    done: bool,
    /// Rows written before this have no older version outside of the victim.
    oldest_base: Sequence,
}

/// What has become of a victim's record.
enum Taken {
    /// It is not there any more.
    Done,
    Gathered,
    /// There is no room now.
    No,
}

/// The state of defragmentation.
#[derive(Default)]
pub(crate) struct Defrag {
    victim: Option<Victim>,
    /// Whether defragmentation can gain space: a writer without space may wait for it.
    pub(crate) hopeful: bool,
    /// When to look for a victim again.
    next_look_us: u64,
    dead: Dead,
}

/// What one slice has found out about dead records.
#[derive(Default)]
struct Dead {
    /// The partition of the last one that the index was asked about.
    last: Option<(TableId, Token)>,
    /// Where all are dead.
    gap: Option<Gap>,
}

impl Defrag {
    /// Whether the records of this segment are being read.
    pub(crate) fn is_reading(&self, segment: SegmentId) -> bool {
        self.victim.as_ref().is_some_and(|victim| victim.segment == segment)
    }

    /// Look for a victim, or for more space, at the next slice.
    pub(crate) fn look_soon(&mut self) {
        self.next_look_us = 0;
    }
}

impl Engine {
    /// Free segments below which space is reclaimed.
    fn low_water(&self) -> usize {
        RESERVE_PUT + (self.growth.capacity() / 16).clamp(2, AHEAD_MAX)
    }

    /// Whether emptied segments should become free as fast as possible.
    pub(crate) fn is_short_of_space(&self) -> bool {
        self.segments.free_count() < self.low_water() && !self.growth.may_grow()
    }

    /// One slice of reclaiming. True when there is more to do at once.
    pub(crate) fn defrag_tick(&mut self, now: Now) -> bool {
        if self.poisoned.is_some() {
            return false;
        }
        if self.closing {
            self.stop_gathering(now);
            return false;
        }
        let budget = self.slice_bytes();
        let more = self.cold_slice(now, budget);
        if now.monotonic_us >= self.defrag.next_look_us {
            if self.defrag.victim.is_none() {
                self.choose_victim(now);
            } else if self.victim_waits() && self.rows_wait_to_be_purged(now) {
                self.cold.hurry(now.monotonic_us);
            }
            let wait = match &self.defrag.victim {
                Some(_) if self.victim_waits() => self.config.flush_interval_us,
                Some(_) => 0,
                None if self.is_short_of_space() => LOOK_INTERVAL_SHORT_US,
                None => self.config.flush_interval_us,
            };
            self.defrag.next_look_us = now.monotonic_us.saturating_add(wait);
        }
        self.victim_slice(now) || more
    }

    /// When `defrag_tick` wants to be called although nothing happens.
    pub(crate) fn defrag_due_us(&mut self, now_us: u64) -> Option<u64> {
        if self.poisoned.is_some() || self.closing {
            return None;
        }
        let looks = self.defrag.victim.is_none() || self.victim_waits();
        let look = (looks && self.is_short_of_space()).then_some(self.defrag.next_look_us);
        look.into_iter().chain(self.cold.due_us(now_us)).min()
    }

    /// Whether the victim's records, which are gathered, wait until others of them have moved.
    fn victim_waits(&self) -> bool {
        self.cold.waits() && self.defrag.victim.as_ref().is_some_and(|victim| victim.gathered)
    }

    /// Whether many rows' time has passed. Those above the floor do not count: they would be moved for nothing.
    fn rows_wait_to_be_purged(&self, now: Now) -> bool {
        let purgeable_generation = self.purgeable_generation();
        let may_go = |segment: &&Segment| {
            let is_stored = segment.usage == Usage::Stored && segment.expired != Expired::Dropping;
            is_stored && segment.purge_after_s < now.wall_s() && segment.generation < purgeable_generation
        };
        let waiting = self.segments.iter().map(|(_, segment)| segment).filter(may_go);
        waiting.map(|segment| u64::from(segment.purgeable_bytes.min(segment.live_bytes))).sum::<u64>() * 8 > self.segments.live_bytes()
    }

    fn choose_victim(&mut self, now: Now) {
        let available = self.segments.free_count() + self.segments.soon_free_count();
        let short = available < self.low_water();
        self.look_for_expired(now, short);
        if !self.drops.is_empty() {
            // Entries of detached tables still name places: nothing may be emptied yet.
            if short {
                self.grow_file(now.monotonic_us, 0);
            }
            return;
        }
        let mut best: Option<(u64, SegmentId)> = None;
        let mut oldest: Option<(Sequence, SegmentId)> = None;
        let mut in_use = 0u64;
        let mut quarantined_base = Sequence(u64::MAX);
        let mut dead = Vec::new();
        for (id, segment) in self.segments.iter() {
            if matches!(segment.usage, Usage::Free | Usage::Checkpoint) {
                continue;
            }
            in_use += 1;
            if segment.usage == Usage::Quarantined {
                quarantined_base = quarantined_base.min(segment.base_sequence);
            }
            if segment.usage != Usage::Stored || segment.expired == Expired::Dropping {
                continue;
            }
            if segment.live_bytes == 0 {
                dead.push(id);
                continue;
            }
            if let Some(benefit) = self.benefit(segment).filter(|benefit| best.is_none_or(|(best, _)| *benefit > best)) {
                best = Some((benefit, id));
            }
            if oldest.is_none_or(|(base, _)| segment.base_sequence < base) {
                oldest = Some((segment.base_sequence, id));
            }
        }
        let segment_bytes = u64::from(self.config.segment_bytes);
        let live = self.segments.live_bytes();
        let rows_wait = self.rows_wait_to_be_purged(now);
        self.defrag.hopeful = !dead.is_empty() || best.is_some() || self.expiry.is_dropping() || self.cold.is_hopeful();
        for id in dead {
            self.empty_segment(now, id);
        }
        if short && (live * 2 > in_use * segment_bytes || !self.defrag.hopeful || in_use < 8) {
            self.grow_file(now.monotonic_us, 0);
            if self.growth.may_grow() {
                return;
            }
        }
        if short && let Some((_, victim)) = best {
            if !self.cold.waits() {
                self.start_victim(victim, true);
            }
        } else if rows_wait && self.cold.is_hopeful() {
            // What was gathered holds back the point before which nothing old can be left, and may wait for writers for ever.
            self.cold.hurry(now.monotonic_us);
        } else if rows_wait && self.segments.soon_free_count() == 0 {
            // Many rows wait to be purged: move on that point. Segments that are about to become free still hold it back, as this one does until
            // it is gone: its records are not gathered.
            if let Some((_, victim)) = oldest.filter(|(base, _)| *base <= quarantined_base) {
                self.start_victim(victim, false);
            }
        } else if short {
            self.cold.end_gathering();
        }
    }

    /// What reclaiming a segment is worth, `None` if next to nothing: the space gained for each byte that is read or written, times its age in
    /// writes. What has been left alone for long will go on being so, and what is left of it is as good as it gets; of a young segment
    /// more will be dead soon (Rosenblum and Ousterhout, "The design and implementation of a log-structured file system", 1991).
    fn benefit(&self, segment: &Segment) -> Option<u64> {
        let (live, fill) = (u64::from(segment.live_bytes), self.log.usual_fill);
        let age = self.log.last_sequence().0.saturating_sub(segment.base_sequence.0) + 1;
        let benefit = u128::from(fill.saturating_sub(live)) * u128::from(age) * 1024 / u128::from(fill + live);
        (live * 8 <= fill * LIVE_EIGHTHS_MAX).then(|| u64::try_from(benefit).unwrap_or(u64::MAX))
    }

    fn start_victim(&mut self, segment: SegmentId, may_gather: bool) {
        self.segments.set_usage(segment, Usage::Draining);
        let oldest_base = self.segments.oldest_base(Some(segment));
        let gathered = may_gather && self.may_gather();
        let mut victim = Victim {
            segment,
            loading: None,
            image: None,
            staged: false,
            gathered,
            waited_for: false,
            offset: BLOCK_BYTES,
            done: false,
            oldest_base,
        };
        if let Some(frame) = self.memory.frame(segment) {
            victim.image = Some(Rc::clone(&frame.bytes));
        } else {
            let staging = self.take_log_frame();
            victim.staged = true;
            let used = self.segments.get(segment).used as usize;
            victim.loading = Some(self.load(segment, used, staging, PACE));
        }
        self.defrag.victim = Some(victim);
    }

    /// Moves what is live in the next bytes of the victim. True when there is more to do at once.
    fn victim_slice(&mut self, now: Now) -> bool {
        let Some(mut victim) = self.defrag.victim.take() else { return false };
        if let Some(serial) = victim.loading {
            if !self.loads.is_done(serial) {
                self.defrag.victim = Some(victim);
                return false;
            }
            victim.loading = None;
            victim.image = self.loads.take(serial).map(|(_, image)| image);
        }
        if victim.gathered && self.cold.waits() {
            self.defrag.victim = Some(victim);
            return false;
        }
        victim.gathered = victim.gathered && self.may_gather();
        let Some(image) = victim.image.clone() else { return false };
        let used = self.segments.get(victim.segment).used as usize;
        let bytes = &image[..used.min(image.len())];
        let budget = self.slice_bytes();
        let salt = self.segments.salt(victim.segment);
        let is_trusted = !victim.staged && !self.memory.is_suspect(victim.segment);
        let walk = if is_trusted { Walk::trusted } else { Walk::finished };
        let mut walk = walk(bytes, salt, victim.offset);
        let start = victim.offset;
        let mut warmed = start;
        let mut stuck = false;
        self.defrag.dead = Dead::default();
        while !victim.done && victim.offset - start < budget {
            if self.segments.get(victim.segment).live_bytes == 0 {
                // What follows is dead.
                victim.done = true;
                break;
            }
            if victim.offset >= warmed {
                warmed = self.warm_index(bytes, victim.offset, 0, |_, _| true);
            }
            match walk.next() {
                Some(Step::Record { offset, record }) => {
                    let location = Location::record(victim.segment, offset, padded(record.length()));
                    let is_dead = self.defrag.dead.gap.as_ref().is_some_and(|gap| gap.has(&record));
                    match if is_dead { Taken::Done } else { self.take_record(now, location, &record, &victim) } {
                        Taken::No => {
                            stuck = true;
                            break;
                        }
                        Taken::Gathered => victim.waited_for = true,
                        Taken::Done => {}
                    }
                    victim.offset = offset + location.padded();
                }
                Some(Step::Damage { end, .. }) => {
                    self.counters.damaged_records += 1;
                    victim.offset = end;
                }
                Some(Step::Seal { .. } | Step::Torn) | None => victim.done = true,
            }
        }
        self.mirror_open();
        drop(image);
        let more = !stuck && !victim.done;
        if victim.done && (victim.waited_for || self.drops.is_empty()) {
            if let Some(image) = victim.image.filter(|_| victim.staged) {
                self.memory.recycle(image);
            }
            if victim.waited_for {
                self.cold.add_victim(victim.segment);
            } else {
                self.end_victim(now, victim.segment);
            }
            return true;
        }
        self.defrag.victim = Some(victim);
        more
    }

    /// Touches the index cells of the next records all at once: the waits for memory overlap, where one after the other they would be
    /// most of what defragmentation, recovery and eviction cost. `prefix` bytes are before each record, and only those that `looked_up` names by
    /// place and record count. Returns the place after those records.
    pub(crate) fn warm_index(&self, bytes: &[u8], offset: usize, prefix: usize, looked_up: impl Fn(usize, &Record<'_>) -> bool) -> usize {
        let mut place = offset;
        let mut homes = [None; WARM_RECORDS];
        for home in &mut homes {
            let Some(record) = bytes.get(place + prefix..).and_then(Record::plausible) else { break };
            *home = self.index.home(record.table(), record.token()).filter(|_| looked_up(place + prefix, &record));
            place += prefix + padded(record.length());
        }
        // Nothing else between them, so that as many waits as the processor can bear overlap.
        let sum = homes.iter().flatten().fold(0, |sum, (slot, position)| sum ^ slot.touch(*position));
        std::hint::black_box(sum);
        place.max(offset + 1)
    }

    /// The fewer segments are free, the larger the slices.
    fn slice_bytes(&self) -> usize {
        let free = self.segments.free_count();
        let hurry = self.low_water().saturating_sub(free).min(7);
        SLICE_BYTES * (1 + hurry)
    }

    /// Moves or gathers a victim's record if it is live.
    fn take_record(&mut self, now: Now, location: Location, record: &Record<'_>, victim: &Victim) -> Taken {
        let moved = |moved| if moved { Taken::Done } else { Taken::No };
        if !victim.gathered {
            return moved(self.move_record(now, location, record, victim.oldest_base));
        }
        let Some(place) = self.index.locate(&record.key(), |at| self.memory.device_location(at) == location) else {
            self.note_dead(record);
            return Taken::Done;
        };
        if let Some(purged) = self.purge_record(now, place, location, record, victim.oldest_base) {
            return moved(purged);
        }
        if !self.is_intact(record, location) {
            return Taken::Done;
        }
        if self.gather_record(location, record) { Taken::Gathered } else { Taken::No }
    }

    /// Drops a record whose time has passed, or of a page the rows whose time has. `None` if it has to be moved as it is, otherwise whether
    /// there was room.
    fn purge_record(&mut self, now: Now, place: Location, location: Location, record: &Record<'_>, oldest_base: Sequence) -> Option<bool> {
        let key = record.key();
        let is_past = record.kind().purge_after_s().is_some_and(|purge_after_s| purge_after_s < now.wall_s());
        if is_past && !record.is_page() && !self.purging.allows(record.sequence()) {
            return None;
        }
        if is_past && record.is_page() {
            return Some(!self.is_intact(record, location) || self.move_purged_page(now, place, record, oldest_base));
        }
        if is_past && self.index.is_over_page(&key) {
            // The page may have an older version: only with the page made anew the row can go.
            self.index.ask_for_page(&key);
        } else if is_past && self.index.home_is_taken(resident_of(key.table), key.token) {
            // Without the row its delta would count.
        } else if is_past && record.sequence() < oldest_base {
            self.index.remove(&key);
            self.release(place);
            self.note_purged(Purged::new(1, record.sequence()));
            return Some(true);
        }
        None
    }

    /// Moves a record to the open segment if it is live. False when there is no room now.
    pub(crate) fn move_record(&mut self, now: Now, location: Location, record: &Record<'_>, oldest_base: Sequence) -> bool {
        let key = record.key();
        let Some(place) = self.index.locate(&key, |at| self.memory.device_location(at) == location) else {
            self.note_dead(record);
            return true;
        };
        if let Some(purged) = self.purge_record(now, place, location, record, oldest_base) {
            return purged;
        }
        if self.make_room(now, location.padded(), Appender::Defrag).is_err() {
            return false;
        }
        // Making room may have evicted the cached copy.
        let Some(place) = self.index.locate(&key, |at| self.memory.device_location(at) == location) else { return true };
        if !self.is_intact(record, location) {
            return true;
        }
        let Some(mut open) = self.log.open.take() else { return false };
        self.append_moved(&mut open, location, place, record);
        self.log.open = Some(open);
        self.log.position += location.padded() as u64;
        self.flush.due_at(now.monotonic_us.saturating_add(self.config.flush_interval_us / 2));
        true
    }

    /// Copies a record to the end of a segment that is being filled, and points the index from `place` there. `location` is where the device
    /// has it.
    pub(crate) fn append_moved(&mut self, open: &mut Open, location: Location, place: Location, record: &Record<'_>) {
        let key = record.key();
        let old_salt = self.segments.salt(location.segment());
        let offset = open.used;
        open.used += location.padded();
        let (segment, salt) = (open.segment, open.salt);
        let target = &mut self.memory.frame_mut(segment)[offset..offset + location.padded()];
        let whole = record.whole();
        target[..whole.len()].copy_from_slice(whole);
        target[whole.len()..].fill(0);
        if record.flags() & (FLAG_CONTINUES | FLAG_STARTS) == FLAG_STARTS {
            record::move_checksum(target, (old_salt, location.offset()), (salt, offset));
        } else {
            // Groups matter only until they are written.
            record::set_flags(target, record.flags() & !FLAG_CONTINUES | FLAG_STARTS);
            record::finish(target, whole.len(), salt, offset);
        }
        let moved = Location::record(segment, offset, location.padded());
        if is_resident(record.table()) {
            self.memory.set_resident(segment);
            if record.sequence() <= self.recovered_sequence {
                self.segments.note_old_resident(segment, record.sequence());
            }
        }
        self.counters.defrag_bytes += location.padded() as u64;
        self.index.relocate(&key, |at| at == place, moved);
        self.note_live(segment, moved);
        #[cfg(test)]
        if self.planted == Some(crate::tests::Planted::MovedCountAsOld) {
            return self.release(place);
        }
        self.segments.note_moved(segment, record.sequence());
        if self.segments.get(location.segment()).replacing {
            self.segments.set_replacing(segment);
        }
        self.release(place);
    }

    /// A record is dead. Of the second of one partition it is found out how far that goes on.
    fn note_dead(&mut self, record: &Record<'_>) {
        let partition = Some((record.table(), record.token()));
        if self.defrag.dead.last == partition && !record.is_page() && !record.clustering().is_empty() {
            self.defrag.dead.gap = self.index.gap_around(&record.key());
        }
        self.defrag.dead.last = partition;
    }

    /// Whether a record is as it was written. If it was damaged in memory it stays where it is, and the segment with it.
    fn is_intact(&mut self, record: &Record<'_>, location: Location) -> bool {
        let salt = self.segments.salt(location.segment());
        let intact = Record::verify(record.whole(), salt, location.offset()).is_some();
        self.counters.damaged_records += u64::from(!intact);
        intact
    }

    /// All that could be moved out of a victim has been.
    pub(crate) fn end_victim(&mut self, now: Now, victim: SegmentId) {
        if self.segments.get(victim).live_bytes > 0 {
            self.segments.set_usage(victim, Usage::Quarantined);
            return;
        }
        self.empty_segment(now, victim);
    }

    /// Nothing live is left in a segment: it becomes free once what replaced its records is durable.
    pub(crate) fn empty_segment(&mut self, now: Now, segment: SegmentId) {
        self.drop_device_frame(segment);
        self.segments.set_usage(segment, Usage::Emptied { until: self.log.position });
        self.counters.segments_reclaimed += 1;
        let wait = if self.is_short_of_space() { 0 } else { self.config.flush_interval_us / 2 };
        self.flush.due_at(now.monotonic_us.saturating_add(wait));
    }
}
