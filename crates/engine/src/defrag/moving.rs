//! One record of a victim: it is dead, its time has passed, or it moves to another segment.
//!
//! Invariant: a record is moved only if the index points to it and its checksum is right.

use super::{Taken, Victim};
use crate::engine::Engine;
use crate::format::record::{self, FLAG_CONTINUES, FLAG_STARTS, Record};
use crate::key::Sequence;
use crate::location::Location;
use crate::log::Open;
use crate::purging::Purged;
use crate::resident::{is_resident, resident_of};
use crate::write::Appender;
use io::Now;

impl Engine {
    /// Moves or gathers a victim's record if it is live.
    pub(super) fn take_record(&mut self, now: Now, location: Location, record: &Record<'_>, victim: &Victim) -> Taken {
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
}
