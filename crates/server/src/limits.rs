//! What the machine and its control group allow, against what the node is to use; and what they let in that they should not.

use crate::config::{Config, is_loopback};
use crate::settings::Authentication;
use std::net::{IpAddr, UdpSocket};

/// An eighth of the descriptors stays free of clients' connections, from 8 to 64: for HTTP, blobs, links to other nodes.
const KEPT_LEAST: u64 = 8;
const KEPT_MOST: u64 = 64;

/// Clients of SQL at once: each has two threads, and four descriptors, of which one is that of a client over NoSQL.
const SQL_CONNECTIONS_MOST: u64 = 256;
const SQL_DESCRIPTORS: u64 = 3;

/// CPU time that this process may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cpus {
    /// CPUs that it may run on.
    available: usize,
    /// The quota of its control group, in CPUs.
    quota: Option<f64>,
}

impl Cpus {
    pub(crate) fn read() -> Self {
        Self { available: io_linux::available_cpus().len(), quota: io_linux::cpu_quota() }
    }

    /// How many cores a new node has unless it is told: as many as always have a CPU.
    pub(crate) fn cores(self) -> usize {
        let quota = self.quota.map_or(usize::MAX, |quota| quota as usize);
        self.available.min(quota).max(1)
    }

    /// Warns if a node has more cores than CPUs.
    pub(crate) fn warn(self, cores: u16) {
        if usize::from(cores) > self.available {
            tracing::warn!(
                cores,
                cpus = self.available,
                "the node has more cores than CPUs: its threads disturb one another; give it more CPUs"
            );
        }
        if let Some(quota) = self.quota.filter(|quota| f64::from(cores) > *quota) {
            tracing::warn!(
                cores,
                cpu_quota = quota,
                "the node has more cores than its control group's CPU quota: the kernel stops all of them whenever it is used up; raise the quota, or \
                 make the node with fewer cores"
            );
        }
    }
}

/// How many descriptors stay free of clients' connections; with the port of SQL those of its clients, too.
pub(crate) fn descriptors_kept(max: u64, has_sql: bool) -> u64 {
    let sql = if has_sql { sql_connections(max) as u64 * SQL_DESCRIPTORS } else { 0 };
    (max / 8).clamp(KEPT_LEAST, KEPT_MOST) + sql
}

/// How many clients of SQL there are at once: with all of them a quarter of the descriptors is theirs.
pub(crate) fn sql_connections(max: u64) -> usize {
    (max / 16).clamp(1, SQL_CONNECTIONS_MOST) as usize
}

/// How many connections the HTTP port has at once: half of what is kept.
pub(crate) fn http_connections(max: u64) -> usize {
    (descriptors_kept(max, false) / 2) as usize
}

/// Whether an address is one of this machine's.
pub(crate) fn is_own(address: IpAddr) -> bool {
    !matches!(UdpSocket::bind((address, 0)), Err(error) if error.kind() == std::io::ErrorKind::AddrNotAvailable)
}

/// Warns if everybody who reaches this node is served.
pub(crate) fn warn_of_exposure(config: &Config) {
    if !is_loopback(config.listen) && config.authentication == Authentication::None {
        tracing::warn!(
            listen = %config.listen,
            "NOBODY HAS TO LOG IN: whoever reaches this address reads, changes and deletes everything; insecure = true allows it; set authentication = password, \
             or keep all ports behind a firewall"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn clients_of_sql_have_their_part_of_the_descriptors() {
        assert_eq!((sql_connections(1_024), descriptors_kept(1_024, true)), (64, 64 + 192));
        assert_eq!((sql_connections(1 << 20), descriptors_kept(1 << 20, true)), (256, 64 + 768));
        assert_eq!(sql_connections(8), 1);
    }

    #[test]
    fn a_quota_below_the_cpus_decides_how_many_cores_there_are() {
        let cores = |available, quota| Cpus { available, quota }.cores();
        assert_eq!(cores(8, None), 8);
        assert_eq!(cores(8, Some(2.0)), 2);
        assert_eq!(cores(8, Some(3.9)), 3);
        assert_eq!(cores(8, Some(0.5)), 1);
        assert_eq!(cores(2, Some(16.0)), 2);
    }

    #[test]
    fn some_descriptors_are_kept_from_clients() {
        assert_eq!([64, 256, 1_024, u64::MAX].map(|max| descriptors_kept(max, false)), [8, 32, 64, 64]);
        assert_eq!([64, 1_024].map(http_connections), [4, 32]);
    }

    #[test]
    fn loopback_is_here_and_an_address_of_documentation_is_not() {
        assert!(is_own(Ipv4Addr::LOCALHOST.into()) && is_own(Ipv4Addr::UNSPECIFIED.into()));
        assert!(!is_own(Ipv4Addr::new(192, 0, 2, 1).into()));
    }
}
