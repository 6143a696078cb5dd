//! Listening sockets: one for the whole node, watched by every core.
//!
//! One socket, not one a core with SO_REUSEPORT: the kernel would spread connections by a hash, unevenly when there are few; a second
//! server on the same port would bind without an error; and a free port would have to be found twice. Whichever core accepts hands the
//! connection to the core that has fewest (or that the client's port names).
//!
//! The socket is bound at start-up, so that a port in use is an error then, and listens when the node says that it is ready.

use crate::errno::Errno;
use crate::socket;
use io::Placement;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A listening socket to open.
#[derive(Clone, Debug)]
pub struct ListenerOptions {
    /// Where; port 0 becomes a free one.
    pub address: SocketAddr,
    /// Which core gets its connections.
    pub placement: Placement,
}

/// How many handshakes the kernel keeps for us; it caps this at net.core.somaxconn.
const BACKLOG: libc::c_int = 4096;
/// A silent peer is probed after this long, ...
const KEEPALIVE_IDLE_S: libc::c_int = 60;
/// ... this often, ...
const KEEPALIVE_INTERVAL_S: libc::c_int = 10;
/// ... and given up after this many unanswered probes.
const KEEPALIVE_PROBES: libc::c_int = 6;

/// A bound socket.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: OwnedFd,
    pub(crate) address: SocketAddr,
    pub(crate) placement: Placement,
}

impl Listener {
    /// Binds; port 0 becomes a free one.
    pub(crate) fn bind(options: &ListenerOptions) -> Result<Self, Errno> {
        let socket = socket::open(&options.address)?;
        if options.address.port() != 0 {
            // A server that was just killed leaves connections behind that would block its own port for a minute.
            socket::set_option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        }
        // Accepted sockets inherit these.
        socket::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        socket::set_option(&socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
        socket::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, KEEPALIVE_IDLE_S)?;
        socket::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S)?;
        socket::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, KEEPALIVE_PROBES)?;
        socket::bind(&socket, &options.address)?;
        let address = socket::local_address(&socket)?;
        Ok(Self { socket, address, placement: options.placement })
    }

    /// Lets clients in.
    pub(crate) fn listen(&self) -> Result<(), Errno> {
        // SAFETY: no pointers are passed.
        Errno::check(unsafe { libc::listen(self.socket.as_raw_fd(), BACKLOG) })?;
        Ok(())
    }

    /// Refuses clients from now on.
    pub(crate) fn refuse(&self) {
        // SAFETY: no pointers are passed. It fails only when the socket does not listen, which is what is wanted.
        unsafe { libc::shutdown(self.socket.as_raw_fd(), libc::SHUT_RDWR) };
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
