//! The node's identity: a random number, drawn at the first start and kept as a blob. It is secret: the low half is the store id of the
//! shards, with which checksums are salted, so that no client can write a row whose bytes pass for a record. What clients may see is the
//! host id, which is made of it one way.

use md5::{Digest, Md5};
use std::io::Write;
use std::path::Path;

/// Blob that holds the node's identity.
const IDENTITY_BLOB: &str = "identity";

/// Reads the identity; `None` when there is none yet.
///
/// # Errors
/// When the blob cannot be read. One that is damaged is `InvalidData`.
pub(crate) fn read(blobs: &Path) -> std::io::Result<Option<u128>> {
    let bytes = match std::fs::read(blobs.join(IDENTITY_BLOB)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let identity = std::str::from_utf8(&bytes).ok().and_then(|text| u128::from_str_radix(text.trim(), 16).ok());
    identity.map(Some).ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

/// Reads the identity, making it when there is none.
///
/// # Errors
/// As `read`, and when it cannot be written.
pub(crate) fn read_or_make(blobs: &Path) -> std::io::Result<u128> {
    if let Some(identity) = read(blobs)? {
        return Ok(identity);
    }
    let mut bytes = [0; 16];
    io_linux::fill_with_entropy(&mut bytes);
    // Version 4, variant 1: a random UUID.
    bytes[6] = (bytes[6] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    let identity = u128::from_be_bytes(bytes);
    std::fs::create_dir_all(blobs)?;
    let temporary = blobs.join(format!("{IDENTITY_BLOB}~"));
    let mut file = std::fs::File::create(&temporary)?;
    writeln!(file, "{identity:032x}")?;
    file.sync_all()?;
    std::fs::rename(&temporary, blobs.join(IDENTITY_BLOB))?;
    std::fs::File::open(blobs)?.sync_all()?;
    Ok(identity)
}

/// The node's name to clients: a UUID of version 3, a hash of the identity.
pub(crate) fn host_id(identity: u128) -> u128 {
    let mut hash = Md5::new();
    hash.update(b"TarnDB host id");
    hash.update(identity.to_be_bytes());
    let mut bytes: [u8; 16] = hash.finalize().into();
    bytes[6] = (bytes[6] & 0x0F) | 0x30;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_id_is_a_uuid_that_tells_nothing_of_the_identity() {
        let identity = 0x0123_4567_89AB_4DEF_8123_4567_89AB_CDEF;
        let host = host_id(identity);
        assert_eq!(host, host_id(identity), "it stays the same over restarts");
        assert_eq!(((host >> 76) & 0xF, (host >> 62) & 3), (3, 2), "version and variant");
        assert_ne!(host as u64, identity as u64);
        assert_ne!(host, host_id(identity + 1));
    }
}
