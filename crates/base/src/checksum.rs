//! The checksum of everything that TarnDB writes: CRC-32 (IEEE 802.3, reflected, as in zlib).

/// CRC-32 of `bytes`.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// CRC-32 of the concatenation of `parts`.
#[must_use]
pub fn checksum_parts(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}

/// CRC-32 of bytes that come by in pieces.
#[derive(Clone, Debug, Default)]
pub struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// Of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// More bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all bytes so far.
    #[must_use]
    pub fn value(&self) -> u32 {
        self.0.clone().finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_check_value() {
        assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
        let mut pieces = Checksum::new();
        pieces.update(b"1234567");
        pieces.update(b"89");
        assert_eq!(pieces.value(), 0xCBF4_3926);
        assert_eq!(checksum_parts(&[b"1234", b"", b"56789"]), 0xCBF4_3926);
    }
}
