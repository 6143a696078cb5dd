//! Connections of the process to its own ports, for clients of its other ports: from an address of its own, by which cores know whose they are.

use ::node::{Board, Representation};
use io_linux::BoundStream;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;
use tls::ClientCertificate;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to a port of this node for `client`, which has shown `certificate`: by TLS the port takes that for the connection's own.
pub(crate) fn connect(
    board: &Board,
    port: SocketAddr,
    client: IpAddr,
    certificate: ClientCertificate,
) -> std::io::Result<(TcpStream, Representation)> {
    let to = reachable(port);
    let bound = BoundStream::bind(to.ip())?;
    let representation = board.represented().add(bound.address(), client, certificate);
    Ok((bound.connect(&to, CONNECT_TIMEOUT)?, representation))
}

/// An address by which this machine reaches what listens on `listen`.
pub(crate) fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        other => other,
    };
    SocketAddr::new(ip, listen.port())
}
