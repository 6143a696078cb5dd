//! The two checksums of a v5 segment: CRC-24 of its header, CRC-32 of its payload.
//!
//! Source: native protocol v5, section 2.2 ("CRC-24" of Koopman, polynomial 0x1974F0B, initial value 0x875060; zlib's CRC-32 over the bytes
//! `fa 2d 55 ca` and then the payload).

const CRC24_INITIAL: u32 = 0x0087_5060;
const CRC24_POLYNOMIAL: u32 = 0x0197_4F0B;
const CRC24_TABLE: [u32; 256] = crc24_table();

/// CRC-32 of the bytes `fa 2d 55 ca`.
const CRC32_SEED: u32 = 0x4477_7ED3;

const fn crc24_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = (byte as u32) << 16;
        let mut bit = 0;
        while bit < 8 {
            remainder <<= 1;
            if remainder & 0x0100_0000 != 0 {
                remainder ^= CRC24_POLYNOMIAL;
            }
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
}

/// CRC-24 of a segment's header.
pub(super) fn crc24(bytes: &[u8]) -> u32 {
    bytes.iter().fold(CRC24_INITIAL, |crc, byte| {
        let position = ((crc >> 16) as u8 ^ byte) as usize;
        ((crc << 8) & 0x00FF_FFFF) ^ CRC24_TABLE[position]
    })
}

/// CRC-32 of a segment's payload.
pub(super) fn crc32(payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(CRC32_SEED);
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crc24_bit_by_bit(bytes: &[u8]) -> u32 {
        let mut crc = CRC24_INITIAL;
        for byte in bytes {
            crc ^= u32::from(*byte) << 16;
            for _ in 0..8 {
                crc <<= 1;
                if crc & 0x0100_0000 != 0 {
                    crc ^= CRC24_POLYNOMIAL;
                }
            }
        }
        crc
    }

    #[test]
    fn crc24_table_agrees_with_the_definition() {
        for bytes in [&[][..], &[0, 0, 0], &[0xFF, 0xFF, 0x03], &[1, 2, 3, 4, 5], &[0x80; 17]] {
            assert_eq!(crc24(bytes), crc24_bit_by_bit(bytes));
        }
    }

    #[test]
    fn crc32_starts_from_the_four_seed_bytes() {
        assert_eq!(CRC32_SEED, crc32fast::hash(&[0xFA, 0x2D, 0x55, 0xCA]));
        assert_eq!(crc32(b"123456789"), crc32fast::hash(b"\xFA\x2D\x55\xCA123456789"));
    }
}
