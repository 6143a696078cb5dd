//! Clients that have not finished the handshake of TLS, or have not logged in where they have to: bounded in time, and the first to go when a core
//! has no room for another client, once they have had their places for a second.
//!
//! Nothing is done for a request: a client is looked up once its time is over, or when its place is needed. Without TLS and log-in nobody is here,
//! and without log-in nobody stays after the handshake, so that pools may open connections long before they use them.

use crate::connections::Connection;
use io::ConnectionId;
use std::collections::VecDeque;

/// From the connection to the end of the handshake.
const HANDSHAKE_US: u64 = 10_000_000;

/// From the connection to the end of the log-in.
const LOGIN_US: u64 = 30_000_000;

/// So long a client keeps its place for certain: enough for a handshake and a log-in from afar, however many come meanwhile.
const PLACE_US: u64 = 1_000_000;

/// Entries of clients that are pending no more are dropped when there are so many more than connections, and as many again.
const STALE_LEAST: usize = 64;

/// What a client has still to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// TLS.
    Handshake,
    /// To log in, after the handshake if it speaks TLS.
    Login,
}

impl Pending {
    /// What this client has still to do, if anything.
    pub(crate) fn of(connection: &Connection, is_tls_required: bool, requires_login: bool) -> Option<Self> {
        if connection.transport.awaits_handshake(is_tls_required) {
            Some(Self::Handshake)
        } else if requires_login && connection.session.awaits_login() {
            Some(Self::Login)
        } else {
            None
        }
    }
}

/// All of a core: in each queue the oldest first.
#[derive(Debug, Default)]
pub(crate) struct PendingClients {
    handshakes: VecDeque<(u64, ConnectionId)>,
    logins: VecDeque<(u64, ConnectionId)>,
    /// When one that was cut was last warned of.
    pub(crate) warned_us: Option<u64>,
}

impl PendingClients {
    /// A client has this to do from now on.
    pub(crate) fn came(&mut self, pending: Pending, connection: ConnectionId, now_us: u64) {
        match pending {
            Pending::Handshake => self.handshakes.push_back((now_us, connection)),
            Pending::Login => self.logins.push_back((now_us, connection)),
        }
    }

    /// The next one whose time is over, or when to look again. `pending` says what a client has still to do.
    pub(crate) fn next_due(
        &mut self,
        now_us: u64,
        pending: impl Fn(ConnectionId) -> Option<Pending>,
    ) -> Result<(ConnectionId, Pending), Option<u64>> {
        while let Some((_, connection)) = self.handshakes.front().copied().filter(|(since_us, _)| now_us >= since_us + HANDSHAKE_US) {
            self.handshakes.pop_front();
            if pending(connection) == Some(Pending::Handshake) {
                return Ok((connection, Pending::Handshake));
            }
        }
        while let Some((_, connection)) = self.logins.front().copied().filter(|(since_us, _)| now_us >= since_us + LOGIN_US) {
            self.logins.pop_front();
            if let Some(pending) = pending(connection) {
                return Ok((connection, pending));
            }
        }
        let handshake_due_us = self.handshakes.front().map(|(since_us, _)| since_us + HANDSHAKE_US);
        let login_due_us = self.logins.front().map(|(since_us, _)| since_us + LOGIN_US);
        Err(handshake_due_us.into_iter().chain(login_due_us).min())
    }

    /// Takes out the oldest, if it has had its place for long enough; otherwise says when that will be, if there is one.
    pub(crate) fn take_oldest(
        &mut self,
        now_us: u64,
        pending: impl Fn(ConnectionId) -> Option<Pending>,
    ) -> Result<ConnectionId, Option<u64>> {
        while self.handshakes.front().is_some_and(|(_, connection)| pending(*connection) != Some(Pending::Handshake)) {
            self.handshakes.pop_front();
        }
        while self.logins.front().is_some_and(|(_, connection)| pending(*connection).is_none()) {
            self.logins.pop_front();
        }
        let queue = match (self.handshakes.front(), self.logins.front()) {
            (Some(handshake), Some(login)) if login.0 <= handshake.0 => &mut self.logins,
            (None, _) => &mut self.logins,
            _ => &mut self.handshakes,
        };
        let (since_us, connection) = queue.front().copied().ok_or(None)?;
        if now_us < since_us + PLACE_US {
            return Err(Some(since_us + PLACE_US));
        }
        queue.pop_front();
        Ok(connection)
    }

    /// Forgets who is pending no more, if those are many.
    pub(crate) fn trim(&mut self, connections: usize, pending: impl Fn(ConnectionId) -> Option<Pending>) {
        for queue in [&mut self.handshakes, &mut self.logins] {
            if queue.len() > 2 * connections + STALE_LEAST {
                queue.retain(|(_, connection)| pending(*connection).is_some());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn id(index: u32) -> ConnectionId {
        ConnectionId { index, generation: 0 }
    }

    /// What these clients have still to do; nobody else is there any more.
    fn still(clients: &[(u32, Pending)]) -> impl Fn(ConnectionId) -> Option<Pending> {
        let clients: BTreeMap<u32, Pending> = clients.iter().copied().collect();
        move |id| clients.get(&id.index).copied()
    }

    fn all_came(count: u32) -> PendingClients {
        let mut pending = PendingClients::default();
        for index in 0..count {
            pending.came(Pending::Handshake, id(index), u64::from(index));
            pending.came(Pending::Login, id(index), u64::from(index));
        }
        pending
    }

    #[test]
    fn handshakes_have_ten_seconds_and_log_ins_thirty() {
        let mut pending = all_came(3);
        let are = still(&[(0, Pending::Handshake), (1, Pending::Login)]);
        assert_eq!(pending.next_due(HANDSHAKE_US - 1, &are), Err(Some(HANDSHAKE_US)));
        assert_eq!(pending.next_due(HANDSHAKE_US, &are), Ok((id(0), Pending::Handshake)));
        assert_eq!(pending.next_due(HANDSHAKE_US + 2, &are), Err(Some(LOGIN_US)), "one shakes hands no more, and one is gone");
        let are = still(&[(1, Pending::Login)]);
        assert_eq!(pending.next_due(LOGIN_US, &are), Err(Some(LOGIN_US + 1)));
        assert_eq!(pending.next_due(LOGIN_US + 1, &are), Ok((id(1), Pending::Login)));
        assert_eq!(pending.next_due(u64::MAX, &are), Err(None));
    }

    #[test]
    fn the_oldest_gives_its_place_and_who_is_served_does_not() {
        let mut pending = all_came(4);
        pending.came(Pending::Handshake, id(9), 100);
        let are = still(&[(1, Pending::Login), (2, Pending::Handshake), (9, Pending::Handshake)]);
        assert_eq!(pending.take_oldest(PLACE_US, &are), Err(Some(PLACE_US + 1)), "it came at 1, and has had no second yet");
        assert_eq!(pending.take_oldest(PLACE_US + 1, &are), Ok(id(1)));
        assert_eq!(pending.take_oldest(PLACE_US + 1, &are), Err(Some(PLACE_US + 2)));
        assert_eq!(pending.take_oldest(PLACE_US + 2, &are), Ok(id(2)));
        let are = still(&[(9, Pending::Handshake)]);
        assert_eq!(pending.take_oldest(u64::MAX, &are), Ok(id(9)));
        assert_eq!(pending.take_oldest(u64::MAX, &are), Err(None));
    }

    #[test]
    fn clients_that_come_and_go_leave_nothing() {
        let mut pending = PendingClients::default();
        for index in 0..10_000 {
            pending.trim(1, still(&[(3, Pending::Login)]));
            pending.came(Pending::Login, id(index), 1);
        }
        assert!(pending.logins.len() <= 2 + STALE_LEAST + 1, "{} are left", pending.logins.len());
        assert_eq!(pending.logins.front(), Some(&(1, id(3))));
    }
}
