//! From a frame of another node to the floor that handles it.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::frames::{
    self, ACKNOWLEDGED, APPEND, DAMAGED, FETCH, FORWARD, FORWARDED, FULL, FULL_COPY_NEEDED, Forward, MOVED, REBUILD, REFUSED, STEPPED_DOWN,
    Slots, read_rebuild, split_version,
};
use crate::cluster::links::pending_frames::{Origin, PendingFrame};
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::rebuild::progress::Held;
use crate::cluster::routing::requests::Asker;
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, NodeId};
use cluster::wire::{Hello, Kind, RefusalMessage, link_version};
use io::{ConnectionId, Reactor};

/// Writes of another core that wait here to be applied, at most: more than a core has requests under way.
const RECEIVED_BYTES_MAX: usize = 256 << 20;

impl Core {
    /// A frame that comes back by a link of this core's making.
    pub(crate) fn link_frame<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        target: RemoteCore,
        kind: Kind,
        body: &[u8],
    ) -> Result<(), String> {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return Ok(()) };
        let damaged = || format!("a frame of kind {} is damaged", kind.0);
        if !frames::is_spoken(kind.0, cluster.links.outgoing(target).version) {
            return Err(format!("a frame of kind {} does not belong to the version of this link", kind.0));
        }
        if cluster.keep_pending(Origin::Link(target), kind, body)? {
            return Ok(());
        }
        match kind {
            Kind::WELCOME => self.welcomed(reactor, target, body),
            Kind::REFUSAL => Err(RefusalMessage::decode(body).map_or_else(|_| damaged(), |refusal| refusal.text)),
            Kind(ACKNOWLEDGED) => {
                let position = frames::read_u64(body).ok_or_else(damaged)?;
                if cluster.acknowledged(target, position) {
                    cluster.links.outgoing(target).wait_anew(now_us);
                }
                Ok(())
            }
            Kind(REFUSED) => {
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
            Kind(FORWARDED) => {
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
            Kind(FULL) => {
                self.give_up(reactor, target, Held::Full);
                Ok(())
            }
            Kind(REBUILD | FETCH | DAMAGED) => self.request_of_replica(reactor, target, kind, body).ok_or_else(damaged),
            other => Err(format!("a frame of kind {} does not belong here", other.0)),
        }
    }

    /// The other node has let a link of this core's making in.
    fn welcomed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: RemoteCore, body: &[u8]) -> Result<(), String> {
        let Some(cluster) = &mut self.cluster else { return Ok(()) };
        let hello = Hello::decode(body).map_err(|error| error.to_string())?;
        let is_expected = hello.node == Some(target.0)
            && cluster.membership.identity.as_ref().is_some_and(|identity| identity.cluster_id == hello.cluster_id)
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
        let early = std::mem::take(&mut link.pending);
        cluster.links.unsent.insert(target);
        cluster.routing.has_changed = true;
        cluster.rebuild.queues.forget_postponed(target);
        for message in early {
            cluster.send(reactor, target, Kind::METADATA.0, |body| body.extend_from_slice(&message.encode(version)));
        }
        cluster.tell_moved(reactor, target);
        Ok(())
    }

    /// A frame by a connection that another node has made.
    pub(crate) fn incoming_frame<R: Reactor<Message = Message>>(
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
            (Kind(MOVED), Some(_)) => cluster.told_moved(reactor, body).ok_or_else(damaged),
            (Kind(FORWARD), Some(_)) => {
                let forward = Forward::read(body).ok_or_else(damaged)?;
                self.run_forwarded(reactor, Asker::Link { connection, id: forward.id }, &forward);
                Ok(())
            }
            (Kind(STEPPED_DOWN | FULL_COPY_NEEDED), Some(node)) => {
                if cluster.keep_pending(Origin::Member(node), kind, body)? {
                    return Ok(());
                }
                self.notice_of_primary(node, kind, body).ok_or_else(damaged)
            }
            (other, _) => Err(format!("a frame of kind {} does not belong here", other.0)),
        }
    }

    /// What a replica asks of this primary; `None` if it makes no sense.
    pub(crate) fn request_of_replica<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        target: RemoteCore,
        kind: Kind,
        body: &[u8],
    ) -> Option<()> {
        let (_, body) = split_version(kind.0, body)?;
        if kind.0 == REBUILD {
            let (method, slots) = read_rebuild(body)?;
            self.rebuild_requested(reactor, target, method, &slots);
        } else if kind.0 == DAMAGED {
            self.replica_is_damaged(reactor, target, &Slots::read(body)?);
        } else {
            self.fetch_requested(target, body);
        }
        Some(())
    }

    /// What a primary, or one that was, has to say; `None` if it makes no sense.
    pub(crate) fn notice_of_primary(&mut self, node: NodeId, kind: Kind, body: &[u8]) -> Option<()> {
        let (_, body) = split_version(kind.0, body)?;
        let slots = Slots::read(body)?;
        if kind.0 == STEPPED_DOWN {
            self.stepped_down(node, &slots);
        } else {
            self.full_copy_needed(node, &slots);
        }
        Some(())
    }

    /// Takes up frames for which the metadata has come.
    pub(crate) fn run_pending_frames<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        let version = cluster.view.version();
        for frame in cluster.links.pending.take_ready(version) {
            // Those that make no sense would have closed the connection, which may not be there any more.
            let _ = match frame.from {
                Origin::Link(target) => self.request_of_replica(reactor, target, Kind(frame.kind), &frame.body),
                Origin::Member(node) => self.notice_of_primary(node, Kind(frame.kind), &frame.body),
            };
        }
    }
}

impl ClusterCore {
    /// Keeps a frame that goes by newer metadata than this core's; whether it is one.
    pub(crate) fn keep_pending(&mut self, from: Origin, kind: Kind, body: &[u8]) -> Result<bool, String> {
        let here = self.view.version();
        let Some((version, _)) = split_version(kind.0, body).filter(|(version, _)| *version > here) else { return Ok(false) };
        if self.links.pending.push(PendingFrame { version, from, kind: kind.0, body: body.to_vec() }) {
            return Ok(true);
        }
        Err("too much of what it has sent waits for metadata that has not come here".to_owned())
    }
}
