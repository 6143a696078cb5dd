//! Handshakes of TLS that wait: a core does one in a turn, and what has arrived on other connections between two of them, so that a thousand clients that connect at once
//! delay the others by one signature and not by a thousand.
//!
//! Invariant: what arrived on a connection is served in order: while some of it waits here, all that comes after waits as well.

use io::ConnectionId;
use std::collections::{BTreeMap, VecDeque};

/// So much may wait on a core: some eight thousand clients. Those that come then are served at once.
const BYTES_MAX: usize = 16 << 20;
/// A client has more to say only after an answer.
const CLIENT_BYTES_MAX: usize = 64 << 10;

/// What becomes of bytes of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// They are served now.
    Now,
    /// They wait here.
    Later,
    /// The client sends too much.
    Never,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Handshakes {
    /// May have clients that are gone.
    order: VecDeque<ConnectionId>,
    waiting: BTreeMap<ConnectionId, Vec<u8>>,
    bytes: usize,
    /// Whether this turn has done one.
    is_spent: bool,
}

impl Handshakes {
    /// Takes bytes of a client's handshake, if they have to wait.
    pub(crate) fn arrived(&mut self, id: ConnectionId, bytes: &[u8]) -> Order {
        if let Some(before) = self.waiting.get_mut(&id) {
            if before.len() + bytes.len() > CLIENT_BYTES_MAX || self.bytes > BYTES_MAX {
                return Order::Never;
            }
            before.extend_from_slice(bytes);
        } else if !self.is_spent || self.bytes > BYTES_MAX {
            self.is_spent = true;
            return Order::Now;
        } else {
            self.waiting.insert(id, bytes.to_vec());
            self.order.push_back(id);
        }
        self.bytes += bytes.len();
        Order::Later
    }

    /// A turn begins: the bytes that have waited longest.
    pub(crate) fn next(&mut self) -> Option<(ConnectionId, Vec<u8>)> {
        let next = std::iter::from_fn(|| self.order.pop_front()).find_map(|id| Some((id, self.waiting.remove(&id)?)));
        self.is_spent = next.is_some();
        self.bytes -= next.as_ref().map_or(0, |(_, bytes)| bytes.len());
        next
    }

    /// A client is gone.
    pub(crate) fn forget(&mut self, id: ConnectionId) {
        self.bytes -= self.waiting.remove(&id).map_or(0, |bytes| bytes.len());
    }

    /// Whether bytes of this client wait.
    pub(crate) fn waits(&self, id: ConnectionId) -> bool {
        self.waiting.contains_key(&id)
    }

    /// Whether some wait.
    pub(crate) fn is_any(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(index: u32) -> ConnectionId {
        ConnectionId { index, generation: 0 }
    }

    #[test]
    fn one_is_done_in_a_turn_in_the_order_in_which_they_came() {
        let mut handshakes = Handshakes::default();
        assert_eq!(handshakes.arrived(client(0), b"hello"), Order::Now);
        for index in 1..4 {
            assert_eq!(handshakes.arrived(client(index), b"hello"), Order::Later);
        }
        assert_eq!(handshakes.arrived(client(2), b", more"), Order::Later);
        assert!(handshakes.waits(client(2)) && !handshakes.waits(client(0)));
        handshakes.forget(client(1));
        assert_eq!(handshakes.next(), Some((client(2), b"hello, more".to_vec())));
        assert_eq!(handshakes.arrived(client(0), b"finished"), Order::Later, "this turn has done one");
        assert_eq!(handshakes.next(), Some((client(3), b"hello".to_vec())));
        assert_eq!(handshakes.next(), Some((client(0), b"finished".to_vec())));
        assert!(!handshakes.is_any() && handshakes.next().is_none());
        assert_eq!((handshakes.bytes, handshakes.arrived(client(5), b"hello")), (0, Order::Now));
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut handshakes = Handshakes::default();
        assert_eq!(handshakes.arrived(client(0), b"hello"), Order::Now);
        let half = vec![0; CLIENT_BYTES_MAX / 2 + 1];
        assert_eq!((handshakes.arrived(client(1), &half), handshakes.arrived(client(1), &half)), (Order::Later, Order::Never));
        let many = (2..10_000).filter(|index| handshakes.arrived(client(*index), &half) == Order::Later).count();
        assert!(handshakes.bytes <= BYTES_MAX + half.len() && many < 1_000, "{many}");
    }
}
