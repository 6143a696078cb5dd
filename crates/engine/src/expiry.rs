//! Segments in which everything has expired: their space is given back without reading them.
//!
//! 1. A segment is over when everything ever written to it, overwritten records included, has a purge time, and the latest of them has
//!    passed. The table of segments knows that, and checkpoints keep it.
//! 2. When enough of them wait, or space is short, one walk over the index drops the entries of all of them, in slices.
//! 3. What then has nothing live is emptied. What has (rows that lie over pages stay in the index) is left to defragmentation.
//!
//! Nothing old may come back when a segment is gone: an older version of a row in it may still be in the log, in a segment that was opened
//! earlier. So a segment is dropped only if all earlier ones are over, too, or if no row in it took the place of another.
//!
//! Invariants: no segment is emptied while the index has an entry that names it, so a place never names another use of its segment; while
//! a table is being dropped the walk waits, as its entries are not in the index.

use crate::engine::Engine;
use crate::index::SweepCursor;
use crate::key::Sequence;
use crate::location::{Location, SegmentId};
use crate::purging::Purged;
use crate::segments::{Expired, Usage};
use io::Now;

/// Cells and rows that one slice looks at.
const SLICE_ENTRIES: usize = 4096;
/// While space is not short, a walk is worth it when this part of what is live is over.
const WORTH_PART: u64 = 16;

/// The walk that is under way, if one is.
#[derive(Default)]
pub(crate) struct Expiry {
    cursor: Option<SweepCursor>,
    /// No row that it drops is newer.
    newest: Sequence,
    /// Places dropped by a slice: a buffer that is used again and again.
    dropped: Vec<Location>,
}

impl Expiry {
    pub(crate) fn is_dropping(&self) -> bool {
        self.cursor.is_some()
    }
}

impl Engine {
    /// Begins a walk if there are segments that it can free.
    pub(crate) fn look_for_expired(&mut self, now: Now, short: bool) {
        if self.expiry.is_dropping() || !self.drops.is_empty() {
            return;
        }
        let found = self.segments_that_are_over(now.wall_s());
        let bytes: u64 = found.iter().map(|id| u64::from(self.segments.get(*id).live_bytes)).sum();
        if bytes == 0 || (!short && bytes * WORTH_PART < self.segments.live_bytes()) {
            return;
        }
        found.iter().for_each(|id| self.segments.set_expired(*id, Expired::Dropping));
        let newest = found.iter().map(|id| self.segments.newest_bound(*id)).max().unwrap_or_default();
        self.expiry.newest = newest.min(self.log.last_sequence());
        self.expiry.cursor = Some(SweepCursor::default());
    }

    /// Stored segments that may go with all that is in them.
    fn segments_that_are_over(&self, wall_s: i64) -> Vec<SegmentId> {
        let mut found = Vec::new();
        let mut lasting = u64::MAX;
        let purgeable = self.purgeable_generation();
        for (id, segment) in self.segments.iter() {
            match segment.usage {
                Usage::Free | Usage::Checkpoint => {}
                // What was moved there may be older than the segment.
                _ if segment.oldest_resident < Sequence(u64::MAX) => lasting = 0,
                _ if !segment.is_over(wall_s) => lasting = lasting.min(segment.generation),
                Usage::Stored if segment.live_bytes > 0 && segment.expired == Expired::Untouched => found.push(id),
                _ => {}
            }
        }
        found.retain(|id| {
            let segment = self.segments.get(*id);
            #[cfg(test)]
            if self.planted == Some(crate::tests::Planted::ExpiredOverOlder) {
                return true;
            }
            segment.generation < purgeable && (segment.generation < lasting || !segment.replacing)
        });
        found
    }

    /// One slice of the walk. True when there is more to do at once.
    pub(crate) fn expiry_tick(&mut self, now: Now) -> bool {
        if self.poisoned.is_some() || self.closing || !self.drops.is_empty() {
            return false;
        }
        let Some(mut cursor) = self.expiry.cursor.take() else { return false };
        let mut dropped = std::mem::take(&mut self.expiry.dropped);
        let newest = self.expiry.newest;
        let Self { index, memory, segments, .. } = self;
        let is_over = |place| segments.get(memory.device_location(place).segment()).expired == Expired::Dropping;
        let more = index.sweep(&mut cursor, &is_over, SLICE_ENTRIES, &mut dropped);
        self.note_purged(Purged::new(dropped.len() as u64, newest));
        dropped.drain(..).for_each(|place| self.release(place));
        self.expiry.dropped = dropped;
        if more {
            self.expiry.cursor = Some(cursor);
        } else {
            self.end_walk(now);
        }
        true
    }

    fn end_walk(&mut self, now: Now) {
        let of_walk = |(id, segment): (SegmentId, &crate::segments::Segment)| (segment.expired == Expired::Dropping).then_some(id);
        let walked: Vec<SegmentId> = self.segments.iter().filter_map(of_walk).collect();
        for segment in walked {
            if self.segments.get(segment).live_bytes == 0 {
                self.segments.set_expired(segment, Expired::Untouched);
                self.counters.segments_expired += 1;
                self.empty_segment(now, segment);
            } else {
                self.segments.set_expired(segment, Expired::InVain);
            }
        }
        self.expiry.dropped = Vec::new();
        self.defrag.look_soon();
    }
}
