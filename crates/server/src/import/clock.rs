//! The time at which something is done.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, and not 0.
pub(super) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_millis().max(1) as i64)
}
