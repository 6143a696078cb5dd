//! Why a backup or restore has not been made.

use crate::at_rest::KeySourceError;
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
    /// A backup is there.
    #[error("{} holds a backup already; name a directory that is new or empty", folder.display())]
    Occupied {
        /// The directory.
        folder: PathBuf,
    },
    /// Something else is there.
    #[error("{} holds {name}, which is no part of a backup; name a directory that is new or empty", folder.display())]
    Foreign {
        /// The directory.
        folder: PathBuf,
        /// A file in it.
        name: String,
    },
    /// Another process writes there.
    #[error("another `tarndb backup` is writing to {}", folder.display())]
    InUse {
        /// The directory.
        folder: PathBuf,
    },
    /// What a backup that was killed has left.
    #[error(
        "{} holds a backup that was interrupted after {bytes} bytes in {files} files: they are no point in time, and it cannot go on; give \
         --restart to remove them and take it anew",
        folder.display()
    )]
    Unfinished {
        /// The directory.
        folder: PathBuf,
        /// Files of rows.
        files: usize,
        /// Their bytes.
        bytes: u64,
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
    /// There is no master key where it should be.
    #[error(transparent)]
    NoKey(#[from] KeySourceError),
    /// It takes a key.
    #[error("the backup is encrypted under master key {master_key}: give --encryption-key-file or --encryption-key-command")]
    Encrypted {
        /// The name of the key.
        master_key: String,
    },
    /// A key is given, and nothing is encrypted: it may be another backup than the one that is meant.
    #[error("the backup is not encrypted; if it should be, it is not the one that was taken. To use it, leave the key out")]
    Plain,
    /// It is another key.
    #[error("the backup is encrypted under master key {wanted}, and {given} is given: without that key it cannot be read")]
    WrongKey {
        /// The name of the key.
        wanted: String,
        /// The names of those that there are.
        given: String,
    },
    /// It is of a later release.
    #[error("the backup is of format {found}, this program reads {known}; use the release that wrote it, or a later one")]
    Newer {
        /// Its format.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// There is no such thing.
    #[error("there is no {what}")]
    Unknown {
        /// Keyspace or table.
        what: String,
    },
    /// A value that cannot be.
    #[error("--rate-limit {given} is too little: at least {least} bytes a second")]
    RateLimit {
        /// Bytes a second.
        given: u64,
        /// The least.
        least: u64,
    },
    /// Not all slots are there.
    #[error(
        "the nodes asked are primary of {found} of {wanted} slots of keyspace {keyspace}; name the HTTP ports of all members with --http, \
         and see `tarndb status`"
    )]
    Slots {
        /// Of this keyspace.
        keyspace: String,
        /// So many.
        found: usize,
        /// Of so many.
        wanted: usize,
    },
    /// The backup is over.
    #[error("the backup has ended early: {why}; its files are removed, take it again")]
    Ended {
        /// Why.
        why: String,
    },
    /// A node does not take rows.
    #[error("the restore stopped: {why}; run the same command again to go on at chunk {} of {}", at.0, at.1)]
    Stopped {
        /// Why.
        why: String,
        /// Chunk and file.
        at: (u64, String),
    },
    /// A restore of something else is under way.
    #[error("{} is of a restore of other tables; give the same --table as then, or another --progress", progress.display())]
    OtherTables {
        /// The file.
        progress: PathBuf,
    },
}

impl BackupError {
    /// Whether nobody has answered, or the command line is wrong.
    pub(crate) fn is_usage(&self) -> bool {
        match self {
            Self::Node(error) => !matches!(error, OperateError::Refused { .. } | OperateError::Unavailable { .. }),
            error => matches!(
                error,
                Self::Unknown { .. }
                    | Self::RateLimit { .. }
                    | Self::Slots { .. }
                    | Self::NoKey(_)
                    | Self::Encrypted { .. }
                    | Self::Plain
                    | Self::WrongKey { .. }
            ),
        }
    }
}
