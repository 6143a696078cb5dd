//! Versions as bytes.

use crate::codec::{CodecError, Reader, Writer};
use crate::versions::Versions;

impl Versions {
    pub(crate) fn encode(self, writer: &mut Writer) {
        writer.varint(u64::from(self.oldest));
        writer.varint(u64::from(self.latest));
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (oldest, latest) = (read(reader)?, read(reader)?);
        Self::checked(oldest, latest)
    }

    /// From `oldest` to `latest`, of which nobody vouches.
    pub(crate) fn checked(oldest: u16, latest: u16) -> Result<Self, CodecError> {
        if oldest == 0 || oldest > latest {
            return Err(CodecError::Inconsistent { what: "protocol versions" });
        }
        Ok(Self { oldest, latest })
    }

    /// The version that bytes begin with, if it is one of them.
    pub(crate) fn decode_one(self, reader: &mut Reader<'_>, what: &'static str) -> Result<u16, CodecError> {
        let found = read(reader)?;
        if self.contains(found) { Ok(found) } else { Err(CodecError::Version { what, found, known: self }) }
    }
}

/// A version, whether it is known or not.
pub(crate) fn read(reader: &mut Reader<'_>) -> Result<u16, CodecError> {
    Ok(reader.varint_up_to(u64::from(u16::MAX), "protocol version")? as u16)
}
