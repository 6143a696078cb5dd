//! Which entries of a SPATIAL index a box has, and in which ranges of entries those are that it may meet.
//!
//! Space is x and y; what they do not tell apart, the condition does. A coordinate is cut to a number of 64 bits: 2⁻²⁴ to a unit, up to 2³⁹ units to either side of zero. What
//! is farther away is at the edge. Cells are squares of 4ⁿ numbers a side. A box has an entry of each cell that it touches, of the smallest size of which it
//! touches at most two in each direction: so one to four.
//!
//! An entry is the cell's first place on a curve in Z (16 bytes; the bits of x and y by turns), then its size (1 byte). All that is within a cell is one range of the
//! curve; what a cell lies in has one place for each size. So what a box may meet is in the ranges of the few cells that cover it, and at the places of
//! those that these lie in: at most [`COVERING_CELLS_MAX`], and [`SIZES`] times as many places.

use super::bounds::Bounds;
use base::z_curve;
use std::collections::BTreeSet;

/// 2²⁴: the numbers in one unit of a coordinate.
const NUMBERS_A_UNIT: f64 = 16_777_216.0;
/// Bits of a number.
const BITS: u32 = 64;
/// Sizes of cells differ by so many bits.
const STEP: u32 = 2;
/// Sizes that cells of entries have.
pub(crate) const SIZES: usize = (BITS / STEP) as usize + 1;
/// A box is covered by at most so many cells.
pub(crate) const COVERING_CELLS_MAX: u128 = 32;

/// A box has at most so many entries.
pub(crate) const ENTRIES_MAX: usize = 4;

/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: usize = 17;

/// The numbers that a box has in x and in y: the first, the last.
type Numbers = [(u64, u64); 2];

/// The first entry and the last one of a range.
pub(crate) type EntryRange = ([u8; ENTRY_BYTES], [u8; ENTRY_BYTES]);

fn number(coordinate: f64) -> u64 {
    // What is out of range is at the edge. Larger coordinates never have smaller numbers.
    ((coordinate * NUMBERS_A_UNIT).floor() as i64 as u64) ^ 1 << (BITS - 1)
}

fn numbers(bounds: &Bounds) -> Numbers {
    [0, 1].map(|axis| (number(bounds.low[axis]), number(bounds.high[axis])))
}

/// The cell of a size that a number is in.
fn cell(number: u64, bits: u32) -> u64 {
    number.checked_shr(bits).unwrap_or(0)
}

/// How many cells of a size a box touches.
fn cells_touched(numbers: &Numbers, bits: u32) -> u128 {
    numbers.iter().map(|(low, high)| u128::from(cell(*high, bits) - cell(*low, bits)) + 1).fold(1, u128::saturating_mul)
}

/// The cells of a size that a box touches.
fn cells(numbers: Numbers, bits: u32) -> impl Iterator<Item = (u64, u64)> {
    let [(x_low, x_high), (y_low, y_high)] = numbers.map(|(low, high)| (cell(low, bits), cell(high, bits)));
    (x_low..=x_high).flat_map(move |x| (y_low..=y_high).map(move |y| (x, y)))
}

/// The first place of a cell on the curve, and the last one.
fn places((x, y): (u64, u64), bits: u32) -> (u128, u128) {
    let first = z_curve(x, y).checked_shl(2 * bits).unwrap_or(0);
    (first, first | 1_u128.checked_shl(2 * bits).map_or(u128::MAX, |size| size - 1))
}

/// The sizes of cells of entries, the smallest first.
fn sizes() -> impl DoubleEndedIterator<Item = u32> {
    (0..SIZES as u32).map(|size| size * STEP)
}

/// The size of the cells of a box's entries.
fn size_of_entries(numbers: &Numbers) -> u32 {
    let touches_few = |bits: &u32| numbers.iter().all(|(low, high)| cell(*high, *bits) - cell(*low, *bits) <= 1);
    sizes().find(touches_few).unwrap_or(BITS)
}

fn entry(place: u128, bits: u32) -> [u8; ENTRY_BYTES] {
    let mut entry = [bits as u8; ENTRY_BYTES];
    entry[..ENTRY_BYTES - 1].copy_from_slice(&place.to_be_bytes());
    entry
}

/// The entries of a box: one to four.
pub(crate) fn entries(bounds: &Bounds) -> impl Iterator<Item = [u8; ENTRY_BYTES]> + use<> {
    let numbers = numbers(bounds);
    let bits = size_of_entries(&numbers);
    cells(numbers, bits).map(move |cell| entry(places(cell, bits).0, bits))
}

/// Ranges of entries, the first and the last of each, in their order, that have an entry of every box which a box meets.
pub(crate) fn ranges(bounds: &Bounds) -> Vec<EntryRange> {
    let numbers = numbers(bounds);
    let covering = (0..=BITS).find(|bits| cells_touched(&numbers, *bits) <= COVERING_CELLS_MAX).unwrap_or(BITS);
    let within =
        cells(numbers, covering).map(|cell| places(cell, covering)).map(|(first, last)| (entry(first, 0), entry(last, u32::from(u8::MAX))));
    let mut ranges: BTreeSet<_> = within.collect();
    for bits in sizes().filter(|bits| *bits > covering) {
        ranges.extend(cells(numbers, bits).map(|cell| entry(places(cell, bits).0, bits)).map(|entry| (entry, entry)));
    }
    let mut merged: Vec<EntryRange> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match merged.last_mut() {
            Some(before) if first <= before.1 || is_next(&before.1, &first) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

/// Whether no place is between the end of a cell's range and the start of another one.
fn is_next(last: &[u8; ENTRY_BYTES], first: &[u8; ENTRY_BYTES]) -> bool {
    let place = |entry: &[u8; ENTRY_BYTES]| entry.first_chunk().map_or(0, |place| u128::from_be_bytes(*place));
    last[ENTRY_BYTES - 1] == u8::MAX && place(last).checked_add(1) == Some(place(first))
}
