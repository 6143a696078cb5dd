//! Compressed messages: the length of the whole plain message (header and body, eight bytes), then zlib.

use super::{HEADER_BYTES, Header, Kind, WireError};
use std::io::Read;

/// Appends the plain message's body to `out`.
///
/// # Errors
/// Damage, a length that is not the one that was announced, or more than `body_bytes_max`.
// Its frame is 52 KiB, which whoever has it inlined touches, page by page, with every request.
#[inline(never)]
pub fn decompress(body: &[u8], body_bytes_max: usize, out: &mut Vec<u8>) -> Result<(), WireError> {
    let (length, stream) = body.split_first_chunk::<8>().ok_or(WireError::Truncated("a compressed message's length"))?;
    let length = u64::from_be_bytes(*length);
    if length > (body_bytes_max + HEADER_BYTES) as u64 {
        return Err(WireError::TooLong { bytes: length, bytes_max: body_bytes_max });
    }
    let start = out.len();
    let mut stream = flate2::read::ZlibDecoder::new(stream).take(length + 1);
    stream.read_to_end(out).map_err(|_| WireError::Compression)?;
    let plain = &out[start..];
    if plain.len() as u64 != length {
        return Err(WireError::Compression);
    }
    match Header::read(plain, body_bytes_max)? {
        Some(Header { kind: Kind::Message, body_bytes }) if body_bytes + HEADER_BYTES == plain.len() => {}
        _ => return Err(WireError::Compression),
    }
    out.drain(start..start + HEADER_BYTES);
    Ok(())
}
