//! The lease: until when this member may serve. Core 0 tells all cores, behind the views that the lease goes by.

use crate::cluster::config::Planted;
use crate::core::Core;
use crate::message::Message;
use base::CoreId;
use io::Reactor;

/// Cores are told of a lease that lasts so much longer.
const LEASE_STEP_US: u64 = 20_000;

impl Core {
    /// On core 0: tells all cores of a lease that has changed, behind the views that it goes by.
    pub(crate) fn tell_lease<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(core) = self.cluster.as_mut().and_then(|cluster| cluster.membership.group.as_mut()) else { return };
        let Some(metadata) = &mut core.metadata else { return };
        let lease_us = metadata.lease_until_us();
        if core.endless_leases == 0 {
            metadata.lease_has_end();
        }
        // The leader's own lease grows all the time.
        let told_us = core.lease_told_us;
        if lease_us < told_us || lease_us > told_us.saturating_add(LEASE_STEP_US) {
            core.lease_told_us = lease_us;
            if lease_us == u64::MAX {
                core.endless_leases += self.cores;
            }
            for core in 0..self.cores {
                reactor.send(CoreId(core), Message::Lease(lease_us));
            }
        }
    }

    /// On core 0: one more core knows that its lease has an end.
    pub(crate) fn lease_has_end(&mut self) {
        let Some(core) = self.cluster.as_mut().and_then(|cluster| cluster.membership.group.as_mut()) else { return };
        core.endless_leases -= 1;
        if let Some(metadata) = core.metadata.as_mut().filter(|_| core.endless_leases == 0) {
            metadata.lease_has_end();
        }
    }

    /// Applies a lease of this member.
    pub(crate) fn apply_lease<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, until_us: u64) {
        let Some(cluster) = &mut self.cluster else { return };
        let is_stale = cluster.config.planted == Some(Planted::StaleLease);
        self.shard.set_lease(if is_stale { u64::MAX } else { until_us });
        cluster.routing.has_changed = true;
        let had_no_end = std::mem::replace(&mut cluster.membership.has_endless_lease, until_us == u64::MAX);
        if had_no_end && until_us < u64::MAX {
            reactor.send(CoreId(0), Message::LeaseHasEnd);
        }
    }
}
