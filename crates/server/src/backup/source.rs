//! Where a backup is read from.

use super::error::BackupError;
use super::location::Location;
use crate::s3::{Bucket, ObjectReader, S3Arguments};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::sync::Arc;

/// A directory, or a prefix of a bucket.
pub(crate) enum Source {
    Folder(PathBuf),
    Bucket(Arc<Bucket>),
}

/// A file's bytes from its begin, and how many there are.
pub(crate) type OpenFile = (Box<dyn Read + Send>, u64);

impl Source {
    pub(crate) fn open(place: &Location, s3: &S3Arguments) -> Result<Self, BackupError> {
        Ok(match place {
            Location::Folder(folder) => Self::Folder(folder.clone()),
            Location::Bucket(address) => Self::Bucket(Arc::new(Bucket::new(address, s3)?)),
        })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Location {
        match self {
            Self::Folder(folder) => Location::Folder(folder.clone()),
            Self::Bucket(bucket) => Location::Bucket(bucket.address().clone()),
        }
    }

    /// A small file; `None` if there is none of this name.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, BackupError> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(name);
                match std::fs::read(&path) {
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                    read => read.map(Some).map_err(|source| BackupError::File { path, source }),
                }
            }
            Self::Bucket(bucket) => Ok(bucket.get(name)?),
        }
    }

    /// A file of any length; `None` if there is none of this name.
    pub(crate) fn open_file(&self, name: &str) -> Result<Option<OpenFile>, BackupError> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(name);
                let failed = |source| BackupError::File { path: path.clone(), source };
                match File::open(&path) {
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                    opened => {
                        let file = opened.map_err(failed)?;
                        let bytes = file.metadata().map_err(failed)?.len();
                        Ok(Some((Box::new(file), bytes)))
                    }
                }
            }
            Self::Bucket(bucket) => Ok(ObjectReader::open(bucket, name)?.map(|reader| {
                let bytes = reader.length();
                (Box::new(reader) as Box<dyn Read + Send>, bytes)
            })),
        }
    }
}
