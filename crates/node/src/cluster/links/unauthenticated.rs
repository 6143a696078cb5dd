//! Unauthenticated connections to the node port: nobody knows yet whose they are: bounded in number, time and bytes.

use io::ConnectionId;
use std::collections::BTreeSet;

/// Who connects has so long to say hello, with TLS before it, ...
const HELLO_US: u64 = 3_000_000;

/// ... so long to be taken in, if it is no member, which is longer than a proposal takes, ...
const JOIN_US: u64 = 15_000_000;

/// ... and makes room for another one if there are so many.
const UNAUTHENTICATED_MAX: usize = 256;

/// As long as it is no member, it may have so many bytes of a frame on their way.
pub(crate) const UNAUTHENTICATED_BYTES_MAX: usize = 32 << 10;

/// All of a core, by when they are ended.
#[derive(Default)]
pub(crate) struct Unauthenticated(BTreeSet<(u64, ConnectionId)>);

/// When an unauthenticated connection is closed.
#[derive(Clone, Copy)]
pub(crate) struct UnauthenticatedUntil(u64);

impl Unauthenticated {
    /// One has connected.
    pub(crate) fn came(&mut self, connection: ConnectionId, now_us: u64) -> UnauthenticatedUntil {
        self.0.insert((now_us + HELLO_US, connection));
        UnauthenticatedUntil(now_us + HELLO_US)
    }

    /// One wants to be a member.
    pub(crate) fn wants_to_join(&mut self, connection: ConnectionId, until: UnauthenticatedUntil, now_us: u64) -> UnauthenticatedUntil {
        self.left(connection, until);
        self.0.insert((now_us + JOIN_US, connection));
        UnauthenticatedUntil(now_us + JOIN_US)
    }

    /// One is a member, or gone.
    pub(crate) fn left(&mut self, connection: ConnectionId, until: UnauthenticatedUntil) {
        self.0.remove(&(until.0, connection));
    }

    /// One that is to be ended, and why; or when to look again.
    pub(crate) fn next_due(&mut self, now_us: u64) -> Result<(ConnectionId, &'static str), Option<u64>> {
        let (until_us, connection) = self.0.first().copied().ok_or(None)?;
        let why = if self.0.len() > UNAUTHENTICATED_MAX {
            "too many unauthenticated connections"
        } else if now_us >= until_us {
            "it has not authenticated in time"
        } else {
            return Err(Some(until_us));
        };
        self.0.pop_first();
        Ok((connection, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(index: u32) -> ConnectionId {
        ConnectionId { index, generation: 0 }
    }

    #[test]
    fn who_says_nothing_is_ended_and_who_joins_later() {
        let mut unauthenticated = Unauthenticated::default();
        let [_, joiner, member] = [0, 1, 2].map(|index| unauthenticated.came(connection(index), 10));
        unauthenticated.wants_to_join(connection(1), joiner, 20);
        unauthenticated.left(connection(2), member);
        assert_eq!(unauthenticated.next_due(10 + HELLO_US - 1), Err(Some(10 + HELLO_US)));
        assert_eq!(unauthenticated.next_due(10 + HELLO_US).map(|(connection, _)| connection), Ok(connection(0)));
        assert_eq!(unauthenticated.next_due(10 + HELLO_US), Err(Some(20 + JOIN_US)));
        assert_eq!(unauthenticated.next_due(20 + JOIN_US).map(|(connection, _)| connection), Ok(connection(1)));
        assert_eq!(unauthenticated.next_due(u64::MAX), Err(None));
    }

    #[test]
    fn the_oldest_make_room() {
        let mut unauthenticated = Unauthenticated::default();
        for index in 0..UNAUTHENTICATED_MAX as u32 + 2 {
            unauthenticated.came(connection(index), 10 + u64::from(index));
        }
        assert_eq!(unauthenticated.next_due(400).map(|(connection, _)| connection), Ok(connection(0)));
        assert_eq!(unauthenticated.next_due(400).map(|(connection, _)| connection), Ok(connection(1)));
        assert_eq!(unauthenticated.next_due(400), Err(Some(12 + HELLO_US)));
    }
}
