//! Connections: bytes to requests, replies to bytes, and back-pressure while memory is short.

use crate::core::Core;
use crate::message::Message;
use crate::protocol::Verdict;
use io::{ConnectionId, Reactor};

/// A connection may always leave this many bytes of replies unread.
const UNSENT_BYTES_LEAST: usize = 64 << 10;

/// How often a core with too many unsent bytes looks for stalled clients.
const STALLS_EVERY_US: u64 = 250_000;

impl Core {
    /// Memory of requests on this core: those that have arrived in part, and those that wait.
    pub(crate) fn held_bytes(&self) -> usize {
        self.connections.partial_bytes() + self.requests.bytes()
    }

    /// How many bytes of replies a connection may leave unread. The more all connections leave together, the less.
    pub(crate) fn unsent_bytes_max(&self) -> usize {
        let (unsent, budget) = (self.connections.unsent_bytes(), self.config.requests_bytes_max);
        let most = self.config.unsent_bytes_max;
        if unsent <= budget / 2 {
            most
        } else if unsent <= budget + budget / 2 {
            UNSENT_BYTES_LEAST.min(most)
        } else {
            0
        }
    }

    /// Whether requests that would have to wait are refused. Long before, connections that hold memory are paused.
    pub(crate) fn is_full(&self) -> bool {
        self.held_bytes() > self.config.requests_bytes_max + self.config.requests_bytes_max / 2
    }

    pub(crate) fn is_overloaded(&self) -> bool {
        self.held_bytes() > self.config.requests_bytes_max
    }

    /// Appends a plain reply to a connection, if it is still there.
    pub(crate) fn deliver<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId, frame: &[u8]) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let Some(out) = reactor.output(id) {
            connection.session.append_late_reply(frame, out, &mut self.workspaces);
        }
        self.weigh(reactor, id);
    }

    /// Appends a piece of a reply, of which more is to come.
    pub(crate) fn deliver_piece<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let Some(out) = reactor.output(id) {
            connection.session.append_piece(piece, out, &mut self.workspaces);
        }
        self.weigh(reactor, id);
    }

    /// Forgets a connection, and the request that waits for it alone.
    pub(crate) fn forget(&mut self, id: ConnectionId) {
        if let Some(stream) = self.connections.remove(id) {
            self.requests.remove(stream);
        }
    }

    /// Drains clients: closes each connection once no request of it is in flight.
    pub(crate) fn send_away<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(until_us) = self.send_away_until_us else { return };
        let is_late = reactor.now().monotonic_us >= until_us;
        for connection in self.connections.iter_mut().filter(|connection| is_late || connection.session.in_flight() == 0) {
            reactor.close(connection.id);
        }
    }

    /// Sends an event to the clients that have asked for such.
    pub(crate) fn broadcast<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, event: &cql::wire::Event<'_>) {
        for connection in self.connections.iter_mut() {
            if let Some(out) = reactor.output(connection.id) {
                connection.session.append_event(event, out, &mut self.workspaces);
            }
        }
    }

    /// Serves the requests that were left when the connection was paused, then those in `bytes`.
    pub(crate) fn serve<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId, bytes: &[u8]) {
        let Some(mut connection) = self.connections.take(id) else { return };
        let unsent = reactor.unsent_bytes(id);
        let Some(output) = reactor.output(id) else { return self.connections.put(connection) };
        let mut out = std::mem::take(output);
        let mut workspaces = std::mem::take(&mut self.workspaces);
        // The output of this turn is within `unsent`; what the kernel has not taken of turns before is not in `out`.
        let room = self.unsent_bytes_max().saturating_sub(unsent - out.len());
        let verdict = connection.session.receive(bytes, &mut out, room, &mut workspaces, (self, reactor, id));
        self.workspaces = workspaces;
        reactor.put_output(id, out);
        connection.paused = verdict == Verdict::Pause;
        self.connections.put(connection);
        self.weigh(reactor, id);
        if verdict == Verdict::Close {
            reactor.close(id);
        }
    }

    /// Counts the memory of a connection, and pauses it while that is too much.
    pub(crate) fn weigh<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId) {
        let unsent = reactor.unsent_bytes(id);
        let overloaded = self.is_overloaded();
        let unsent_bytes_max = self.unsent_bytes_max();
        let Some(connection) = self.connections.weigh(id, unsent) else { return };
        let holds = connection.session.in_flight() > 0;
        let partial = connection.session.buffered_bytes();
        connection.paused |= unsent > unsent_bytes_max || (overloaded && holds);
        if connection.paused {
            reactor.set_reading(id, false);
            self.connections.pause(id);
        } else if overloaded && partial > self.config.requests_bytes_max / 64 {
            // Requests that never end must not take the memory of others.
            if let Some(out) = reactor.output(id) {
                connection.session.append_overload(out, &mut self.workspaces);
            }
            reactor.close(id);
        }
    }

    /// Resumes paused connections, as far as there is room.
    pub(crate) fn resume<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        for _ in 0..self.connections.paused_count() {
            if self.is_overloaded() {
                return;
            }
            let Some(id) = self.connections.next_paused() else { return };
            self.resume_one(reactor, id);
        }
    }

    /// Frees memory when unread replies take too much of it, although each connection keeps within its share: aborts stalled connections, the
    /// largest first.
    pub(crate) fn close_stalled<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        if self.connections.unsent_bytes() <= self.config.requests_bytes_max / 2 {
            self.stalls_due_us = None;
            return None;
        }
        let now_us = reactor.now().monotonic_us;
        if self.stalls_due_us.is_some_and(|due| now_us < due) {
            return self.stalls_due_us;
        }
        self.stalls_due_us = Some(now_us + STALLS_EVERY_US);
        for id in self.connections.stalled(now_us, |id| reactor.unsent_bytes(id)) {
            if self.connections.unsent_bytes() <= self.config.requests_bytes_max {
                break;
            }
            reactor.abort(id);
            self.forget(id);
        }
        self.stalls_due_us
    }

    pub(crate) fn resume_one<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId) {
        let unsent = reactor.unsent_bytes(id);
        let unsent_bytes_max = self.unsent_bytes_max();
        let Some(connection) = self.connections.weigh(id, unsent) else { return };
        if !connection.paused || unsent > unsent_bytes_max / 2 {
            // With much to send, `drained` will tell.
            return;
        }
        if !connection.session.takes_requests(unsent, unsent_bytes_max) {
            return self.connections.pause(id);
        }
        connection.paused = false;
        self.serve(reactor, id, &[]);
        if self.connections.get_mut(id).is_some_and(|connection| !connection.paused) {
            reactor.set_reading(id, true);
        }
    }
}
