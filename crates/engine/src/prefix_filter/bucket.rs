//! A bucket of a prefix filter: up to sixteen cells, each a fingerprint of six bits and a slot of twelve, in half a cache line.
//!
//! Cells stand in the order of the upper four bits of their fingerprints, their *group*. So these take two bits a cell instead of four.
//!
//! | bytes | |
//! |---|---|
//! | 4: groups | for each of the sixteen groups, from the lowest bit on, a one for each of its cells and then a zero |
//! | 4: lower | the two lower bits of each fingerprint |
//! | 24: slots | twelve bits a cell |

use std::ops::Range;

/// Cells of a bucket. The more, the fuller buckets are in the mean, and the more slots are looked at in vain.
pub(super) const CELLS: usize = 16;
/// Bits of a fingerprint.
pub(super) const FINGERPRINT_BITS: u32 = LOWER_BITS + 4;
/// Bits of a slot.
pub(super) const SLOT_BITS: u32 = 12;
const LOWER_BITS: u32 = 2;
const LOWER_MASK: u32 = (1 << LOWER_BITS) - 1;
const SLOT_MASK: u16 = (1 << SLOT_BITS) - 1;

#[derive(Clone, Copy, Default)]
#[repr(align(32))]
pub(super) struct Bucket {
    groups: u32,
    lower: u32,
    slots: [u8; CELLS * SLOT_BITS as usize / 8],
}

const _: () = assert!(size_of::<Bucket>() == 32);

impl Bucket {
    /// How many cells are used.
    pub(super) fn used(&self) -> usize {
        self.groups.count_ones() as usize
    }

    /// The slots that have a fingerprint.
    pub(super) fn slots(&self, fingerprint: u16) -> impl Iterator<Item = u16> {
        self.cells(fingerprint).map(|cell| self.slot(cell))
    }

    /// Whether a slot has the fingerprint.
    pub(super) fn has(&self, fingerprint: u16, slot: u16) -> bool {
        self.slots(fingerprint).any(|of| of == slot)
    }

    /// Notes that a slot has the fingerprint. Returns whether there was a cell for it.
    pub(super) fn insert(&mut self, fingerprint: u16, slot: u16) -> bool {
        let used = self.used();
        if used == CELLS {
            return false;
        }
        let group = group_of(fingerprint);
        let cell = self.group(group).start;
        self.groups = open(self.groups, cell as u32 + group, 1, 1);
        self.lower = open(self.lower, LOWER_BITS * cell as u32, LOWER_BITS, lower_of(fingerprint));
        for moved in (cell..used).rev() {
            self.set_slot(moved + 1, self.slot(moved));
        }
        self.set_slot(cell, slot);
        true
    }

    /// Frees the cells of a fingerprint. Returns how many they were.
    pub(super) fn remove(&mut self, fingerprint: u16) -> usize {
        let mut removed = 0;
        // Each step moves the cells that come later.
        while let Some(cell) = { self.cells(fingerprint).next() } {
            self.groups = close(self.groups, cell as u32 + group_of(fingerprint), 1);
            self.lower = close(self.lower, LOWER_BITS * cell as u32, LOWER_BITS);
            for moved in cell + 1..CELLS {
                self.set_slot(moved - 1, self.slot(moved));
            }
            removed += 1;
        }
        removed
    }

    fn cells(&self, fingerprint: u16) -> impl Iterator<Item = usize> {
        self.group(group_of(fingerprint))
            .filter(move |cell| self.lower >> (LOWER_BITS * *cell as u32) & LOWER_MASK == lower_of(fingerprint))
    }

    /// The cells of a group.
    fn group(&self, group: u32) -> Range<usize> {
        let (mut groups, mut first) = (self.groups, 0);
        for _ in 0..group {
            let cells = groups.trailing_ones();
            first += cells;
            groups >>= cells + 1;
        }
        first as usize..(first + groups.trailing_ones()) as usize
    }

    fn slot(&self, cell: usize) -> u16 {
        let at = 3 * cell / 2;
        u16::from_le_bytes([self.slots[at], self.slots[at + 1]]) >> (4 * (cell % 2)) & SLOT_MASK
    }

    fn set_slot(&mut self, cell: usize, slot: u16) {
        let (at, shift) = (3 * cell / 2, 4 * (cell % 2));
        let others = u16::from_le_bytes([self.slots[at], self.slots[at + 1]]) & !(SLOT_MASK << shift);
        [self.slots[at], self.slots[at + 1]] = (others | slot << shift).to_le_bytes();
    }
}

fn group_of(fingerprint: u16) -> u32 {
    u32::from(fingerprint) >> LOWER_BITS
}

fn lower_of(fingerprint: u16) -> u32 {
    u32::from(fingerprint) & LOWER_MASK
}

/// A number with `bits` bits put in at a place; those above move up.
fn open(number: u32, at: u32, bits: u32, value: u32) -> u32 {
    let below = (1 << at) - 1;
    number & below | (number & !below) << bits | value << at
}

/// A number without the `bits` bits at a place; those above move down.
fn close(number: u32, at: u32, bits: u32) -> u32 {
    let below = (1 << at) - 1;
    number & below | number >> bits & !below
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;

    #[test]
    fn a_bucket_has_what_was_inserted_and_not_removed() {
        let mut random = Rng::new(5);
        for _ in 0..2_000 {
            let (mut bucket, mut expected) = (Bucket::default(), Vec::new());
            // Few fingerprints in some buckets, so that groups are long.
            let fingerprints = 1 + random.next_u64() % (1 << FINGERPRINT_BITS);
            for _ in 0..60 {
                let fingerprint = ((1 << FINGERPRINT_BITS) - 1 - random.next_u64() % fingerprints) as u16;
                let slot = random.next_u64() as u16 & SLOT_MASK;
                if random.next_u64().is_multiple_of(8) {
                    let before = expected.len();
                    expected.retain(|(of, _)| *of != fingerprint);
                    assert_eq!(bucket.remove(fingerprint), before - expected.len());
                } else {
                    assert_eq!(bucket.insert(fingerprint, slot), expected.len() < CELLS);
                    if expected.len() < CELLS {
                        expected.push((fingerprint, slot));
                    }
                }
                assert_eq!(bucket.used(), expected.len());
                let mut found = (0..1 << FINGERPRINT_BITS).flat_map(|of| bucket.slots(of).map(move |slot| (of, slot))).collect::<Vec<_>>();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected);
                assert!(expected.iter().all(|(fingerprint, slot)| bucket.has(*fingerprint, *slot)));
            }
        }
    }
}
