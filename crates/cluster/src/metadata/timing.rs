//! The times that leases stand on. `docs/internals/metadata.md` has the argument; all are microseconds on a member's own monotonic clock.
//!
//! Clocks of members may run at rates that differ by up to 5 %: each wait is longer than what it waits for by that and more.

/// A tick of the group.
pub(crate) const TICK_US: u64 = 50_000;
/// Ticks between the heartbeats of the group's leader.
pub(crate) const GROUP_HEARTBEAT_TICKS: usize = 2;
/// A member that hears no leader for this many ticks, or up to twice as many, stands for election.
pub(crate) const ELECTION_TICKS: usize = 10;
/// Between a member's heartbeats to the leader.
pub const HEARTBEAT_US: u64 = 150_000;
/// A lease ends at latest this long after the heartbeat that asked for it was sent.
pub const LEASE_US: u64 = 750_000;
/// A lease ends at latest this long after the time at which the leader surely was the leader.
pub(crate) const HORIZON_US: u64 = 1_000_000;
/// All leases that a member may have before it knows of a change are over this long after anyone knows of it; also what a new leader waits for before
/// it takes a member for down.
pub const HANDOVER_WAIT_US: u64 = 1_060_000;
/// A member that has not been heard, and was granted nothing, for this long is down.
pub const DOWN_AFTER_US: u64 = 1_000_000;
/// A process that did nothing for this long has been stopped: that it heard nobody says nothing of the others.
pub(crate) const STOPPED_US: u64 = 300_000;
/// Between two attempts to bring a proposal to the leader.
pub(crate) const PROPOSAL_RETRY_US: u64 = 1_000_000;
/// A voter that is down for this long gives its vote to another member.
pub(crate) const VOTER_DOWN_US: u64 = 10_000_000;
/// A snapshot that was not answered for this long is sent again.
pub(crate) const SNAPSHOT_RETRY_US: u64 = 2_000_000;
