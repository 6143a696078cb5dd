//! The part of this floor in [`ClusterCore`](crate::cluster::ClusterCore).

use crate::cluster::routing::pending_requests::PendingRequests;
use crate::cluster::routing::requests::RoutedRequests;

/// Requests between cores and members.
#[derive(Default)]
pub(crate) struct Routing {
    /// Those of this core's clients that others run.
    pub(crate) routed: RoutedRequests,
    /// Whether something has changed that they may have waited for.
    pub(crate) has_changed: bool,
    /// Those of others that go by newer metadata.
    pub(crate) pending: PendingRequests,
}
