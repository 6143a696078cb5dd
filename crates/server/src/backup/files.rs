//! Files that are whole or not there.

use super::error::BackupError;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Writes a file under another name, and gives it its own when it is on the disk.
pub(crate) fn replace(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), BackupError> {
    let (path, new) = (folder.join(name), folder.join(format!("{name}.new")));
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&new, &path)?;
        sync_folder(folder)
    };
    write().map_err(|source| BackupError::File { path: path.clone(), source })
}

pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}
