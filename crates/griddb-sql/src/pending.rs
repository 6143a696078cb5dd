//! Clients that have not logged in yet: at the limit of connections the oldest of them is cut for another client.

use crate::node::lock;
use crate::transport::Output;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// The oldest first. Those that have logged in or gone stay until others come.
#[derive(Default)]
pub(crate) struct Pending(Mutex<VecDeque<Client>>);

struct Client {
    output: Weak<Mutex<Output>>,
    has_logged_in: Arc<AtomicBool>,
}

impl Client {
    fn is_pending(&self) -> bool {
        self.output.strong_count() > 0 && !self.has_logged_in.load(Ordering::Acquire)
    }
}

impl Pending {
    /// A client has connected.
    pub(crate) fn came(&self, output: &Arc<Mutex<Output>>, has_logged_in: &Arc<AtomicBool>) {
        let mut clients = lock(&self.0);
        // As many as are served, at most: a port has some hundreds.
        clients.retain(Client::is_pending);
        clients.push_back(Client { output: Arc::downgrade(output), has_logged_in: Arc::clone(has_logged_in) });
    }

    /// Cuts the oldest; false if there is none.
    pub(crate) fn cut_oldest(&self) -> bool {
        let mut clients = lock(&self.0);
        for _ in 0..clients.len() {
            let Some(client) = clients.pop_front().filter(Client::is_pending) else { continue };
            let Some(output) = client.output.upgrade() else { continue };
            // Whoever is being written to is not waited for.
            match output.try_lock() {
                Ok(output) => {
                    output.cut();
                    return true;
                }
                Err(_) => clients.push_back(client),
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::split;
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn the_oldest_is_cut_and_who_has_logged_in_or_gone_is_not() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let pending = Pending::default();
        let mut clients: Vec<_> = (0..4)
            .map(|_| {
                let client = TcpStream::connect(address).expect("it listens");
                let (input, output) = split(listener.accept().expect("a client").0).expect("descriptors");
                let has_logged_in = Arc::new(AtomicBool::new(false));
                pending.came(&output, &has_logged_in);
                (client, Some((input, output)), has_logged_in)
            })
            .collect();
        clients[0].1 = None;
        clients[1].2.store(true, Ordering::Release);
        assert!(pending.cut_oldest());
        assert_eq!(clients[2].0.read(&mut [0]).expect("an end"), 0, "the oldest that waits");
        assert!(pending.cut_oldest());
        assert_eq!(clients[3].0.read(&mut [0]).expect("an end"), 0);
        assert!(!pending.cut_oldest(), "nobody is left who could be");
        clients[1].0.set_nonblocking(true).expect("a socket");
        assert!(clients[1].0.read(&mut [0]).is_err(), "it is connected");
    }
}
