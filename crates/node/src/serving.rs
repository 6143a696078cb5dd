//! Connections: bytes to requests, replies to bytes, and back-pressure while memory is short.

use crate::connections::Connection;
use crate::core::Core;
use crate::handshakes::Order;
use crate::message::Message;
use crate::protocol::Verdict;
use crate::transport::{Arrived, TlsBuffers};
use io::{ConnectionId, Reactor};
use tls::LinkError;

/// A connection may always leave this many bytes of replies unread.
const UNSENT_BYTES_LEAST: usize = 64 << 10;

/// How often a core tells of clients whose TLS has failed.
const TLS_FAILURES_EVERY_US: u64 = 60_000_000;

/// How often a core with too many unsent bytes looks for stalled clients.
const STALLS_EVERY_US: u64 = 250_000;

/// So many bytes of a client that is refused are looked at for how to tell it.
const REFUSED_BYTES: usize = 16;

/// What has arrived on a connection that speaks TLS, and where replies to it go.
struct Opened {
    buffers: TlsBuffers,
    outcome: Result<(), Ended>,
}

/// Why a connection ends.
enum Ended {
    /// It does not speak TLS; its first bytes.
    NoTls {
        begins: Vec<u8>,
    },
    Tls(LinkError),
}

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

    /// Whether no request may be served before the audit log has caught up.
    #[inline]
    fn audit_blocks(&self) -> bool {
        self.audit.as_ref().is_some_and(|audit| audit.blocks())
    }

    pub(crate) fn is_overloaded(&self) -> bool {
        self.held_bytes() > self.config.requests_bytes_max
    }

    /// Appends a plain reply to a connection, if it is still there.
    pub(crate) fn deliver<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId, frame: &[u8]) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let Some((class, code)) = connection.session.error_of(frame) {
            self.requests.meter.failed(class, code);
        }
        if let Some(audit) = &mut self.audit
            && let Some((tag, failure)) = connection.session.audited_reply(frame)
        {
            audit.replied(id, tag, failure.as_ref());
        }
        if let Some(out) = reactor.output(id) {
            let Connection { session, transport, .. } = connection;
            transport
                .append(out, &mut self.tls_buffers, |out| session.append_late_reply(frame, out, self.workspaces.get_or_insert_default()));
        }
        let is_answered = connection.session.is_background() && connection.session.in_flight() == 0;
        if is_answered {
            self.background.ended(id, reactor.slept_us(), reactor.clock_us());
        }
        self.charge_late(id, frame.len());
        self.weigh(reactor, id);
    }

    /// Appends a piece of a reply, of which more is to come.
    pub(crate) fn deliver_piece<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let Some(out) = reactor.output(id) {
            let Connection { session, transport, .. } = connection;
            transport.append(out, &mut self.tls_buffers, |out| session.append_piece(piece, out, self.workspaces.get_or_insert_default()));
        }
        self.charge_late(id, piece.len());
        self.weigh(reactor, id);
    }

    /// Forgets a connection, and the request that waits for it alone.
    pub(crate) fn forget<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId) {
        if let Some(audit) = &mut self.audit {
            audit.closed(id);
        }
        let Some(connection) = self.connections.remove(id) else { return };
        self.handshakes.forget(id);
        self.background.ended(id, reactor.slept_us(), reactor.clock_us());
        let Connection { session, stream, share, .. } = *connection;
        self.uncount_connection(share);
        if let Some(stream) = stream {
            self.requests.discard(stream);
        }
        session.closed(self, reactor);
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
                let Connection { session, transport, .. } = connection;
                transport
                    .append(out, &mut self.tls_buffers, |out| session.append_event(event, out, self.workspaces.get_or_insert_default()));
            }
        }
    }

    /// Serves the requests that were left when the connection was paused, then those in `bytes`.
    pub(crate) fn serve<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId, bytes: &[u8]) {
        let Some(mut connection) = self.connections.take(id) else { return };
        let is_background = connection.session.is_background();
        let waits = is_background && !self.background.begins(id, reactor.slept_us(), reactor.clock_us());
        if !is_background {
            self.client_came();
        }
        let unsent = reactor.unsent_bytes(id);
        let Some(output) = reactor.output(id) else { return self.connections.put(connection) };
        let mut out = std::mem::take(output);
        let mut workspaces = self.workspaces.take().unwrap_or_default();
        // The output of this turn is within `unsent`; what the kernel has not taken of turns before is not in `out`.
        let room = if waits || self.audit_blocks() { 0 } else { self.unsent_bytes_max().saturating_sub(unsent - out.len()) };
        let mut opened = if connection.transport.is_plain() { None } else { self.open(reactor, &mut connection, bytes) };
        let (said, replies) = match &mut opened {
            None => (bytes, &mut out),
            Some(opened) => (&opened.buffers.arrived[..], &mut opened.buffers.replies),
        };
        let before = replies.len();
        self.limits.enter(connection.share);
        let mut verdict = connection.session.receive(said, replies, room, &mut workspaces, (self, reactor, id));
        if self.limits.is_any() {
            let bytes_out = match &opened {
                None => out.len(),
                Some(opened) => opened.buffers.replies.len(),
            };
            verdict = self.after_serving(&mut connection, bytes.len() + bytes_out.saturating_sub(before), verdict);
        }
        if let Some(opened) = opened {
            verdict = self.seal(reactor, &mut connection, opened, verdict, &mut out);
        } else if verdict == Verdict::StartTls {
            verdict = self.start_tls(reactor, &mut connection);
        }
        self.workspaces = Some(workspaces);
        reactor.put_output(id, out);
        connection.paused = verdict == Verdict::Pause;
        if is_background && connection.session.in_flight() == 0 {
            self.background.ended(id, reactor.slept_us(), reactor.clock_us());
        }
        self.connections.put(connection);
        self.weigh(reactor, id);
        if verdict == Verdict::Close {
            reactor.close(id);
        }
    }

    /// Whether bytes that have arrived are not to be served now, for they are of a handshake.
    #[inline]
    pub(crate) fn defers_handshake<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId, bytes: &[u8]) -> bool {
        if self.config.client_tls.is_none() {
            return false;
        }
        let transport = self.connections.get(id).map(|connection| &connection.transport);
        let is_costly = transport.is_some_and(|transport| transport.is_handshake(bytes) && !transport.begins_in_part(bytes));
        // What comes after bytes that wait is of the same handshake, whatever it begins with.
        if !is_costly && !self.handshakes.waits(id) {
            return false;
        }
        match self.handshakes.arrived(id, bytes) {
            Order::Now => return false,
            Order::Later => {}
            Order::Never => {
                self.log_tls_failure(reactor, id, &"it sends on before the handshake of TLS was answered");
                reactor.close(id);
            }
        }
        true
    }

    /// Does one of those that wait.
    pub(crate) fn handshakes_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        if let Some((id, bytes)) = self.handshakes.next() {
            self.serve(reactor, id, &bytes);
        }
    }

    /// Decrypts what has arrived on a connection that may speak TLS; none if it does not, and need not.
    #[inline(never)]
    fn open<R: Reactor<Message = Message>>(&mut self, reactor: &R, connection: &mut Connection, bytes: &[u8]) -> Option<Opened> {
        let mut buffers = std::mem::take(&mut self.tls_buffers);
        let chooses = connection.transport.may_be_plain();
        let outcome = match connection.transport.receive(self.config.client_tls.as_ref(), reactor.now(), bytes, &mut buffers.arrived) {
            Arrived::Plain => {
                self.tls_buffers = buffers;
                return None;
            }
            Arrived::Refused => Err(Ended::NoTls { begins: bytes[..bytes.len().min(REFUSED_BYTES)].to_vec() }),
            Arrived::Decrypted(outcome) => outcome.map_err(Ended::Tls),
        };
        if chooses && connection.transport.awaits_handshake(false) {
            self.handshake_begins(connection.id, reactor.now().monotonic_us);
        }
        if let Some((certificate, encryption)) =
            connection.transport.take_certificate(self.config.certificates.map(|logins| logins.identity))
        {
            connection.session.set_encrypted(certificate, encryption);
        }
        Some(Opened { buffers, outcome })
    }

    /// Goes over to TLS, as the session has agreed with its client.
    #[inline(never)]
    fn start_tls<R: Reactor<Message = Message>>(&mut self, reactor: &R, connection: &mut Connection) -> Verdict {
        let Some(config) = &self.config.client_tls else { return Verdict::Close };
        match connection.transport.start_tls(config) {
            Ok(()) => {
                self.handshake_begins(connection.id, reactor.now().monotonic_us);
                Verdict::Continue
            }
            Err(error) => {
                self.log_tls_failure(reactor, connection.id, &error);
                Verdict::Close
            }
        }
    }

    /// Encrypts the replies to what [`Core::open`] has decrypted, and ends the connection if that has said so.
    #[inline(never)]
    fn seal<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &R,
        connection: &mut Connection,
        opened: Opened,
        mut verdict: Verdict,
        out: &mut Vec<u8>,
    ) -> Verdict {
        let Opened { mut buffers, outcome } = opened;
        connection.transport.send(&buffers.replies);
        buffers.clear();
        self.tls_buffers = buffers;
        if let Err(ended) = outcome {
            verdict = Verdict::Close;
            match ended {
                Ended::NoTls { begins } => {
                    let why = "this server is to be spoken to by TLS: switch it on in the client";
                    connection.session.append_refusal(&begins, why, out);
                    self.log_tls_failure(reactor, connection.id, &"it does not speak TLS, which is required of clients (setting `tls`)");
                }
                Ended::Tls(LinkError::Closed) => {}
                Ended::Tls(error) => self.log_tls_failure(reactor, connection.id, &error),
            }
        }
        connection.transport.flush(out, verdict == Verdict::Close);
        verdict
    }

    /// Says why a client has no TLS: once in a while, for whoever scans ports must not fill the log.
    pub(crate) fn log_tls_failure<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &R,
        connection: ConnectionId,
        why: &dyn std::fmt::Display,
    ) {
        let now_us = reactor.now().monotonic_us;
        if self.tls_failure_logged_us.is_some_and(|logged_us| now_us < logged_us + TLS_FAILURES_EVERY_US) {
            return;
        }
        self.tls_failure_logged_us = Some(now_us);
        tracing::warn!(core = self.core.0, connection = connection.index, %why, "a client was not served; more of these are not logged for a minute");
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
                let Connection { session, transport, .. } = connection;
                transport.append(out, &mut self.tls_buffers, |out| session.append_overload(out, self.workspaces.get_or_insert_default()));
            }
            reactor.close(id);
        }
    }

    /// Resumes paused connections, as far as there is room.
    pub(crate) fn resume<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        self.background.ask_again();
        for _ in 0..self.connections.paused_count() {
            if self.is_overloaded() || self.audit_blocks() {
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
        if self.stalls_due_us.is_none() {
            self.connections.forget_stalls();
        }
        self.stalls_due_us = Some(now_us + STALLS_EVERY_US);
        for id in self.connections.stalled(now_us, |id| (reactor.unsent_bytes(id), reactor.sent_bytes(id))) {
            if self.connections.unsent_bytes() <= self.config.requests_bytes_max {
                break;
            }
            reactor.abort(id);
            self.forget(reactor, id);
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
        // Its output stays as it is: a connection that is touched is flushed, and asks again once it has nothing to send.
        if connection.session.is_background() && self.background.has_to_wait(reactor.slept_us(), reactor.clock_us()) {
            return self.connections.pause(id);
        }
        connection.paused = false;
        self.serve(reactor, id, &[]);
        if self.connections.get_mut(id).is_some_and(|connection| !connection.paused) {
            reactor.set_reading(id, true);
        }
    }
}
