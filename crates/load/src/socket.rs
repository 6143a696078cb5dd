//! The socket of a connection: to an address, or from a port that a core of the server is chosen by.

use crate::target::{CoreOf, Route};
use mio::net::TcpStream;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect as start_connecting, socket_with, sockopt};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Ports that nobody listens on (RFC 6335's dynamic range).
const PORT_MIN: u16 = 49_152;
const PORTS: u16 = u16::MAX - PORT_MIN;

/// Starts to connect for the `attempt`th time, from 0, since it was possible. `seed` says which of the ports of a core is tried first.
pub(crate) fn connect(route: &Route, attempt: u32, seed: u64) -> io::Result<TcpStream> {
    // A node that comes back may have another port for its cores, or none: from the third attempt on every other one is to the node.
    let by_core = attempt < 2 || attempt % 2 == 1;
    let Some(core) = route.core.filter(|_| by_core) else { return TcpStream::connect(route.address) };
    for port in ports_of(core, seed) {
        match connect_from(port, SocketAddr::new(route.address.ip(), core.port)) {
            Err(error) if matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable) => {}
            outcome => return outcome,
        }
    }
    Err(ErrorKind::AddrInUse.into())
}

/// All ports of a core.
fn ports_of(core: CoreOf, seed: u64) -> impl Iterator<Item = u16> {
    let first = PORT_MIN + (core.index + core.of - PORT_MIN % core.of) % core.of;
    let count = PORTS / core.of;
    (0..u64::from(count)).map(move |step| first + (seed.wrapping_add(step) % u64::from(count)) as u16 * core.of)
}

fn connect_from(port: u16, address: SocketAddr) -> io::Result<TcpStream> {
    let (family, any) = match address {
        SocketAddr::V4(_) => (AddressFamily::INET, IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        SocketAddr::V6(_) => (AddressFamily::INET6, IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
    };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
    // A port from which another connection was made a minute ago serves as well; the kernel refuses it if it went to the same place.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &SocketAddr::new(any, port))?;
    match start_connecting(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from_std(socket.into())),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_a_core_are_all_its_own_and_none_comes_twice() {
        for of in [1, 2, 3, 7, 64, 1_000] {
            for index in [0, of / 2, of - 1] {
                let mut ports: Vec<u16> = ports_of(CoreOf { port: 19_042, index, of }, 12_345).collect();
                assert!(ports.iter().all(|port| *port >= PORT_MIN && port % of == index), "{index} of {of}");
                ports.sort_unstable();
                ports.dedup();
                assert_eq!(ports.len(), usize::from(PORTS / of));
            }
        }
    }
}
