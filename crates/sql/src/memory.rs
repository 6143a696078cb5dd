//! What all queries of the process may take.

use rusqlite::ffi;
use std::sync::Once;

/// Bytes of SQLite's, over all queries. A query that would take more fails.
pub const MEMORY_MAX: i64 = 256 << 20;

/// Sets the bound, once.
#[allow(unsafe_code, reason = "the bound is set through SQLite's own function")]
pub(crate) fn bound() {
    static BOUND: Once = Once::new();
    BOUND.call_once(|| {
        // SAFETY: takes a number alone; SQLite serializes it.
        unsafe { ffi::sqlite3_hard_heap_limit64(MEMORY_MAX) };
    });
}

/// Bytes that queries take now.
#[must_use]
#[allow(unsafe_code, reason = "the figure comes from SQLite's own function")]
pub fn used() -> i64 {
    // SAFETY: reads a counter.
    unsafe { ffi::sqlite3_memory_used() }
}
