//! Variable-length integers of the native protocol (its section 3, "vint"): the number of leading ones of the first byte is the
//! number of bytes that follow.

/// Takes an unsigned vint off the front of `input`.
pub(super) fn take_unsigned(input: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = input.split_first()?;
    let extra = first.leading_ones() as usize;
    let (tail, rest) = rest.split_at_checked(extra)?;
    let head = if extra >= 8 { 0 } else { u64::from(first & (0xFF >> extra)) };
    *input = rest;
    Some(tail.iter().fold(head, |value, byte| (value << 8) | u64::from(*byte)))
}

/// Takes a zig-zag vint off the front of `input`.
pub(super) fn take_signed(input: &mut &[u8]) -> Option<i64> {
    let raw = take_unsigned(input)?;
    Some(((raw >> 1) as i64) ^ -((raw & 1) as i64))
}

/// Appends an unsigned vint in its shortest form.
pub(super) fn put_unsigned(value: u64, out: &mut Vec<u8>) {
    // A vint of n extra bytes carries 7 × (n + 1) bits, one of 8 extra bytes all 64.
    let bits = 64 - (value | 1).leading_zeros() as usize;
    let extra = if bits > 56 { 8 } else { (bits - 1) / 7 };
    let bytes = value.to_be_bytes();
    if extra == 8 {
        out.push(0xFF);
        out.extend_from_slice(&bytes);
        return;
    }
    let marker = !(0xFF_u8 >> extra);
    let start = out.len();
    out.extend_from_slice(&bytes[7 - extra..]);
    out[start] |= marker;
}

/// Appends a zig-zag vint in its shortest form.
pub(super) fn put_signed(value: i64, out: &mut Vec<u8>) {
    put_unsigned(((value << 1) ^ (value >> 63)) as u64, out);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lengths_and_values_round_trip_at_every_power_of_two() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1_u64 << shift) - 1, (1_u64 << shift) | 1] {
                let mut bytes = Vec::new();
                put_unsigned(value, &mut bytes);
                let mut input = bytes.as_slice();
                assert_eq!(take_unsigned(&mut input), Some(value));
                assert!(input.is_empty());
                assert_eq!(take_unsigned(&mut &bytes[..bytes.len() - 1]), None);
                for signed in [value as i64, (value as i64).wrapping_neg()] {
                    bytes.clear();
                    put_signed(signed, &mut bytes);
                    assert_eq!(take_signed(&mut bytes.as_slice()), Some(signed));
                }
            }
        }
    }

    #[test]
    fn known_encodings() {
        let encoded = |value| {
            let mut bytes = Vec::new();
            put_unsigned(value, &mut bytes);
            bytes
        };
        assert_eq!(encoded(0), [0]);
        assert_eq!(encoded(127), [0x7F]);
        assert_eq!(encoded(128), [0x80, 0x80]);
        assert_eq!(encoded(0x3FFF), [0xBF, 0xFF]);
        assert_eq!(encoded(0x4000), [0xC0, 0x40, 0x00]);
        assert_eq!(encoded(u64::MAX), [0xFF; 9]);
        assert_eq!(encoded(1 << 55), [0xFE, 0x80, 0, 0, 0, 0, 0, 0]);
        assert_eq!(encoded(1 << 56), [0xFF, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
