//! Ctrl-C, SIGTERM and SIGHUP while a backup is taken: it fails as by a fault, so that what it has written is removed. Another one, a second later or more, ends the process.

use super::error::BackupError;

/// From now on.
pub(super) fn watch() {
    if let Err(error) =
        io_linux::note_interruptions("ending: removing what was written; another signal, a second later or more, leaves it there\n")
    {
        tracing::warn!(%error, "signals cannot be watched: an interrupted backup leaves what it has written");
    }
}

/// An error once the tool was interrupted.
pub(super) fn check() -> Result<(), BackupError> {
    if io_linux::is_interrupted() { Err(BackupError::Ended { why: "it was interrupted".to_owned() }) } else { Ok(()) }
}
