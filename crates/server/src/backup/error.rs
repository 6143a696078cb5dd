//! Why a backup or restore has not been made.

use super::location::Location;
use crate::at_rest::KeySourceError;
use crate::operate::OperateError;
use crate::s3::S3Error;
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
    #[error("{place} holds a backup already; name {} that is new or empty", place.kind())]
    Occupied {
        /// Where.
        place: Location,
    },
    /// Something else is there.
    #[error("{place} holds {name}, which is no part of a backup; name {} that is new or empty", place.kind())]
    Foreign {
        /// Where.
        place: Location,
        /// A file there.
        name: String,
    },
    /// Another process writes there.
    #[error("another `tarndb backup` is writing to {place}")]
    InUse {
        /// Where.
        place: Location,
    },
    /// What a backup that was killed has left.
    #[error(
        "{place} holds a backup that was interrupted after {bytes} bytes in {files} files: they are no point in time; give --resume to \
         go on from them, or --restart to remove them and take it anew"
    )]
    Unfinished {
        /// Where.
        place: Location,
        /// Files of rows.
        files: usize,
        /// Their bytes.
        bytes: u64,
    },
    /// What a backup has left in S3, that was killed or goes on.
    #[error(
        "{place} holds a backup that was interrupted, or that another `tarndb backup` is taking now: {files} files of rows; when no other one runs, give \
         --resume to go on from them, or --restart to remove them and take it anew"
    )]
    UnfinishedInBucket {
        /// Where.
        place: Location,
        /// Files of rows.
        files: usize,
    },
    /// There is no manifest.
    #[error(
        "{place} is no whole backup: it has no manifest.json; take the backup again, or go on with it by `tarndb backup --resume`, if it was interrupted"
    )]
    NotWhole {
        /// Where.
        place: Location,
    },
    /// Another backup is asked for than the one that was interrupted.
    #[error(
        "{place} holds an interrupted backup that is not the one that is asked for: {what}; give the options that it was begun with, or --restart to take it anew"
    )]
    OtherCommand {
        /// Where.
        place: Location,
        /// What differs.
        what: String,
    },
    /// What an interrupted backup has left is of no use.
    #[error("the interrupted backup at {place} cannot go on: {why}; give --restart to remove it and take it anew")]
    NotResumable {
        /// Where.
        place: Location,
        /// Why.
        why: String,
    },
    /// It has failed, and may go on.
    #[error("{fault}. What it has stored in {place} stays there: the same command with --resume goes on from it")]
    Kept {
        /// Why it has failed.
        fault: Box<BackupError>,
        /// Where.
        place: Location,
    },
    /// S3.
    #[error(transparent)]
    S3(Box<S3Error>),
    /// It has failed, and not all that it has written could be removed.
    #[error(
        "{fault}. What it has written to {place} is still there, and parts of uploads may be: {why}; `tarndb backup --to {place} --restart` removes them, unless \
         `tarndb backup verify {place}` finds a whole backup"
    )]
    Left {
        /// Why it has failed.
        fault: Box<BackupError>,
        /// Where.
        place: Location,
        /// Why it is still there.
        why: Box<S3Error>,
    },
    /// A restore from S3 keeps its progress here.
    #[error("a restore from {place} needs --progress FILE, a file of this machine, to go on by after an interruption")]
    NoProgress {
        /// The backup.
        place: Location,
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
    /// A backup of a chain, other than the one that was named.
    #[error("{place}, which the backup goes on from: {fault}")]
    InLink {
        /// Which one.
        place: Location,
        /// What is wrong with it.
        fault: Box<BackupError>,
    },
    /// The backup before is not where it should be.
    #[error(
        "{place} goes on from the backup that was at {previous}, which is not there: {why}; put that backup back, or beside this one under the same name"
    )]
    Link {
        /// The backup that needs it.
        place: Location,
        /// Where it was.
        previous: String,
        /// What is there.
        why: String,
    },
    /// It has no end.
    #[error("{place} goes on from more than {links} backups: take a full one")]
    ChainTooLong {
        /// The backup.
        place: Location,
        /// So many may be.
        links: usize,
    },
    /// It is of another database.
    #[error(
        "the backup at {place} has none of the tables of this database: it is of another one, or all were made anew; take a full backup"
    )]
    OtherDatabase {
        /// The backup before.
        place: Location,
    },
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
    #[error("the backup has ended early: {why}; take it again")]
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
    /// A restore into another database is under way.
    #[error(
        "{} is of a restore that has made its tables, and none of them is here: name the nodes of the database that it began in, or, if those tables \
         were dropped, remove that file to begin anew",
        progress.display()
    )]
    OtherDatabaseNow {
        /// The file.
        progress: PathBuf,
    },
    /// A restore of something else is under way.
    #[error(
        "{} is of a restore of another backup or of other tables; give the same --from and --table as then, or another --progress",
        progress.display()
    )]
    OtherRestore {
        /// The file.
        progress: PathBuf,
    },
}

impl BackupError {
    /// Names the backup, if it is not the one that was asked for.
    pub(crate) fn in_link(self, link: &Location, place: &Location) -> Self {
        if link == place { self } else { Self::InLink { place: link.clone(), fault: Box::new(self) } }
    }

    /// Whether nobody has answered, or the command line is wrong.
    pub(crate) fn is_usage(&self) -> bool {
        match self {
            Self::S3(error) => error.is_usage(),
            Self::Left { fault, .. } | Self::Kept { fault, .. } | Self::InLink { fault, .. } => fault.is_usage(),
            Self::Node(error) => !matches!(error, OperateError::Refused { .. } | OperateError::Unavailable { .. }),
            error => matches!(
                error,
                Self::Unknown { .. }
                    | Self::RateLimit { .. }
                    | Self::Slots { .. }
                    | Self::NoProgress { .. }
                    | Self::OtherDatabaseNow { .. }
                    | Self::OtherDatabase { .. }
                    | Self::OtherCommand { .. }
                    | Self::NoKey(_)
                    | Self::Encrypted { .. }
                    | Self::Plain
                    | Self::WrongKey { .. }
            ),
        }
    }
}

impl From<S3Error> for BackupError {
    fn from(error: S3Error) -> Self {
        Self::S3(Box::new(error))
    }
}
