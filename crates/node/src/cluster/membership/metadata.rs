//! Core 0: this member of the metadata group, between messages, blobs and views.

use crate::cluster::config::ClusterConfig;
use crate::cluster::core::ClusterCore;
use crate::cluster::membership::group::Waiter;
use crate::cluster::membership::view::View;
use crate::config::NodeConfig;
use crate::core::Core;
use crate::message::Message;
use crate::schema_changes::{METADATA_TAG, SchemaChanges};
use crate::tags::node_tag;
use base::{CoreId, NodeId, Now};
use cluster::{Blobs, Command, Event, Metadata, Outcome, Profile, Refused, Stored};
use io::{DiskError, DiskRequest, Reactor};
use shard::Durability;
use std::sync::Arc;

fn profile(node: &NodeConfig, config: &ClusterConfig, cores: u16, is_durable: bool) -> Profile {
    let listening = node.listening();
    Profile {
        host_id: node.host_id,
        incarnation: config.incarnation,
        node_address: listening.node.unwrap_or(listening.cql).to_string(),
        cql_address: listening.cql.to_string(),
        shard_aware_port: listening.shard_aware_port,
        aerospike_address: listening.aerospike.map(|address| address.to_string()),
        griddb_address: listening.griddb.map(|address| address.to_string()),
        cores,
        rack: node.rack.clone(),
        data_center: node.data_center.clone(),
        version: config.version.clone(),
        protocol_versions: config.protocol_versions,
        boot: config.boot,
        is_durable,
    }
}

impl ClusterCore {
    /// Whether this node's schema is the newest one that its member of the group has.
    pub(crate) fn is_at_newest(&self) -> bool {
        self.membership.group.as_ref().is_some_and(|core| core.next.is_none()) && self.view.version() > 0
    }

    /// On core 0: see [`Metadata::transfer_leadership`].
    pub(crate) fn transfer_leadership(&mut self, now: Now) -> bool {
        let metadata = self.membership.group.as_mut().and_then(|core| core.metadata.as_mut());
        metadata.is_none_or(|metadata| metadata.transfer_leadership(now))
    }

    /// Whether every member has this version of the metadata.
    pub(crate) fn is_everywhere(&self, version: u64) -> bool {
        let metadata = self.membership.group.as_ref().and_then(|metadata| metadata.metadata.as_ref());
        metadata.is_some_and(|metadata| metadata.all_applied() >= version)
    }
}

impl Core {
    /// On core 0: all shards have recovered, so this member can take part.
    pub(crate) fn start_metadata<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let now = reactor.now();
        let mut seed = [0; 8];
        reactor.entropy(&mut seed);
        let seed = u64::from_le_bytes(seed);
        let Some(cluster) = &mut self.cluster else { return };
        let mut profile = profile(&self.config, &cluster.config, self.cores, self.shard.durability() == Durability::Device);
        if self.is_damaged {
            profile.boot = Profile::DAMAGED;
        }
        let (name, config) = (&self.config.cluster_name, &cluster.config);
        let Some(core) = &mut cluster.membership.group else { return };
        let blobs = core.blobs.take().unwrap_or_default();
        let metadata = match blobs.log {
            Some(log) => match Metadata::restore(&Blobs { log, snapshot: blobs.snapshot }, name, profile, now, seed) {
                Ok(metadata) => metadata,
                Err(error) => {
                    tracing::error!(%error, "this node takes no part in its cluster");
                    return;
                }
            },
            None if config.join.is_empty() => Metadata::found(name, profile, (*self.schema).clone(), now, seed),
            None => Metadata::join(name, profile, config.replaces, now, seed),
        };
        core.metadata = Some(metadata);
    }

    /// On core 0: the metadata's share of a turn.
    pub(crate) fn metadata_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now = reactor.now();
        let cluster = self.cluster.as_mut()?;
        let core = cluster.membership.group.as_mut()?;
        let metadata = core.metadata.as_mut()?;
        let mut due_us = metadata.turn(now);
        let identity = metadata.identity().cloned();
        let (writes, messages, events) = (metadata.take_writes(), metadata.take_messages(), metadata.take_events());
        let is_joiner = metadata.join_request().is_some() && cluster.membership.members_told.is_empty();
        for (name, bytes) in writes {
            core.writing.push_back(name.clone());
            reactor.submit(node_tag(METADATA_TAG), DiskRequest::ReplaceBlob { name, bytes });
        }
        cluster.membership.identity = identity;
        for (node, message) in messages {
            cluster.send_metadata(reactor, node, message);
        }
        for event in events {
            self.metadata_event(reactor, event);
        }
        self.publish_state(reactor);
        self.tell_lease(reactor);
        self.settle_schema(reactor);
        let cut_off_us = self.cut_off_at(now.monotonic_us);
        due_us = due_us.into_iter().chain(cut_off_us.filter(|at_us| now.monotonic_us < *at_us)).min();
        if is_joiner || cut_off_us.is_some_and(|at_us| now.monotonic_us >= at_us) {
            let again_us = self.ask_contact(reactor);
            due_us = due_us.into_iter().chain(again_us).min();
        }
        due_us
    }

    fn metadata_event<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, event: Event) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(core) = &mut cluster.membership.group else { return };
        match event {
            Event::Applied { state } => core.next = Some(state),
            Event::NotFollowed { from, why } => {
                let links = &mut cluster.links;
                if links.is_news(&format!("{from:?} {why}"), reactor.now().monotonic_us) {
                    tracing::error!(node = from.0, %why, "what another member has sent is not followed; start a release here that knows its version");
                }
            }
            Event::Outdated { agreed } => {
                tracing::error!(
                    agreed,
                    known = %cluster.config.protocol_versions,
                    "all members know a version of the nodes' protocol that this program does not know, and go by it; this member serves nothing until a newer \
                     release is started"
                );
            }
            Event::StorageFull { blob } => {
                tracing::error!(
                    blob,
                    "no space left on the device for the cluster's metadata; until there is, a member of several is primary of nothing, and one that is alone \
                     takes no change of its schema; it is tried again each second"
                );
            }
            Event::StorageWorks => tracing::info!("the cluster's metadata is stored, there is room again; this member goes on"),
            Event::StorageFailed { blob } => {
                tracing::error!(
                    blob,
                    "the cluster's metadata cannot be stored; this member serves nothing until it is restarted with a disk that works"
                );
            }
            Event::Done { proposal, outcome } => match core.waiters.remove(&proposal) {
                Some(Waiter::Joiner(connection)) => self.join_decided(reactor, connection, &outcome),
                Some(Waiter::Schema) => {
                    if let Some(state) = core.state() {
                        self.schema_decided(reactor, &outcome, &state);
                    }
                }
                Some(Waiter::Operator { order, sender }) => self.order_decided(reactor, order, &sender, &outcome),
                Some(Waiter::Nobody) | None => match outcome {
                    Outcome::Refused(refused @ (Refused::TooOld { .. } | Refused::TooNew { .. })) => {
                        tracing::error!(%refused, "this process is not taken back into its cluster");
                    }
                    Outcome::Refused(refused) => tracing::debug!(%refused, "a proposal was refused"),
                    _ => {}
                },
            },
        }
    }

    /// On core 0: proposes a change that nobody waits for.
    pub(crate) fn propose(&mut self, command: Command) {
        self.propose_for(command, Waiter::Nobody);
    }

    /// On core 0: proposes a new schema.
    pub(crate) fn propose_schema(&mut self, expected: u128, document: Vec<u8>) {
        self.propose_for(Command::Schema { expected, document }, Waiter::Schema);
    }

    pub(crate) fn propose_for(&mut self, command: Command, waiter: Waiter) {
        let Some(core) = self.cluster.as_mut().and_then(|cluster| cluster.membership.group.as_mut()) else { return };
        let Some(metadata) = &mut core.metadata else { return };
        let proposal = metadata.propose(command);
        core.waiters.insert(proposal, waiter);
    }

    /// On core 0: a message of the group.
    pub(crate) fn metadata_received<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, from: NodeId, body: &[u8]) {
        let now = reactor.now();
        let metadata = self.cluster.as_mut().and_then(|cluster| cluster.membership.group.as_mut()?.metadata.as_mut());
        if let Some(metadata) = metadata {
            metadata.receive(now, from, body);
        }
    }

    pub(crate) fn metadata_unreachable(&mut self, node: NodeId) {
        let metadata = self.cluster.as_mut().and_then(|cluster| cluster.membership.group.as_mut()?.metadata.as_mut());
        if let Some(metadata) = metadata {
            metadata.unreachable(node);
        }
    }

    /// On core 0: a blob of the metadata is stored, or is not.
    pub(crate) fn metadata_written<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, result: &Result<(), DiskError>) {
        let now = reactor.now();
        let Some(core) = self.cluster.as_mut().and_then(|cluster| cluster.membership.group.as_mut()) else { return };
        let (Some(name), Some(metadata)) = (core.writing.pop_front(), core.metadata.as_mut()) else { return };
        let stored = match result {
            Ok(()) => Stored::Yes,
            Err(DiskError::Full) => Stored::Full,
            Err(error) => {
                tracing::error!(blob = name, %error, "the cluster's metadata could not be stored");
                Stored::Failed
            }
        };
        metadata.written(now, &name, stored);
    }

    /// On core 0: what belongs to the newest state could not be stored, and is tried again at this time; or it is stored.
    pub(crate) fn hold_metadata(&mut self, until_us: Option<u64>) {
        let metadata = self.cluster.as_mut().and_then(|cluster| cluster.membership.group.as_mut()?.metadata.as_mut());
        match (metadata, until_us) {
            (Some(metadata), Some(until_us)) => metadata.hold(until_us),
            (Some(metadata), None) => metadata.go_on(),
            (None, _) => {}
        }
    }

    /// On core 0: brings the newest state to all cores: its schema first, so that everybody knows the tables that views name.
    pub(crate) fn publish_state<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(core) = &mut cluster.membership.group else { return };
        let Some(state) = core.next.clone() else { return };
        let Some(me) = cluster.membership.identity.as_ref().map(|identity| identity.node) else { return };
        // What is older than this process is not acted by: a schema from before would take tables away that there are.
        let is_current = state.member(me).is_some_and(|member| member.profile.incarnation == cluster.config.incarnation);
        if is_current && (state.schema.version != self.schema.version || self.changes.as_ref().is_some_and(SchemaChanges::is_under_way)) {
            self.follow_schema(reactor, &state.schema);
            return;
        }
        core.next = None;
        let view = Arc::new(View::new(&core.made, cluster.membership.identity.clone(), &state, is_current));
        core.made = Arc::clone(&view);
        for number in 0..self.cores {
            reactor.send(CoreId(number), Message::View(Arc::clone(&view)));
        }
        if let Some(metadata) = &mut core.metadata {
            metadata.published(state.version);
        }
        self.report_soon(reactor.now().monotonic_us);
    }
}
