//! What the machine and its control group allow, against what the node is to use; and what they let in that they should not.

use crate::config::{Config, is_loopback};
use crate::settings::Authentication;
use std::net::{IpAddr, UdpSocket};

/// An eighth of the descriptors stays free of clients' connections, from 8 to 64: for HTTP, blobs, links to other nodes.
const KEPT_LEAST: u64 = 8;
const KEPT_MOST: u64 = 64;

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

/// How many descriptors stay free of clients' connections.
pub(crate) fn descriptors_kept(max: u64) -> u64 {
    (max / 8).clamp(KEPT_LEAST, KEPT_MOST)
}

/// How many connections the HTTP port has at once: half of what is kept.
pub(crate) fn http_connections(max: u64) -> usize {
    (descriptors_kept(max) / 2) as usize
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
        assert_eq!([64, 256, 1_024, u64::MAX].map(descriptors_kept), [8, 32, 64, 64]);
        assert_eq!([64, 1_024].map(http_connections), [4, 32]);
    }

    #[test]
    fn loopback_is_here_and_an_address_of_documentation_is_not() {
        assert!(is_own(Ipv4Addr::LOCALHOST.into()) && is_own(Ipv4Addr::UNSPECIFIED.into()));
        assert!(!is_own(Ipv4Addr::new(192, 0, 2, 1).into()));
    }
}
