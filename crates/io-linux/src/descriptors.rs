//! Descriptors: how many this process may have open (`ulimit -n`), and how many connections that leaves.
//!
//! Every connection is a descriptor. A process that has none left can neither accept a client nor refuse it, and can store no blob. So
//! connections are bounded below what there is, and each core keeps a spare one to refuse clients with if it comes to that all the same.

use crate::process::process_open_files;
use std::fs::File;
use std::os::fd::OwnedFd;

/// How many descriptors this process may have open. The soft limit is raised to the hard one first.
#[must_use]
pub fn descriptors_max() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is valid for writing.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return u64::MAX;
    }
    if limit.rlim_cur < limit.rlim_max {
        let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
        // SAFETY: the limit is valid. When it is refused, the lower one stays.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) } == 0 {
            return raised.rlim_cur;
        }
    }
    limit.rlim_cur
}

/// How many descriptors this process has open.
pub(crate) fn descriptors_open() -> u64 {
    // Without /proc nothing is known; a node with some cores has so many.
    process_open_files(std::process::id()).unwrap_or(64)
}

/// How many connections each of `cores` may have, of `max` descriptors of which `open` are open and `kept` shall stay free.
pub(crate) fn connections_each(max: u64, open: u64, kept: u64, cores: usize) -> u32 {
    let left = max.saturating_sub(open).saturating_sub(kept) / cores.max(1) as u64;
    u32::try_from(left).unwrap_or(u32::MAX)
}

/// A descriptor that is there to be given up.
pub(crate) fn spare() -> Option<OwnedFd> {
    File::open("/dev/null").ok().map(OwnedFd::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_what_is_left_over() {
        assert_eq!(connections_each(1_024, 100, 64, 4), 215);
        assert_eq!(connections_each(64, 40, 8, 2), 8);
        assert_eq!(connections_each(64, 60, 8, 2), 0);
        assert_eq!(connections_each(u64::MAX, 60, 8, 1), u32::MAX);
    }

    #[test]
    fn this_process_has_a_limit_and_fewer_open() {
        let open = descriptors_open();
        assert!(open >= 3 && open < descriptors_max(), "{open} of {}", descriptors_max());
    }
}
