//! What may be at a place that a backup is to be written to: nothing that is not of an interrupted backup is ever removed.
//!
//! | it holds | what happens |
//! |---|---|
//! | nothing | the backup begins with the file [`MARKER`] |
//! | a manifest | refused: a whole backup |
//! | the marker | refused; with `--restart` the files of the interrupted backup go first; with `--resume` they stay |
//! | anything else | refused |

use super::error::BackupError;
use super::format::{MANIFEST, RESUME, ROLES, SCHEMA, rows_file_number};
use super::location::Location;

/// What becomes of what an interrupted backup has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// The new one is refused.
    Refuse,
    /// They go.
    Remove,
    /// The new one goes on from them, and leaves its own if it fails.
    Resume,
}

/// There while a backup is not whole.
pub(super) const MARKER: &str = "unfinished.json";

/// Whether the files at a place are of an interrupted backup; else there are none.
pub(super) fn judge(names: &[String], place: impl Fn() -> Location) -> Result<bool, BackupError> {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    if has(MANIFEST) {
        return Err(BackupError::Occupied { place: place() });
    }
    let has_marker = has(MARKER);
    match names.iter().find(|name| !(has_marker && is_part(name))) {
        Some(name) => Err(BackupError::Foreign { place: place(), name: name.clone() }),
        None => Ok(has_marker),
    }
}

/// Whether a backup has files of this name.
pub(super) fn is_part(name: &str) -> bool {
    [SCHEMA, ROLES, MANIFEST, MARKER, RESUME].iter().any(|file| name == *file || name == format!("{file}.new")) || is_rows(name)
}

pub(super) fn is_rows(name: &str) -> bool {
    rows_file_number(name).is_some()
}
