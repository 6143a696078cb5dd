//! A directory that a backup is written to. Its marker is locked while the tool runs, so it is known whether another one does.

use super::error::BackupError;
use super::files::{replace, sync_folder};
use super::format::{FileEntry, MANIFEST, RESUME};
use super::location::Location;
use super::occupancy::{Leftovers, MARKER, is_part, is_rows, judge};
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A directory in which a backup is being made.
pub(crate) struct FolderTarget {
    folder: PathBuf,
    /// Locked while it is open.
    _marker: File,
}

impl FolderTarget {
    /// Takes a directory for a backup.
    pub(crate) fn prepare(folder: &Path, leftovers: Leftovers) -> Result<Self, BackupError> {
        let failed = |source| BackupError::File { path: folder.to_owned(), source };
        io_linux::make_files_private();
        std::fs::create_dir_all(folder).map_err(failed)?;
        let names = names(folder).map_err(failed)?;
        let place = || Location::Folder(folder.to_owned());
        let has_marker = judge(&names, place)?;
        let target = Self { folder: folder.to_owned(), _marker: lock(folder)? };
        if has_marker && leftovers == Leftovers::Refuse {
            let rows: Vec<&String> = names.iter().filter(|name| is_rows(name)).collect();
            let bytes = rows.iter().filter_map(|name| folder.join(name).metadata().ok()).map(|file| file.len()).sum();
            return Err(BackupError::Unfinished { place: place(), files: rows.len(), bytes });
        }
        if leftovers != Leftovers::Resume {
            target.remove_parts().map_err(failed)?;
        }
        std::fs::write(folder.join(MARKER), "{}\n").and_then(|()| sync_folder(folder)).map_err(failed)?;
        Ok(target)
    }

    /// Its directory.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// All files are on the disk but this one, with which the backup is whole.
    pub(crate) fn finish(&self, manifest: &[u8]) -> Result<(), BackupError> {
        sync_folder(&self.folder).map_err(|source| BackupError::File { path: self.folder.clone(), source })?;
        replace(&self.folder, MANIFEST, manifest)?;
        // A backup with a manifest is whole whatever else is there.
        let _ = std::fs::remove_file(self.folder.join(RESUME));
        let _ = std::fs::remove_file(self.folder.join(MARKER));
        Ok(())
    }

    /// What is there.
    pub(crate) fn names(&self) -> Result<Vec<String>, BackupError> {
        names(&self.folder).map_err(|source| BackupError::File { path: self.folder.clone(), source })
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &str) -> Result<(), BackupError> {
        let path = self.folder.join(name);
        std::fs::remove_file(&path).map_err(|source| BackupError::File { path, source })
    }

    /// Writes these files to the disk.
    pub(crate) fn sync(&self, files: &[FileEntry]) -> Result<(), BackupError> {
        for file in files {
            let path = self.folder.join(&file.name);
            File::open(&path).and_then(|file| file.sync_all()).map_err(|source| BackupError::File { path, source })?;
        }
        sync_folder(&self.folder).map_err(|source| BackupError::File { path: self.folder.clone(), source })
    }

    /// Removes what this backup has written, the marker last.
    pub(crate) fn abandon(self) {
        if self.remove_parts().is_ok() {
            // What stays is refused by the next backup, which says what to do.
            let _ = std::fs::remove_file(self.folder.join(MARKER));
        }
    }

    /// Removes the parts of a backup but its marker. What others have put there meanwhile stays.
    fn remove_parts(&self) -> std::io::Result<()> {
        let is_meant = |name: &&String| is_part(name) && *name != MARKER;
        names(&self.folder)?.iter().filter(is_meant).try_for_each(|name| std::fs::remove_file(self.folder.join(name)))
    }
}

/// Locks the marker, and judges again: the tool that had the lock may have finished since, or removed what it had written.
fn lock(folder: &Path) -> Result<File, BackupError> {
    let (path, place) = (folder.join(MARKER), || Location::Folder(folder.to_owned()));
    let failed = |source| BackupError::File { path: path.clone(), source };
    let marker = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
    match marker.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(BackupError::InUse { place: place() }),
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    let locked = marker.metadata().map_err(failed)?;
    // One that was removed is locked by nobody else, whoever has the place.
    if !std::fs::metadata(&path).is_ok_and(|there| (there.dev(), there.ino()) == (locked.dev(), locked.ino())) {
        return Err(BackupError::InUse { place: place() });
    }
    match judge(&names(folder).map_err(failed)?, place) {
        Err(error @ BackupError::Occupied { .. }) => {
            // A backup with a manifest is whole whatever else is there.
            let _ = std::fs::remove_file(&path);
            Err(error)
        }
        judged => judged.map(|_| marker),
    }
}

fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::time::{Duration, Instant};

    impl Folder {
        fn write(&self, name: &str) {
            std::fs::write(self.0.join(name), "x").unwrap();
        }

        fn names(&self) -> Vec<String> {
            let mut names = names(&self.0).unwrap();
            names.sort();
            names
        }
    }

    #[test]
    fn nothing_is_removed_that_is_not_of_an_interrupted_backup() {
        let folder = Folder::new("target-foreign");
        std::fs::create_dir_all(&folder.0).unwrap();
        // Without a marker they are somebody else's, whatever they are called.
        folder.write("000.rows");
        for leftovers in [Leftovers::Refuse, Leftovers::Remove, Leftovers::Resume] {
            let refused = FolderTarget::prepare(&folder.0, leftovers).err().unwrap();
            assert!(matches!(&refused, BackupError::Foreign { name, .. } if name == "000.rows"), "{refused}");
        }
        folder.write(MARKER);
        folder.write("letter.txt");
        assert!(
            matches!(FolderTarget::prepare(&folder.0, Leftovers::Remove), Err(BackupError::Foreign { name, .. }) if name == "letter.txt")
        );
        assert_eq!(folder.names(), ["000.rows", "letter.txt", MARKER]);
        for almost in ["0.rows", "abc.rows", "+01.rows"] {
            assert!(!is_rows(almost), "{almost}");
        }
    }

    #[test]
    fn an_interrupted_backup_is_replaced_when_that_is_asked_for() {
        let folder = Folder::new("target-unfinished");
        let first = FolderTarget::prepare(&folder.0, Leftovers::Refuse).unwrap();
        folder.write("000.rows");
        assert!(matches!(FolderTarget::prepare(&folder.0, Leftovers::Remove), Err(BackupError::InUse { .. })));
        drop(first);
        // A process that another test has just forked has the lock until it runs its program.
        let until = Instant::now() + Duration::from_secs(60);
        let refused = loop {
            match FolderTarget::prepare(&folder.0, Leftovers::Refuse).err().unwrap() {
                BackupError::InUse { .. } => assert!(Instant::now() < until, "it is let go"),
                refused => break refused,
            }
        };
        assert!(matches!(refused, BackupError::Unfinished { files: 1, bytes: 1, .. }), "{refused}");
        assert_eq!(folder.names(), ["000.rows", MARKER]);
        let again = FolderTarget::prepare(&folder.0, Leftovers::Remove).unwrap();
        assert_eq!(folder.names(), [MARKER]);
        again.finish(b"whole").unwrap();
        drop(again);
        assert_eq!(folder.names(), [MANIFEST]);
        for leftovers in [Leftovers::Refuse, Leftovers::Remove, Leftovers::Resume] {
            assert!(matches!(FolderTarget::prepare(&folder.0, leftovers), Err(BackupError::Occupied { .. })));
        }
    }

    #[test]
    fn a_backup_that_was_finished_before_the_lock_was_had_stays() {
        let folder = Folder::made("target-finished");
        ["000.rows", MANIFEST].into_iter().for_each(|name| folder.write(name));
        assert!(matches!(lock(&folder), Err(BackupError::Occupied { .. })));
        assert_eq!(folder.names(), ["000.rows", MANIFEST]);
    }

    #[test]
    fn a_backup_that_fails_leaves_an_empty_directory() {
        let folder = Folder::new("target-abandoned");
        let target = FolderTarget::prepare(&folder.0, Leftovers::Refuse).unwrap();
        folder.write("000.rows");
        target.abandon();
        assert!(folder.names().is_empty());
        let target = FolderTarget::prepare(&folder.0, Leftovers::Refuse).unwrap();
        ["000.rows", "letter.txt"].into_iter().for_each(|name| folder.write(name));
        target.abandon();
        assert_eq!(folder.names(), ["letter.txt"], "somebody has put it there meanwhile");
    }
}
