//! Clients between their acceptance and their core.

use io::ListenerId;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

/// Who was accepted, by whichever core.
pub(crate) struct Client {
    pub(crate) socket: OwnedFd,
    pub(crate) listener: ListenerId,
    pub(crate) peer: SocketAddr,
}

/// Clients of a core that is full, the first first: they wait until it may cut another one for them. The core's count of connections includes them.
#[derive(Default)]
pub(crate) struct Backlog {
    pub(crate) clients: VecDeque<Client>,
    /// When to look again.
    pub(crate) due_us: u64,
}

impl Backlog {
    /// When to look again, if anybody waits.
    pub(crate) fn due_us(&self) -> Option<u64> {
        (!self.clients.is_empty()).then_some(self.due_us)
    }
}
