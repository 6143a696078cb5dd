//! The listener.

use crate::connection;
use crate::node::SqlNode;
use crate::pending::Pending;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long accepting rests when the process has no descriptors left.
const ACCEPT_REST: Duration = Duration::from_millis(20);

/// So many clients more than may be served: those that others are cut for, until these have gone.
const SURPLUS_MAX: usize = 16;

/// The port, bound. Clients are served once it is started.
pub struct SqlPort {
    listener: TcpListener,
    address: SocketAddr,
}

impl SqlPort {
    /// Binds the port.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves clients from now on, so many at once, with the rows of the node. Each has two threads and a connection to the node.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn start(self, node: SqlNode, connections_max: usize) -> std::io::Result<()> {
        let (served, pending) = (Arc::new(AtomicUsize::new(0)), Arc::new(Pending::default()));
        let accept = move || {
            for stream in self.listener.incoming() {
                match stream {
                    Ok(stream) => begin(stream, &node, connections_max, &served, &pending),
                    Err(error) => {
                        tracing::debug!(%error, "a client of SQL could not be accepted");
                        std::thread::sleep(ACCEPT_REST);
                    }
                }
            }
        };
        std::thread::Builder::new().name("tarndb-sql-port".to_owned()).spawn(accept)?;
        Ok(())
    }
}

/// One of those that are served.
struct Served(Arc<AtomicUsize>);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn begin(stream: TcpStream, node: &SqlNode, connections_max: usize, served: &Arc<AtomicUsize>, pending: &Arc<Pending>) {
    let before = served.fetch_add(1, Ordering::AcqRel);
    let one = Served(Arc::clone(served));
    // At the limit, whoever has waited longest without logging in gives its place.
    if before >= connections_max && (before >= connections_max + SURPLUS_MAX || !pending.cut_oldest()) {
        tracing::warn!(most = connections_max, "too many clients of SQL");
        let _ = connection::refuse(stream, connections_max);
        return;
    }
    let (node, pending) = (node.clone(), Arc::clone(pending));
    let serve = move || {
        let _one = one;
        if let Err(error) = connection::serve(stream, &node, &pending) {
            tracing::debug!(%error, "a client of SQL has gone");
        }
    };
    if let Err(error) = std::thread::Builder::new().name("tarndb-sql-reader".to_owned()).spawn(serve) {
        tracing::warn!(%error, "no thread for a client of SQL");
    }
}
