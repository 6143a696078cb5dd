//! Links of this core, and connections that cores of other nodes have made to it.
//!
//! The core that has something to send makes a link, one for each core of another node, and keeps it. Answers come back on the same connection. Two cores that
//! are each other's primaries have two links.

use crate::cluster::links::channel::Channel;
use crate::cluster::links::pending_frames::PendingFrames;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::links::unauthenticated::{Unauthenticated, UnauthenticatedUntil};
use base::{CoreId, NodeId};
use cluster::GroupMessage;
use cluster::wire::Hello;
use io::{ConnectionId, Reactor};
use replica::{Inbound, Outbound};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// How long after a link broke, or could not be made, it is tried again.
pub(crate) const AGAIN_US: u64 = 100_000;

/// A connection that this core makes.
pub(crate) struct Link {
    pub(crate) connection: Option<ConnectionId>,
    /// Whether the other side has said hello.
    pub(crate) is_open: bool,
    /// The version of the nodes' protocol that is spoken, once it is open.
    pub(crate) version: u16,
    pub(crate) channel: Channel,
    pub(crate) again_at_us: u64,
    /// When the connection that is being made is given up.
    pub(crate) open_by_us: u64,
    /// Since when something waits to be acknowledged.
    waiting_since_us: Option<u64>,
    /// The process over there that the stream is for.
    pub(crate) incarnation: u64,
    pub(crate) stream: Outbound,
    /// Up to here all that was sent is on all replicas that must have it.
    pub(crate) committed: u64,
    /// What the other side was last told of that.
    pub(crate) told_committed: u64,
    /// Requests that were sent and not answered.
    pub(crate) forwards: Vec<u32>,
    /// Messages of the metadata's group, while the link is being made.
    pub(crate) pending: Vec<GroupMessage>,
}

/// A connection that another node's core has made.
pub(crate) struct Incoming {
    pub(crate) channel: Channel,
    /// Where it came from.
    pub(crate) peer: SocketAddr,
    pub(crate) unauthenticated_until: UnauthenticatedUntil,
    pub(crate) hello: Option<Hello>,
    /// The version of the nodes' protocol that is spoken, once it has said hello.
    pub(crate) version: u16,
    pub(crate) stream: Inbound,
    /// The shard's number for it.
    pub(crate) receiver: u32,
    /// When the other side may be told again that there is no room here.
    pub(crate) tell_full_us: u64,
}

/// Where a process of a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) incarnation: u64,
    pub(crate) address: SocketAddr,
    pub(crate) cores: u16,
    /// Whether the process itself has said so, and no other member.
    pub(crate) is_own_word: bool,
}

/// All of a core.
#[derive(Default)]
pub(crate) struct Links {
    /// Links whose streams have something to send.
    pub(crate) unsent: BTreeSet<RemoteCore>,
    /// Frames of others that go by newer metadata.
    pub(crate) pending: PendingFrames,
    pub(crate) outgoing: BTreeMap<RemoteCore, Link>,
    pub(crate) by_connection: BTreeMap<ConnectionId, RemoteCore>,
    pub(crate) incoming: BTreeMap<ConnectionId, Incoming>,
    /// Those of `incoming` that are no members.
    pub(crate) unauthenticated: Unauthenticated,
    pub(crate) receivers: u32,
    /// Members that are at another address than the metadata knows, as they or others have said.
    pub(crate) moved: BTreeMap<NodeId, Moved>,
    /// Reasons for closing connections, with the time at which each was logged.
    refusals_logged: BTreeMap<String, u64>,
}

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
            pending: Vec::new(),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Since when the other side has acknowledged nothing, although there is something to acknowledge.
    pub(crate) fn waiting_since_us(&mut self, now_us: u64) -> Option<u64> {
        if self.stream.pending_bytes() == 0 {
            self.waiting_since_us = None;
            return None;
        }
        Some(*self.waiting_since_us.get_or_insert(now_us))
    }

    /// It has made progress, or has been reported.
    pub(crate) fn wait_anew(&mut self, now_us: u64) {
        self.waiting_since_us = Some(now_us);
    }

    /// Whether the other side does not know all that is committed of what it has.
    pub(crate) fn has_news(&self) -> bool {
        self.is_open && self.told_committed < self.committed.min(self.stream.last())
    }

    /// Whether it is open, or somebody waits for it.
    pub(crate) fn is_used(&self) -> bool {
        self.connection.is_some() || !self.pending.is_empty()
    }
}

impl Links {
    pub(crate) fn outgoing(&mut self, target: RemoteCore) -> &mut Link {
        self.outgoing.entry(target).or_insert_with(Link::new)
    }

    /// Requests that were sent to members of which `is_gone` says so, and not answered.
    pub(crate) fn take_forwards(&mut self, is_gone: impl Fn(NodeId) -> bool) -> Vec<u32> {
        let of_gone = self.outgoing.iter_mut().filter(|(target, _)| is_gone(target.0));
        of_gone.flat_map(|(_, link)| std::mem::take(&mut link.forwards)).collect()
    }

    /// Ends the connection of a link, which is then made anew.
    pub(crate) fn abort<R: Reactor>(&self, reactor: &mut R, target: RemoteCore) {
        if let Some(connection) = self.outgoing.get(&target).and_then(|link| link.connection) {
            reactor.abort(connection);
        }
    }

    /// Whether replicas may not know all that is committed.
    pub(crate) fn has_news(&self) -> bool {
        self.outgoing.values().any(Link::has_news)
    }

    /// Connections from a core of `node` that has said hello.
    pub(crate) fn incoming_of(&self, node: NodeId) -> impl Iterator<Item = (ConnectionId, &Incoming)> {
        let is_from = move |incoming: &Incoming| incoming.hello.as_ref().is_some_and(|hello| hello.node == Some(node));
        self.incoming.iter().filter(move |(_, incoming)| is_from(incoming)).map(|(connection, incoming)| (*connection, incoming))
    }

    /// Says why a connection is closed, unless that was said in the last minute.
    pub(crate) fn log_closing(&mut self, core: CoreId, node: Option<NodeId>, peer: Option<SocketAddr>, why: &str, now_us: u64) {
        let (node, peer) = (node.map(|node| node.0), peer.map(|peer| peer.ip()));
        if self.is_news(&format!("{node:?} {peer:?} {why}"), now_us) {
            let peer = peer.map(tracing::field::display);
            tracing::warn!(core = core.0, node, peer, %why, "a connection between nodes is closed");
        }
    }

    /// Whether a refusal is news, that is, was not logged in the last minute.
    pub(crate) fn is_news(&mut self, text: &str, now_us: u64) -> bool {
        const MINUTE_US: u64 = 60_000_000;
        self.refusals_logged.retain(|_, at_us| now_us.saturating_sub(*at_us) < MINUTE_US);
        self.refusals_logged.len() < 100 && self.refusals_logged.insert(text.to_owned(), now_us).is_none()
    }
}
