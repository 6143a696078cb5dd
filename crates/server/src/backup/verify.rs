//! `tarndb backup verify`: reads everything.

use super::error::BackupError;
use super::format::{Chunks, Manifest, SCHEMA};
use engine::ReceivedRows;
use model::{Schema, schema_blob};
use std::path::Path;

/// Checks every byte of a backup.
pub(crate) fn verify(folder: &Path) -> Result<Manifest, BackupError> {
    let manifest = Manifest::read(folder)?;
    read_schema(folder, &manifest)?;
    for entry in &manifest.files {
        let mut chunks = Chunks::open(folder, entry)?;
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
    Ok(manifest)
}

/// The schema at the cut.
pub(crate) fn read_schema(folder: &Path, manifest: &Manifest) -> Result<Schema, BackupError> {
    let path = folder.join(SCHEMA);
    let blob = std::fs::read(&path).map_err(|source| BackupError::File { path, source })?;
    let damaged = |why| BackupError::Damaged { file: SCHEMA.to_owned(), at: 0, why };
    if base::checksum(&blob) != manifest.schema_crc32 {
        return Err(damaged("its checksum is wrong"));
    }
    schema_blob::decode(&blob).map_err(|_| damaged("it is no schema of this release"))
}
