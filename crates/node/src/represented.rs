//! Connections that the process makes to its own ports for clients of its other ports: whose they are, so that the audit log, networks of roles and
//! guessed passwords are those of the client and not of the node.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tls::ClientCertificate;

/// Whom such a connection is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Represented {
    /// Where the client is.
    pub(crate) address: IpAddr,
    /// What it has shown of itself at the port that it has come to.
    pub(crate) certificate: ClientCertificate,
}

/// The clients of all such connections that are open.
#[derive(Debug, Default)]
pub struct RepresentedClients {
    /// By the connection's own address.
    clients: Mutex<HashMap<SocketAddr, Represented>>,
    /// How many there are: most nodes have none, and look no further.
    count: AtomicUsize,
}

impl RepresentedClients {
    /// Says whose a connection is that is about to be made, until what is returned is dropped.
    #[must_use]
    pub fn add(self: &Arc<Self>, own: SocketAddr, client: IpAddr, certificate: ClientCertificate) -> Representation {
        self.lock().insert(own, Represented { address: client.to_canonical(), certificate });
        self.count.fetch_add(1, Ordering::AcqRel);
        Representation { clients: Arc::clone(self), own }
    }

    /// Whom a connection from `peer` is for; none if it is of the one who has made it.
    pub(crate) fn client_of(&self, peer: SocketAddr) -> Option<Represented> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.lock().get(&peer).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SocketAddr, Represented>> {
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
        assert_eq!(clients.client_of(own), None);
        let certificate = ClientCertificate::Of("spiffe://x/jo".to_owned());
        let open = clients.add(own, "::ffff:192.0.2.1".parse().expect("an address"), certificate.clone());
        let client = Represented { address: "192.0.2.1".parse().expect("an address"), certificate };
        assert_eq!((clients.client_of(own), clients.client_of(other)), (Some(client), None));
        drop(open);
        assert_eq!(clients.client_of(own), None);
    }
}
