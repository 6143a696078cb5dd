//! Requests that take longer than the setting `slow_query_threshold_ms`: kept for whoever asks, and logged.
//!
//! ```text
//! request waits ── About ─► Requests ── it ends, or the turn that answers it: too late? ─► Watch ── end of the turn ─► SlowLog, a line in the log
//! ```
//!
//! Invariant: what a request is about is noted without an allocation, and looked up when it has been slow. While nothing is slow a delivery reads the setting,
//! and a request that waits compares a number.

mod log;
mod telling;
mod watch;

pub(crate) use self::log::SlowLog;
pub(crate) use self::watch::{About, Subject, Waited, Watch};
