//! Which clients a core cuts: those that take too long over TLS or their log-in, and the oldest of these for a new client.

use crate::connections::Connections;
use crate::core::Core;
use crate::message::Message;
use crate::pending_clients::Pending;
use io::{ConnectionId, Reactor, Room};

/// At most one warning about clients that were cut in this time.
const WARNING_EVERY_US: u64 = 60_000_000;

/// Looks a client up.
fn looked_up(connections: &Connections, is_tls_required: bool, requires_login: bool) -> impl Fn(ConnectionId) -> Option<Pending> {
    move |id| connections.get(id).and_then(|connection| Pending::of(connection, is_tls_required, requires_login))
}

impl Core {
    fn is_tls_required(&self) -> bool {
        self.config.client_tls.as_ref().is_some_and(|tls| tls.is_required)
    }

    /// A client was accepted, on a listener where it may have to speak TLS.
    pub(crate) fn client_accepted(&mut self, id: ConnectionId, has_to_speak_tls: bool, now_us: u64) {
        let (is_tls_required, requires_login) = (self.is_tls_required(), self.config.requires_login);
        if !has_to_speak_tls && !requires_login {
            return;
        }
        self.pending.trim(self.connections.count() as usize, looked_up(&self.connections, is_tls_required, requires_login));
        if has_to_speak_tls {
            self.pending.came(Pending::Handshake, id, now_us);
        }
        if requires_login {
            self.pending.came(Pending::Login, id, now_us);
        }
    }

    /// A client begins TLS, which it need not have done.
    pub(crate) fn handshake_begins(&mut self, id: ConnectionId, now_us: u64) {
        // Where it has to, its time runs since it was accepted.
        if !self.is_tls_required() {
            self.pending.came(Pending::Handshake, id, now_us);
        }
    }

    /// Cuts clients whose time is over. Returns the time at which to look again.
    pub(crate) fn cut_pending<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let (is_tls_required, requires_login) = (self.is_tls_required(), self.config.requires_login);
        loop {
            match self.pending.next_due(now_us, looked_up(&self.connections, is_tls_required, requires_login)) {
                Ok((id, Pending::Handshake)) => self.cut(reactor, id, "it has not finished the handshake of TLS in 10 seconds"),
                Ok((id, Pending::Login)) => self.cut(reactor, id, "it has not logged in within 30 seconds"),
                Err(due_us) => return due_us,
            }
        }
    }

    /// Cuts the client that has been pending longest, if its place may be taken.
    pub(crate) fn cut_oldest_pending<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Room {
        let pending = looked_up(&self.connections, self.is_tls_required(), self.config.requires_login);
        match self.pending.take_oldest(reactor.now().monotonic_us, pending) {
            Ok(id) => {
                self.cut(reactor, id, "it has not logged in yet, and another client needs its place (setting `connections_per_core`)");
                Room::Made
            }
            Err(Some(at_us)) => Room::At(at_us),
            Err(None) => Room::Never,
        }
    }

    fn cut<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, id: ConnectionId, why: &str) {
        let now_us = reactor.now().monotonic_us;
        self.figures.clients_cut += 1;
        if self.pending.warned_us.is_none_or(|warned_us| now_us >= warned_us + WARNING_EVERY_US) {
            self.pending.warned_us = Some(now_us);
            tracing::warn!(core = self.core.0, connection = id.index, why, "a client was cut; more of these are not logged for a minute");
        }
        reactor.abort(id);
        // `closed` comes later, and until then nobody may take it for one that still has a place to give.
        self.forget(reactor, id);
    }
}
