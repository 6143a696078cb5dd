//! The state of a core in a cluster: one part for each floor, and what all floors read.

use crate::cluster::config::ClusterConfig;
use crate::cluster::leadership::state::Leadership;
use crate::cluster::links::link::Links;
use crate::cluster::membership::group::{Membership, MetadataBlobs};
use crate::cluster::membership::roles::Roles;
use crate::cluster::membership::view::View;
use crate::cluster::rebuild::state::Rebuild;
use crate::cluster::replication::state::Replication;
use crate::cluster::routing::state::Routing;
use base::{NodeId, Slot, TableId};
use cluster::State;
use shard::KeyspaceNumber;
use std::sync::Arc;

/// The state of a core.
pub(crate) struct ClusterCore {
    pub(crate) config: ClusterConfig,
    /// What this core acts by.
    pub(crate) view: Arc<View>,
    /// What that makes of it in each slot.
    pub(crate) roles: Roles,
    pub(crate) links: Links,
    pub(crate) membership: Membership,
    pub(crate) replication: Replication,
    pub(crate) rebuild: Rebuild,
    pub(crate) leadership: Leadership,
    pub(crate) routing: Routing,
}

impl ClusterCore {
    /// On every core; `metadata` is for core 0, `stored` is the core's blob of catch-up.
    pub(crate) fn new(
        config: ClusterConfig,
        cluster_name: String,
        host_id: u128,
        metadata: Option<MetadataBlobs>,
        stored: Option<&[u8]>,
    ) -> Self {
        Self {
            replication: Replication::new(config.migration_latency_us),
            config,
            view: Arc::new(View::nothing()),
            roles: Roles::default(),
            links: Links::default(),
            membership: Membership::new(cluster_name, host_id, metadata),
            rebuild: Rebuild::new(stored),
            leadership: Leadership::default(),
            routing: Routing::default(),
        }
    }

    /// A client has sent work.
    pub(crate) fn client_came(&mut self) {
        self.replication.client_came();
    }

    /// Whether this node is the primary of a slot, as far as it knows.
    pub(crate) fn is_primary(&self, table: TableId, slot: Slot) -> bool {
        self.leads(self.view.keyspace_of(table), slot)
    }

    /// The same of a keyspace by its name.
    pub(crate) fn is_primary_in(&self, keyspace: &str, slot: Slot) -> bool {
        self.leads(self.view.number_of(keyspace), slot)
    }

    fn leads(&self, keyspace: Option<KeyspaceNumber>, slot: Slot) -> bool {
        let assignment = keyspace.and_then(|keyspace| self.view.assignment(keyspace, slot));
        assignment.is_some_and(|assignment| assignment.primary == self.view.me)
    }

    /// Who votes in the metadata's group.
    pub(crate) fn voters(&self) -> Vec<NodeId> {
        let metadata = self.membership.group.as_ref().and_then(|metadata| metadata.metadata());
        metadata.map(|metadata| metadata.voters()).unwrap_or_default()
    }

    /// Who leads it.
    pub(crate) fn leader(&self) -> Option<NodeId> {
        self.membership.group.as_ref().and_then(|metadata| metadata.metadata()?.leader())
    }

    /// The newest state there is here.
    pub(crate) fn newest_state(&self) -> Arc<State> {
        let of_metadata = self.membership.group.as_ref().and_then(|metadata| metadata.state());
        of_metadata.unwrap_or_else(|| Arc::clone(&self.view.state))
    }
}
