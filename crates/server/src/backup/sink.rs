//! A file of rows in the making, which ends where a cut is.

use super::error::BackupError;
use crate::s3::Upload;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file, or an object of S3. A file has each chunk at once, so that little is lost of a backup that is killed.
pub(crate) enum Sink {
    File { file: File, path: PathBuf },
    Object(Box<Upload>),
}

impl Sink {
    /// A file that is not there yet.
    pub(crate) fn file(path: &Path) -> Result<Self, BackupError> {
        let file = File::create_new(path).map_err(|source| BackupError::File { path: path.to_owned(), source })?;
        Ok(Self::File { file, path: path.to_owned() })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        match self {
            Self::File { file, path } => file.write_all(bytes).map_err(|source| BackupError::File { path: path.clone(), source }),
            Self::Object(upload) => Ok(upload.write(bytes)?),
        }
    }

    /// It may end here, at so many bytes. Of two marks the later one counts: a cut is tried when the one before has not held.
    pub(crate) fn mark(&mut self, bytes: u64) {
        match self {
            Self::File { .. } => {}
            Self::Object(upload) => upload.mark(bytes),
        }
    }

    /// It ends at the last mark, at so many bytes, and is stored.
    pub(crate) fn end(self, bytes: u64) -> Result<(), BackupError> {
        match self {
            Self::File { file, path } => {
                let end = file.set_len(bytes).and_then(|()| file.sync_all());
                end.map_err(|source| BackupError::File { path, source })
            }
            Self::Object(upload) => {
                let is_done = upload.end(bytes)?;
                is_done.then_some(()).ok_or_else(|| BackupError::Ended { why: "an object has no such mark".to_owned() })
            }
        }
    }
}
