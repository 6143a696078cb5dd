//! The header of a frame.

/// The first four bytes of every frame.
pub const MAGIC: u32 = 65_021_048;

/// Bytes of a header: the address takes sixteen over IPv6.
const HEADER_BYTES: usize = 20;
const HEADER_BYTES_V6: usize = 32;

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Its own length.
    pub bytes: usize,
    /// The length of what follows.
    pub body_bytes: usize,
}

/// Bytes that begin no frame: the connection must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Another protocol.
    #[error("a frame does not begin with {MAGIC}")]
    Magic,
    /// A length that is negative or larger than anything is.
    #[error("a frame has {0} bytes")]
    Length(i32),
}

impl FrameHeader {
    /// The header at the start of `bytes`, once it is whole.
    ///
    /// # Errors
    /// Bytes that begin no frame of at most `body_bytes_max`.
    pub fn read(bytes: &[u8], is_ipv6: bool, body_bytes_max: usize) -> Result<Option<Self>, FrameError> {
        let magic = MAGIC.to_le_bytes();
        let compared = bytes.len().min(magic.len());
        if bytes[..compared] != magic[..compared] {
            return Err(FrameError::Magic);
        }
        let length = if is_ipv6 { HEADER_BYTES_V6 } else { HEADER_BYTES };
        let Some(last) = bytes.get(length - 4..length).and_then(|last| last.first_chunk()) else { return Ok(None) };
        let said = i32::from_le_bytes(*last);
        match usize::try_from(said) {
            Ok(body_bytes) if body_bytes <= body_bytes_max => Ok(Some(Self { bytes: length, body_bytes })),
            _ => Err(FrameError::Length(said)),
        }
    }

    /// Appends the header of a reply whose length is filled in later; gives where the body begins.
    pub(super) fn begin(out: &mut Vec<u8>, is_ipv6: bool) -> usize {
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&[0; HEADER_BYTES_V6 - 4][..if is_ipv6 { HEADER_BYTES_V6 - 4 } else { HEADER_BYTES - 4 }]);
        out.len()
    }
}
