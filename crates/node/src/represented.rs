//! Connections that the process makes to its own ports for clients of its other ports: whose they are, so that the audit log, networks of roles and
//! guessed passwords are those of the client and not of the node.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The clients of all such connections that are open.
#[derive(Debug, Default)]
pub struct RepresentedClients {
    /// By the connection's own address.
    clients: Mutex<HashMap<SocketAddr, IpAddr>>,
    /// How many there are: most nodes have none, and look no further.
    count: AtomicUsize,
}

impl RepresentedClients {
    /// Says whose a connection is that is about to be made, until what is returned is dropped.
    #[must_use]
    pub fn add(self: &Arc<Self>, own: SocketAddr, client: IpAddr) -> Representation {
        self.lock().insert(own, client.to_canonical());
        self.count.fetch_add(1, Ordering::AcqRel);
        Representation { clients: Arc::clone(self), own }
    }

    /// Where the client is that a connection from `peer` is for. The port is the connection's: a client may have several.
    pub(crate) fn client_of(&self, peer: SocketAddr) -> SocketAddr {
        if self.count.load(Ordering::Acquire) == 0 {
            return peer;
        }
        let client = self.lock().get(&peer).copied();
        client.map_or(peer, |client| SocketAddr::new(client, peer.port()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SocketAddr, IpAddr>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection for somebody else, as long as it is open.
#[derive(Debug)]
pub struct Representation {
    clients: Arc<RepresentedClients>,
    own: SocketAddr,
}

impl Drop for Representation {
    fn drop(&mut self) {
        self.clients.lock().remove(&self.own);
        self.clients.count.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_its_clients_as_long_as_it_is_open() {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let clients = Arc::new(RepresentedClients::default());
        let (own, other) = (address("127.0.0.1:4000"), address("127.0.0.1:4001"));
        assert_eq!(clients.client_of(own), own);
        let open = clients.add(own, "::ffff:192.0.2.1".parse().expect("an address"));
        assert_eq!((clients.client_of(own), clients.client_of(other)), (address("192.0.2.1:4000"), other));
        drop(open);
        assert_eq!(clients.client_of(own), own);
    }
}
