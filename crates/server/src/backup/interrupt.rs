//! Ctrl-C and SIGTERM while a backup is taken: it fails as by a fault, so that what it has written is removed. The second one ends the process.

use super::error::BackupError;
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// As shells say it of a process that SIGINT has ended.
const ENDED_BY_SIGINT: i32 = 130;

/// From now on.
pub(super) fn watch() {
    let watched = ctrlc::try_set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::AcqRel) {
            io_linux::exit_now(ENDED_BY_SIGINT);
        }
        eprintln!("ending: what was written is removed; once more leaves it");
    });
    // Whoever started the tool may have it ignore signals, as nohup does: then it does.
    let _ = watched;
}

/// An error once the tool was interrupted.
pub(super) fn check() -> Result<(), BackupError> {
    if INTERRUPTED.load(Ordering::Acquire) { Err(BackupError::Ended { why: "it was interrupted".to_owned() }) } else { Ok(()) }
}
