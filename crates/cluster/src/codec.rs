//! The encoding of all that the cluster keeps and sends: varints (LEB128, seven bits a byte), and bytes with their length before them.
//!
//! A reader never allocates for a length that the bytes at hand cannot hold, and never reads beyond them.

use crate::versions::Versions;
use base::NodeId;

/// Why bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes end too early.
    #[error("{what} is cut short")]
    Truncated {
        /// What was read.
        what: &'static str,
    },
    /// A number is larger than its field allows.
    #[error("{what} is {found}, more than {limit}")]
    OutOfRange {
        /// What was read.
        what: &'static str,
        /// What was found.
        found: u64,
        /// The most that is allowed.
        limit: u64,
    },
    /// A kind that this version does not know.
    #[error("{what} {found} is unknown")]
    Unknown {
        /// What was read.
        what: &'static str,
        /// The kind's number.
        found: u64,
    },
    /// It is of a version that this program does not know.
    #[error("{what} is of version {found}, this program knows {known}")]
    Version {
        /// What was read.
        what: &'static str,
        /// Its version.
        found: u16,
        /// Those that are known.
        known: Versions,
    },
    /// A text is not UTF-8.
    #[error("{what} is not UTF-8")]
    NotText {
        /// What was read.
        what: &'static str,
    },
    /// Bytes are left over.
    #[error("{count} bytes follow the end")]
    LeftOver {
        /// How many.
        count: u64,
    },
    /// Parts that do not fit together.
    #[error("{what} contradicts itself")]
    Inconsistent {
        /// What was read.
        what: &'static str,
    },
    /// The checksum is another one.
    #[error("checksum {computed:08x} where {stored:08x} is stored")]
    Checksum {
        /// In the bytes.
        stored: u32,
        /// Of the bytes.
        computed: u32,
    },
}

/// Texts are shorter than this: names and addresses.
pub(crate) const TEXT_BYTES_MAX: usize = 1024;

/// Appends values to bytes.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u128(&mut self, value: u128) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    pub(crate) fn node(&mut self, node: NodeId) {
        self.varint(u64::from(node.0));
    }

    /// 0 is nobody.
    pub(crate) fn optional_node(&mut self, node: Option<NodeId>) {
        self.varint(node.map_or(0, |node| u64::from(node.0)));
    }
}

/// Takes values from bytes that nobody vouches for.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn take(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], CodecError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(CodecError::Truncated { what })?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const LEN: usize>(&mut self, what: &'static str) -> Result<[u8; LEN], CodecError> {
        Ok(self.take(LEN, what)?.try_into().expect("as many bytes as were taken"))
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, CodecError> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(crate) fn flag(&mut self, what: &'static str) -> Result<bool, CodecError> {
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(CodecError::OutOfRange { what, found: u64::from(found), limit: 1 }),
        }
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, CodecError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u128(&mut self, what: &'static str) -> Result<u128, CodecError> {
        Ok(u128::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn varint(&mut self, what: &'static str) -> Result<u64, CodecError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8(what)?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(CodecError::OutOfRange { what, found: u64::MAX, limit: u64::MAX })
    }

    pub(crate) fn varint_up_to(&mut self, limit: u64, what: &'static str) -> Result<u64, CodecError> {
        match self.varint(what)? {
            found if found > limit => Err(CodecError::OutOfRange { what, found, limit }),
            value => Ok(value),
        }
    }

    /// How many elements follow: at most `limit`, and no more than there are bytes left, as each takes one at least.
    pub(crate) fn count(&mut self, limit: usize, what: &'static str) -> Result<usize, CodecError> {
        let count = self.varint_up_to(limit as u64, what)? as usize;
        if count > self.rest.len() {
            return Err(CodecError::Truncated { what });
        }
        Ok(count)
    }

    pub(crate) fn bytes(&mut self, limit: usize, what: &'static str) -> Result<&'a [u8], CodecError> {
        let len = self.count(limit, what)?;
        self.take(len, what)
    }

    pub(crate) fn text(&mut self, what: &'static str) -> Result<String, CodecError> {
        let bytes = self.bytes(TEXT_BYTES_MAX, what)?;
        Ok(std::str::from_utf8(bytes).map_err(|_| CodecError::NotText { what })?.to_owned())
    }

    pub(crate) fn node(&mut self, what: &'static str) -> Result<NodeId, CodecError> {
        self.optional_node(what)?.ok_or(CodecError::Inconsistent { what })
    }

    pub(crate) fn optional_node(&mut self, what: &'static str) -> Result<Option<NodeId>, CodecError> {
        let id = self.varint_up_to(u64::from(u32::MAX), what)? as u32;
        Ok((id != 0).then_some(NodeId(id)))
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn end(self) -> Result<(), CodecError> {
        if self.rest.is_empty() { Ok(()) } else { Err(CodecError::LeftOver { count: self.rest.len() as u64 }) }
    }
}

/// `body` with a head of its kind and its checksum.
///
/// | bytes | content |
/// |---|---|
/// | 4 | magic |
/// | 1 | version |
/// | 4 | CRC-32 of magic, version and body, little endian |
/// | … | body |
pub(crate) fn seal(magic: [u8; 4], version: u8, body: &[u8]) -> Vec<u8> {
    let checksum = base::checksum_parts(&[&magic, &[version], body]);
    [magic.as_slice(), &[version], &checksum.to_le_bytes(), body].concat()
}

/// The body of what [`seal`] made.
pub(crate) fn unseal<'a>(magic: [u8; 4], version: u8, bytes: &'a [u8], what: &'static str) -> Result<&'a [u8], CodecError> {
    let mut reader = Reader::new(bytes);
    if reader.array::<4>(what)? != magic {
        return Err(CodecError::Inconsistent { what });
    }
    let found = reader.u8(what)?;
    let stored = u32::from_le_bytes(reader.array(what)?);
    let computed = base::checksum_parts(&[&magic, &[found], reader.rest]);
    if stored != computed {
        return Err(CodecError::Checksum { stored, computed });
    }
    if found != version {
        let known = Versions::new(version.into(), version.into());
        return Err(CodecError::Version { what, found: found.into(), known });
    }
    Ok(reader.rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_as_leb128_has_them() {
        for (value, bytes) in [
            (0, vec![0]),
            (127, vec![127]),
            (128, vec![0x80, 1]),
            (300, vec![0xAC, 2]),
            (u64::MAX, {
                let mut most = vec![0xFF; 9];
                most.push(1);
                most
            }),
        ] {
            let mut writer = Writer::new();
            writer.varint(value);
            assert_eq!(writer.bytes, bytes);
            assert_eq!(Reader::new(&bytes).varint("number"), Ok(value));
        }
        assert!(Reader::new(&[0xFF; 10]).varint("number").is_err());
        assert!(Reader::new(&[0x80]).varint("number").is_err());
    }

    #[test]
    fn a_length_beyond_the_bytes_is_refused() {
        let mut writer = Writer::new();
        writer.varint(1 << 40);
        assert!(Reader::new(&writer.bytes).bytes(usize::MAX, "bytes").is_err());
        assert!(Reader::new(&[3, 1, 2]).bytes(10, "bytes").is_err());
        assert!(Reader::new(&[3, 1, 2, 3]).bytes(2, "bytes").is_err());
        assert_eq!(Reader::new(&[3, 1, 2, 3]).bytes(3, "bytes"), Ok([1, 2, 3].as_slice()));
    }

    #[test]
    fn sealed_bytes_of_another_version_say_so() {
        let sealed = seal(*b"TEST", 2, b"some body");
        let error = unseal(*b"TEST", 1, &sealed, "test");
        assert_eq!(error, Err(CodecError::Version { what: "test", found: 2, known: Versions::new(1, 1) }));
    }

    #[test]
    fn every_flipped_bit_of_sealed_bytes_is_found() {
        let sealed = seal(*b"TEST", 1, b"some body");
        assert_eq!(unseal(*b"TEST", 1, &sealed, "test"), Ok(b"some body".as_slice()));
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(unseal(*b"TEST", 1, &flipped, "test").is_err(), "bit {bit}");
        }
        assert!(unseal(*b"TEST", 1, &sealed[..sealed.len() - 1], "test").is_err());
    }
}
