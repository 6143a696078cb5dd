//! Where a backup is written to.

use super::bucket_target::BucketTarget;
use super::error::BackupError;
use super::files::replace;
use super::folder_target::FolderTarget;
use super::format::{FileEntry, Manifest, rows_file_number};
use super::location::Location;
use super::occupancy::Leftovers;
use super::sink::Sink;
use super::source::Source;
use crate::s3::S3Arguments;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A directory, or a prefix of a bucket, in which a backup is being made.
pub(crate) enum Target {
    Folder(FolderTarget),
    Bucket(BucketTarget),
}

impl Target {
    /// Takes a place for a backup.
    pub(crate) fn prepare(place: &Location, s3: &S3Arguments, leftovers: Leftovers) -> Result<Self, BackupError> {
        Ok(match place {
            Location::Folder(folder) => Self::Folder(FolderTarget::prepare(folder, leftovers)?),
            Location::Bucket(address) => Self::Bucket(BucketTarget::prepare(address, s3, leftovers)?),
        })
    }

    /// Begins a file of rows.
    pub(crate) fn create(&self, name: &str) -> Result<Sink, BackupError> {
        match self {
            Self::Folder(target) => Sink::file(&target.folder().join(name)),
            Self::Bucket(target) => Ok(target.create(name)),
        }
    }

    /// Writes a small file.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BackupError> {
        match self {
            Self::Folder(target) => replace(target.folder(), name, bytes),
            Self::Bucket(target) => target.put(name, bytes),
        }
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Location {
        self.source().place()
    }

    /// To read what is there.
    pub(crate) fn source(&self) -> Arc<Source> {
        Arc::new(match self {
            Self::Folder(target) => Source::Folder(target.folder().to_owned()),
            Self::Bucket(target) => Source::Bucket(target.bucket()),
        })
    }

    /// The numbers of the files of rows that are there.
    pub(crate) fn rows_files(&self) -> Result<BTreeSet<u32>, BackupError> {
        let names = match self {
            Self::Folder(target) => target.names()?,
            Self::Bucket(target) => target.names()?,
        };
        Ok(names.iter().filter_map(|name| rows_file_number(name)).collect())
    }

    /// Makes files of what an interrupted attempt has uploaded, whose first file has this number.
    pub(crate) fn complete_uploads(&self, first_file: u32) -> Result<(), BackupError> {
        match self {
            Self::Folder(_) => Ok(()),
            Self::Bucket(target) => target.complete_uploads(first_file),
        }
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &str) -> Result<(), BackupError> {
        match self {
            Self::Folder(target) => target.remove(name),
            Self::Bucket(target) => Ok(target.bucket().delete(name)?),
        }
    }

    /// What a process that was killed has written to these files stays, whatever becomes of the machine.
    pub(crate) fn sync(&self, files: &[FileEntry]) -> Result<(), BackupError> {
        match self {
            Self::Folder(target) => target.sync(files),
            Self::Bucket(_) => Ok(()),
        }
    }

    /// All files are there but this one, with which the backup is whole.
    pub(crate) fn finish(&self, manifest: &Manifest) -> Result<(), BackupError> {
        match self {
            Self::Folder(target) => target.finish(&manifest.to_bytes()),
            Self::Bucket(target) => target.finish(manifest),
        }
    }

    /// Removes what this backup has written, the marker last. Gives why it has failed, with what could not be removed.
    pub(crate) fn abandon(self, fault: BackupError) -> BackupError {
        match self {
            Self::Folder(target) => {
                target.abandon();
                fault
            }
            Self::Bucket(target) => target.abandon(fault),
        }
    }
}
