//! Core 0's part: this member of the metadata's group, from blobs and messages to views that all cores act on.

use super::channel::Channel;
use super::operations::{Answer, Order};
use super::view::View;
use super::{ClusterConfig, ClusterCore};
use crate::config::NodeConfig;
use crate::core::{Core, node_tag};
use crate::message::Message;
use crate::schema_changes::{METADATA_TAG, SchemaChanges};
use base::{CoreId, NodeId, Now};
use cluster::wire::{Hello, Join, JoinReply, Kind, RefusalMessage, link_version};
use cluster::{Blobs, Command, Event, Metadata, Outcome, Profile, ProposalId, Refused, State, Stored, Versions};
use io::{ConnectionId, DiskError, DiskRequest, Reactor};
use shard::Durability;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// How long after a member could not be asked to take this node in the next one is.
const JOIN_AGAIN_US: u64 = 500_000;

/// How long a member that is asked has to answer: longer than a proposal takes at most.
const JOIN_PATIENCE_US: u64 = 12_000_000;
/// Cores are told of a lease that lasts so much longer.
const LEASE_STEP_US: u64 = 20_000;

/// The blobs of the metadata as they were found at the start.
#[derive(Clone, Debug, Default)]
pub struct MetadataBlobs {
    /// `metadata-log`.
    pub log: Option<Vec<u8>>,
    /// `metadata-snapshot`.
    pub snapshot: Option<Vec<u8>>,
}

/// What waits for the outcome of a proposal.
pub(super) enum Waiter {
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
    blobs: Option<MetadataBlobs>,
    metadata: Option<Metadata>,
    waiters: BTreeMap<ProposalId, Waiter>,
    /// Names of blobs on their way to the disk.
    writing: VecDeque<String>,
    /// A state that the cores have not got, because the schema comes first.
    next: Option<Arc<State>>,
    /// The newest view that was made.
    made: Arc<View>,
    lease_told_us: u64,
    /// Cores that have been told of a lease without end, and have not said that they know of its end.
    endless_leases: u16,
    contact: Option<Contact>,
    contact_number: usize,
    contact_at_us: u64,
    contact_until_us: u64,
}

/// A member that is asked to take this node in.
struct Contact {
    connection: ConnectionId,
    channel: Channel,
}

impl MetadataCore {
    pub(super) fn new(blobs: MetadataBlobs) -> Self {
        Self {
            blobs: Some(blobs),
            metadata: None,
            waiters: BTreeMap::new(),
            writing: VecDeque::new(),
            next: None,
            made: Arc::new(View::nothing()),
            lease_told_us: 0,
            endless_leases: 0,
            contact: None,
            contact_number: 0,
            contact_at_us: 0,
            contact_until_us: 0,
        }
    }

    pub(super) fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_ref()
    }

    pub(super) fn state(&self) -> Option<Arc<State>> {
        self.metadata.as_ref().map(|metadata| Arc::clone(metadata.state()))
    }
}

fn profile(node: &NodeConfig, config: &ClusterConfig, cores: u16, is_durable: bool) -> Profile {
    let listening = node.listening();
    Profile {
        host_id: node.host_id,
        incarnation: config.incarnation,
        node_address: listening.node.unwrap_or(listening.cql).to_string(),
        cql_address: listening.cql.to_string(),
        shard_aware_port: listening.shard_aware_port,
        aerospike_address: listening.aerospike.map(|address| address.to_string()),
        cores,
        rack: node.rack.clone(),
        data_center: node.data_center.clone(),
        version: config.version.clone(),
        protocol_versions: config.protocol_versions,
        boot: config.boot,
        is_durable,
    }
}

/// Whether a version is shared with the member that was asked, by its hello.
fn may_join(welcome: &[u8], versions: Versions, state: &State) -> Result<(), String> {
    let hello = Hello::decode(welcome).map_err(|error| error.to_string())?;
    link_version(hello.protocol_versions, versions, state).map(|_| ()).map_err(|refusal| refusal.to_string())
}

impl ClusterCore {
    pub(super) fn is_contact(&self, connection: ConnectionId) -> bool {
        let contact = self.metadata.as_ref().and_then(|metadata| metadata.contact.as_ref());
        contact.is_some_and(|contact| contact.connection == connection)
    }

    /// Whether this node's schema is the newest one that its member of the group has.
    pub(crate) fn is_at_newest(&self) -> bool {
        self.metadata.as_ref().is_some_and(|core| core.next.is_none()) && self.view.version() > 0
    }

    /// On core 0: see [`Metadata::hand_on_leadership`].
    pub(super) fn hand_on_leadership(&mut self, now: Now) -> bool {
        let metadata = self.metadata.as_mut().and_then(|core| core.metadata.as_mut());
        metadata.is_none_or(|metadata| metadata.hand_on_leadership(now))
    }

    /// Whether every member has this version of the metadata.
    pub(crate) fn is_everywhere(&self, version: u64) -> bool {
        let metadata = self.metadata.as_ref().and_then(|metadata| metadata.metadata.as_ref());
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
        let Some(core) = &mut cluster.metadata else { return };
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
    pub(super) fn metadata_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now = reactor.now();
        let cluster = self.cluster.as_mut()?;
        let core = cluster.metadata.as_mut()?;
        let metadata = core.metadata.as_mut()?;
        let mut due_us = metadata.turn(now);
        let identity = metadata.identity().cloned();
        let (writes, messages, events) = (metadata.take_writes(), metadata.take_messages(), metadata.take_events());
        let is_joiner = metadata.join_request().is_some() && cluster.members_told.is_empty();
        for (name, bytes) in writes {
            core.writing.push_back(name.clone());
            reactor.submit(node_tag(METADATA_TAG), DiskRequest::ReplaceBlob { name, bytes });
        }
        cluster.identity = identity;
        for (node, message) in messages {
            cluster.send_metadata(reactor, node, message);
        }
        for event in events {
            self.metadata_event(reactor, event);
        }
        self.publish_state(reactor);
        self.tell_lease(reactor);
        self.settle_schema(reactor);
        if is_joiner {
            let again_us = self.ask_to_join(reactor);
            due_us = due_us.into_iter().chain(again_us).min();
        }
        due_us
    }

    fn metadata_event<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, event: Event) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(core) = &mut cluster.metadata else { return };
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

    pub(super) fn propose_for(&mut self, command: Command, waiter: Waiter) {
        let Some(core) = self.cluster.as_mut().and_then(|cluster| cluster.metadata.as_mut()) else { return };
        let Some(metadata) = &mut core.metadata else { return };
        let proposal = metadata.propose(command);
        core.waiters.insert(proposal, waiter);
    }

    /// On core 0: a message of the group.
    pub(crate) fn metadata_received<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, from: NodeId, body: &[u8]) {
        let now = reactor.now();
        let metadata = self.cluster.as_mut().and_then(|cluster| cluster.metadata.as_mut()?.metadata.as_mut());
        if let Some(metadata) = metadata {
            metadata.receive(now, from, body);
        }
    }

    pub(super) fn metadata_unreachable(&mut self, node: NodeId) {
        let metadata = self.cluster.as_mut().and_then(|cluster| cluster.metadata.as_mut()?.metadata.as_mut());
        if let Some(metadata) = metadata {
            metadata.unreachable(node);
        }
    }

    /// On core 0: a blob of the metadata is stored, or is not.
    pub(crate) fn metadata_written<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, result: &Result<(), DiskError>) {
        let now = reactor.now();
        let Some(core) = self.cluster.as_mut().and_then(|cluster| cluster.metadata.as_mut()) else { return };
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
        let metadata = self.cluster.as_mut().and_then(|cluster| cluster.metadata.as_mut()?.metadata.as_mut());
        match (metadata, until_us) {
            (Some(metadata), Some(until_us)) => metadata.hold(until_us),
            (Some(metadata), None) => metadata.go_on(),
            (None, _) => {}
        }
    }

    /// On core 0: brings the newest state to all cores: its schema first, so that everybody knows the tables that views name.
    pub(crate) fn publish_state<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(core) = &mut cluster.metadata else { return };
        let Some(state) = core.next.clone() else { return };
        let Some(me) = cluster.identity.as_ref().map(|identity| identity.node) else { return };
        // What is older than this process is not acted by: a schema from before would take tables away that there are.
        let is_current = state.member(me).is_some_and(|member| member.profile.incarnation == cluster.config.incarnation);
        if is_current && (state.schema.version != self.schema.version || self.changes.as_ref().is_some_and(SchemaChanges::is_under_way)) {
            self.follow_schema(reactor, &state.schema);
            return;
        }
        core.next = None;
        let view = Arc::new(View::new(&core.made, cluster.identity.clone(), &state, is_current));
        core.made = Arc::clone(&view);
        for number in 0..self.cores {
            reactor.send(CoreId(number), Message::View(Arc::clone(&view)));
        }
        if let Some(metadata) = &mut core.metadata {
            metadata.published(state.version);
        }
        self.report_soon(reactor.now().monotonic_us);
    }

    /// On core 0: tells all cores of a lease that has changed, behind the views that it goes by.
    fn tell_lease<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(core) = self.cluster.as_mut().and_then(|cluster| cluster.metadata.as_mut()) else { return };
        let Some(metadata) = &mut core.metadata else { return };
        let lease_us = metadata.lease_until_us();
        if core.endless_leases == 0 {
            metadata.lease_has_end();
        }
        // The leader's own lease grows all the time.
        let told_us = core.lease_told_us;
        if lease_us < told_us || lease_us > told_us.saturating_add(LEASE_STEP_US) {
            core.lease_told_us = lease_us;
            if lease_us == u64::MAX {
                core.endless_leases += self.cores;
            }
            for core in 0..self.cores {
                reactor.send(CoreId(core), Message::Lease(lease_us));
            }
        }
    }

    /// On core 0: one more core knows that its lease has an end.
    pub(crate) fn lease_has_end(&mut self) {
        let Some(core) = self.cluster.as_mut().and_then(|cluster| cluster.metadata.as_mut()) else { return };
        core.endless_leases -= 1;
        if let Some(metadata) = core.metadata.as_mut().filter(|_| core.endless_leases == 0) {
            metadata.lease_has_end();
        }
    }

    /// On core 0: asks one contact after the other to be taken in.
    fn ask_to_join<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let cluster = self.cluster.as_mut()?;
        let core = cluster.metadata.as_mut()?;
        if let Some(contact) = &core.contact {
            if now_us < core.contact_until_us {
                return Some(core.contact_until_us);
            }
            // `closed` follows, and then the next one is asked.
            reactor.abort(contact.connection);
            core.contact_until_us = now_us + JOIN_PATIENCE_US;
            return Some(core.contact_until_us);
        }
        if now_us < core.contact_at_us {
            return Some(core.contact_at_us);
        }
        (core.contact_at_us, core.contact_until_us) = (now_us + JOIN_AGAIN_US, now_us + JOIN_PATIENCE_US);
        let address = *cluster.config.join.get(core.contact_number % cluster.config.join.len().max(1))?;
        core.contact_number += 1;
        let mut channel = match Channel::connecting(&cluster.config, address.ip()) {
            Ok(channel) => channel,
            Err(error) => {
                cluster.links.log_closing(self.core, None, Some(address), &error.to_string(), now_us);
                return Some(core.contact_at_us);
            }
        };
        let connection = reactor.connect(address, Some((CoreId(0), 1)));
        let hello = Hello {
            protocol_versions: cluster.config.protocol_versions,
            cluster_name: self.config.cluster_name.clone(),
            cluster_id: 0,
            node: None,
            host_id: self.config.host_id,
            incarnation: cluster.config.incarnation,
            core: 0,
            cores: self.cores,
            target_core: 0,
        };
        channel.send(reactor, connection, Kind::HELLO, |body| body.extend_from_slice(&hello.encode()));
        core.contact = Some(Contact { connection, channel });
        None
    }

    /// What a contact says.
    pub(super) fn contact_received<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, connection: ConnectionId, mut bytes: &[u8]) {
        let now = reactor.now();
        let Some(cluster) = &mut self.cluster else { return };
        let (versions, Some(core)) = (cluster.config.protocol_versions, &mut cluster.metadata) else { return };
        let (Some(contact), Some(metadata)) = (&mut core.contact, &mut core.metadata) else { return };
        if contact.connection != connection {
            return;
        }
        let received = contact.channel.receive(reactor, connection, &mut bytes);
        loop {
            let refused = match contact.channel.reader.next_of(&mut bytes) {
                Ok(None) => match received {
                    Ok(()) => return,
                    Err(why) => why,
                },
                Ok(Some(frame)) => match frame.kind {
                    Kind::WELCOME => match may_join(frame.body, versions, metadata.state()) {
                        Ok(()) => {
                            if let Some(join) = metadata.join_request() {
                                contact.channel.send(reactor, connection, Kind::JOIN, |body| body.extend_from_slice(&join.encode()));
                            }
                            continue;
                        }
                        Err(why) => why,
                    },
                    Kind::JOIN_REPLY => match JoinReply::decode(frame.body) {
                        Ok(reply) => {
                            tracing::info!(node = reply.node.0, cluster = reply.cluster_name, "joined");
                            metadata.joined(now, &reply);
                            let members = reply.members.iter().filter_map(|(node, address)| Some((*node, address.parse().ok()?)));
                            let members = members.collect();
                            if let Some(cluster) = &mut self.cluster {
                                cluster.members_told = members;
                            }
                            return reactor.close(connection);
                        }
                        Err(error) => error.to_string(),
                    },
                    Kind::REFUSAL => RefusalMessage::decode(frame.body).map_or_else(|error| error.to_string(), |refusal| refusal.text),
                    other => format!("a frame of kind {} does not belong here", other.0),
                },
                Err(error) => error.to_string(),
            };
            if let Some(cluster) = &mut self.cluster
                && cluster.links.is_news(&refused, now.monotonic_us)
            {
                tracing::warn!(why = refused, "the member that was asked does not take this node in; it is asked again");
            }
            return reactor.close(connection);
        }
    }

    pub(super) fn contact_closed<R: Reactor<Message = Message>>(&mut self, _: &mut R, connection: ConnectionId) {
        let Some(core) = self.cluster.as_mut().and_then(|cluster| cluster.metadata.as_mut()) else { return };
        if core.contact.as_ref().is_some_and(|contact| contact.connection == connection) {
            core.contact = None;
        }
    }

    /// A process asks to be taken in.
    pub(super) fn join_wanted<R: Reactor<Message = Message>>(
        &mut self,
        _: &mut R,
        connection: ConnectionId,
        body: &[u8],
    ) -> Result<(), String> {
        let join = Join::decode(body).map_err(|error| error.to_string())?;
        if self.core != CoreId(0) {
            return Err("a process that joins has come to another core than 0; it tries again".to_owned());
        }
        tracing::info!(address = join.profile.node_address, "a node asks to join");
        self.propose_for(Metadata::join_command(join), Waiter::Joiner(connection));
        Ok(())
    }

    fn join_decided<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, connection: ConnectionId, outcome: &Outcome) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(metadata) = cluster.metadata.as_ref().and_then(|core| core.metadata.as_ref()) else { return };
        match outcome {
            Outcome::Joined(node) => {
                let reply = metadata.join_reply(*node);
                cluster.answer(reactor, connection, Kind::JOIN_REPLY.0, |body| body.extend_from_slice(&reply.encode()));
            }
            other => {
                let text = match other {
                    Outcome::Refused(refused) => refused.to_string(),
                    _ => "the cluster has not decided in time; ask again".to_owned(),
                };
                let refusal = RefusalMessage { code: 0, text };
                cluster.answer(reactor, connection, Kind::REFUSAL.0, |body| body.extend_from_slice(&refusal.encode()));
            }
        }
    }
}
