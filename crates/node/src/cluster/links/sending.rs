//! Frames to other nodes: single ones, messages of the metadata group, and the streams of writes.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::frames::{self, APPEND, FORWARD, Forward};
use crate::cluster::links::link::{Incoming, Link};
use crate::cluster::links::remote_core::RemoteCore;
use base::{CoreId, NodeId};
use cluster::GroupMessage;
use cluster::wire::Kind;
use io::{ConnectionId, Reactor};

/// A frame of writes has about so many bytes at most. A frame is acknowledged as a whole: by its length a slow network cannot be told from silence.
const APPEND_BYTES_MAX: usize = 32 << 10;

/// A link has at most so many bytes on their way into the network: the rest waits in its stream.
const UNSENT_BYTES_MAX: usize = 8 << 20;

/// Messages of the metadata's group that wait for a link.
const PENDING_MAX: usize = 64;

impl ClusterCore {
    /// Appends a frame to a connection that another node has made, if it is of a kind that the link has.
    pub(crate) fn answer<R: Reactor>(&mut self, reactor: &mut R, connection: ConnectionId, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        let incoming = self.links.incoming.get_mut(&connection);
        if let Some(incoming) = incoming.filter(|incoming| frames::is_spoken(kind, incoming.version)) {
            incoming.channel.send(reactor, connection, Kind(kind), body);
        }
    }

    /// Sends a frame by a link, if it is open.
    pub(crate) fn send<R: Reactor>(&mut self, reactor: &mut R, target: RemoteCore, kind: u8, body: impl FnOnce(&mut Vec<u8>)) -> bool {
        let link = self.links.outgoing(target);
        match (link.is_open, link.connection) {
            (true, Some(connection)) if frames::is_spoken(kind, link.version) => link.channel.send(reactor, connection, Kind(kind), body),
            _ => false,
        }
    }

    /// Sends a request, if the link is open.
    pub(crate) fn send_forward<R: Reactor>(&mut self, reactor: &mut R, target: RemoteCore, forward: &Forward<'_>) -> bool {
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
                if link.pending.len() < PENDING_MAX {
                    link.pending.push(message);
                }
            }
        }
    }

    /// Puts what streams have into the network.
    pub(crate) fn flush_streams<R: Reactor>(&mut self, reactor: &mut R) {
        let version = self.view.version();
        for target in std::mem::take(&mut self.links.unsent) {
            let Some(link) = self.links.outgoing.get_mut(&target) else { continue };
            let (true, Some(connection)) = (link.is_open, link.connection) else { continue };
            while link.stream.has_unsent() {
                if reactor.unsent_bytes(connection) > UNSENT_BYTES_MAX {
                    self.links.unsent.insert(target);
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
