//! Connections of other nodes: bytes become frames, and the handshake says whose they are.

use crate::cluster::links::channel::Channel;
use crate::cluster::links::connecting::OwnCore;
use crate::cluster::links::link::{AGAIN_US, Incoming};
use crate::cluster::links::unauthenticated::UNAUTHENTICATED_BYTES_MAX;
use crate::core::Core;
use crate::message::Message;
use base::CoreId;
use cluster::wire::{FrameError, Hello, Kind, accept};
use io::{ConnectionId, Reactor};
use replica::Inbound;
use std::net::SocketAddr;

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
        let (receiver, unauthenticated_until) = (links.receivers, links.unauthenticated.came(connection, now_us));
        let stream = Inbound::default();
        let incoming = Incoming { channel, peer, unauthenticated_until, hello: None, version: 0, stream, receiver, tell_full_us: 0 };
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
        let is_unauthenticated = incoming.as_ref().is_some_and(|incoming| incoming.hello.as_ref().is_none_or(|hello| hello.node.is_none()));
        let verdict = match verdict {
            Ok(()) if is_unauthenticated && reader.waiting() > UNAUTHENTICATED_BYTES_MAX => {
                Err("too much from one that is no member".to_owned())
            }
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

    pub(crate) fn said_hello<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        connection: ConnectionId,
        hello: Hello,
    ) -> Result<(), String> {
        let Some(cluster) = &mut self.cluster else { return Ok(()) };
        let own = OwnCore { core: self.core, cores: self.cores, config: &self.config };
        let own = cluster.hello(&own, CoreId(hello.core));
        let (identity, state) = (cluster.membership.identity.clone(), cluster.newest_state());
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
        let (node, said) = (hello.node, hello.clone());
        if let Some(incoming) = cluster.links.incoming.get_mut(&connection) {
            (incoming.hello, incoming.version) = (Some(hello), version);
            let (unauthenticated, until) = (&mut cluster.links.unauthenticated, incoming.unauthenticated_until);
            match node {
                Some(_) => unauthenticated.left(connection, until),
                None => incoming.unauthenticated_until = unauthenticated.wants_to_join(connection, until, reactor.now().monotonic_us),
            }
        }
        for former in formers {
            self.node_closed(reactor, former);
            reactor.abort(former);
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.note_address(reactor, &said);
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
            cluster.links.unauthenticated.left(connection, incoming.unauthenticated_until);
            self.shard.forget_received(incoming.receiver);
            cluster.replication.receivers_waiting.remove(&incoming.receiver);
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
