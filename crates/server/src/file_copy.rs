//! One copy of a file that is kept twice.

use io::BlobCopy;
use std::path::Path;

/// What it holds, or why nobody knows; `None` if there is none.
pub(crate) fn read_copy(path: &Path) -> Option<BlobCopy> {
    match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        other => Some(other.map_err(|error| error.to_string())),
    }
}
