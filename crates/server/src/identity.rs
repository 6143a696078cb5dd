//! The node's identity: a random UUID, drawn at the first start and kept as a blob. The low half is the store id of the shards.

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
