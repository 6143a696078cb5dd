//! Reading ahead: one miss names the record that a scan has come to and those after it that are missing, too.

use crate::engine::Engine;
use crate::error::{Miss, ReadError};
use crate::key::CachePolicy;
use crate::location::Location;

/// Records that one `Miss` names at most.
pub const READ_AHEAD_MAX: usize = 1024;
/// Bytes of the records that one `Miss` names, but for the first one.
const READ_AHEAD_BYTES_MAX: usize = 2 << 20;
/// How many rows a page counts for when one looks ahead.
const PAGE_AHEAD_ROWS: usize = 16;

/// Something that comes later in a scan.
pub(super) enum Ahead {
    Row(Location),
    /// A page that is on the device only.
    Page(Location),
    /// A row that is in memory.
    Nothing,
}

impl Engine {
    /// The miss that names a record and the missing ones among those that come after it.
    #[cold]
    pub(super) fn miss_ahead(
        &self,
        location: Location,
        policy: CachePolicy,
        read_ahead: usize,
        mut upcoming: impl FnMut() -> Option<Ahead>,
    ) -> ReadError {
        let mut left = read_ahead.clamp(1, READ_AHEAD_MAX) - 1;
        let (mut missing, mut bytes) = (vec![location], 0);
        while left > 0
            && let Some(ahead) = upcoming()
        {
            let (found, rows) = match ahead {
                Ahead::Row(location) if matches!(self.record(location, CachePolicy::Bypass), Ok(None)) => (Some(location), 1),
                Ahead::Page(location) => (Some(location), PAGE_AHEAD_ROWS),
                Ahead::Row(_) | Ahead::Nothing => (None, 1),
            };
            if let Some(location) = found {
                bytes += location.padded();
                if bytes > READ_AHEAD_BYTES_MAX {
                    break;
                }
                missing.push(location);
            }
            left = left.saturating_sub(rows);
        }
        ReadError::Miss(Miss::many(missing, policy))
    }
}
