//! What a core does with events: the entry points that the reactor calls.
//!
//! One event at a time: bytes of a connection, a disk completion, a message of another core. After each batch of events [`Handler::turn`] does a
//! slice of everything that waits.

use crate::cluster::{Asker, Forward};
use crate::config::Speaks;
use crate::connections::Connection;
use crate::core::Core;
use crate::logins::COMPUTE_TAGS;
use crate::message::Message;
use crate::protocol::{Protocol, Session};
use crate::tags::NODE_TAGS;
use crate::transport::Transport;
use base::CoreId;
use io::{ConnectionId, DiskCompletion, DiskTag, Handler, ListenerId, Reactor, Room, Turn};
use std::net::SocketAddr;

impl<R: Reactor<Message = Message>> Handler<R> for Core {
    fn accepted(&mut self, reactor: &mut R, connection: ConnectionId, listener: ListenerId, peer: SocketAddr) {
        let Speaks { protocol, is_tls_only } = self.config.speaks(listener);
        if protocol == Protocol::Node {
            return self.node_accepted(reactor, connection, peer);
        }
        let represented = self.config.board.as_ref().and_then(|board| board.represented().client_of(peer));
        // The port stays the connection's: a client may have several.
        let peer = represented.as_ref().map_or(peer, |client| SocketAddr::new(client.address, peer.port()));
        let session = Session::new(protocol, peer, self.config.frame_body_bytes_max);
        let tls = self.config.client_tls.as_ref();
        let has_to = tls.is_some_and(|tls| tls.is_required || is_tls_only);
        let transport = Transport::accepted(tls, has_to && !session.agrees_on_tls(), represented);
        self.connections.insert(Connection::new(connection, session, transport));
        self.client_accepted(connection, has_to, reactor.now().monotonic_us);
    }

    fn make_room(&mut self, reactor: &mut R) -> Room {
        self.cut_oldest_pending(reactor)
    }

    fn received(&mut self, reactor: &mut R, connection: ConnectionId, bytes: &[u8]) {
        self.requests.meter.set_now(reactor.now().monotonic_us);
        if self.is_node_connection(connection) {
            return self.node_received(reactor, connection, bytes);
        }
        self.requests.watch.set_threshold_ms(self.config.live.slow_query_threshold_ms());
        if self.defers_handshake(reactor, connection, bytes) {
            return;
        }
        self.serve(reactor, connection, bytes);
    }

    fn drained(&mut self, reactor: &mut R, connection: ConnectionId) {
        if let Some(stream) = self.connections.get_mut(connection).and_then(|connection| connection.stream.take()) {
            self.continuations.push_back(stream);
        }
        if self.is_overloaded() && self.connections.weigh(connection, 0).is_some_and(|connection| connection.session.in_flight() > 0) {
            // `resume` comes back to it once there is room.
            return self.connections.pause(connection);
        }
        self.resume_one(reactor, connection);
    }

    fn closed(&mut self, reactor: &mut R, connection: ConnectionId) {
        if self.is_node_connection(connection) {
            return self.node_closed(reactor, connection);
        }
        self.forget(reactor, connection);
    }

    fn unreachable(&mut self, reactor: &mut R, connection: ConnectionId, code: i32) {
        self.node_unreachable(reactor, connection, code);
    }

    fn completed(&mut self, reactor: &mut R, completion: DiskCompletion) {
        self.requests.meter.set_now(reactor.now().monotonic_us);
        if completion.tag.0 < NODE_TAGS {
            self.shard.completed(reactor.now(), completion);
        } else if completion.tag.0 >= NODE_TAGS + COMPUTE_TAGS {
            self.computed(reactor, completion.tag.0 - NODE_TAGS - COMPUTE_TAGS);
        } else {
            self.blob_written(reactor, DiskTag(completion.tag.0 - NODE_TAGS), &completion.result);
        }
    }

    fn message(&mut self, reactor: &mut R, from: CoreId, message: Message) {
        self.requests.meter.set_now(reactor.now().monotonic_us);
        match message {
            Message::Run { part, access, operation } => {
                // What this core asks itself was counted when it arrived.
                if from != self.core {
                    self.client_came();
                }
                self.run_part(reactor, from, part, access, operation);
            }
            Message::Ran { part, outcome } => self.part_done(reactor, self.core, part, outcome),
            Message::Forward { from, id, version, part, request } => {
                let forward = Forward { id, version, part: part.as_deref(), request: &request };
                self.run_forwarded(reactor, Asker::Core { core: from, id }, &forward);
            }
            Message::Forwarded { id, outcome } => self.routed_answered(reactor, id, outcome),
            Message::View(view) => self.apply_view(reactor, view),
            Message::Lease(until_us) => self.apply_lease(reactor, until_us),
            Message::LeaseHasEnd => self.lease_has_end(),
            Message::Propose(command) => self.propose(*command),
            Message::Metadata { from, body } => self.metadata_received(reactor, from, &body),
            Message::ChangeSchema(request) => self.change_schema(reactor, *request),
            Message::ShardSchema(schema) => self.apply_shard_schema(reactor, &schema),
            Message::Schema(update) => self.apply_schema(reactor, &update),
            Message::Announce(update) => {
                for event in &update.events {
                    self.broadcast(reactor, &cql::wire::Event::SchemaChange(event.as_wire()));
                }
            }
            Message::SchemaApplied { failure } => self.schema_applied(reactor, failure),
            Message::SchemaChanged { request, outcome } => self.schema_changed(reactor, request, &outcome),
            Message::Recovered { is_damaged } => self.core_recovered(reactor, is_damaged),
            Message::Serving => self.core_serves(),
            Message::PrimariesTransferred => self.core_transferred(),
            Message::SendAway => self.begin_to_send_away(reactor.now().monotonic_us),
            Message::Flushed => self.core_flushed(reactor),
        }
    }

    fn stopping(&mut self, reactor: &mut R) {
        if self.core == CoreId(0) {
            reactor.stop_accepting();
            self.note_end_of_joining();
        }
        if !self.begin_shutdown(reactor.now().monotonic_us) {
            self.flush_to_end();
        }
    }

    fn turn(&mut self, reactor: &mut R) -> Turn {
        let now = reactor.now();
        self.requests.meter.set_now(now.monotonic_us);
        let next = self.shard.turn(now);
        self.finish_parked(reactor);
        self.continue_delayed(now.monotonic_us);
        self.continue_requests(reactor);
        self.answer_logins(reactor);
        self.resume(reactor);
        self.handshakes_turn(reactor);
        self.send_away(reactor);
        if let Some(workspaces) = &mut self.workspaces {
            workspaces.trim();
        }
        let stalls_due_us = self.close_stalled(reactor);
        let pending_due_us = self.cut_pending(reactor);
        let marks_due_us = self.store_marks_again(reactor);
        let operations_due_us = self.operations_turn(reactor);
        let superuser_due_us = self.superuser_turn(reactor);
        let logins_due_us = self.logins_turn(reactor);
        let protocols_due_us = self.protocols_turn(reactor);
        // Before what was written leaves for other members.
        self.vector_images_turn(reactor);
        let backup_due_us = self.backup_turn(reactor);
        let background_due_us = self.background.ask_again_us(reactor.slept_us(), now.monotonic_us);
        let cluster_due_us = self.cluster_turn(reactor);
        for (tag, request) in self.shard.take_requests() {
            assert!(tag.0 < NODE_TAGS);
            reactor.submit(tag, request);
        }
        self.requests.end_turn(|| reactor.clock_us());
        let slow_due_us = self.slow_turn(reactor);
        self.report_progress(reactor);
        // Before the replies of this turn are sent.
        let audit_due_us = self.audit.as_mut().and_then(|audit| audit.turn()).map(|wait_us| now.monotonic_us + wait_us);
        if self.has_runnable() || cluster_due_us == Some(0) {
            return Turn::Again;
        }
        // What the cluster's share has written or received may have to be flushed.
        let flush_due_us = self.shard.engine().flush_due_us();
        let delayed_due_us = self.delayed.iter().map(|(until_us, _)| *until_us);
        next.into_iter()
            .chain(flush_due_us)
            .chain(delayed_due_us)
            .chain(cluster_due_us)
            .chain(operations_due_us)
            .chain(superuser_due_us)
            .chain(logins_due_us)
            .chain(audit_due_us)
            .chain(stalls_due_us)
            .chain(pending_due_us)
            .chain(marks_due_us)
            .chain(protocols_due_us)
            .chain(slow_due_us)
            .chain(backup_due_us)
            .chain(background_due_us)
            .min()
            .map_or(Turn::Idle, Turn::At)
    }
}

impl Core {
    /// Whether another turn would find something to do at once.
    #[inline]
    fn has_runnable(&self) -> bool {
        let has_room = !self.continuations.is_empty() && self.has_room_for_parts();
        has_room || self.handshakes.is_any() || self.logins.has_answers() || !self.refusals.is_empty() || self.shard.has_runnable()
    }
}
