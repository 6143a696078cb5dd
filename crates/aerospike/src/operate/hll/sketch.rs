//! A sketch as a bin holds it.
//!
//! | bytes | |
//! |---|---|
//! | 1 | [`FORM`]: whose hash and layout it is |
//! | 1, 1 | index bits, minhash bits |
//! | 8 | the count as it was when it was last refreshed, big-endian; [`NOT_COUNTED`] if elements have come since |
//! | rest | the registers, one behind the other, the lowest bits of the first byte first |
//!
//! An element's hash is two words. The highest bits of the first say in which register it counts, its lowest bits are the minhash bits. The
//! zeros at the front of the second, and one, are its rank. A register holds the largest rank with minhash bits behind it that any element
//! has had (HyperMinHash, Yu and Weber 2017; without minhash bits, HyperLogLog, Flajolet and others 2007).

use super::hash::hash;
use std::borrow::Cow;

/// Tells sketches that are made here from those that others have made, with a hash that nobody has documented.
const FORM: u8 = b'T';

const HEAD_BYTES: usize = 11;
const NOT_COUNTED: u64 = u64::MAX;

/// How many bits a rank takes.
const RANK_BITS: u32 = 6;

/// The highest rank; higher ones count as this.
pub(super) const RANK_MAX: u32 = (1 << RANK_BITS) - 1;

/// How large a sketch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) index_bits: u32,
    pub(super) minhash_bits: u32,
}

impl Shape {
    pub(super) const INDEX_BITS: std::ops::RangeInclusive<u32> = 4..=16;
    pub(super) const MINHASH_BITS: std::ops::RangeInclusive<u32> = 4..=51;

    /// A shape that sketches may have.
    pub(super) fn new(index_bits: u32, minhash_bits: u32) -> Option<Self> {
        let fits = Self::INDEX_BITS.contains(&index_bits)
            && (minhash_bits == 0 || Self::MINHASH_BITS.contains(&minhash_bits))
            && index_bits + minhash_bits <= u64::BITS;
        fits.then_some(Self { index_bits, minhash_bits })
    }

    /// What a union of two sketches has: minhash bits only if nothing else sets the two apart.
    pub(super) fn common(self, other: Self) -> Self {
        let minhash_bits = if self == other { self.minhash_bits } else { 0 };
        Self { index_bits: self.index_bits.min(other.index_bits), minhash_bits }
    }

    pub(super) fn registers(self) -> usize {
        1 << self.index_bits
    }

    fn register_bits(self) -> usize {
        (RANK_BITS + self.minhash_bits) as usize
    }

    /// The number of registers is a multiple of eight.
    fn bytes(self) -> usize {
        self.registers() / 8 * self.register_bits()
    }

    /// The register of an element, and what it would have there.
    fn place(self, element: &[u8]) -> (usize, u64) {
        let (first, second) = hash(element);
        let rank = u64::from((second.leading_zeros() + 1).min(RANK_MAX));
        let minhash = first & ((1 << self.minhash_bits) - 1);
        ((first >> (u64::BITS - self.index_bits)) as usize, rank << self.minhash_bits | minhash)
    }
}

/// Registers, and what is known of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sketch<'a> {
    pub(super) shape: Shape,
    /// The count, if it is known.
    pub(super) counted: Option<u64>,
    registers: Cow<'a, [u8]>,
}

impl<'a> Sketch<'a> {
    /// A sketch of nothing.
    pub(super) fn new(shape: Shape) -> Self {
        Self { shape, counted: Some(0), registers: Cow::Owned(vec![0; shape.bytes()]) }
    }

    /// Reads a sketch; none for bytes that are damaged, or that others have made.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (head, registers) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [FORM, index_bits, minhash_bits, counted @ ..] = *head else { return None };
        let shape = Shape::new(index_bits.into(), minhash_bits.into())?;
        let counted = match u64::from_be_bytes(counted) {
            NOT_COUNTED => None,
            counted if i64::try_from(counted).is_ok() => Some(counted),
            _ => return None,
        };
        (registers.len() == shape.bytes()).then_some(Self { shape, counted, registers: Cow::Borrowed(registers) })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Shape { index_bits, minhash_bits } = self.shape;
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.registers.len());
        bytes.extend_from_slice(&[FORM, index_bits as u8, minhash_bits as u8]);
        bytes.extend_from_slice(&self.counted.unwrap_or(NOT_COUNTED).to_be_bytes());
        bytes.extend_from_slice(&self.registers);
        bytes
    }

    /// A register: its rank, then its minhash bits; zero if no element has come to it.
    pub(super) fn register(&self, at: usize) -> u64 {
        let (byte, shift) = self.position(at);
        // A register takes 57 bits at most: with up to seven in front it is within eight bytes.
        let word = match self.registers[byte..].first_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => {
                let mut word = [0; 8];
                let rest = &self.registers[byte..];
                word[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(word)
            }
        };
        word >> shift & self.mask()
    }

    fn set_register(&mut self, at: usize, value: u64) {
        let (byte, shift) = self.position(at);
        let mask = self.mask() << shift;
        let registers = &mut self.registers.to_mut()[byte..];
        let length = registers.len().min(8);
        let mut word = [0; 8];
        word[..length].copy_from_slice(&registers[..length]);
        let word = u64::from_le_bytes(word) & !mask | value << shift;
        registers[..length].copy_from_slice(&word.to_le_bytes()[..length]);
    }

    /// The byte in which a register begins, and how many bits are in front of it there.
    fn position(&self, at: usize) -> (usize, usize) {
        let bit = at * self.shape.register_bits();
        (bit / 8, bit % 8)
    }

    fn mask(&self) -> u64 {
        (1 << self.shape.register_bits()) - 1
    }

    /// Raises a register; whether that changed it.
    fn raise(&mut self, at: usize, value: u64) -> bool {
        let raises = value > self.register(at);
        if raises {
            self.set_register(at, value);
            self.counted = None;
        }
        raises
    }

    /// Adds an element; whether that changed a register.
    pub(super) fn add(&mut self, element: &[u8]) -> bool {
        let (at, value) = self.shape.place(element);
        self.raise(at, value)
    }

    /// False if the element was never added; true if it was, or if others have had the same effect.
    pub(super) fn may_contain(&self, element: &[u8]) -> bool {
        let (at, value) = self.shape.place(element);
        self.register(at) >= value
    }

    /// Adds all that another sketch has, of as many index bits or more: registers whose indexes begin alike become one.
    pub(super) fn merge(&mut self, other: &Sketch<'_>) {
        let shift = other.shape.index_bits - self.shape.index_bits;
        let dropped = other.shape.minhash_bits - self.shape.minhash_bits;
        for at in 0..other.shape.registers() {
            self.raise(at >> shift, other.register(at) >> dropped);
        }
    }

    /// The same elements with fewer index bits, or without minhash bits.
    pub(super) fn reshaped(&self, shape: Shape) -> Sketch<'a> {
        if shape == self.shape {
            return self.clone();
        }
        let mut reshaped = Sketch::new(shape);
        reshaped.merge(self);
        reshaped
    }

    pub(super) fn rank(&self, at: usize) -> u32 {
        (self.register(at) >> self.shape.minhash_bits) as u32
    }
}
