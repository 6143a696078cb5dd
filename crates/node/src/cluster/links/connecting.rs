//! Links are made, and connections that never say who they are end.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::channel::Channel;
use crate::cluster::links::link::AGAIN_US;
use crate::cluster::links::remote_core::RemoteCore;
use crate::config::NodeConfig;
use base::{CoreId, NodeId};
use cluster::MemberState;
use cluster::wire::{Hello, Kind};
use io::Reactor;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// Whose links these are.
pub(crate) struct OwnCore<'a> {
    pub(crate) core: CoreId,
    pub(crate) cores: u16,
    pub(crate) config: &'a NodeConfig,
}

/// A link that has not become open in this time is given up and made again.
const HANDSHAKE_US: u64 = 2_000_000;

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

    pub(crate) fn hello(&self, own: &OwnCore<'_>, target_core: CoreId) -> Hello {
        let identity = self.membership.identity.as_ref();
        Hello {
            protocol_versions: self.config.protocol_versions,
            cluster_name: self.membership.cluster_name.clone(),
            cluster_id: identity.map_or(0, |identity| identity.cluster_id),
            node: identity.map(|identity| identity.node),
            host_id: self.membership.host_id,
            incarnation: self.config.incarnation,
            core: own.core.0,
            cores: own.cores,
            target_core: target_core.0,
            node_address: own.config.listening().node.map(|address| address.to_string()),
        }
    }

    /// Connects what is wanted and not connected. Returns the time at which to look again.
    pub(crate) fn connect_links<R: Reactor>(&mut self, reactor: &mut R, own: &OwnCore<'_>) -> Option<u64> {
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
        let targets: Vec<RemoteCore> =
            self.links.outgoing.iter().filter(|(_, link)| link.connection.is_none()).map(|(target, _)| *target).collect();
        let state = self.newest_state();
        for target in targets {
            // Its address may be another member's by now, whose own link would be taken for an older one.
            if state.members.get(&target.0).is_some_and(|member| member.state == MemberState::Removed) {
                continue;
            }
            let Some(peer) = self.address_of(target.0) else { continue };
            let hello = self.hello(own, target.1);
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
                    self.links.log_closing(own.core, Some(target.0), None, &error.to_string(), now_us);
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
    pub(crate) fn address_of(&self, node: NodeId) -> Option<(SocketAddr, u16)> {
        let peer = self.view.peers.get(&node);
        let moved = self.links.moved.get(&node).filter(|moved| peer.is_none_or(|peer| peer.incarnation != moved.incarnation));
        let shown = moved.map(|moved| (moved.address, moved.cores)).or_else(|| peer.map(|peer| (peer.address, peer.cores)));
        shown.or_else(|| self.membership.members_told.get(&node).map(|address| (*address, 1)))
    }

    /// Closes unauthenticated connections whose time is over, and the oldest if there are too many. Returns the time at which to look again.
    pub(crate) fn close_unauthenticated<R: Reactor>(&mut self, reactor: &mut R, core: CoreId) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        loop {
            match self.links.unauthenticated.next_due(now_us) {
                Ok((connection, why)) => {
                    let peer = self.links.incoming.get(&connection).map(|incoming| incoming.peer);
                    self.links.log_closing(core, None, peer, why, now_us);
                    // `closed` follows.
                    reactor.abort(connection);
                }
                Err(due_us) => return due_us,
            }
        }
    }
}
