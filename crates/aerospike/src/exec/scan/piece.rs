//! What a part of a scan looks through.

use base::Token;
use model::record_set::DIGEST_BYTES;

/// A run of slots on one core, and where in it to go on.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) from: Token,
    /// The record that was given last.
    pub(super) after: Option<[u8; DIGEST_BYTES]>,
    pub(super) until: Token,
}

impl Piece {
    pub(super) fn slot_count(&self) -> u32 {
        u32::from(self.until.slot().0 - self.from.slot().0) + 1
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = u16> + use<> {
        self.from.slot().0..=self.until.slot().0
    }
}
