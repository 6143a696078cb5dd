//! What each segment of the device is used for and how much of it is live.
//!
//! ```text
//! free → open → sealed → stored → draining → emptied → freeing → free
//!  0:  nobody's     in a mirror   on device   being moved   waits for the   free marker on
//!                   slot          only        by defrag     moves' sync     its way
//! ```
//! Segments of a checkpoint go from free to `Checkpoint` and, when it is over, to emptied.
//!
//! Invariant: `live_bytes` is the sum of the padded lengths of the records in the segment that the index (or a table being dropped)
//! points to, directly or through a cached copy.

use crate::format::checkpoint::SegmentState;
use crate::format::record::Salt;
use crate::key::Sequence;
use crate::location::{Location, SegmentId};
use crate::log::Point;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The state of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    Free,
    Open,
    /// Full; in a mirror slot until the device has it.
    Sealed,
    Stored,
    /// Its live records are being moved away.
    Draining,
    /// Nothing live is left; free once everything appended before this position is durable.
    Emptied {
        until: u64,
    },
    /// The free marker is being written.
    Freeing,
    /// It holds damaged live records: kept as it is.
    Quarantined,
    /// It holds a part of a checkpoint, no records.
    Checkpoint,
}

/// One segment of the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) usage: Usage,
    pub(crate) generation: u64,
    pub(crate) nonce: u64,
    pub(crate) base_sequence: Sequence,
    /// Records of resident tables that were moved here may be outdated, and written as long ago as this.
    pub(crate) oldest_resident: Sequence,
    /// No record in it is newer, as far as is known besides the base sequences of later segments: only of moved records' own segments more is.
    pub(crate) newest: Sequence,
    /// Bytes from the segment's start to the end of its last record.
    pub(crate) used: u32,
    pub(crate) live_bytes: u32,
    /// Bytes of records that may be purged some day, overwritten ones included.
    pub(crate) purgeable_bytes: u32,
    /// The latest purge time of those.
    pub(crate) purge_after_s: i64,
    /// Some record in it, overwritten or not, has no purge time, or one of its rows may have a later one than the record.
    pub(crate) lasting: bool,
    /// Some row in it with a purge time may have taken the place of an older version.
    pub(crate) replacing: bool,
    pub(crate) expired: Expired,
}

/// What has become of a segment in which every row has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    /// Nothing yet.
    Untouched,
    /// Index entries that name it are being dropped.
    Dropping,
    /// They were dropped, and some had to stay.
    InVain,
}

impl Segment {
    const FREE: Self = Self {
        usage: Usage::Free,
        generation: 0,
        nonce: 0,
        base_sequence: Sequence(0),
        oldest_resident: Sequence(u64::MAX),
        newest: Sequence(u64::MAX),
        used: 0,
        live_bytes: 0,
        purgeable_bytes: 0,
        purge_after_s: i64::MIN,
        lasting: false,
        replacing: false,
        expired: Expired::Untouched,
    };

    /// Whether all that was ever written to it has a purge time that has passed.
    pub(crate) fn is_over(&self, wall_s: i64) -> bool {
        !self.lasting && self.purgeable_bytes > 0 && self.purge_after_s < wall_s && self.usage != Usage::Quarantined
    }
}

/// All segments of the file.
pub(crate) struct Segments {
    store: u64,
    all: Vec<Segment>,
    free: BinaryHeap<Reverse<u32>>,
    live_bytes: u64,
    /// Segments in state `Emptied` or `Freeing`.
    soon_free: usize,
}

impl Segments {
    pub(crate) fn new(store: u64) -> Self {
        Self { store, all: Vec::new(), free: BinaryHeap::new(), live_bytes: 0, soon_free: 0 }
    }

    /// How many the file has.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The file has grown: the new segments' use is the caller's to set (`mark_free`, `adopt`).
    pub(crate) fn grow(&mut self, count: usize) {
        self.all.resize(count.max(self.all.len()), Segment::FREE);
    }

    pub(crate) fn get(&self, segment: SegmentId) -> &Segment {
        &self.all[segment.index()]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        self.all.iter().enumerate().map(|(index, segment)| (SegmentId(index as u32), segment))
    }

    pub(crate) fn salt(&self, segment: SegmentId) -> Salt {
        Salt::new(self.store, segment.0, self.get(segment).nonce)
    }

    pub(crate) fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    pub(crate) fn free_count(&self) -> usize {
        self.free.len()
    }

    pub(crate) fn soon_free_count(&self) -> usize {
        self.soon_free
    }

    /// The free segment nearest to the file's start.
    pub(crate) fn take_free(&mut self) -> Option<SegmentId> {
        self.free.pop().map(|Reverse(index)| SegmentId(index))
    }

    /// Takes a particular segment out of the free ones, in recovery.
    pub(crate) fn claim(&mut self, segment: SegmentId) {
        self.free.retain(|Reverse(index)| *index != segment.0);
    }

    /// Starts a new use of a segment.
    pub(crate) fn adopt(&mut self, segment: SegmentId, usage: Usage, generation: u64, nonce: u64, base_sequence: Sequence) {
        self.all[segment.index()] = Segment { usage, generation, nonce, base_sequence, ..Segment::FREE };
    }

    pub(crate) fn set_usage(&mut self, segment: SegmentId, usage: Usage) {
        let soon = |usage| usize::from(matches!(usage, Usage::Emptied { .. } | Usage::Freeing));
        let old = std::mem::replace(&mut self.all[segment.index()].usage, usage);
        self.soon_free = self.soon_free + soon(usage) - soon(old);
    }

    pub(crate) fn set_used(&mut self, segment: SegmentId, used: usize) {
        self.all[segment.index()].used = used as u32;
    }

    /// The segment may be opened again. Keeps its generation, which only ever grows.
    pub(crate) fn mark_free(&mut self, segment: SegmentId) {
        self.set_usage(segment, Usage::Free);
        let entry = &mut self.all[segment.index()];
        assert_eq!(entry.live_bytes, 0);
        *entry = Segment { generation: entry.generation, ..Segment::FREE };
        self.free.push(Reverse(segment.0));
    }

    /// A record at a device location is pointed to.
    pub(crate) fn add_live(&mut self, location: Location) {
        self.all[location.segment().index()].live_bytes += location.padded() as u32;
        self.live_bytes += location.padded() as u64;
    }

    /// A record at a device location is not pointed to any more.
    pub(crate) fn release(&mut self, location: Location) {
        let segment = &mut self.all[location.segment().index()];
        segment.live_bytes = segment.live_bytes.checked_sub(location.padded() as u32).expect("live bytes are never released twice");
        self.live_bytes -= location.padded() as u64;
    }

    /// A record was appended of which so many bytes may be purged after that second.
    pub(crate) fn add_purgeable(&mut self, segment: SegmentId, purgeable: Option<(usize, i64)>) {
        let segment = &mut self.all[segment.index()];
        let Some((bytes, purge_after_s)) = purgeable else {
            segment.lasting = true;
            return;
        };
        segment.purgeable_bytes += bytes as u32;
        segment.purge_after_s = segment.purge_after_s.max(purge_after_s);
    }

    /// The segment holds something of which it is not known when it may be purged.
    pub(crate) fn set_lasting(&mut self, segment: SegmentId) {
        self.all[segment.index()].lasting = true;
    }

    /// A row with a purge time that was appended may have taken the place of an older version.
    pub(crate) fn set_replacing(&mut self, segment: SegmentId) {
        self.all[segment.index()].replacing = true;
    }

    pub(crate) fn set_expired(&mut self, segment: SegmentId, expired: Expired) {
        self.all[segment.index()].expired = expired;
    }

    /// The point in the append stream at which a record on the device lies.
    pub(crate) fn point(&self, location: Location) -> Point {
        Point { generation: self.get(location.segment()).generation, offset: location.offset() as u32 }
    }

    /// Recovery begins anew: nothing is pointed to.
    pub(crate) fn forget_live(&mut self) {
        self.all.iter_mut().for_each(|segment| (segment.live_bytes, segment.used) = (0, 0));
        self.live_bytes = 0;
    }

    /// What a checkpoint knows of rows to be purged.
    pub(crate) fn set_purgeable(&mut self, state: &SegmentState) {
        let segment = &mut self.all[state.segment.index()];
        segment.purgeable_bytes = state.purgeable_bytes;
        segment.purge_after_s = state.purge_after_s;
        segment.lasting = state.lasting;
        segment.replacing = state.replacing;
        if state.has_old_residents {
            segment.oldest_resident = Sequence(0);
        }
    }

    /// A record of a resident table was moved to the segment that may have been outdated already.
    pub(crate) fn note_old_resident(&mut self, segment: SegmentId, written: Sequence) {
        let segment = &mut self.all[segment.index()];
        segment.oldest_resident = segment.oldest_resident.min(written);
    }

    /// The segment gets moved records only: how new they are is known.
    pub(crate) fn set_cold(&mut self, segment: SegmentId) {
        self.all[segment.index()].newest = Sequence(0);
    }

    /// A record of this sequence was moved to the segment.
    pub(crate) fn note_moved(&mut self, segment: SegmentId, written: Sequence) {
        let segment = &mut self.all[segment.index()];
        segment.newest = segment.newest.max(written);
    }

    /// The least base sequence of the segments in use, `except` left out: older versions of a key written at or after it cannot
    /// exist outside of `except`.
    pub(crate) fn oldest_base(&self, except: Option<SegmentId>) -> Sequence {
        let holds_records = |usage| !matches!(usage, Usage::Free | Usage::Checkpoint);
        let used = self.iter().filter(|(id, segment)| holds_records(segment.usage) && Some(*id) != except);
        used.map(|(_, segment)| segment.base_sequence.min(segment.oldest_resident)).min().unwrap_or(Sequence(u64::MAX))
    }
}
