//! Where a partition lies: the partition key's bytes and its token.
//!
//! A key of one column is that column's bytes. A key of several is, for each, a u16 length, the bytes and a zero. The token is the
//! first half of MurmurHash3 (x64, 128 bits, seed 0) in the variant of Cassandra's Murmur3Partitioner, which sign-extends the bytes
//! after the last whole block; drivers compute the same to find a replica.

use base::Token;

/// A partition key's column that is longer than its length field can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Key length of {length} is longer than maximum of 65535")]
pub struct KeyTooLong {
    /// Its length.
    pub length: usize,
}

/// Appends the partition key made of `components`, and checks that the whole is at most 65,535 bytes.
///
/// # Errors
/// [`KeyTooLong`]; `out` then holds a part of the key.
pub fn partition_key<'a>(components: impl ExactSizeIterator<Item = &'a [u8]>, out: &mut Vec<u8>) -> Result<(), KeyTooLong> {
    let start = out.len();
    let single = components.len() == 1;
    for component in components {
        let length = u16::try_from(component.len()).map_err(|_| KeyTooLong { length: component.len() })?;
        if single {
            out.extend_from_slice(component);
        } else {
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(component);
            out.push(0);
        }
    }
    let length = out.len() - start;
    if length > usize::from(u16::MAX) { Err(KeyTooLong { length }) } else { Ok(()) }
}

/// The components of a partition key: the inverse of [`partition_key`].
#[derive(Clone, Debug)]
pub struct PartitionKey<'a> {
    rest: &'a [u8],
    left: usize,
    single: bool,
}

impl<'a> PartitionKey<'a> {
    /// Reads `key` as one of `components` columns.
    #[must_use]
    pub fn new(key: &'a [u8], components: usize) -> Self {
        Self { rest: key, left: components, single: components == 1 }
    }
}

impl<'a> Iterator for PartitionKey<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        if self.single {
            return Some(self.rest);
        }
        let (length, rest) = self.rest.split_first_chunk::<2>()?;
        let (component, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        self.rest = rest.strip_prefix(&[0])?;
        Some(component)
    }
}

/// The token of a partition key.
#[inline]
#[must_use]
pub fn token(key: &[u8]) -> Token {
    if key.is_empty() {
        return Token(i64::MIN);
    }
    match murmur3(key) {
        // The smallest token is kept for "before everything".
        i64::MIN => Token(i64::MAX),
        hash => Token(hash),
    }
}

const C1: u64 = 0x87C3_7B91_1142_53D5;
const C2: u64 = 0x4CF5_AD43_2745_937F;

#[inline]
fn murmur3(key: &[u8]) -> i64 {
    let (mut h1, mut h2) = (0_u64, 0_u64);
    let (blocks, tail) = key.as_chunks::<16>();
    for block in blocks {
        let whole = u128::from_le_bytes(*block);
        h1 = (h1 ^ mix_first(whole as u64)).rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52DC_E729);
        h2 = (h2 ^ mix_second((whole >> 64) as u64)).rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5AB5);
    }
    if !tail.is_empty() {
        let (first, second) = tail.split_at(tail.len().min(8));
        if !second.is_empty() {
            h2 ^= mix_second(signed_tail(second));
        }
        h1 ^= mix_first(signed_tail(first));
    }
    let length = key.len() as u64;
    h1 ^= length;
    h2 ^= length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (finish(h1).wrapping_add(finish(h2))) as i64
}

/// One to eight little-endian bytes, each sign-extended before it is shifted to its place and mixed in.
#[inline]
fn signed_tail(bytes: &[u8]) -> u64 {
    const LOW_BITS: u64 = 0x0101_0101_0101_0101;
    let word = little_endian(bytes);
    // A negative byte flips all bytes above it: each byte is flipped when the number of negative ones below it is odd. The product
    // sums these numbers up for all bytes at once.
    let negative = (word >> 7) & LOW_BITS;
    let odd = (negative << 8).wrapping_mul(LOW_BITS) & LOW_BITS;
    word ^ odd.wrapping_mul(0xFF)
}

/// One to eight bytes as a number, in a few loads that may overlap.
#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            let shift = 8 * (bytes.len() as u32 - 4);
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << shift
        }
        _ => bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte)),
    }
}

#[inline]
fn mix_first(word: u64) -> u64 {
    word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

#[inline]
fn mix_second(word: u64) -> u64 {
    word.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

#[inline]
fn finish(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    word ^= word >> 33;
    word = word.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    word ^ (word >> 33)
}
