//! What a node shows of itself to Aerospike clients.

use crate::core::Core;
use aerospike::info::NodeView;

impl Core {
    /// What information commands tell of, at the wall clock's `now_s`.
    pub(crate) fn aerospike_view(&self, now_s: i64) -> NodeView<'_> {
        let config = &*self.config;
        let listening = config.listening();
        NodeView {
            node_name: &config.aerospike.node_name,
            cluster_name: &config.cluster_name,
            address: listening.aerospike.unwrap_or(listening.cql),
            namespaces: &config.aerospike.namespaces,
            schema: &self.schema,
            uptime_s: (now_s - i64::from(config.started_s)).max(0).unsigned_abs(),
            client_connections: self.connections.count(),
        }
    }
}
