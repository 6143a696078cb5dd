//! The ports of private nodes: the same on every node's address, and kept for as long as the run's directory is, since members of a cluster
//! look for each other where they were.

use super::super::system::SystemError;
use crate::study::NODES_MAX;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

/// Ports that are tried.
const TRIED: u16 = 1_000;

/// Of every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ports {
    /// For clients.
    pub(super) client: u16,
    /// For other nodes, of a cluster.
    pub(super) node: Option<u16>,
}

impl Ports {
    /// Those that the directory's nodes have, or free ones for `count` nodes.
    pub(super) fn of(directory: &Path, count: u32) -> Result<Self, SystemError> {
        let path = directory.join("ports.json");
        let file_error = |source| SystemError::File { path: path.clone(), source };
        if path.exists() {
            let kept = std::fs::read(&path).map_err(file_error)?;
            return serde_json::from_slice(&kept).map_err(|error| file_error(error.into()));
        }
        let nodes = if count > 1 { NODES_MAX } else { 1 };
        let mut free = free_ports(nodes);
        let none = || SystemError::Start { name: "a private node".to_owned(), why: "no port is free".to_owned() };
        let client = free.next().ok_or_else(none)?;
        let node = if count > 1 { Some(free.next().ok_or_else(none)?) } else { None };
        let ports = Self { client, node };
        let text = serde_json::to_vec(&ports).map_err(|error| file_error(error.into()))?;
        std::fs::write(&path, text).map_err(file_error)?;
        Ok(ports)
    }

    pub(super) fn is_cluster(self) -> bool {
        self.node.is_some()
    }
}

/// Ports that nobody listens on at the addresses of so many nodes, below those that the kernel gives to outgoing connections: a client that
/// tries to reconnect to a dead node on one of those can be given the very same for its own end, and keeps the node from coming back.
fn free_ports(nodes: u32) -> impl Iterator<Item = u16> {
    let first = 10_000 + (std::process::id() % 20_000) as u16;
    let is_free = move |port: &u16| (0..nodes as usize).all(|index| TcpListener::bind((ip(index), *port)).is_ok());
    (first..first + TRIED).filter(is_free)
}

/// The loopback address of a node.
pub(super) fn ip(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, u8::try_from(index + 1).unwrap_or(u8::MAX))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn ports_are_kept_with_the_data() {
        let directory = std::env::temp_dir().join(format!("tarndb-bench-ports-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let ports = Ports::of(&directory, 3).unwrap();
        assert!(ports.is_cluster() && ports.node != Some(ports.client));
        // A process that another test has just forked has the socket of the search until it runs its program.
        let until = Instant::now() + Duration::from_secs(60);
        let _taken = loop {
            match TcpListener::bind((ip(2), ports.client)) {
                Ok(taken) => break taken,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
        };
        assert_eq!(Ports::of(&directory, 3).unwrap(), ports, "whoever listens there now");
        std::fs::write(directory.join("ports.json"), "{").unwrap();
        assert!(matches!(Ports::of(&directory, 3), Err(SystemError::File { .. })));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
