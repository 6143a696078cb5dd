//! Addresses of nodes: what names stand for, and who reaches them.

use super::error::ConfigError;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// The address of another node.
pub(super) fn resolve(address: &str) -> Result<SocketAddr, ConfigError> {
    let unknown = |why: String| ConfigError::Join { address: address.to_owned(), why };
    let mut found = address.to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    found.next().ok_or_else(|| unknown("the name has no address".to_owned()))
}

/// The address to listen on. Of a name that has several the same one is taken each time: IPv4 before IPv6, loopback before others, the least first.
pub(super) fn resolve_own(name: &str) -> Result<IpAddr, ConfigError> {
    if let Ok(address) = name.parse() {
        return Ok(address);
    }
    let unknown = |why: String| ConfigError::Listen { name: name.to_owned(), why };
    let found = (name, 0).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let mut found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    found.sort_by_key(|address| (address.is_ipv6(), !address.is_loopback(), *address));
    found.dedup();
    let taken = *found.first().ok_or_else(|| unknown("it has no address".to_owned()))?;
    tracing::info!(name, %taken, all = ?found, "listen is a name; this address of it is taken");
    Ok(taken)
}

/// Whether only this machine reaches it: 127.0.0.0/8, also written as an IPv6 address, and `::1`.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
