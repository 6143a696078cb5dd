//! What core 0 keeps as this node's member of the metadata group, and what every core keeps of its membership.

use crate::cluster::links::channel::Channel;
use crate::cluster::membership::orders::{Answer, Order};
use crate::cluster::membership::view::View;
use base::NodeId;
use cluster::{Identity, Metadata, ProposalId, State};
use io::ConnectionId;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The blobs of the metadata as they were found at the start.
#[derive(Clone, Debug, Default)]
pub struct MetadataBlobs {
    /// `metadata-log`.
    pub log: Option<Vec<u8>>,
    /// `metadata-snapshot`.
    pub snapshot: Option<Vec<u8>>,
}

/// What waits for the outcome of a proposal.
pub(crate) enum Waiter {
    /// A process that asks to join.
    Joiner(ConnectionId),
    /// The schema change under way.
    Schema,
    /// An operator.
    Operator {
        /// What was asked for.
        order: Order,
        /// Where the answer goes.
        sender: Sender<Answer>,
    },
    /// Nobody.
    Nobody,
}

/// The state of core 0.
pub(crate) struct MetadataCore {
    pub(crate) blobs: Option<MetadataBlobs>,
    pub(crate) metadata: Option<Metadata>,
    pub(crate) waiters: BTreeMap<ProposalId, Waiter>,
    /// Names of blobs on their way to the disk.
    pub(crate) writing: VecDeque<String>,
    /// A state that the cores have not got, because the schema comes first.
    pub(crate) next: Option<Arc<State>>,
    /// The newest view that was made.
    pub(crate) made: Arc<View>,
    pub(crate) lease_told_us: u64,
    /// Cores that have been told of a lease without end, and have not said that they know of its end.
    pub(crate) endless_leases: u16,
    /// Since when this member has known of no leader.
    pub(crate) leaderless_since_us: Option<u64>,
    pub(crate) contact: Option<Contact>,
    pub(crate) contact_number: usize,
    pub(crate) contact_at_us: u64,
    pub(crate) contact_until_us: u64,
    /// How many contacts in a row have not answered.
    pub(crate) unanswered: u32,
}

/// The part of this floor in [`ClusterCore`](crate::cluster::ClusterCore), besides the view and the roles, which all floors read.
pub(crate) struct Membership {
    pub(crate) cluster_name: String,
    pub(crate) host_id: u128,
    pub(crate) identity: Option<Identity>,
    /// When members last came, went or moved.
    pub(crate) members_moved_us: u64,
    pub(crate) has_endless_lease: bool,
    /// Whether there has been a view in which this process takes part.
    pub(crate) has_served: bool,
    /// Where members are that no view shows yet.
    pub(crate) members_told: BTreeMap<NodeId, SocketAddr>,
    /// On core 0.
    pub(crate) group: Option<Box<MetadataCore>>,
}

impl Membership {
    /// On every core; `blobs` are for core 0.
    pub(crate) fn new(cluster_name: String, host_id: u128, blobs: Option<MetadataBlobs>) -> Self {
        Self {
            cluster_name,
            host_id,
            identity: None,
            members_moved_us: 0,
            has_endless_lease: false,
            has_served: false,
            members_told: BTreeMap::new(),
            group: blobs.map(|blobs| Box::new(MetadataCore::new(blobs))),
        }
    }
}

/// A member that is asked to take this node in.
pub(crate) struct Contact {
    pub(crate) address: SocketAddr,
    pub(crate) connection: ConnectionId,
    pub(crate) channel: Channel,
    /// Whether it has taken this node in, or said why not.
    pub(crate) has_answered: bool,
}

impl MetadataCore {
    pub(crate) fn new(blobs: MetadataBlobs) -> Self {
        Self {
            blobs: Some(blobs),
            metadata: None,
            waiters: BTreeMap::new(),
            writing: VecDeque::new(),
            next: None,
            made: Arc::new(View::nothing()),
            lease_told_us: 0,
            endless_leases: 0,
            leaderless_since_us: None,
            contact: None,
            contact_number: 0,
            contact_at_us: 0,
            contact_until_us: 0,
            unanswered: 0,
        }
    }

    pub(crate) fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_ref()
    }

    pub(crate) fn state(&self) -> Option<Arc<State>> {
        self.metadata.as_ref().map(|metadata| Arc::clone(metadata.state()))
    }
}
