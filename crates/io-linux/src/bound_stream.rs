//! A TCP connection whose own address is known before the other side sees it.

use crate::errno::Errno;
use crate::socket;
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// It has an address, and is not connected yet.
#[derive(Debug)]
pub struct BoundStream {
    socket: OwnedFd,
    address: SocketAddr,
}

impl BoundStream {
    /// Gives it a free port of an address of this machine.
    ///
    /// # Errors
    /// What the system says.
    pub fn bind(ip: IpAddr) -> std::io::Result<Self> {
        let any_port = SocketAddr::new(ip, 0);
        let socket = socket::open(&any_port).map_err(os_error)?;
        socket::bind(&socket, &any_port).map_err(os_error)?;
        let address = socket::local_address(&socket).map_err(os_error)?;
        Ok(Self { socket, address })
    }

    /// Its own address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connects it, and waits for that.
    ///
    /// # Errors
    /// What the system says, or nobody has answered in this time.
    pub fn connect(self, to: &SocketAddr, timeout: Duration) -> std::io::Result<TcpStream> {
        socket::connect(&self.socket, to).map_err(os_error)?;
        let mut waits = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        let timeout_ms = libc::c_int::try_from(timeout.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: one live entry.
        match Errno::check(unsafe { libc::poll(&raw mut waits, 1, timeout_ms) }).map_err(os_error)? {
            0 => return Err(ErrorKind::TimedOut.into()),
            _ => socket::finish_connecting(&self.socket).map_err(os_error)?,
        }
        let stream = TcpStream::from(self.socket);
        stream.set_nonblocking(false)?;
        Ok(stream)
    }
}

fn os_error(errno: Errno) -> Error {
    Error::from_raw_os_error(errno.0)
}
