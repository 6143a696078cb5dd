//! The node that has the rows, as this port reaches it.

use std::net::SocketAddr;
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

/// The node that has the rows.
#[derive(Clone, Debug)]
pub struct SqlNode {
    /// Where clients of GridDB reach it.
    pub address: SocketAddr,
    /// How these and those of SQL speak TLS, if they can.
    pub tls: Option<SqlTls>,
}

/// What a lock guards, also after a panic of who had it: its own thread has told of that.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
