//! A TCP connection whose own address is known before the other side sees it.

use crate::errno::Errno;
use crate::socket;
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

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
        if !self.is_writable_within(timeout).map_err(os_error)? {
            return Err(ErrorKind::TimedOut.into());
        }
        socket::finish_connecting(&self.socket).map_err(os_error)?;
        let stream = TcpStream::from(self.socket);
        stream.set_nonblocking(false)?;
        Ok(stream)
    }

    fn is_writable_within(&self, timeout: Duration) -> Result<bool, Errno> {
        let began = Instant::now();
        loop {
            let left = timeout.saturating_sub(began.elapsed()).as_millis();
            let mut waits = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
            // SAFETY: one live entry.
            let result = unsafe { libc::poll(&raw mut waits, 1, libc::c_int::try_from(left).unwrap_or(libc::c_int::MAX)) };
            match Errno::check(result) {
                // A signal ends the wait before its time.
                Err(Errno(libc::EINTR)) => {}
                result => return result.map(|ready| ready > 0),
            }
        }
    }
}

fn os_error(errno: Errno) -> Error {
    Error::from_raw_os_error(errno.0)
}
