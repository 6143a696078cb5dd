//! A row as the engine stores it: cells with write timestamps, in one run of bytes that replies are encoded from directly.
//!
//! An update is a row, too: applying it is [`merge`]. Merging is commutative, associative and idempotent, so rows converge whatever the
//! order in which writes arrive: last write wins for each cell, deletions win ties.
//!
//! All integers are little-endian.
//!
//! | offset | bytes | row |
//! |---|---|---|
//! | 0 | 1 | flags: 1 liveness (the row exists without cells), 2 deletion, 4 shared expiry |
//! | 1 | 1 | zero |
//! | 2 | 2 | number of cells |
//! | 4 | 8 | shared timestamp: of the liveness, and of every cell without its own |
//! | 12 | 8 | with flag 4: time to live and expiry, both in seconds, shared likewise |
//! | … | 12 | with flag 2: timestamp of the deletion and when it was made (seconds) |
//! | … | … | cells by ascending column id |
//!
//! | bytes | cell |
//! |---|---|
//! | 2 | column id |
//! | 1 | flags: 1 own timestamp, 2 own expiry, 4 tombstone, 8 complex |
//! | 4 | length of the value |
//! | 8 | with flag 1: timestamp |
//! | 8 | with flag 2: time to live (0: none) and expiry in seconds |
//! | 4 | with flag 4: when it was deleted, in seconds |
//! | … | the value: wire bytes; of a complex cell the table below |
//!
//! | bytes | complex value (a collection or user type with a cell for each element) |
//! |---|---|
//! | 8 + 4 | timestamp (`i64::MIN`: none) and time of the deletion that hides older elements |
//! | 4 | number of elements |
//! | … | elements by ascending path: flags (1, as above), path length (4), value length (4), then as a cell, then path, then value |

mod check;
mod floors;
mod merge;
mod view;
mod writer;

pub use check::is_well_formed;
pub use floors::{Floors, without_below};
pub use merge::{ElementOrder, merge};
pub use view::{Cell, Complex, Content, Element, ElementContent, RowView};
pub use writer::{ComplexWriter, RowKind, RowWriter};

const LIVENESS: u8 = 1;
const DELETION: u8 = 2;
const EXPIRING: u8 = 4;

const OWN_TIMESTAMP: u8 = 1;
const OWN_EXPIRY: u8 = 2;
const TOMBSTONE: u8 = 4;
const COMPLEX: u8 = 8;

const ROW_HEADER_BYTES: usize = 12;
const CELL_HEADER_BYTES: usize = 7;
const COMPLEX_HEADER_BYTES: usize = 16;
const ELEMENT_HEADER_BYTES: usize = 9;

/// When something was written and when it ceases to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The write timestamp, by convention microseconds since the epoch; larger wins.
    pub timestamp: i64,
    /// Time to live in seconds; 0 is for ever.
    pub ttl_s: u32,
    /// With a time to live: seconds since the epoch at which it is gone.
    pub expires_at_s: u32,
}

impl Stamp {
    /// A stamp that never expires.
    #[must_use]
    pub const fn at(timestamp: i64) -> Self {
        Self { timestamp, ttl_s: 0, expires_at_s: 0 }
    }

    /// Whether it is still there at `now_s`.
    #[must_use]
    #[inline]
    pub fn is_live(self, now_s: u32) -> bool {
        self.ttl_s == 0 || self.expires_at_s > now_s
    }
}

/// A deletion of a row, of a collection, of a range or of a partition: everything written at or before its timestamp is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The write timestamp.
    pub timestamp: i64,
    /// When it was made, in seconds since the epoch: it may be forgotten `gc_grace_seconds` later.
    pub deleted_at_s: u32,
}

impl Deletion {
    /// The later of two.
    #[must_use]
    pub fn later(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(a), Some(b)) if (b.timestamp, b.deleted_at_s) > (a.timestamp, a.deleted_at_s) => Some(b),
            (Some(a), _) => Some(a),
            (None, b) => b,
        }
    }
}

#[cfg(test)]
mod tests;
