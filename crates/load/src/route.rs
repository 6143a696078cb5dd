//! Where a connection goes.

use std::net::SocketAddr;

/// Where a connection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The node.
    pub address: SocketAddr,
    /// The core of it, if it lets clients choose.
    pub core: Option<CoreOf>,
}

/// One of a node's several cores: it gets connections to `port` from ports that leave `index` when divided by `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreOf {
    /// The node's port for this.
    pub port: u16,
    /// Which, from 0.
    pub index: u16,
    /// How many there are, at least one.
    pub of: u16,
}
