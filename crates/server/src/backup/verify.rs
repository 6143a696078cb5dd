//! `tarndb backup verify`: reads everything.

use super::archive::Archive;
use super::chain::Chain;
use super::chunks::count_rows;
use super::error::BackupError;
use super::location::Location;
use crate::cli::BackupKeyArguments;
use crate::s3::S3Arguments;

/// Checks every byte of a backup, and of those that it goes on from.
pub(crate) fn verify(place: &Location, s3: &S3Arguments, key: &BackupKeyArguments) -> Result<Chain, BackupError> {
    let chain = Chain::open(place, s3, key)?;
    chain.links.iter().try_for_each(|link| verify_one(link).map_err(|error| error.in_link(&link.place(), place)))?;
    Ok(chain)
}

fn verify_one(archive: &Archive) -> Result<(), BackupError> {
    archive.schema()?;
    archive.roles()?;
    for (layer, entry) in archive.layers.iter().flat_map(|layer| layer.files.iter().map(move |entry| (layer, entry))) {
        let mut chunks = layer.chunks(entry)?;
        let (mut count, mut rows) = (0, 0);
        while let Some(chunk) = chunks.next()? {
            count += 1;
            let malformed = || BackupError::Damaged { file: entry.name.clone(), at: 0, why: "a row is malformed" };
            rows += count_rows(&chunk).ok_or_else(malformed)?;
        }
        if (count, rows) != (entry.chunks, entry.rows) {
            return Err(BackupError::Damaged { file: entry.name.clone(), at: entry.bytes, why: "it has another number of rows" });
        }
    }
    Ok(())
}
