//! The eight bytes before everything: version, type, 48 bits of length.

use super::WireError;

/// Bytes of a [`Header`].
pub const HEADER_BYTES: usize = 8;

const VERSION: u8 = 2;

/// What follows a [`Header`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Names of information, or their values.
    Info,
    /// A command about users.
    Security,
    /// A request or reply about records.
    Message,
    /// A compressed [`Kind::Message`].
    Compressed,
}

/// What the first eight bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What follows.
    pub kind: Kind,
    /// How many bytes follow.
    pub body_bytes: usize,
}

impl Kind {
    /// The type's number.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Info => 1,
            Self::Security => 2,
            Self::Message => 3,
            Self::Compressed => 4,
        }
    }
}

impl Header {
    /// Reads a header; `None` when there are too few bytes.
    ///
    /// # Errors
    /// Another version or type, or a body of more than `body_bytes_max`.
    #[inline]
    pub fn read(bytes: &[u8], body_bytes_max: usize) -> Result<Option<Self>, WireError> {
        if let Some(version) = bytes.first().filter(|version| **version != VERSION) {
            return Err(WireError::Version(*version));
        }
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let kind = match header[1] {
            1 => Kind::Info,
            2 => Kind::Security,
            3 => Kind::Message,
            4 => Kind::Compressed,
            other => return Err(WireError::Kind(other)),
        };
        let length = u64::from_be_bytes(*header) & 0xFFFF_FFFF_FFFF;
        match usize::try_from(length) {
            Ok(body_bytes) if body_bytes <= body_bytes_max => Ok(Some(Self { kind, body_bytes })),
            _ => Err(WireError::TooLong { bytes: length, bytes_max: body_bytes_max }),
        }
    }

    /// As it goes out.
    #[must_use]
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = (self.body_bytes as u64).to_be_bytes();
        bytes[0] = VERSION;
        bytes[1] = self.kind.number();
        bytes
    }
}
