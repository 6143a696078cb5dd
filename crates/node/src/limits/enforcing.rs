//! Where limits hold: at log-in, at each request, and when roles change.

use super::core_limits::{OverLimit, ShareNumber};
use crate::connections::Connection;
use crate::core::Core;
use crate::message::Message;
use crate::protocol::Verdict;
use crate::request_figures::RequestKind;
use io::{ConnectionId, Reactor};

impl Core {
    /// Counts a request of the connection that is being served, if its role has limits.
    ///
    /// # Errors
    /// When it is one too many.
    #[inline]
    pub(crate) fn admit(&mut self, kind: RequestKind) -> Result<(), OverLimit> {
        if self.limits.is_limited() { self.limits.admit(kind, self.cores, self.requests.meter.now_us()) } else { Ok(()) }
    }

    /// Whether a client may log in as this role, as far as connections are limited. It is counted once it has: [`Core::count_connection`].
    ///
    /// # Errors
    /// When its connection would be one too many.
    pub(crate) fn check_connection(&mut self, role: &str) -> Result<(), OverLimit> {
        let share = self.limits.share_of(&self.schema, &self.config.role_uses, role);
        self.limits.check_connection(share)
    }

    /// A connection was served; it has sent so many bytes and got so many. Its client may have logged in.
    #[inline(never)]
    pub(crate) fn after_serving(&mut self, connection: &mut Connection, bytes: usize, verdict: Verdict) -> Verdict {
        self.limits.enter(ShareNumber::NONE);
        let now_us = self.requests.meter.now_us();
        match self.count_connection(connection) {
            Ok(()) => {
                self.limits.charge(connection.share, bytes, now_us);
                verdict
            }
            // Another one was faster; its log-in was let through.
            Err(_) => Verdict::Close,
        }
    }

    /// Counts a connection as one of its client's role, if that has limits.
    ///
    /// # Errors
    /// When it is one too many; then it is not counted.
    pub(crate) fn count_connection(&mut self, connection: &mut Connection) -> Result<(), OverLimit> {
        if connection.session.role() == connection.counted_as.as_deref() {
            return Ok(());
        }
        self.limits.disconnect(std::mem::take(&mut connection.share));
        let role = connection.session.role();
        let share = role.map_or(ShareNumber::NONE, |role| self.limits.share_of(&self.schema, &self.config.role_uses, role));
        let counted_as = role.map(Into::into);
        self.limits.connect(share)?;
        (connection.share, connection.counted_as) = (share, counted_as);
        Ok(())
    }

    /// A reply has gone to a connection later than its request was served.
    #[inline]
    pub(crate) fn charge_late(&mut self, id: ConnectionId, bytes: usize) {
        if self.limits.is_any()
            && let Some(connection) = self.connections.get_mut(id)
        {
            self.limits.charge(connection.share, bytes, self.requests.meter.now_us());
        }
    }

    /// A connection has ended.
    pub(crate) fn uncount_connection(&mut self, share: ShareNumber) {
        self.limits.disconnect(share);
    }

    /// Roles may have changed: requests of clients that are connected go by their new limits, and connections that are too many end.
    pub(crate) fn follow_limits<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        if !self.limits.is_any() && !self.schema.has_role_limits() {
            return;
        }
        let before = self.limits.replace(&self.schema);
        for connection in self.connections.iter_mut() {
            let Some(role) = connection.session.role() else { continue };
            let share = self.limits.share_of(&self.schema, &self.config.role_uses, role);
            // Counted before it is counted no more, so that nobody else takes its place.
            self.limits.take_over(share);
            before.disconnect(std::mem::replace(&mut connection.share, share));
            connection.counted_as = Some(role.into());
            if self.limits.is_surplus(share) {
                connection.share = ShareNumber::NONE;
                reactor.close(connection.id);
            }
        }
    }
}
