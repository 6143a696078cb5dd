//! The state of a core in a cluster: one part for each floor, and what all floors read.

use crate::cluster::config::ClusterConfig;
use crate::cluster::leadership::state::{Ending, HandingOver};
use crate::cluster::links::link::{Links, Target};
use crate::cluster::links::pending_frames::EarlyFrames;
use crate::cluster::membership::group::{MetadataBlobs, MetadataCore};
use crate::cluster::membership::roles::Roles;
use crate::cluster::membership::view::View;
use crate::cluster::rebuild::catch_up::Differences;
use crate::cluster::rebuild::queue::Fillings;
use crate::cluster::replication::pacing::{Budget, Rest};
use crate::cluster::routing::pending_requests::EarlyRequests;
use crate::cluster::routing::requests::RoutedRequests;
use base::{NodeId, Slot, TableId};
use cluster::{Identity, State};
use engine::WriteBatch;
use shard::{KeyspaceNumber, SetId};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

/// The state of a core.
pub(crate) struct ClusterCore {
    pub(crate) config: ClusterConfig,
    pub(crate) cluster_name: String,
    pub(crate) host_id: u128,
    pub(crate) identity: Option<Identity>,
    pub(crate) view: Arc<View>,
    /// When members last came, went or moved.
    pub(crate) members_moved_us: u64,
    pub(crate) has_endless_lease: bool,
    /// Whether there has been a view in which this process takes part.
    pub(crate) has_served: bool,
    pub(crate) roles: Roles,
    pub(crate) links: Links,
    pub(crate) routed: RoutedRequests,
    /// Whether something has changed that requests may have waited for.
    pub(crate) routed_changed: bool,
    /// Requests of others that go by newer metadata.
    pub(crate) early: EarlyRequests,
    /// Frames of others that do.
    pub(crate) early_frames: EarlyFrames,
    pub(crate) fillings: Fillings,
    pub(crate) budget: Budget,
    pub(crate) rest: Rest,
    pub(crate) handing_over: HandingOver,
    /// While the process takes leave.
    pub(crate) ending: Option<Ending>,
    pub(crate) differences: Differences,
    /// No row of a later sequence is purged here.
    pub(crate) purge_floor: Option<u64>,
    /// Links whose streams have something to send.
    pub(crate) unsent: BTreeSet<Target>,
    /// Sets in which something was written that is not known to be committed.
    pub(crate) uncommitted_sets: BTreeSet<SetId>,
    /// Whether sets may be further than the shard knows.
    pub(crate) written: bool,
    pub(crate) batch: WriteBatch,
    /// Incoming streams that wait for the shard.
    pub(crate) receivers_waiting: BTreeSet<u32>,
    /// Which of the incoming streams is the first to be applied in the next turn: images of those after it may have to wait.
    pub(crate) first_stream: usize,
    /// Where members are that no view shows yet.
    pub(crate) members_told: BTreeMap<NodeId, SocketAddr>,
    pub(crate) committed_due_us: u64,
    /// On core 0.
    pub(crate) metadata: Option<Box<MetadataCore>>,
}

impl ClusterCore {
    /// On every core; `metadata` is for core 0, `kept` is what the core has stored of differences.
    pub(crate) fn new(
        config: ClusterConfig,
        cluster_name: String,
        host_id: u128,
        metadata: Option<MetadataBlobs>,
        kept: Option<&[u8]>,
    ) -> Self {
        Self {
            budget: Budget::new(config.migration_latency_us),
            rest: Rest::default(),
            config,
            cluster_name,
            host_id,
            identity: None,
            view: Arc::new(View::nothing()),
            members_moved_us: 0,
            has_endless_lease: false,
            has_served: false,
            roles: Roles::default(),
            links: Links::default(),
            routed: RoutedRequests::default(),
            routed_changed: false,
            early: EarlyRequests::default(),
            early_frames: EarlyFrames::default(),
            fillings: Fillings::default(),
            handing_over: HandingOver::default(),
            ending: None,
            differences: Differences::restore(kept),
            purge_floor: None,
            unsent: BTreeSet::new(),
            uncommitted_sets: BTreeSet::new(),
            written: false,
            batch: WriteBatch::new(),
            receivers_waiting: BTreeSet::new(),
            first_stream: 0,
            members_told: BTreeMap::new(),
            committed_due_us: 0,
            metadata: metadata.map(|blobs| Box::new(MetadataCore::new(blobs))),
        }
    }

    /// Work of a client has come.
    pub(crate) fn client_came(&mut self) {
        self.rest.client_came();
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
        let metadata = self.metadata.as_ref().and_then(|metadata| metadata.metadata());
        metadata.map(|metadata| metadata.voters()).unwrap_or_default()
    }

    /// Who leads it.
    pub(crate) fn leader(&self) -> Option<NodeId> {
        self.metadata.as_ref().and_then(|metadata| metadata.metadata()?.leader())
    }

    /// The newest state there is here.
    pub(crate) fn newest_state(&self) -> Arc<State> {
        let of_metadata = self.metadata.as_ref().and_then(|metadata| metadata.state());
        of_metadata.unwrap_or_else(|| Arc::clone(&self.view.state))
    }
}
