//! The hash of an element: MurmurHash3 of 128 bits (x64), without a seed.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// The two halves of the hash.
pub(super) fn hash(bytes: &[u8]) -> (u64, u64) {
    let (mut first, mut second) = (0_u64, 0_u64);
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        let (low, high) = halves(*block);
        first = (first ^ mixed(low, C1, 31, C2)).rotate_left(27).wrapping_add(second).wrapping_mul(5).wrapping_add(0x52dc_e729);
        second = (second ^ mixed(high, C2, 33, C1)).rotate_left(31).wrapping_add(first).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let mut last = [0; 16];
    last[..tail.len()].copy_from_slice(tail);
    let (low, high) = halves(last);
    // Zeros change nothing.
    first ^= mixed(low, C1, 31, C2) ^ bytes.len() as u64;
    second ^= mixed(high, C2, 33, C1) ^ bytes.len() as u64;
    first = first.wrapping_add(second);
    second = second.wrapping_add(first);
    first = finished(first);
    second = finished(second);
    first = first.wrapping_add(second);
    (first, second.wrapping_add(first))
}

fn halves(block: [u8; 16]) -> (u64, u64) {
    let whole = u128::from_le_bytes(block);
    (whole as u64, (whole >> 64) as u64)
}

fn mixed(word: u64, before: u64, turn: u32, after: u64) -> u64 {
    word.wrapping_mul(before).rotate_left(turn).wrapping_mul(after)
}

fn finished(mut word: u64) -> u64 {
    word = (word ^ word >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    word = (word ^ word >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ word >> 33
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn it_is_murmur3() {
        assert_eq!(hash(b""), (0, 0));
        assert_eq!(hash(b"hello"), (0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19));
        assert_eq!(hash(b"hello, world"), (0x342f_ac62_3a5e_bc8e, 0x4cdc_bc07_9642_414d));
        assert_eq!(hash(b"The quick brown fox jumps over the lazy dog."), (0xcd99_481f_9ee9_02c9, 0x695d_a1a3_8987_b6e7));
    }
}
