//! Sockets of connections that this node asks for.
//!
//! The other side may give a connection to the core that the client's port names. So the port is looked for among those that name it, from a
//! place that chance picks; two nodes rarely meet at a port that is taken, and after some attempts any port will do: the other side then
//! passes the bytes on between its cores.

use crate::entropy::fill_with_entropy;
use crate::errno::Errno;
use crate::socket;
use base::CoreId;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// Where the kernel takes ports from unless it is told otherwise.
const PORTS: std::ops::Range<u16> = 32_768..61_000;
/// How many ports are tried for the core that is wanted.
const ATTEMPTS_MAX: u16 = 64;
/// A silent peer is probed after this long, ...
const KEEPALIVE_IDLE_S: libc::c_int = 2;
/// ... this often, ...
const KEEPALIVE_INTERVAL_S: libc::c_int = 1;
/// ... and given up after this many unanswered probes, ...
const KEEPALIVE_PROBES: libc::c_int = 3;
/// ... or when what was sent has not been acknowledged for so long.
const UNACKNOWLEDGED_MS: libc::c_int = 5_000;

/// A socket that is being connected.
pub(crate) fn connect(to: &SocketAddr, lands_on: Option<(CoreId, u16)>) -> Result<OwnedFd, Errno> {
    if let Some((core, cores)) = lands_on
        && cores > 0
    {
        for port in ports_of(core, cores) {
            // A socket must not be connected to itself.
            if port == to.port() {
                continue;
            }
            match connect_from(to, Some(port)) {
                Err(Errno(libc::EADDRINUSE | libc::EADDRNOTAVAIL | libc::EACCES)) => {}
                result => return result,
            }
        }
    }
    connect_from(to, None)
}

fn ports_of(core: CoreId, cores: u16) -> impl Iterator<Item = u16> {
    let mut bytes = [0; 2];
    fill_with_entropy(&mut bytes);
    let first = PORTS.start.next_multiple_of(cores);
    let steps = PORTS.end.saturating_sub(first) / cores;
    let start = u16::from_le_bytes(bytes) % steps.max(1);
    (0..ATTEMPTS_MAX.min(steps)).map(move |step| first + core.0 % cores + (start + step) % steps * cores)
}

fn connect_from(to: &SocketAddr, port: Option<u16>) -> Result<OwnedFd, Errno> {
    let socket = socket::open(to)?;
    socket::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    socket::set_option(&socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    socket::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, KEEPALIVE_IDLE_S)?;
    socket::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S)?;
    socket::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, KEEPALIVE_PROBES)?;
    socket::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS)?;
    if let Some(port) = port {
        // Connections to others may have the same port, and what is left of them for a minute.
        socket::set_option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        let any = match to {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
        };
        socket::bind(&socket, &any)?;
    }
    socket::connect(&socket, to)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_name_the_core_and_are_in_range_and_different() {
        for cores in [1, 2, 3, 64, 1_000, 20_000, 40_000, u16::MAX] {
            let ports: Vec<u16> = ports_of(CoreId(cores / 2), cores).collect();
            assert!(ports.iter().all(|port| port % cores == cores / 2 && PORTS.contains(port)), "{cores}: {ports:?}");
            let different: std::collections::BTreeSet<_> = ports.iter().collect();
            assert_eq!(different.len(), ports.len());
            assert!(cores > 64 || ports.len() == usize::from(ATTEMPTS_MAX));
        }
    }
}
