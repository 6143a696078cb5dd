//! Segments vouch for one another: what a header block says of others, so that a segment whose own header never came is missed.
//!
//! 1. Whoever writes a header block of the log or a free marker names segments whose generation the device has for certain: those opened
//!    last, and as many others in turn as fit (`witnesses`). A shard of no more than 128 segments is named in full every time.
//! 2. Recovery gathers all that is said (`Vouched`). A segment that has an older generation than somebody says has lost its header, and with
//!    it a write: it is reported and set aside (`recovery/witnesses.rs`).
//!
//! Invariant: a segment is named only after a sync that covers its header.

use crate::engine::Engine;
use crate::format::witness::{self, WITNESSES_MAX, Witness};
use crate::location::SegmentId;
use crate::segments::{Segment, Usage};
use std::collections::VecDeque;

/// Of the segments opened last so many are named every time.
const RECENT_MAX: usize = 29;
/// Segments that are looked at for one block.
const LOOKED_AT_MAX: usize = 1024;

/// Whose turn it is to be named.
#[derive(Default)]
pub(crate) struct Turns {
    /// Segments in the order in which they were opened, the last ones.
    recent: VecDeque<SegmentId>,
    next: usize,
}

impl Turns {
    /// A segment was opened.
    pub(crate) fn opened(&mut self, segment: SegmentId) {
        self.recent.push_back(segment);
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
    }
}

/// Whether the device has the segment's header for certain, once recovery is over.
fn is_durable(entry: &Segment) -> bool {
    let on_device = matches!(entry.usage, Usage::Stored | Usage::Draining | Usage::Quarantined | Usage::Free);
    on_device && entry.generation > 0
}

impl Engine {
    /// Puts what this engine knows of other segments, and the mark of its run, into the header block of one.
    pub(crate) fn bear_witness(&mut self, block: &mut [u8]) {
        let witnesses = self.witnesses();
        witness::fill_block(block, self.config.store, self.config.shard, &witnesses);
        self.marks.fill_block(block);
    }

    pub(crate) fn witnesses(&mut self) -> Vec<Witness> {
        // What recovery finds on the device may not be durable until it ends.
        if self.recovery.is_some() || self.segments.len() == 0 {
            return Vec::new();
        }
        let Self { segments, turns, .. } = self;
        let named = |segment: SegmentId| {
            let entry = segments.get(segment);
            is_durable(entry).then_some(Witness { segment, generation: entry.generation, free: entry.usage == Usage::Free })
        };
        let mut witnesses: Vec<Witness> = turns.recent.iter().filter_map(|segment| named(*segment)).collect();
        let count = segments.len();
        for _ in 0..count.min(LOOKED_AT_MAX) {
            if witnesses.len() == WITNESSES_MAX {
                break;
            }
            let segment = SegmentId((turns.next % count) as u32);
            turns.next = (turns.next + 1) % count;
            witnesses.extend(named(segment));
        }
        witnesses
    }
}

/// What all header blocks say, by segment.
#[derive(Default)]
pub(crate) struct Vouched(Vec<Option<Witness>>);

impl Vouched {
    pub(crate) fn add(&mut self, witness: Witness) {
        let index = witness.segment.index();
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        let newer = |known: &Witness| (known.generation, known.free) < (witness.generation, witness.free);
        if self.0[index].as_ref().is_none_or(newer) {
            self.0[index] = Some(witness);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Witness> + '_ {
        self.0.iter().flatten().copied()
    }
}
