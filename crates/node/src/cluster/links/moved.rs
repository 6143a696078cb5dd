//! Members whose process has started at another address than the metadata knows.
//!
//! A hello says where its sender listens. The one it reaches tells the others it is linked with: where all have moved at once, each knows at first only those
//! that `join` names, and the metadata says nothing new before a leader is reached.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::frames::MOVED;
use crate::cluster::links::link::Moved;
use crate::cluster::links::remote_core::RemoteCore;
use base::NodeId;
use cluster::wire::Hello;
use io::Reactor;

/// The body of a [`MOVED`] frame.
fn write(node: NodeId, moved: &Moved, out: &mut Vec<u8>) {
    out.extend_from_slice(&node.0.to_le_bytes());
    out.extend_from_slice(&moved.incarnation.to_le_bytes());
    out.extend_from_slice(&moved.cores.to_le_bytes());
    out.extend_from_slice(moved.address.to_string().as_bytes());
}

/// `None` if it is damaged.
fn read(body: &[u8]) -> Option<(NodeId, Moved)> {
    let (node, body) = body.split_first_chunk()?;
    let (incarnation, body) = body.split_first_chunk()?;
    let (cores, address) = body.split_first_chunk()?;
    let cores = Some(u16::from_le_bytes(*cores)).filter(|cores| *cores > 0)?;
    let address = std::str::from_utf8(address).ok()?.parse().ok()?;
    let moved = Moved { incarnation: u64::from_le_bytes(*incarnation), address, cores, is_own_word: false };
    Some((NodeId(u32::from_le_bytes(*node)), moved))
}

impl ClusterCore {
    /// A member has said hello.
    pub(crate) fn note_address<R: Reactor>(&mut self, reactor: &mut R, hello: &Hello) {
        let (Some(node), Some(address)) = (hello.node, hello.node_address.as_deref().and_then(|address| address.parse().ok())) else {
            return;
        };
        let moved = Moved { incarnation: hello.incarnation, address, cores: hello.cores, is_own_word: true };
        if !self.note_moved(reactor, node, moved) {
            return;
        }
        let others: Vec<RemoteCore> = self.links.outgoing.keys().filter(|target| target.0 != node).copied().collect();
        for other in others {
            self.send(reactor, other, MOVED, |body| write(node, &moved, body));
        }
    }

    /// A link is open: its other end is told of all that this one has heard from themselves.
    pub(crate) fn tell_moved<R: Reactor>(&mut self, reactor: &mut R, target: RemoteCore) {
        let is_news = |(node, moved): &(&NodeId, &Moved)| {
            **node != target.0 && moved.is_own_word && self.view.peers.get(node).is_none_or(|peer| peer.incarnation != moved.incarnation)
        };
        let told: Vec<(NodeId, Moved)> = self.links.moved.iter().filter(is_news).map(|(node, moved)| (*node, *moved)).collect();
        for (node, moved) in told {
            self.send(reactor, target, MOVED, |body| write(node, &moved, body));
        }
    }

    /// Another member says where one is. Who is linked with it knows better. `None` if the frame is damaged.
    pub(crate) fn told_moved<R: Reactor>(&mut self, reactor: &mut R, body: &[u8]) -> Option<()> {
        let (node, moved) = read(body)?;
        let mut links = self.links.outgoing.iter().filter(|(target, _)| target.0 == node);
        let is_linked = links.any(|(_, link)| link.is_open()) || self.links.incoming_of(node).next().is_some();
        if node != self.view.me && !is_linked {
            self.note_moved(reactor, node, moved);
        }
        Some(())
    }

    /// Returns whether that is news.
    fn note_moved<R: Reactor>(&mut self, reactor: &mut R, node: NodeId, moved: Moved) -> bool {
        let is_known = self.view.peers.get(&node).is_some_and(|peer| peer.incarnation == moved.incarnation);
        if is_known || self.address_of(node).is_some_and(|(known, _)| known == moved.address) {
            return false;
        }
        tracing::info!(node = node.0, address = %moved.address, "a member is at another address than before");
        self.links.moved.insert(node, moved);
        // What tries to reach the former address begins anew.
        let targets: Vec<RemoteCore> = self.links.outgoing.keys().filter(|target| target.0 == node).copied().collect();
        for target in targets {
            self.links.abort(reactor, target);
            self.links.outgoing(target).again_at_us = 0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_member_is_travels_and_damage_is_seen() {
        for address in ["10.0.0.7:7000", "[fd00::7]:7000"] {
            let moved = Moved { incarnation: u64::MAX - 1, address: address.parse().expect("an address"), cores: 3, is_own_word: false };
            let mut body = Vec::new();
            write(NodeId(9), &moved, &mut body);
            assert_eq!(read(&body), Some((NodeId(9), moved)));
            for length in 0..=14 {
                assert_eq!(read(&body[..length]), None);
            }
            assert_eq!(read(&[&body[..], b"x"].concat()), None);
        }
    }
}
