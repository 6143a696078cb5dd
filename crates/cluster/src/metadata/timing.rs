//! The times that leases stand on. `docs/internals/metadata.md` has the argument; all are microseconds on a member's own monotonic clock.
//!
//! Clocks of members may run at rates that differ by up to 5 %: each wait is longer than what it waits for by that and more.

/// A tick of the group.
pub(super) const TICK_US: u64 = 50_000;
/// Ticks between the heartbeats of the group's leader.
pub(super) const GROUP_HEARTBEAT_TICKS: usize = 2;
/// A member that has heard its leader within this many ticks votes for no other; one that knows of none stands for election after this many or
/// more.
pub(super) const ELECTION_TICKS: usize = 10;
/// The first voter stands this long after it has heard the leader: when the others vote for it, although their ticks and what they hear are not at the same time.
pub(super) const STAND_TICKS: usize = ELECTION_TICKS + 2;
/// Each further voter stands this much later: the one before has had the time to win.
pub(super) const STAND_APART_TICKS: usize = 2;
/// Whoever may stand does so at latest after this many.
pub(super) const STAND_TICKS_MAX: usize = 2 * ELECTION_TICKS - 1;
/// Between a member's heartbeats to the leader.
pub const HEARTBEAT_US: u64 = 150_000;
/// A lease ends at latest this long after the heartbeat that asked for it was sent.
pub const LEASE_US: u64 = 750_000;
/// A lease ends at latest this long after the time at which the leader surely was the leader.
pub(super) const HORIZON_US: u64 = 1_000_000;
/// All leases that a member may have before it knows of a change are over this long after anyone knows of it; also what a new leader waits for before
/// it takes a member for down.
pub const TRANSFER_WAIT_US: u64 = 1_060_000;
/// A member that has not been heard, and was granted nothing, for this long is down.
pub const DOWN_AFTER_US: u64 = 1_000_000;
/// A process that did nothing for this long has been stopped: that it heard nobody says nothing of the others.
pub(super) const STOPPED_US: u64 = 300_000;
/// Between two attempts to bring a proposal to the leader.
pub(super) const PROPOSAL_RETRY_US: u64 = 1_000_000;
/// A voter that is down for this long gives its vote to another member.
pub(super) const VOTER_DOWN_US: u64 = 10_000_000;
/// A snapshot that was not answered for this long is sent again.
pub(super) const SNAPSHOT_RETRY_US: u64 = 2_000_000;

/// Between two attempts to store what there was no room for.
pub(super) const STORE_AGAIN_US: u64 = 1_000_000;

/// The waits that keep leases apart. Tests shorten them, to see that they are needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// [`HORIZON_US`].
    pub(super) horizon_us: u64,
    /// [`DOWN_AFTER_US`].
    pub(super) down_after_us: u64,
    /// [`TRANSFER_WAIT_US`], of a new leader.
    pub(super) new_leader_us: u64,
    /// [`TRANSFER_WAIT_US`], of transfers.
    pub(super) handover_us: u64,
}

impl Default for Waits {
    fn default() -> Self {
        Self { horizon_us: HORIZON_US, down_after_us: DOWN_AFTER_US, new_leader_us: TRANSFER_WAIT_US, handover_us: TRANSFER_WAIT_US }
    }
}
