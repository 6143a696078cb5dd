//! What `--rate-limit` says.

use super::error::BackupError;
use crate::size::Size;
use crate::throttle::Throttle;

/// So much passes at a time: a slow stream still moves often enough for those who watch it.
pub(crate) const PIECE_BYTES: usize = 64 << 10;
const BYTES_PER_S_LEAST: u64 = 64 << 10;

/// Lets so many bytes a second pass.
pub(crate) fn throttle(limit: Option<Size>) -> Result<Throttle, BackupError> {
    match limit {
        Some(Size(given)) if given < BYTES_PER_S_LEAST => Err(BackupError::RateLimit { given, least: BYTES_PER_S_LEAST }),
        _ => Ok(Throttle::new(limit.map(|limit| limit.0))),
    }
}
