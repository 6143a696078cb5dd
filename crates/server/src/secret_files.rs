//! Files with secrets of others' making: keys and credentials. Whoever else can read one can do what its owner can.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The group may read: secrets that Kubernetes mounts are their group's.
const MODE_REFUSED: u32 = 0o027;
/// More than anybody's keys.
const BYTES_MAX: u64 = 64 << 10;

/// Why a file with secrets is not used.
#[derive(Debug)]
pub(crate) enum SecretFileError {
    Read(io::Error),
    /// Others can read it or change it: its rights.
    Mode(u32),
}

/// What a file has that others can neither read nor change.
pub(crate) fn read_secrets(path: &Path) -> Result<Vec<u8>, SecretFileError> {
    let file = File::open(path).map_err(SecretFileError::Read)?;
    let mode = file.metadata().map_err(SecretFileError::Read)?.permissions().mode() & 0o777;
    if mode & MODE_REFUSED != 0 {
        return Err(SecretFileError::Mode(mode));
    }
    let mut text = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut text).map_err(SecretFileError::Read)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(SecretFileError::Read(io::Error::other(format!("it has more than {BYTES_MAX} bytes"))));
    }
    Ok(text)
}
