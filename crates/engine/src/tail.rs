//! What was written after some sequence: a walk over the index that passes over what lies in segments too old to have such rows.
//!
//! Segments have base sequences that grow with their generations, so all that lies in one is older than the base of the next: below one
//! generation nothing is new. What defragmentation has moved since lies in younger segments and is read in vain, unless the segment knows how new
//! what was moved to it is. Pages are opened if they may have newer rows; of theirs, each has its sequence.
//!
//! The walk is over keys, not places: a record may move, a segment be freed, a page be made between two chunks, and the walk meets the row
//! where it is then. What is written behind it the caller has heard of when it was written.
//!
//! Invariant: no row with a later sequence is passed over. Rows that were purged, and tables that were dropped or truncated, are not met: see
//! [`Engine::set_purge_floor`].

use crate::engine::Engine;
use crate::key::Sequence;
use crate::location::{Location, SegmentId};
use crate::memory::Memory;
use crate::segments::{Segment, Segments, Usage};
use base::{Slot, TableId, Token};

/// What was written after a sequence. It goes on meaning that, whatever is written or moved meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    after: Sequence,
    /// What lies in segments of lower generations is older.
    generation: u64,
}

/// Where a walk goes on: at the first row at or after this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailPosition {
    /// Its token.
    pub token: Token,
    /// Its partition key; empty for the first of the token.
    pub partition: Vec<u8>,
    /// Its clustering key.
    pub clustering: Vec<u8>,
}

/// What of a table's tail to walk over.
#[derive(Clone, Copy)]
pub struct TailScan<'a> {
    /// The table.
    pub table: TableId,
    /// The tail.
    pub tail: &'a Tail,
    /// Where to start.
    pub from: &'a TailPosition,
    /// Which slots are of interest.
    pub wants: &'a dyn Fn(Slot) -> bool,
    /// How many rows and pages to pass over at most before the cursor pauses.
    pub budget: usize,
    /// How many records to ask for at once when some are missing.
    pub read_ahead: usize,
}

impl Default for TailPosition {
    /// The start of a table.
    fn default() -> Self {
        Self { token: Token(i64::MIN), partition: Vec::new(), clustering: Vec::new() }
    }
}

/// What a cursor over a tail passes over.
#[derive(Clone, Copy)]
pub(crate) struct Sieve<'a> {
    memory: &'a Memory,
    segments: &'a Segments,
    tail: &'a Tail,
    wants: &'a dyn Fn(Slot) -> bool,
}

impl<'a> Sieve<'a> {
    pub(crate) fn new(memory: &'a Memory, segments: &'a Segments, scan: &TailScan<'a>) -> Self {
        Self { memory, segments, tail: scan.tail, wants: scan.wants }
    }

    /// Whether nothing at this place is new.
    pub(crate) fn is_old(&self, location: Location) -> bool {
        let segment = self.segments.get(self.memory.device_location(location).segment());
        segment.generation < self.tail.generation || segment.newest <= self.tail.after
    }

    /// Whether a row of this sequence is new.
    pub(crate) fn is_new(&self, sequence: Sequence) -> bool {
        sequence > self.tail.after
    }

    pub(crate) fn wants(&self, slot: Slot) -> bool {
        (self.wants)(slot)
    }
}

impl Segments {
    /// Segments whose base sequence tells something of those of lower generations. Not that of a checkpoint, even when it is over, nor that of a
    /// segment whose header is gone.
    fn bounds(&self) -> impl Iterator<Item = &Segment> {
        let holds_log = |usage| matches!(usage, Usage::Open | Usage::Sealed | Usage::Stored | Usage::Draining);
        self.iter().map(|(_, segment)| segment).filter(move |segment| holds_log(segment.usage) && segment.base_sequence > Sequence(0))
    }

    /// What lies in segments of generations below this one has this sequence or a lower one.
    pub(crate) fn generation_after(&self, sequence: Sequence) -> u64 {
        let bounds = self.bounds().filter(|segment| segment.base_sequence.0 <= sequence.0.saturating_add(1));
        bounds.map(|segment| segment.generation).max().unwrap_or(0)
    }

    /// No row in the segment has a later sequence than this, which may be one that was not given out yet.
    pub(crate) fn newest_bound(&self, segment: SegmentId) -> Sequence {
        let own = self.get(segment);
        let later = self.bounds().filter(|other| other.generation > own.generation);
        let bound = later.map(|other| other.base_sequence.0 - 1).min().unwrap_or(u64::MAX);
        own.newest.min(Sequence(bound))
    }
}

impl Engine {
    /// What is written after this sequence, or was.
    #[must_use]
    pub fn tail(&self, after: Sequence) -> Tail {
        let generation = self.segments.generation_after(after);
        #[cfg(test)]
        let generation = generation + u64::from(self.planted == Some(crate::tests::Planted::TailBeginsLate));
        Tail { after, generation }
    }
}
