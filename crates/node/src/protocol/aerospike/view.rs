//! What Aerospike clients see of a node and its cluster.

use crate::cluster::View;
use crate::config::aerospike_name;
use crate::core::Core;
use aerospike::info::{Cluster, NodeView, Partitions, Peer};
use base::{NodeId, Now, TableId};
use cluster::{Member, MemberState};
use std::collections::BTreeSet;

/// Clients forget a member that none tells of, and what it had is nobody's to them until they have asked for the map again: so they are told
/// of one that is down for so much longer.
const FORGETTING_US: u64 = 5_000_000;

impl Core {
    /// What information commands tell of now.
    pub(crate) fn aerospike_view(&self, now: Now) -> NodeView<'_> {
        let config = &*self.config;
        let listening = config.listening();
        NodeView {
            node_name: &config.aerospike.node_name,
            cluster_name: &config.cluster_name,
            address: listening.aerospike.unwrap_or(listening.cql),
            tls_address: config.client_tls.as_ref().and(listening.aerospike_tls.or(listening.aerospike)),
            namespaces: &config.aerospike.namespaces,
            schema: &self.schema,
            built_indexes: self.built_indexes(),
            jobs: &config.aerospike.jobs,
            now_us: now.monotonic_us,
            uptime_s: (now.wall_s() - i64::from(config.started_s)).max(0).unsigned_abs(),
            client_connections: self.connections.count(),
            cluster: self.cluster.as_ref().map(|cluster| {
                let forgets = now.monotonic_us >= cluster.membership.members_moved_us + FORGETTING_US;
                Box::new(Shown { view: &cluster.view, forgets, missed: cluster.missed() }) as Box<dyn Cluster>
            }),
        }
    }
}

impl Core {
    /// The tables of entries of the indexes that all cores of this member have completely.
    fn built_indexes(&self) -> Vec<TableId> {
        let has_indexes = self.config.aerospike.namespaces.iter().any(|namespace| {
            self.schema
                .keyspaces
                .get(&namespace.name)
                .is_some_and(|keyspace| keyspace.tables.values().any(|table| !table.indexes.is_empty()))
        });
        match &self.config.board {
            Some(board) if has_indexes => board.indexes_built(self.cores),
            _ => Vec::new(),
        }
    }
}

/// The cluster as clients are shown it.
#[derive(Debug)]
struct Shown<'a> {
    view: &'a View,
    /// Whether members that are down are left out.
    forgets: bool,
    /// Members that do not answer, whatever is known of them.
    missed: BTreeSet<NodeId>,
}

impl Cluster for Shown<'_> {
    fn peers(&self) -> Vec<Peer> {
        let kept = |member: &&Member| member.is_up() || (!self.forgets && member.state != MemberState::Removed);
        let others = self.view.state.members.values().filter(|member| member.id != self.view.me).filter(kept);
        let peers = others.filter_map(|member| {
            let address = member.profile.aerospike_address.as_ref()?.parse().ok()?;
            Some(Peer { node_name: aerospike_name(member.profile.host_id), address })
        });
        peers.collect()
    }

    fn peers_generation(&self) -> u64 {
        2 * self.view.members_since + u64::from(self.forgets)
    }

    fn size(&self) -> usize {
        self.view.members_up().count()
    }

    fn partition_generation(&self) -> u64 {
        let newest = self.view.keyspaces.iter().map(|keyspace| keyspace.newest.0).max().unwrap_or(0);
        newest.max(self.view.members_since)
    }

    fn key(&self) -> u64 {
        self.view.state.version
    }

    fn partitions(&self, namespace: &str) -> Partitions {
        self.view.partitions(namespace, &self.missed)
    }
}

impl View {
    /// Until it is known that a primary is dead nobody else is, and a client that comes in that second would find nobody to ask. So the first one of the others in sync takes its
    /// requests, which wait there, or are sent on if it is alive after all.
    fn partitions(&self, namespace: &str, missed: &BTreeSet<NodeId>) -> Partitions {
        let keyspace = self.keyspaces.iter().find(|keyspace| keyspace.name == namespace);
        let Some((slots, newest)) = keyspace.and_then(|keyspace| Some((keyspace.slots.as_ref()?, keyspace.newest))) else {
            return self.partitions_of_nobody();
        };
        let mut partitions = Partitions::none(newest.0.max(1), slots.factor);
        for (partition, assignment) in (0..).zip(slots.iter()) {
            let is_here = assignment.primary == self.me;
            if is_here {
                partitions.hold(0, partition);
                partitions.sending += assignment.learners.len() as u32;
            } else {
                let others = assignment.in_sync.iter().filter(|node| **node != assignment.primary);
                if let Some(position) = others.clone().position(|node| *node == self.me) {
                    partitions.hold(position + 1, partition);
                }
                if missed.contains(&assignment.primary) && others.clone().find(|node| !missed.contains(*node)) == Some(&self.me) {
                    partitions.hold(0, partition);
                }
                let is_up = self.state.member(assignment.primary).is_some_and(Member::is_up);
                partitions.unavailable += u32::from(!is_up);
            }
            partitions.receiving += u32::from(assignment.learners.contains(self.me));
        }
        partitions
    }

    /// The partitions of a namespace to which nobody has written: members that know of the same members share them out in the same way.
    fn partitions_of_nobody(&self) -> Partitions {
        let mut partitions = Partitions::none(self.members_since.max(1), 1);
        let members: Vec<_> = self.members_up().map(|member| member.id).collect();
        if self.is_current && !members.is_empty() {
            let own = (0..base::SLOT_COUNT as u16).filter(|partition| members[usize::from(*partition) % members.len()] == self.me);
            own.for_each(|partition| partitions.hold(0, partition));
        }
        partitions
    }
}
