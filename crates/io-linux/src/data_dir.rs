//! One process a data directory: a lock on its `LOCK` file, which the kernel releases when the process ends in any way.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Why a data directory could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another process has it.
    #[error(
        "the data directory {} is in use by process {owner}: stop that server, or give this one another directory with --data-dir",
        path.display()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process id that the owner wrote into the lock file, or `unknown`.
        owner: String,
    },
    /// The operating system refused.
    #[error("cannot use {} as data directory: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A data directory that belongs to this process while this value lives.
#[derive(Debug)]
pub struct DataDirLock {
    _file: File,
}

/// Creates the directory when it is missing, and locks it.
///
/// # Errors
/// When another process has the lock, or the directory cannot be created or written to.
pub fn lock_data_dir(path: &Path) -> Result<DataDirLock, DataDirError> {
    let io = |source| DataDirError::Io { path: path.to_owned(), source };
    std::fs::create_dir_all(path).map_err(io)?;
    // Not truncated on opening: until the lock is taken the content is the owner's.
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path.join("LOCK")).map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(path, &file)),
        Err(TryLockError::Error(source)) => return Err(io(source)),
    }
    // For people who ask who has it. A full file system keeps no node from starting.
    if let Err(error) = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())) {
        tracing::warn!(path = %path.display(), %error, "the number of this process could not be written to the file LOCK");
    }
    Ok(DataDirLock { _file: file })
}

/// Keeps servers out of a directory while it is looked at; writes nothing. Others may look, too.
///
/// # Errors
/// When a server has the lock, or none ever had.
pub fn look_into_data_dir(path: &Path) -> Result<DataDirLock, DataDirError> {
    let io = |source| DataDirError::Io { path: path.to_owned(), source };
    let file = File::open(path.join("LOCK")).map_err(io)?;
    match file.try_lock_shared() {
        Ok(()) => Ok(DataDirLock { _file: file }),
        Err(TryLockError::WouldBlock) => Err(in_use(path, &file)),
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}

/// Says whose the lock is.
fn in_use(path: &Path, lock: &File) -> DataDirError {
    let mut owner = String::new();
    let _ = lock.take(32).read_to_string(&mut owner);
    let owner = owner.trim();
    let owner = if owner.is_empty() { "unknown" } else { owner };
    DataDirError::InUse { path: path.to_owned(), owner: owner.to_owned() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Takes a lock that was let go. A process that another test has just forked has it until it runs its program.
    fn when_free(take: impl Fn() -> Result<DataDirLock, DataDirError>) -> DataDirLock {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            match take() {
                Ok(lock) => return lock,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
        }
    }

    #[test]
    fn a_directory_has_one_owner_until_it_lets_go() {
        let path = std::env::temp_dir().join(format!("tarndb-lock-{}", std::process::id()));
        let lock = lock_data_dir(&path).unwrap();
        let refused = lock_data_dir(&path).unwrap_err();
        assert!(refused.to_string().contains(&std::process::id().to_string()), "{refused}");
        drop(lock);
        let lock = when_free(|| lock_data_dir(&path));
        assert!(matches!(look_into_data_dir(&path), Err(DataDirError::InUse { .. })));
        drop(lock);
        let _look = (when_free(|| look_into_data_dir(&path)), look_into_data_dir(&path).unwrap());
        assert!(matches!(lock_data_dir(&path), Err(DataDirError::InUse { .. })));
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn a_file_in_the_way_is_a_clear_error() {
        let error = lock_data_dir(Path::new("/dev/null/data")).unwrap_err();
        assert!(error.to_string().starts_with("cannot use /dev/null/data as data directory"), "{error}");
    }
}
