//! Clients of protocols other than CQL's, byte for byte: at most one to each core of each member.

#![allow(clippy::unwrap_used)]

use io::{ConnectionId, ListenerId};
use sim::Network;
use std::collections::BTreeMap;

/// A member's core.
pub(crate) type At = (usize, u16);

struct Connection {
    end: (u16, ConnectionId),
    boot: u64,
    received: Vec<u8>,
}

/// The connections of a protocol's clients.
pub(crate) struct Clients {
    listener: ListenerId,
    connections: BTreeMap<At, Connection>,
}

impl Clients {
    pub(crate) fn new(listener: ListenerId) -> Self {
        Self { listener, connections: BTreeMap::new() }
    }

    /// Connects, unless that was done since the member's last start. Says whether it did.
    pub(crate) fn connect(&mut self, network: &mut Network, at: At) -> bool {
        let boot = network.boots(at.0);
        if self.connections.get(&at).is_some_and(|connection| connection.boot == boot) {
            return false;
        }
        let end = network.machine(at.0).unwrap().accept_on(at.1, self.listener);
        self.connections.insert(at, Connection { end, boot, received: Vec::new() });
        true
    }

    /// Sends by a connection that is there.
    pub(crate) fn send(&self, network: &mut Network, at: At, bytes: &[u8]) {
        network.machine(at.0).unwrap().connection(self.connections[&at].end).unwrap().to_core.extend(bytes);
    }

    /// The next frame's body; `whole` says of what has arrived how long a whole frame's head and body are. None if the member has ended.
    pub(crate) fn receive(&mut self, network: &mut Network, at: At, whole: impl Fn(&[u8]) -> Option<(usize, usize)>) -> Option<Vec<u8>> {
        let (connection, mut body) = (self.connections.get_mut(&at).unwrap(), None);
        let came = network.run_until(|network| {
            let Some(machine) = network.machine(at.0) else { return true };
            connection.received.append(&mut machine.connection(connection.end).unwrap().to_client);
            let Some((head_bytes, body_bytes)) = whole(&connection.received) else { return false };
            if connection.received.len() < head_bytes + body_bytes {
                return false;
            }
            body = Some(connection.received.drain(..head_bytes + body_bytes).skip(head_bytes).collect());
            true
        });
        assert!(came, "no reply");
        body
    }
}
