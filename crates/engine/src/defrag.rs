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

mod choice;
mod moving;

use crate::engine::Engine;
use crate::format::record::Record;
use crate::index::Gap;
use crate::key::Sequence;
use crate::load::Pace;
use crate::location::{Location, SegmentId, padded};
use crate::segments::Usage;
use crate::walk::{Step, Walk};
use crate::write::RESERVE_PUT;
use base::{AlignedBuffer, TableId, Token};
use io::Now;
use std::rc::Rc;

/// Free segments beyond the reserve at which defragmentation starts, at most.
const AHEAD_MAX: usize = 16;
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

    /// Moves what is live in the next bytes of the victim. True when there is more to do at once.
    fn victim_slice(&mut self, now: Now) -> bool {
        let Some(mut victim) = self.defrag.victim.take() else { return false };
        if !self.victim_is_ready(&mut victim) {
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
                Some(Step::Damage { offset, end }) => {
                    self.damage_found(victim.segment, offset, end - offset);
                    victim.offset = end;
                }
                Some(Step::Seal { .. } | Step::Torn) | None => victim.done = true,
            }
        }
        self.mirror_open();
        drop(image);
        let more = !stuck && !victim.done;
        if victim.done && (victim.waited_for || self.drops.is_empty()) {
            self.leave_victim(now, victim);
            return true;
        }
        self.defrag.victim = Some(victim);
        more
    }

    /// Whether the victim's bytes are there and its records may move now.
    fn victim_is_ready(&mut self, victim: &mut Victim) -> bool {
        if let Some(serial) = victim.loading {
            if !self.loads.is_done(serial) {
                return false;
            }
            victim.loading = None;
            victim.image = self.loads.take(serial).map(|(_, image)| image);
        }
        !(victim.gathered && self.cold.waits())
    }

    /// The walk is at the end of a victim: it is done with once its gathered records have moved, if there are any.
    fn leave_victim(&mut self, now: Now, victim: Victim) {
        if let Some(image) = victim.image.filter(|_| victim.staged) {
            self.memory.recycle(image);
        }
        if victim.waited_for {
            self.cold.add_victim(victim.segment);
        } else {
            self.end_victim(now, victim.segment);
        }
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
