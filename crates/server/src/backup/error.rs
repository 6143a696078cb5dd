//! Why a backup or restore has not been made.

use crate::operate::OperateError;
use std::path::PathBuf;

/// Why a command has not done what it was to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    /// A node.
    #[error(transparent)]
    Node(#[from] OperateError),
    /// A file or directory.
    #[error("{} cannot be used: {source}", path.display())]
    File {
        /// Its name.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Something else is there.
    #[error("{} holds a whole backup, or files that are none of a backup; name a directory that is new or empty", folder.display())]
    Occupied {
        /// The directory.
        folder: PathBuf,
    },
    /// There is no manifest.
    #[error("{} is no whole backup: it has no manifest.json; take the backup again", folder.display())]
    NotWhole {
        /// The directory.
        folder: PathBuf,
    },
    /// A file is not what was written.
    #[error("{file} of the backup is damaged at byte {at}: {why}; use another copy of this backup, or an older backup")]
    Damaged {
        /// Its name.
        file: String,
        /// Where.
        at: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// It is of a later release.
    #[error("the backup is of format {found}, this program reads {}; use the release that wrote it, or a later one", super::format::FORMAT)]
    Newer {
        /// Its format.
        found: u32,
    },
    /// There is no such thing.
    #[error("there is no {what}")]
    Unknown {
        /// Keyspace or table.
        what: String,
    },
    /// Not all slots are there.
    #[error(
        "the nodes asked are primary of {found} of {wanted} slots; name the HTTP ports of all members with --http, and see `tarndb status`"
    )]
    Slots {
        /// So many.
        found: usize,
        /// Of so many.
        wanted: usize,
    },
    /// The backup is over.
    #[error("the backup has ended early: {why}; nothing of it is of use, take it again")]
    Ended {
        /// Why.
        why: String,
    },
    /// A node does not take rows.
    #[error("the restore stopped: {why}; run the same command again to go on at {} of {}", at.0, at.1)]
    Stopped {
        /// Why.
        why: String,
        /// Chunk and file.
        at: (u64, String),
    },
    /// It is done already.
    #[error("this backup has been restored: {} says so; remove that file to restore it again", progress.display())]
    Done {
        /// The file.
        progress: PathBuf,
    },
}
