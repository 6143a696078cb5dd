//! Where a backup is written to.

use super::bucket_target::BucketTarget;
use super::error::BackupError;
use super::files::replace;
use super::folder_target::FolderTarget;
use super::format::Manifest;
use super::location::Location;
use super::sink::Sink;
use crate::s3::S3Arguments;

/// A directory, or a prefix of a bucket, in which a backup is being made.
pub(crate) enum Target {
    Folder(FolderTarget),
    Bucket(BucketTarget),
}

impl Target {
    /// Takes a place for a backup.
    pub(crate) fn prepare(place: &Location, s3: &S3Arguments, restarts: bool) -> Result<Self, BackupError> {
        Ok(match place {
            Location::Folder(folder) => Self::Folder(FolderTarget::prepare(folder, restarts)?),
            Location::Bucket(address) => Self::Bucket(BucketTarget::prepare(address, s3, restarts)?),
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
