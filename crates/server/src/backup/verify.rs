//! `tarndb backup verify`: reads everything.

use super::archive::Archive;
use super::chain::Chain;
use super::error::BackupError;
use super::location::Location;
use crate::cli::BackupKeyArguments;
use crate::s3::S3Arguments;
use engine::ReceivedRows;

/// Checks every byte of a backup, and of those that it goes on from.
pub(crate) fn verify(place: &Location, s3: &S3Arguments, key: &BackupKeyArguments) -> Result<Chain, BackupError> {
    let chain = Chain::open(place, s3, key)?;
    chain.links.iter().try_for_each(|link| verify_one(link).map_err(|error| error.in_link(&link.place(), place)))?;
    Ok(chain)
}

fn verify_one(archive: &Archive) -> Result<(), BackupError> {
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
    Ok(())
}
