//! How a key is spelled from its number.

use crate::workload::Keys;

const PREFIX: [u8; 4] = *b"user";
/// Of a number of 64 bits.
const DIGITS_MAX: usize = 20;
/// Longest key.
pub const KEY_BYTES_MAX: usize = PREFIX.len() + DIGITS_MAX;
/// Digits that are made of a number, zeros at the front included.
const DIGITS_MADE: usize = 24;

const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 1_099_511_628_211;

/// FNV-1a over the eight bytes of a number, lowest first, without its sign: the hash that YCSB scatters keys with.
#[must_use]
pub fn fnv(number: u64) -> u64 {
    let hash = number.to_le_bytes().iter().fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME));
    hash.cast_signed().unsigned_abs()
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct KeyBytes {
    /// Its bytes are those from `start` on.
    bytes: [u8; PREFIX.len() + DIGITS_MADE],
    start: usize,
}

impl KeyBytes {
    /// Its bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// `user` and the number in decimal: once a request, and far cheaper than the standard library's formatting.
    fn text(number: u64) -> Self {
        let mut bytes = [0; PREFIX.len() + DIGITS_MADE];
        bytes[PREFIX.len()..].copy_from_slice(&decimal(number));
        let digits = number.checked_ilog10().map_or(1, |last| last as usize + 1);
        let start = DIGITS_MADE - digits;
        bytes[start..start + PREFIX.len()].copy_from_slice(&PREFIX);
        Self { bytes, start }
    }

    fn copied<const LENGTH: usize>(key: [u8; LENGTH]) -> Self {
        let mut bytes = [0; PREFIX.len() + DIGITS_MADE];
        let start = bytes.len() - LENGTH;
        bytes[start..].copy_from_slice(&key);
        Self { bytes, start }
    }
}

/// All digits of a number.
fn decimal(number: u64) -> [u8; DIGITS_MADE] {
    const EIGHT: u64 = 100_000_000;
    let mut digits = [0; DIGITS_MADE];
    let eights = [number / EIGHT / EIGHT, number / EIGHT % EIGHT, number % EIGHT];
    for (eight, to) in eights.into_iter().zip(digits.as_chunks_mut::<8>().0) {
        *to = eight_digits(eight);
    }
    digits
}

/// The digits of a number below 10⁸, all in one word: it is halved into two lanes, each of these into two, and once more. Divisions are
/// multiplications that are exact for what a lane can hold.
fn eight_digits(number: u64) -> [u8; 8] {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 5_243) >> 19) & 0x0000_007F_0000_007F;
    let pairs = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000F_000F_000F_000F;
    let digits = tens | (pairs - tens * 10) << 8;
    (digits | 0x3030_3030_3030_3030).to_le_bytes()
}

impl Keys {
    /// The key of row `number`.
    #[must_use]
    pub fn spell(self, number: u64) -> KeyBytes {
        match self {
            Self::YcsbHashed => KeyBytes::text(fnv(number)),
            Self::YcsbOrdered => KeyBytes::text(number),
            Self::Stress => KeyBytes::copied(stress(number)),
            Self::Number => KeyBytes::copied(number.to_be_bytes()),
        }
    }
}

/// Ten characters of cassandra-stress's alphabet, `0` to `9` and `K` to `P`, four bits each, lowest first. cassandra-stress draws them from a
/// generator seeded with the number, so that a few keys of many millions are equal; here numbers below 2⁴⁰ have keys of their own.
fn stress(number: u64) -> [u8; 10] {
    let mut scattered = scatter(number);
    std::array::from_fn(|_| {
        let digit = (scattered & 15) as u8;
        scattered >>= 4;
        if digit < 10 { b'0' + digit } else { b'A' + digit }
    })
}

/// A permutation of the numbers below 2⁴⁰ that leaves no pattern.
fn scatter(number: u64) -> u64 {
    const MASK: u64 = (1 << 40) - 1;
    let mut mixed = number & MASK;
    // Odd factors and shifts by half the width: each step can be undone.
    for factor in [0x9E_3779_B97F, 0xBF_5847_6D1D] {
        mixed = mixed.wrapping_mul(factor) & MASK;
        mixed ^= mixed >> 20;
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The values are those of YCSB's own class: `tests/ycsb-generators` compares more of them.
    #[test]
    fn keys_are_spelled_as_ycsb_does() {
        assert_eq!(fnv(0), 6_284_781_860_667_377_211);
        assert_eq!(Keys::YcsbHashed.spell(0).as_slice(), b"user6284781860667377211");
        for number in
            [0, 9, 10, 42, 1_000, 99_999_999, 100_000_000, 10_u64.pow(16) - 1, 10_u64.pow(16), 12_345_678_901_234_567_890, u64::MAX]
        {
            assert_eq!(Keys::YcsbOrdered.spell(number).as_slice(), format!("user{number}").as_bytes());
        }
        assert_eq!(Keys::Number.spell(258).as_slice(), [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(Keys::YcsbOrdered.spell(u64::MAX).as_slice().len(), KEY_BYTES_MAX);
    }

    #[test]
    fn digits_are_those_of_the_number_whichever_lanes_they_come_from() {
        for four in 0..10_000 {
            for number in [four, four * 10_000, four * 10_000 + 9_999 - four] {
                assert_eq!(eight_digits(number).as_slice(), format!("{number:08}").as_bytes());
            }
        }
    }

    #[test]
    fn stress_keys_differ_and_keep_to_the_alphabet() {
        let keys: HashSet<Vec<u8>> = (0..50_000).map(|number| Keys::Stress.spell(number).as_slice().to_vec()).collect();
        assert_eq!(keys.len(), 50_000);
        assert!(keys.iter().all(|key| key.len() == 10 && key.iter().all(|byte| b"0123456789KLMNOP".contains(byte))));
    }
}
