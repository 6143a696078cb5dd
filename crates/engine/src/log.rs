//! The append stream: the open segment, the sealed ones whose mirror slot is still needed, and the numbers given out.
//!
//! Invariants: a later place (generation, offset) means a later or equal version of a key: records are appended in one stream, and what
//! is moved to the cold segment (`cold`) beside it fits in between; everything before `Open::mirrored` is in the stable memory; a mirror slot is reused only when the device has its segment.

use crate::format::record::{Salt, mix};
use crate::key::Sequence;
use crate::location::SegmentId;
use std::collections::VecDeque;

/// A point in the append stream: what lies before it was appended earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) generation: u64,
    /// Within the segment of this generation.
    pub(crate) offset: u32,
}

/// The segment that is appended to.
pub(crate) struct Open {
    pub(crate) segment: SegmentId,
    pub(crate) slot: usize,
    pub(crate) salt: Salt,
    /// Bytes appended, the header block included.
    pub(crate) used: usize,
    /// How much of it is in the stable memory.
    pub(crate) mirrored: usize,
    /// How much of it is on the device.
    pub(crate) durable: usize,
}

/// A full segment that is not on the device yet.
pub(crate) struct Sealed {
    pub(crate) segment: SegmentId,
    pub(crate) slot: usize,
    pub(crate) used: usize,
    /// How much of it this run has put into the stable memory.
    pub(crate) mirrored: usize,
    pub(crate) durable: usize,
}

/// The state of the append stream.
pub(crate) struct Log {
    pub(crate) open: Option<Open>,
    /// The segment that gathered records are being moved to: of a lower generation than the open one.
    pub(crate) cold: Option<Open>,
    /// In the order of their generations.
    pub(crate) sealed: VecDeque<Sealed>,
    pub(crate) slots_free: Vec<usize>,
    next_sequence: u64,
    next_generation: u64,
    nonce_seed: u64,
    checkpoint_nonces: u64,
    /// Bytes ever appended: orders moves against syncs.
    pub(crate) position: u64,
    /// Bytes of records that lately fitted into a segment before it had to be sealed: less than its size if records are large.
    pub(crate) usual_fill: u64,
}

impl Log {
    /// In which slot the stable memory has a segment that is not on the device yet, and how much of it this run has put there.
    pub(crate) fn mirror_of(&self, segment: SegmentId) -> Option<(usize, usize)> {
        let mut open = self.open.iter().chain(&self.cold).map(|open| (open.segment, open.slot, open.mirrored));
        let mut sealed = self.sealed.iter().map(|sealed| (sealed.segment, sealed.slot, sealed.mirrored));
        let found = open.find(|(id, ..)| *id == segment).or_else(|| sealed.find(|(id, ..)| *id == segment));
        found.map(|(_, slot, mirrored)| (slot, mirrored))
    }

    pub(crate) fn new(store: u64, wall_us: i64, segment_bytes: u32) -> Self {
        Self {
            open: None,
            cold: None,
            sealed: VecDeque::new(),
            slots_free: Vec::new(),
            next_sequence: 1,
            next_generation: 1,
            nonce_seed: mix(mix(store) ^ wall_us as u64),
            checkpoint_nonces: 0,
            position: 0,
            usual_fill: u64::from(segment_bytes),
        }
    }

    /// The next sequence to be given out.
    pub(crate) fn next_sequence(&self) -> Sequence {
        Sequence(self.next_sequence)
    }

    /// The last sequence given out.
    pub(crate) fn last_sequence(&self) -> Sequence {
        Sequence(self.next_sequence - 1)
    }

    pub(crate) fn take_sequence(&mut self) -> Sequence {
        assert!(self.next_sequence < Sequence::MAX, "2^56 sequences last for two thousand years");
        self.next_sequence += 1;
        Sequence(self.next_sequence - 1)
    }

    /// Generation and nonce of a new use of a segment.
    pub(crate) fn take_generation(&mut self) -> (u64, u64) {
        let generation = self.next_generation;
        self.next_generation += 1;
        (generation, mix(self.nonce_seed ^ mix(generation)))
    }

    /// The nonce of a segment of a checkpoint. Those take no generation of their own: that a newer generation exists tells recovery what
    /// was synced.
    pub(crate) fn take_checkpoint_nonce(&mut self) -> u64 {
        self.checkpoint_nonces += 1;
        mix(self.nonce_seed ^ mix(!self.checkpoint_nonces))
    }

    /// The last generation given out or seen.
    pub(crate) fn last_generation(&self) -> u64 {
        self.next_generation - 1
    }

    /// Recovery has seen this sequence.
    pub(crate) fn saw_sequence(&mut self, sequence: Sequence) {
        self.next_sequence = self.next_sequence.max(sequence.0.saturating_add(1));
    }

    /// Recovery has seen this generation.
    pub(crate) fn saw_generation(&mut self, generation: u64) {
        self.next_generation = self.next_generation.max(generation.saturating_add(1));
    }
}
