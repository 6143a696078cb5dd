//! What values are made of: drawn from row, field and version, so that a reader can tell which version it has before it.
//!
//! ```text
//! 0..8   the version, four bits a byte (0x40 and the bits), exclusive-or with a hash of row and field
//! 8..    pieces of a fixed pool, each from a place and under a mask that a hash of row, field and version chooses
//! ```
//! The mask keeps equal pieces of the pool from being equal in two values, so that nothing is gained by compressing many together. Shorter
//! values have no version and cannot be verified.

use crate::workload::{Rows, Values};
use base::Rng;

/// Values shorter than this do not say their version.
pub const VERSION_BYTES: usize = 8;
/// Starts of pieces in the pool; all of it fits into a core's cache.
const POOL_STARTS: usize = 32 << 10;
const PIECE_BYTES: usize = 4 << 10;
/// Pieces are copied and masked in blocks of a fixed length, without a call.
const BLOCK_BYTES: usize = 32;
const _: () = assert!(PIECE_BYTES.is_multiple_of(BLOCK_BYTES) && BLOCK_BYTES.is_multiple_of(8));
const POOL_SEED: u64 = 0x7A5E;
/// A byte whose high nibble says that the low one is a digit of the version.
const DIGIT: u8 = 0x40;

/// Makes values, and recognises them.
#[derive(Debug)]
pub struct ValueMaker {
    kind: Values,
    bytes_min: u32,
    bytes_max: u32,
    pool: Box<[u8]>,
}

impl ValueMaker {
    /// For the fields of `rows`.
    #[must_use]
    pub fn new(rows: &Rows) -> Self {
        let mut pool = vec![0; POOL_STARTS + PIECE_BYTES];
        Rng::new(POOL_SEED).fill(&mut pool);
        if rows.values == Values::Text {
            // From a space on, 96 characters: those that YCSB draws from.
            pool.iter_mut().for_each(|byte| *byte = b' ' + *byte % 96);
        }
        let bytes_min = rows.field_bytes_min.unwrap_or(rows.field_bytes).min(rows.field_bytes);
        Self { kind: rows.values, bytes_min, bytes_max: rows.field_bytes, pool: pool.into() }
    }

    /// Shortest value.
    #[must_use]
    pub fn bytes_min(&self) -> usize {
        self.bytes_min as usize
    }

    /// Longest value.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        self.bytes_max as usize
    }

    /// Length of a value.
    #[must_use]
    pub fn bytes(&self, row: u64, field: u32, version: u32) -> usize {
        let lengths = u64::from(self.bytes_max - self.bytes_min) + 1;
        let choice = draw(identity(row, field), version) >> 32;
        self.bytes_min as usize + ((choice * lengths) >> 32) as usize
    }

    /// Appends a value.
    pub fn append(&self, row: u64, field: u32, version: u32, out: &mut Vec<u8>) {
        let identity = identity(row, field);
        let mut rest = self.bytes(row, field, version);
        if rest >= VERSION_BYTES {
            out.extend_from_slice(&written_version(identity, version));
            rest -= VERSION_BYTES;
        }
        let mut random = if self.kind == Values::Compressible { rest.div_ceil(2) } else { rest };
        let filler = rest - random;
        let mut choice = draw(identity, version);
        while random > 0 {
            let piece = random.min(PIECE_BYTES);
            let start = choice as usize % POOL_STARTS;
            append_masked(&self.pool[start..], piece, self.mask(choice), out);
            random -= piece;
            choice = mix(choice);
        }
        out.resize(out.len() + filler, b'-');
    }

    /// The version of a value, if it is one of this field of this row. `scratch` is memory to work in.
    pub fn version_of(&self, row: u64, field: u32, value: &[u8], scratch: &mut Vec<u8>) -> Option<u32> {
        let version = read_version(identity(row, field), value)?;
        scratch.clear();
        self.append(row, field, version, scratch);
        (scratch == value).then_some(version)
    }

    /// Printable characters stay printable when only their five low bits are masked.
    fn mask(&self, choice: u64) -> u64 {
        let mask = mix(choice ^ POOL_SEED);
        if self.kind == Values::Text { mask & 0x1F1F_1F1F_1F1F_1F1F } else { mask }
    }
}

/// Appends the first `length` bytes of `pool`, which has as many up to the next multiple of a block: what is too much is taken away again.
fn append_masked(pool: &[u8], length: usize, mask: u64, out: &mut Vec<u8>) {
    let end = out.len() + length;
    let (blocks, _) = pool[..length.next_multiple_of(BLOCK_BYTES)].as_chunks::<BLOCK_BYTES>();
    out.reserve(blocks.len() * BLOCK_BYTES);
    for block in blocks {
        let mut masked = *block;
        for word in masked.as_chunks_mut::<8>().0 {
            *word = (u64::from_ne_bytes(*word) ^ mask).to_ne_bytes();
        }
        out.extend_from_slice(&masked);
    }
    out.truncate(end);
}

fn written_version(identity: u64, version: u32) -> [u8; VERSION_BYTES] {
    let hidden = version ^ identity as u32;
    std::array::from_fn(|digit| DIGIT | (hidden >> (4 * digit)) as u8 & 0x0F)
}

fn read_version(identity: u64, value: &[u8]) -> Option<u32> {
    let digits = value.first_chunk::<VERSION_BYTES>()?;
    let mut hidden = 0;
    for (place, digit) in digits.iter().enumerate() {
        if digit & 0xF0 != DIGIT {
            return None;
        }
        hidden |= u32::from(digit & 0x0F) << (4 * place);
    }
    Some(hidden ^ identity as u32)
}

fn identity(row: u64, field: u32) -> u64 {
    mix(row ^ (u64::from(field) << 48))
}

fn draw(identity: u64, version: u32) -> u64 {
    mix(identity ^ u64::from(version))
}

/// A bijection that spreads every bit over all (the finaliser of SplitMix64).
fn mix(word: u64) -> u64 {
    let mut word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tables::Tables;
    use crate::workload::Keys;

    fn maker(values: Values, field_bytes_min: Option<u32>, field_bytes: u32) -> ValueMaker {
        ValueMaker::new(&Rows { count: 1, fields: 1, field_bytes, field_bytes_min, values, keys: Keys::Number, tables: Tables::ONE })
    }

    fn value(maker: &ValueMaker, row: u64, field: u32, version: u32) -> Vec<u8> {
        let mut out = Vec::new();
        maker.append(row, field, version, &mut out);
        out
    }

    #[test]
    fn a_value_tells_its_version_and_nobody_elses() {
        let mut scratch = Vec::new();
        for kind in [Values::Random, Values::Text, Values::Compressible] {
            for length in [8, 9, 100, 5_000, 20_000] {
                let maker = maker(kind, None, length);
                let mut bytes = value(&maker, 7, 3, 99);
                assert_eq!(bytes.len(), length as usize);
                assert_eq!(maker.version_of(7, 3, &bytes, &mut scratch), Some(99));
                assert_ne!(maker.version_of(8, 3, &bytes, &mut scratch), Some(99));
                assert_ne!(maker.version_of(7, 2, &bytes, &mut scratch), Some(99));
                if length > 8 {
                    *bytes.last_mut().unwrap() ^= 1;
                    assert_eq!(maker.version_of(7, 3, &bytes, &mut scratch), None);
                }
            }
        }
    }

    #[test]
    fn lengths_are_uniform_between_the_bounds() {
        let maker = maker(Values::Random, Some(10), 19);
        let mut counts = [0_u32; 10];
        for row in 0..100_000 {
            counts[value(&maker, row, 0, 1).len() - 10] += 1;
        }
        let chi: f64 = counts.iter().map(|count| (f64::from(*count) - 10_000.0).powi(2) / 10_000.0).sum();
        // Nine degrees of freedom: 27.9 is exceeded once in a thousand.
        assert!(chi < 27.9, "{counts:?}");
    }

    #[test]
    fn text_is_printable_and_random_bytes_use_all_values() {
        let text = value(&maker(Values::Text, None, 10_000), 1, 1, 1);
        assert!(text.iter().all(|byte| (b' '..0x80).contains(byte)));
        let random = value(&maker(Values::Random, None, 10_000), 1, 1, 1);
        assert_eq!((0..=255_u8).filter(|byte| random.contains(byte)).count(), 256);
    }

    /// As deflate, which all machines have, sees them.
    #[test]
    fn random_values_do_not_compress_and_compressible_ones_do_to_about_half() {
        let deflated = |kind| {
            let maker = maker(kind, None, 100);
            let plain: Vec<u8> = (0..1_000).flat_map(|row| value(&maker, row, 0, 0)).collect();
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            std::io::Write::write_all(&mut encoder, &plain).unwrap();
            encoder.finish().unwrap().len() as f64 / plain.len() as f64
        };
        assert!(deflated(Values::Random) > 0.93);
        let compressible = deflated(Values::Compressible);
        assert!((0.4..0.6).contains(&compressible), "{compressible}");
    }
}
