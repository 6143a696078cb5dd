//! How a key is spelled from its number.

use crate::workload::Keys;
use std::io::Write;

/// Longest key: `user` and 19 digits.
pub const KEY_BYTES_MAX: usize = 24;

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

    fn text(number: u64) -> Self {
        let mut key = Self::default();
        let mut rest: &mut [u8] = &mut key.bytes;
        write!(rest, "user{number}").expect("a 64-bit number has at most 20 digits");
        key.length = KEY_BYTES_MAX - rest.len();
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
        assert_eq!(Keys::YcsbOrdered.spell(42).as_slice(), b"user42");
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
