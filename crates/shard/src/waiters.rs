//! Receivers and scans that wait for the engine.

/// Receivers and scans, by their numbers at the engine.
#[derive(Default)]
pub(crate) struct Waiters {
    /// Those that wait for the device to take writes.
    pub(crate) for_room: Vec<u64>,
    /// Those that may try again.
    pub(crate) ready: Vec<u64>,
}

/// What has been read for a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The present chunk needs it.
    ForThisChunk,
    /// It is for later chunks.
    Ahead,
}
