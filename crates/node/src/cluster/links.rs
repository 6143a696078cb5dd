//! Connections between this core and cores of other nodes.
//!
//! Who has something to send makes a link, one for each core of another node, and keeps it; what answers it comes back on the same
//! connection. So two cores that are each other's primaries have two links, one each way. The core that connects says hello first and the other
//! answers with its own; a side that does not like what it hears says why in its log and closes.

use super::ClusterCore;
use super::channel::Channel;
use super::early_frames::From;
use super::frames::{self, ACKNOWLEDGED, APPEND, FORWARD, Forward};
use super::progress::Held;
use super::roles::Target;
use super::strangers::{STRANGER_BYTES_MAX, StrangerUntil, Strangers};
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, NodeId};
use cluster::wire::{FrameError, Hello, Kind, RefusalMessage, accept, link_version};
use cluster::{GroupMessage, MemberState};
use io::{ConnectionId, Reactor};
use replica::{Inbound, Outbound};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// How long after a link broke, or could not be made, it is tried again.
const AGAIN_US: u64 = 100_000;
/// A link that has not become open in this time is given up and made again.
const HANDSHAKE_US: u64 = 2_000_000;
/// A frame of writes has about so many bytes at most. A frame is acknowledged as a whole: by its length a slow network cannot be told from silence.
const APPEND_BYTES_MAX: usize = 32 << 10;
/// Writes of another core that wait here to be applied, at most: more than a core has requests under way.
const RECEIVED_BYTES_MAX: usize = 256 << 20;
/// A link has at most so many bytes on their way into the network: the rest waits in its stream.
const UNSENT_BYTES_MAX: usize = 8 << 20;

/// A connection that this core makes.
pub(crate) struct Link {
    connection: Option<ConnectionId>,
    /// Whether the other side has said hello.
    is_open: bool,
    /// The version of the nodes' protocol that is spoken, once it is open.
    version: u16,
    channel: Channel,
    again_at_us: u64,
    /// When the connection that is being made is given up.
    open_by_us: u64,
    /// Since when something waits to be acknowledged.
    waiting_since_us: Option<u64>,
    /// The process over there that the stream is for.
    pub(crate) incarnation: u64,
    pub(crate) stream: Outbound,
    /// Up to here all that was sent is on all replicas that must have it.
    pub(super) committed: u64,
    /// What the other side was last told of that.
    told_committed: u64,
    /// Requests that were sent and not answered.
    forwards: Vec<u32>,
    /// Messages of the metadata's group, while the link is being made.
    early: Vec<GroupMessage>,
}

/// A connection that another node's core has made.
pub(crate) struct Incoming {
    channel: Channel,
    /// Where it came from.
    pub(super) peer: SocketAddr,
    stranger_until: StrangerUntil,
    pub(crate) hello: Option<Hello>,
    /// The version of the nodes' protocol that is spoken, once it has said hello.
    version: u16,
    pub(crate) stream: Inbound,
    /// The shard's number for it.
    pub(crate) receiver: u32,
    /// When the other side may be told again that there is no room here.
    pub(super) tell_full_us: u64,
}

/// All of a core.
#[derive(Default)]
pub(crate) struct Links {
    pub(crate) outgoing: BTreeMap<Target, Link>,
    by_connection: BTreeMap<ConnectionId, Target>,
    pub(crate) incoming: BTreeMap<ConnectionId, Incoming>,
    /// Those of `incoming` that are no members.
    pub(super) strangers: Strangers,
    receivers: u32,
    /// Reasons for closing connections, with the time at which each was logged.
    refusals_logged: BTreeMap<String, u64>,
}

/// Messages of the metadata's group that wait for a link.
const EARLY_MAX: usize = 64;

impl Link {
    fn new() -> Self {
        Self {
            connection: None,
            is_open: false,
            version: 0,
            channel: Channel::default(),
            again_at_us: 0,
            open_by_us: 0,
            waiting_since_us: None,
            incarnation: 0,
            stream: Outbound::default(),
            committed: 0,
            told_committed: 0,
            forwards: Vec::new(),
            early: Vec::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Since when the other side has acknowledged nothing, although there is something to acknowledge.
    pub(super) fn waiting_since_us(&mut self, now_us: u64) -> Option<u64> {
        if self.stream.pending_bytes() == 0 {
            self.waiting_since_us = None;
            return None;
        }
        Some(*self.waiting_since_us.get_or_insert(now_us))
    }

    /// It has made progress, or has been reported.
    pub(super) fn wait_anew(&mut self, now_us: u64) {
        self.waiting_since_us = Some(now_us);
    }

    /// Whether the other side does not know all that is committed of what it has.
    fn has_news(&self) -> bool {
        self.is_open && self.told_committed < self.committed.min(self.stream.last())
    }

    /// Whether it is open, or somebody waits for it.
    pub(super) fn is_used(&self) -> bool {
        self.connection.is_some() || !self.early.is_empty()
    }
}

impl Links {
    pub(crate) fn outgoing(&mut self, target: Target) -> &mut Link {
        self.outgoing.entry(target).or_insert_with(Link::new)
    }

    /// Requests that were sent to members of which `is_gone` says so, and not answered.
    pub(super) fn take_forwards(&mut self, is_gone: impl Fn(NodeId) -> bool) -> Vec<u32> {
        let of_gone = self.outgoing.iter_mut().filter(|(target, _)| is_gone(target.0));
        of_gone.flat_map(|(_, link)| std::mem::take(&mut link.forwards)).collect()
    }

    /// Ends the connection of a link, which is then made anew.
    pub(super) fn abort<R: Reactor>(&self, reactor: &mut R, target: Target) {
        if let Some(connection) = self.outgoing.get(&target).and_then(|link| link.connection) {
            reactor.abort(connection);
        }
    }

    /// Whether replicas may not know all that is committed.
    pub(super) fn has_news(&self) -> bool {
        self.outgoing.values().any(Link::has_news)
    }

    /// Connections from a core of `node` that has said hello.
    pub(crate) fn incoming_of(&self, node: NodeId) -> impl Iterator<Item = (ConnectionId, &Incoming)> {
        let is_from = move |incoming: &Incoming| incoming.hello.as_ref().is_some_and(|hello| hello.node == Some(node));
        self.incoming.iter().filter(move |(_, incoming)| is_from(incoming)).map(|(connection, incoming)| (*connection, incoming))
    }

    /// Says why a connection is closed, unless that was said in the last minute.
    pub(super) fn log_closing(&mut self, core: CoreId, node: Option<NodeId>, peer: Option<SocketAddr>, why: &str, now_us: u64) {
        let (node, peer) = (node.map(|node| node.0), peer.map(|peer| peer.ip()));
        if self.is_news(&format!("{node:?} {peer:?} {why}"), now_us) {
            let peer = peer.map(tracing::field::display);
            tracing::warn!(core = core.0, node, peer, %why, "a connection between nodes is closed");
        }
    }

    /// Whether a refusal is news, that is, was not logged in the last minute.
    pub(super) fn is_news(&mut self, text: &str, now_us: u64) -> bool {
        const MINUTE_US: u64 = 60_000_000;
        self.refusals_logged.retain(|_, at_us| now_us.saturating_sub(*at_us) < MINUTE_US);
        self.refusals_logged.len() < 100 && self.refusals_logged.insert(text.to_owned(), now_us).is_none()
    }
}

impl ClusterCore {
    /// Members that this core should be connected with and is not, either way.
    pub(crate) fn missed(&self) -> BTreeSet<NodeId> {
        let wanted = |node: &NodeId| self.links.outgoing.keys().any(|target| target.0 == *node);
        let is_open = |node: &NodeId| {
            let mut made = self.links.outgoing.iter().filter(|(target, _)| target.0 == *node);
            made.any(|(_, link)| link.is_open) || self.links.incoming_of(*node).next().is_some()
        };
        self.view.peers.keys().filter(|node| wanted(node) && !is_open(node)).copied().collect()
    }

    fn hello(&self, core: CoreId, cores: u16, target_core: CoreId) -> Hello {
        let identity = self.identity.as_ref();
        Hello {
            protocol_versions: self.config.protocol_versions,
            cluster_name: self.cluster_name.clone(),
            cluster_id: identity.map_or(0, |identity| identity.cluster_id),
            node: identity.map(|identity| identity.node),
            host_id: self.host_id,
            incarnation: self.config.incarnation,
            core: core.0,
            cores,
            target_core: target_core.0,
        }
    }

    /// Appends a frame to a connection that another node has made, if it is of a kind that the link has.
    pub(crate) fn answer<R: Reactor>(&mut self, reactor: &mut R, connection: ConnectionId, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        let incoming = self.links.incoming.get_mut(&connection);
        if let Some(incoming) = incoming.filter(|incoming| frames::is_spoken(kind, incoming.version)) {
            incoming.channel.send(reactor, connection, Kind(kind), body);
        }
    }

    /// Sends a frame by a link, if it is open.
    pub(crate) fn send<R: Reactor>(&mut self, reactor: &mut R, target: Target, kind: u8, body: impl FnOnce(&mut Vec<u8>)) -> bool {
        let link = self.links.outgoing(target);
        match (link.is_open, link.connection) {
            (true, Some(connection)) if frames::is_spoken(kind, link.version) => link.channel.send(reactor, connection, Kind(kind), body),
            _ => false,
        }
    }

    /// Sends a request, if the link is open.
    pub(crate) fn send_forward<R: Reactor>(&mut self, reactor: &mut R, target: Target, forward: &Forward<'_>) -> bool {
        let is_sent = self.send(reactor, target, FORWARD, |body| forward.write(body));
        if is_sent && let Some(link) = self.links.outgoing.get_mut(&target) {
            link.forwards.push(forward.id);
        }
        is_sent
    }

    /// Sends a message of the metadata's group to core 0 of a member, or keeps it until there is a link. To a member that came while this one was away, which
    /// may lead by now, there is none before its messages have told where it is: they are answered on the connection that they came by.
    pub(crate) fn send_metadata<R: Reactor>(&mut self, reactor: &mut R, node: NodeId, message: GroupMessage) {
        let target = (node, CoreId(0));
        let version = self.links.outgoing(target).version;
        if self.send(reactor, target, Kind::METADATA.0, |body| body.extend_from_slice(&message.encode(version))) {
            return;
        }
        let is_core_0 = |incoming: &Incoming| incoming.hello.as_ref().is_some_and(|hello| hello.core == 0);
        let its_own = self.links.incoming_of(node).find(|(_, incoming)| is_core_0(incoming));
        let its_own = its_own.map(|(connection, incoming)| (connection, incoming.version));
        match its_own.filter(|_| self.address_of(node).is_none()) {
            Some((connection, version)) => {
                self.answer(reactor, connection, Kind::METADATA.0, |body| body.extend_from_slice(&message.encode(version)));
            }
            None => {
                let link = self.links.outgoing(target);
                if link.early.len() < EARLY_MAX {
                    link.early.push(message);
                }
            }
        }
    }

    /// Connects what is wanted and not connected. Gives the time at which to look again.
    pub(crate) fn connect_links<R: Reactor>(&mut self, reactor: &mut R, core: CoreId, cores: u16) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let mut next: Option<u64> = None;
        for link in self.links.outgoing.values_mut().filter(|link| !link.is_open) {
            let Some(connection) = link.connection else { continue };
            if now_us >= link.open_by_us {
                // `closed` follows, and then another attempt.
                reactor.abort(connection);
                link.open_by_us = now_us + HANDSHAKE_US;
            }
            next = Some(next.map_or(link.open_by_us, |next| next.min(link.open_by_us)));
        }
        let targets: Vec<Target> =
            self.links.outgoing.iter().filter(|(_, link)| link.connection.is_none()).map(|(target, _)| *target).collect();
        let state = self.newest_state();
        for target in targets {
            // Its address may be another member's by now, whose own link would be taken for an older one.
            if state.members.get(&target.0).is_some_and(|member| member.state == MemberState::Removed) {
                continue;
            }
            let Some(peer) = self.address_of(target.0) else { continue };
            let hello = self.hello(core, cores, target.1);
            let Some(link) = self.links.outgoing.get_mut(&target) else { continue };
            if now_us < link.again_at_us {
                next = Some(next.map_or(link.again_at_us, |next| next.min(link.again_at_us)));
                continue;
            }
            (link.again_at_us, link.open_by_us) = (now_us + AGAIN_US, now_us + HANDSHAKE_US);
            let channel = match Channel::connecting(&self.config, peer.0.ip()) {
                Ok(channel) => channel,
                Err(error) => {
                    next = Some(next.map_or(link.again_at_us, |next| next.min(link.again_at_us)));
                    self.links.log_closing(core, Some(target.0), None, &error.to_string(), now_us);
                    continue;
                }
            };
            let connection = reactor.connect(peer.0, Some((target.1, peer.1)));
            (link.connection, link.is_open, link.channel) = (Some(connection), false, channel);
            link.channel.send(reactor, connection, Kind::HELLO, |body| body.extend_from_slice(&hello.encode()));
            self.links.by_connection.insert(connection, target);
        }
        next
    }

    /// Where a member is, and how many cores it has: one at least, if the view does not show it yet.
    fn address_of(&self, node: NodeId) -> Option<(SocketAddr, u16)> {
        let shown = self.view.peers.get(&node).map(|peer| (peer.address, peer.cores));
        shown.or_else(|| self.members_told.get(&node).map(|address| (*address, 1)))
    }

    /// Puts what streams have into the network.
    pub(crate) fn flush_streams<R: Reactor>(&mut self, reactor: &mut R) {
        let version = self.view.version();
        for target in std::mem::take(&mut self.unsent) {
            let Some(link) = self.links.outgoing.get_mut(&target) else { continue };
            let (true, Some(connection)) = (link.is_open, link.connection) else { continue };
            while link.stream.has_unsent() {
                if reactor.unsent_bytes(connection) > UNSENT_BYTES_MAX {
                    self.unsent.insert(target);
                    break;
                }
                link.told_committed = link.committed;
                let Link { channel, stream, committed, .. } = link;
                let is_sent = channel.send(reactor, connection, Kind(APPEND), |body| {
                    stream.take_unsent(version, *committed, APPEND_BYTES_MAX, body);
                });
                if !is_sent {
                    break;
                }
            }
        }
    }

    /// Tells replicas what is committed, where nothing else was sent since.
    pub(crate) fn tell_replicas_committed<R: Reactor>(&mut self, reactor: &mut R) {
        let version = self.view.version();
        for link in self.links.outgoing.values_mut().filter(|link| link.has_news() && !link.stream.has_unsent()) {
            if let Some(connection) = link.connection {
                let (committed, end) = (link.committed, link.stream.end());
                if link.channel.send(reactor, connection, Kind(APPEND), |body| replica::begin_append(body, version, committed, end)) {
                    link.told_committed = committed;
                }
            }
        }
    }
}

impl Core {
    /// Another node has connected.
    pub(crate) fn node_accepted<R: Reactor>(&mut self, reactor: &mut R, connection: ConnectionId, peer: SocketAddr) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        let channel = match Channel::accepted(&cluster.config) {
            Ok(channel) => channel,
            Err(error) => {
                cluster.links.log_closing(self.core, None, Some(peer), &error.to_string(), now_us);
                return reactor.abort(connection);
            }
        };
        let links = &mut cluster.links;
        links.receivers += 1;
        let (receiver, stranger_until) = (links.receivers, links.strangers.came(connection, now_us));
        let stream = Inbound::default();
        let incoming = Incoming { channel, peer, stranger_until, hello: None, version: 0, stream, receiver, tell_full_us: 0 };
        links.incoming.insert(connection, incoming);
    }

    /// Whether a connection is with another node.
    pub(crate) fn is_node_connection(&self, connection: ConnectionId) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| {
            cluster.links.incoming.contains_key(&connection)
                || cluster.links.by_connection.contains_key(&connection)
                || cluster.is_contact(connection)
        })
    }

    /// Bytes of another node have arrived.
    pub(crate) fn node_received<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, connection: ConnectionId, mut bytes: &[u8]) {
        let Some(cluster) = &mut self.cluster else { return };
        let links = &mut cluster.links;
        let target = links.by_connection.get(&connection).copied();
        let channel = match (links.incoming.get_mut(&connection), target.and_then(|target| links.outgoing.get_mut(&target))) {
            (Some(incoming), _) => &mut incoming.channel,
            (None, Some(link)) => &mut link.channel,
            (None, None) => return self.contact_received(reactor, connection, bytes),
        };
        let received = channel.receive(reactor, connection, &mut bytes);
        let mut reader = std::mem::take(&mut channel.reader);
        let verdict = loop {
            let frame = match reader.next_of(&mut bytes) {
                Ok(Some(frame)) => frame,
                // What came before the end of TLS counts.
                Ok(None) => break received,
                Err(FrameError::Tls) => break Err(Channel::default().refuse_mixture(reactor, connection)),
                Err(error) => break Err(error.to_string()),
            };
            let taken = match target {
                Some(target) => self.link_frame(reactor, target, frame.kind, frame.body),
                None => self.incoming_frame(reactor, connection, frame.kind, frame.body),
            };
            if let Err(why) = taken {
                break Err(why);
            }
        };
        let Some(cluster) = &mut self.cluster else { return };
        let incoming = cluster.links.incoming.get_mut(&connection);
        let is_stranger = incoming.as_ref().is_some_and(|incoming| incoming.hello.as_ref().is_none_or(|hello| hello.node.is_none()));
        let verdict = match verdict {
            Ok(()) if is_stranger && reader.waiting() > STRANGER_BYTES_MAX => Err("too much from one that is no member".to_owned()),
            verdict => verdict,
        };
        if let Err(why) = verdict {
            let peer = incoming.map(|incoming| incoming.peer);
            cluster.links.log_closing(self.core, target.map(|target| target.0), peer, &why, reactor.now().monotonic_us);
            return reactor.close(connection);
        }
        match (incoming, target.and_then(|target| cluster.links.outgoing.get_mut(&target))) {
            (Some(incoming), _) => incoming.channel.reader = reader,
            (None, Some(link)) if link.connection == Some(connection) => link.channel.reader = reader,
            _ => {}
        }
    }

    /// A frame that comes back by a link of this core's making.
    fn link_frame<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        target: Target,
        kind: Kind,
        body: &[u8],
    ) -> Result<(), String> {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return Ok(()) };
        let damaged = || format!("a frame of kind {} is damaged", kind.0);
        if !frames::is_spoken(kind.0, cluster.links.outgoing(target).version) {
            return Err(format!("a frame of kind {} does not belong to the version of this link", kind.0));
        }
        if cluster.is_early(From::Link(target), kind, body)? {
            return Ok(());
        }
        match kind {
            Kind::WELCOME => {
                let hello = Hello::decode(body).map_err(|error| error.to_string())?;
                let is_expected = hello.node == Some(target.0)
                    && cluster.identity.as_ref().is_some_and(|identity| identity.cluster_id == hello.cluster_id)
                    && hello.core == target.1.0;
                if !is_expected {
                    return Err(format!("expected core {} of member {}, found {hello:?}", target.1.0, target.0.0));
                }
                let version = link_version(hello.protocol_versions, cluster.config.protocol_versions, &cluster.newest_state());
                let version = version.map_err(|refusal| refusal.to_string())?;
                let link = cluster.links.outgoing(target);
                (link.is_open, link.version) = (true, version);
                link.incarnation = hello.incarnation;
                link.stream.restart();
                link.told_committed = 0;
                let early = std::mem::take(&mut link.early);
                cluster.unsent.insert(target);
                cluster.routed_changed = true;
                cluster.fillings.forget_postponed(target);
                for message in early {
                    cluster.send(reactor, target, Kind::METADATA.0, |body| body.extend_from_slice(&message.encode(version)));
                }
                Ok(())
            }
            Kind::REFUSAL => Err(RefusalMessage::decode(body).map_or_else(|_| damaged(), |refusal| refusal.text)),
            Kind(ACKNOWLEDGED) => {
                let position = frames::read_u64(body).ok_or_else(damaged)?;
                if cluster.acknowledged(target, position) {
                    cluster.links.outgoing(target).wait_anew(now_us);
                }
                Ok(())
            }
            Kind(frames::REFUSED) => {
                let version = frames::read_u64(body).ok_or_else(damaged)?;
                if cluster.links.is_news(&format!("writes refused by {}", target.0.0), now_us) {
                    let node = target.0.0;
                    tracing::info!(
                        core = self.core.0,
                        node,
                        version,
                        "writes were refused by a replica: it follows another primary, or cannot write"
                    );
                }
                Ok(())
            }
            Kind(frames::FORWARDED) => {
                let forwarded = frames::Forwarded::read(body).ok_or_else(damaged)?;
                if let Some(link) = cluster.links.outgoing.get_mut(&target) {
                    link.forwards.retain(|id| *id != forwarded.id);
                }
                self.routed_answered(reactor, forwarded.id, forwarded.outcome.into_result());
                Ok(())
            }
            Kind::METADATA if self.core == CoreId(0) => {
                self.metadata_received(reactor, target.0, body);
                Ok(())
            }
            Kind(frames::FULL) => {
                self.give_up(reactor, target, Held::Full);
                Ok(())
            }
            Kind(frames::WANTED | frames::KEYS) => self.request_of_replica(reactor, target, kind, body).ok_or_else(damaged),
            other => Err(format!("a frame of kind {} does not belong here", other.0)),
        }
    }

    /// A frame by a connection that another node has made.
    fn incoming_frame<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        connection: ConnectionId,
        kind: Kind,
        body: &[u8],
    ) -> Result<(), String> {
        let Some(cluster) = &mut self.cluster else { return Ok(()) };
        let Some(incoming) = cluster.links.incoming.get_mut(&connection) else { return Ok(()) };
        let damaged = || format!("a frame of kind {} is damaged", kind.0);
        let Some(hello) = &incoming.hello else {
            if kind != Kind::HELLO {
                return Err(format!("a frame of kind {} came before hello", kind.0));
            }
            let hello = Hello::decode(body).map_err(|error| error.to_string())?;
            return self.said_hello(reactor, connection, hello);
        };
        let sender = hello.node;
        match (kind, sender) {
            (Kind::JOIN, None) => self.join_wanted(reactor, connection, body),
            (Kind::METADATA, Some(node)) => {
                if self.core == CoreId(0) {
                    self.metadata_received(reactor, node, body);
                } else {
                    reactor.send(CoreId(0), Message::Metadata { from: node, body: body.to_vec() });
                }
                Ok(())
            }
            (Kind(APPEND), Some(_)) => {
                incoming.stream.receive(body).map_err(|error| error.to_string())?;
                if incoming.stream.waiting_bytes() > RECEIVED_BYTES_MAX {
                    return Err("too much of what it has sent waits to be applied".to_owned());
                }
                Ok(())
            }
            (Kind(FORWARD), Some(_)) => {
                let forward = Forward::read(body).ok_or_else(damaged)?;
                self.run_forwarded(reactor, super::Asker::Link { connection, id: forward.id }, &forward);
                Ok(())
            }
            (Kind(frames::STEPPED_DOWN | frames::ALL_NEEDED), Some(node)) => {
                if cluster.is_early(From::Member(node), kind, body)? {
                    return Ok(());
                }
                self.word_of_primary(node, kind, body).ok_or_else(damaged)
            }
            (other, _) => Err(format!("a frame of kind {} does not belong here", other.0)),
        }
    }

    fn said_hello<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, connection: ConnectionId, hello: Hello) -> Result<(), String> {
        let Some(cluster) = &mut self.cluster else { return Ok(()) };
        let own = cluster.hello(self.core, self.cores, CoreId(hello.core));
        let (identity, state) = (cluster.identity.clone(), cluster.newest_state());
        let accepted = match &identity {
            Some(identity) => accept(&hello, identity, cluster.config.protocol_versions, self.cores, &state),
            None => Err(cluster::wire::Refusal::NotYetMember),
        };
        let version = match accepted {
            Ok(version) => version,
            Err(refusal) => {
                cluster.answer(reactor, connection, Kind::REFUSAL.0, |body| body.extend_from_slice(&refusal.message().encode()));
                return Err(format!("{refusal}"));
            }
        };
        if hello.target_core != self.core.0 && hello.node.is_some() {
            return Err(format!("core {} of member {} has come to core {}", hello.core, hello.node.map_or(0, |node| node.0), self.core.0));
        }
        // The connection before, if it is still there, is of no use any more.
        let former = |incoming: &Incoming| {
            incoming.hello.as_ref().is_some_and(|known| known.node.is_some() && known.node == hello.node && known.core == hello.core)
        };
        let formers: Vec<ConnectionId> =
            cluster.links.incoming.iter().filter(|(_, incoming)| former(incoming)).map(|(connection, _)| *connection).collect();
        cluster.answer(reactor, connection, Kind::WELCOME.0, |body| body.extend_from_slice(&own.encode()));
        let node = hello.node;
        if let Some(incoming) = cluster.links.incoming.get_mut(&connection) {
            (incoming.hello, incoming.version) = (Some(hello), version);
            let (strangers, until) = (&mut cluster.links.strangers, incoming.stranger_until);
            match node {
                Some(_) => strangers.left(connection, until),
                None => incoming.stranger_until = strangers.wants_to_join(connection, until, reactor.now().monotonic_us),
            }
        }
        for former in formers {
            self.node_closed(reactor, former);
            reactor.abort(former);
        }
        if let Some(node) = node {
            self.incoming_opened(node, connection);
        }
        Ok(())
    }

    /// A connection with another node is gone.
    pub(crate) fn node_closed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, connection: ConnectionId) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        if let Some(incoming) = cluster.links.incoming.remove(&connection) {
            cluster.links.strangers.left(connection, incoming.stranger_until);
            self.shard.forget_received(incoming.receiver);
            cluster.receivers_waiting.remove(&incoming.receiver);
        } else if let Some(target) = cluster.links.by_connection.remove(&connection) {
            tracing::debug!(core = self.core.0, node = target.0.0, "a link to another node is gone");
            let Some(link) = cluster.links.outgoing.get_mut(&target).filter(|link| link.connection == Some(connection)) else { return };
            (link.connection, link.is_open) = (None, false);
            link.again_at_us = link.again_at_us.max(now_us + AGAIN_US / 2);
            let forwards = std::mem::take(&mut link.forwards);
            if target.1 == CoreId(0) && self.core == CoreId(0) {
                self.metadata_unreachable(target.0);
            }
            self.routed_lost(reactor, &forwards);
        } else {
            self.contact_closed(reactor, connection);
        }
    }
}
