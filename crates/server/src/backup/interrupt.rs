//! Ctrl-C, SIGTERM and SIGHUP while a backup is taken: it fails as by a fault, so that what it has written is removed, or stays for the next attempt. Another one, a second later or
//! more, ends the process.

use super::error::BackupError;
use super::occupancy::Leftovers;

/// From now on.
pub(super) fn watch(leftovers: Leftovers) {
    let words = match leftovers {
        Leftovers::Resume => "ending: what was written stays; another signal, a second later or more, ends it at once\n",
        Leftovers::Refuse | Leftovers::Remove => {
            "ending: removing what was written; another signal, a second later or more, leaves it there\n"
        }
    };
    if let Err(error) = io_linux::note_interruptions(words) {
        tracing::warn!(%error, "signals cannot be watched: an interrupted backup leaves what it has written");
    }
}

/// An error once the tool was interrupted.
pub(super) fn check() -> Result<(), BackupError> {
    if io_linux::is_interrupted() { Err(BackupError::Ended { why: "it was interrupted".to_owned() }) } else { Ok(()) }
}
