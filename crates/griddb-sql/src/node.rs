//! The node that has the rows, as this port reaches it.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tls::ClientTls;

/// How clients speak TLS, here and on the node's own port.
#[derive(Clone, Debug)]
pub struct SqlTls {
    /// The node's certificate and key.
    pub tls: Arc<ClientTls>,
    /// Whether those who do not are refused.
    pub is_required: bool,
}

/// Makes connections to the node.
pub trait Connector: std::fmt::Debug + Send + Sync {
    /// Connects for a client of SQL; what comes along is kept as long as the connection is open.
    ///
    /// # Errors
    /// The node cannot be reached.
    fn connect(&self, client: IpAddr) -> std::io::Result<(TcpStream, Connected)>;
}

/// What is kept while a connection to the node is open.
pub type Connected = Box<dyn std::any::Any + Send>;

/// The node that has the rows.
#[derive(Clone, Debug)]
pub struct SqlNode {
    connector: Arc<dyn Connector>,
    /// Whether clients of GridDB reach it by IPv6.
    pub(crate) is_ipv6: bool,
    /// How these and those of SQL speak TLS, if they can.
    pub(crate) tls: Option<SqlTls>,
    /// For whom it is asked.
    client: IpAddr,
}

impl SqlNode {
    /// The node whose port for clients of GridDB is at `address`.
    #[must_use]
    pub fn new(address: SocketAddr, tls: Option<SqlTls>, connector: Arc<dyn Connector>) -> Self {
        Self { connector, is_ipv6: address.ip().to_canonical().is_ipv6(), tls, client: address.ip() }
    }

    /// The same, asked for a client at this address.
    pub(crate) fn for_client(&self, client: IpAddr) -> Self {
        Self { client, ..self.clone() }
    }

    pub(crate) fn connect(&self) -> std::io::Result<(TcpStream, Connected)> {
        self.connector.connect(self.client)
    }
}

/// What a lock guards, also after a panic of who had it: its own thread has told of that.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
