//! How a key is spelled from its number.

use crate::workload::Keys;

const PREFIX: &[u8] = b"user";
/// Of a number of 64 bits.
const DIGITS_MAX: usize = 20;
/// Longest key.
pub const KEY_BYTES_MAX: usize = PREFIX.len() + DIGITS_MAX;

const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 1_099_511_628_211;

/// FNV-1a over the eight bytes of a number, lowest first, without its sign: the hash that YCSB scatters keys with.
#[must_use]
pub fn fnv(number: u64) -> u64 {
    let hash = number.to_le_bytes().iter().fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME));
    hash.cast_signed().unsigned_abs()
}

/// A key.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyBytes {
    bytes: [u8; KEY_BYTES_MAX],
    length: usize,
}

impl KeyBytes {
    /// Its bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// `user` and the number in decimal: once a request, and far cheaper than the standard library's formatting.
    fn text(number: u64) -> Self {
        let mut digits = [0; DIGITS_MAX];
        let (mut first, mut rest) = (DIGITS_MAX, number);
        while first == DIGITS_MAX || rest > 0 {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let mut key = Self { length: PREFIX.len() + DIGITS_MAX - first, ..Self::default() };
        key.bytes[..PREFIX.len()].copy_from_slice(PREFIX);
        key.bytes[PREFIX.len()..key.length].copy_from_slice(&digits[first..]);
        key
    }

    fn copied(bytes: &[u8]) -> Self {
        let mut key = Self::default();
        key.bytes[..bytes.len()].copy_from_slice(bytes);
        key.length = bytes.len();
        key
    }
}

impl Keys {
    /// The key of row `number`.
    #[must_use]
    pub fn spell(self, number: u64) -> KeyBytes {
        match self {
            Self::YcsbHashed => KeyBytes::text(fnv(number)),
            Self::YcsbOrdered => KeyBytes::text(number),
            Self::Stress => KeyBytes::copied(&stress(number)),
            Self::Number => KeyBytes::copied(&number.to_be_bytes()),
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
        for number in [0, 9, 10, 42, 1_000, u64::MAX] {
            assert_eq!(Keys::YcsbOrdered.spell(number).as_slice(), format!("user{number}").as_bytes());
        }
        assert_eq!(Keys::Number.spell(258).as_slice(), [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(Keys::YcsbOrdered.spell(u64::MAX).as_slice().len(), KEY_BYTES_MAX);
    }

    #[test]
    fn stress_keys_differ_and_keep_to_the_alphabet() {
        let keys: HashSet<Vec<u8>> = (0..50_000).map(|number| Keys::Stress.spell(number).as_slice().to_vec()).collect();
        assert_eq!(keys.len(), 50_000);
        assert!(keys.iter().all(|key| key.len() == 10 && key.iter().all(|byte| b"0123456789KLMNOP".contains(byte))));
    }
}
