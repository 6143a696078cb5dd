//! Requests that took long, as `system_views.slow_queries` shows them.

use std::net::SocketAddr;

/// A request that has taken longer than the setting `slow_query_threshold_ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowRequest {
    /// The core that held the connection.
    pub core: u16,
    /// Its number among those of the core.
    pub number: u64,
    /// When it began: microseconds of the wall clock.
    pub started_us: i64,
    /// How long it took.
    pub duration_us: u64,
    /// The protocol, as figures name it.
    pub protocol: &'static str,
    /// `read`, `write` or `other`.
    pub kind: &'static str,
    /// The keyspace or namespace, if it is known.
    pub keyspace: Option<String>,
    /// The table, set or container.
    pub table: Option<String>,
    /// The statement, without values.
    pub statement: Option<String>,
    /// Where the client was, if it was still there at the end.
    pub client: Option<SocketAddr>,
    /// As whom it had logged in.
    pub role: Option<String>,
    /// What it waited for.
    pub waited_for: &'static str,
}
