//! Connected clients, as `system_views.clients` shows them: a connection's core writes what it knows, and any core reads it.

use crate::wire::ProtocolVersion;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many bytes of a client's options are kept.
const OPTION_BYTES_MAX: usize = 4 << 10;

/// What a client's session of TLS has agreed on, by the names that Cassandra shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// `TLSv1.3`
    pub protocol: &'static str,
    /// `TLS_AES_256_GCM_SHA384`
    pub cipher: &'static str,
}

/// A client that has sent STARTUP.
#[derive(Debug)]
pub struct ConnectedClient {
    /// Where it is.
    pub address: SocketAddr,
    /// The version of the native protocol that it speaks.
    pub version: ProtocolVersion,
    /// How it speaks TLS, if it does.
    pub encryption: Option<Encryption>,
    /// What STARTUP said, by ascending key; only the first few KiB.
    pub options: Vec<(String, String)>,
    requests: AtomicU64,
    state: Mutex<ClientState>,
}

/// What changes while it is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientState {
    /// Whether it may send statements: it has logged in, or need not.
    pub is_ready: bool,
    /// As whom it has logged in.
    pub role: Option<Arc<str>>,
    /// The keyspace that it uses.
    pub keyspace: Option<String>,
}

impl ConnectedClient {
    /// One that has just sent STARTUP with these options.
    pub fn new<'o>(
        address: SocketAddr,
        version: ProtocolVersion,
        encryption: Option<Encryption>,
        options: impl IntoIterator<Item = (&'o str, &'o str)>,
    ) -> Self {
        let mut kept = 0;
        let mut options: Vec<(String, String)> = options
            .into_iter()
            .take_while(|(key, value)| {
                kept += key.len() + value.len();
                kept <= OPTION_BYTES_MAX
            })
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        options.sort_unstable();
        options.dedup_by(|later, earlier| later.0 == earlier.0);
        Self { address, version, encryption, options, requests: AtomicU64::new(0), state: Mutex::default() }
    }

    /// How many requests it has made.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// As it is now.
    #[must_use]
    pub fn state(&self) -> ClientState {
        self.lock().clone()
    }

    /// Only the connection's core counts, so this needs no atomic addition.
    #[inline]
    pub fn count_request(&self) {
        self.requests.store(self.requests() + 1, Ordering::Relaxed);
    }

    /// Changes what is told of it.
    pub fn change(&self, change: impl FnOnce(&mut ClientState)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, ClientState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
