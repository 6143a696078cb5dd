//! Writes that arrive in part, sector by sector.

use base::{Rng, SECTOR_BYTES};

/// Whether everything arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    Whole,
    InPart,
}

/// Writes a subset of the sectors of `new` over `old`: all, the first ones, the last ones, or any.
pub(crate) fn tear(rng: &mut Rng, old: &mut [u8], new: &[u8]) -> Arrived {
    let sectors = new.len().div_ceil(SECTOR_BYTES) as u64;
    let (mode, cut) = (rng.below(4), rng.below(sectors + 1));
    let mut arrived = Arrived::Whole;
    for (number, (old, new)) in old.chunks_mut(SECTOR_BYTES).zip(new.chunks(SECTOR_BYTES)).enumerate() {
        let arrives = match mode {
            0 => true,
            1 => (number as u64) < cut,
            2 => (number as u64) >= cut,
            _ => rng.below(2) == 0,
        };
        if arrives {
            old.copy_from_slice(new);
        } else {
            arrived = Arrived::InPart;
        }
    }
    arrived
}
