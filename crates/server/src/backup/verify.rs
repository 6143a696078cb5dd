//! `tarndb backup verify`: reads everything.

use super::archive::Archive;
use super::error::BackupError;
use crate::cli::BackupKeyArguments;
use engine::ReceivedRows;
use std::path::Path;

/// Checks every byte of a backup.
pub(crate) fn verify(folder: &Path, key: &BackupKeyArguments) -> Result<Archive, BackupError> {
    let archive = Archive::open(folder, key)?;
    archive.schema()?;
    for entry in &archive.manifest.files {
        let mut chunks = archive.chunks(entry)?;
        let (mut count, mut rows) = (0, 0);
        while let Some(chunk) = chunks.next()? {
            count += 1;
            for row in ReceivedRows::new(&chunk) {
                let is_good = row.is_ok_and(|row| model::row::is_well_formed(row.row));
                rows += 1;
                if !is_good {
                    return Err(BackupError::Damaged { file: entry.name.clone(), at: 0, why: "a row is malformed" });
                }
            }
        }
        if (count, rows) != (entry.chunks, entry.rows) {
            return Err(BackupError::Damaged { file: entry.name.clone(), at: entry.bytes, why: "it has another number of rows" });
        }
    }
    Ok(archive)
}
