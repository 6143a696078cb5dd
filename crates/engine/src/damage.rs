//! Damage that is found while the shard serves: which slots have rows there, and how what is damaged leaves the index.
//!
//! 1. A read names its slot itself: who asked knows what for. The scrub and defragmentation know a place of the device only. One walk over the index, in
//!    slices, tells which slots of which tables name it. What nobody names is of no row that there is, and costs nothing.
//! 2. The owner of the shard gets the slots' rows from another replica. Before it does, it wipes them, and what is damaged goes with them: rows of wide
//!    partitions are overwritten, as their keys are in the index; pages, and rows alone in their partitions, are forgotten.
//!
//! Invariant: a segment of which something was forgotten still counts it as live. So it is never used again while the process lives, and a start that
//! reads the log finds the damage: an older version of a row that was forgotten cannot come back unnoticed.

use crate::location::{Location, SegmentId};
use base::{Slot, TableId};
use std::collections::{BTreeMap, BTreeSet};

/// Places of damage that are kept for the walk; beyond that all of the segment counts.
const RANGES_MAX: usize = 64;

/// Where records are damaged: segment and offset, as [`crate::ReadError::Damaged`] names them.
pub type DamagedPlaces = BTreeSet<(SegmentId, usize)>;

/// The walk for slots with damaged rows.
#[derive(Default)]
pub(crate) struct DamageWalk {
    /// By segment, from where to where.
    pub(crate) ranges: BTreeMap<SegmentId, Vec<(usize, usize)>>,
    /// Found since the walk began, for the next one.
    pub(crate) next: BTreeMap<SegmentId, Vec<(usize, usize)>>,
    /// The next slot to look at, while there is a walk.
    pub(crate) cursor: Option<(TableId, u16)>,
    pub(crate) found: BTreeSet<(TableId, Slot)>,
}

impl DamageWalk {
    pub(crate) fn note(&mut self, segment: SegmentId, offset: usize, bytes: usize) {
        let ranges = self.next.entry(segment).or_default();
        if ranges.len() < RANGES_MAX {
            ranges.push((offset, offset + bytes));
        } else {
            *ranges = vec![(0, usize::MAX)];
        }
    }
}

/// Whether what a place of the device has overlaps with what is damaged.
pub(crate) fn is_hit(ranges: &BTreeMap<SegmentId, Vec<(usize, usize)>>, location: Location) -> bool {
    let within = |(start, end): &(usize, usize)| location.offset() < *end && *start < location.offset() + location.padded();
    location.is_record() && ranges.get(&location.segment()).is_some_and(|ranges| ranges.iter().any(within))
}

/// Whether a place is one of these.
pub(crate) fn is_at(places: &DamagedPlaces, location: Location) -> bool {
    location.is_record() && places.contains(&(location.segment(), location.offset()))
}
