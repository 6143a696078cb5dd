//! Files that are whole or not there.

use super::error::BackupError;
use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The rights of files that are their owner's alone.
const PRIVATE: u32 = 0o600;

/// Writes a file under another name, and gives it its own when it is on the disk.
pub(crate) fn replace(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), BackupError> {
    replace_with(folder, name, bytes, |new| File::create(new))
}

/// The same of a file that is its owner's alone.
pub(crate) fn replace_private(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), BackupError> {
    replace_with(folder, name, bytes, |new| {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE).open(new)?;
        // One that was left there may have other rights.
        file.set_permissions(Permissions::from_mode(PRIVATE))?;
        Ok(file)
    })
}

fn replace_with(folder: &Path, name: &str, bytes: &[u8], create: impl Fn(&Path) -> std::io::Result<File>) -> Result<(), BackupError> {
    let (path, new) = (folder.join(name), folder.join(format!("{name}.new")));
    let write = || {
        let mut file = create(&new)?;
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
