//! How far a core has come, from recovery to the last flush; `phases` moves it.

use engine::OpenError;

/// What core 0 does when the node serves clients: all shards have recovered, and in a cluster it is a member that knows what it serves.
pub type OnReady = Box<dyn FnOnce() + Send>;

/// What a core does when its shard cannot recover.
pub type OnFailure = Box<dyn FnOnce(&OpenError) + Send>;

/// Damaged places are logged one by one, but not without end.
#[derive(Default)]
pub(crate) struct DamageLog {
    since_us: u64,
    lines: usize,
}

impl DamageLog {
    /// So many lines at most ...
    const LINES_MAX: usize = 20;
    /// ... in this time.
    const WINDOW_US: u64 = 10_000_000;

    /// Whether one more place may be logged.
    pub(crate) fn may_log(&mut self, now_us: u64) -> bool {
        if now_us >= self.since_us + Self::WINDOW_US {
            (self.since_us, self.lines) = (now_us, 0);
        }
        self.lines += 1;
        self.lines <= Self::LINES_MAX
    }
}

/// How far a core has come, and on core 0 how many cores have.
#[derive(Default)]
pub(crate) struct Lifecycle {
    pub(crate) on_ready: Option<OnReady>,
    pub(crate) on_failure: Option<OnFailure>,
    /// Until there are roles: when to ask for the first superuser.
    pub(crate) superuser_due_us: Option<u64>,
    /// Damaged places that have been logged.
    pub(crate) damage_logged: usize,
    /// Damaged places that recovery has found.
    pub(crate) damaged_at_start: u64,
    /// Until when no more of them are logged, and how many were meanwhile.
    pub(crate) damage_log: DamageLog,
    pub(crate) recovered: bool,
    /// When to log the progress of recovery.
    pub(crate) progress_due_us: Option<u64>,
    pub(crate) cores_recovered: u16,
    pub(crate) cores_serving: u16,
    pub(crate) cores_flushed: u16,
    pub(crate) is_flushing: bool,
    pub(crate) flush_reported: bool,
}

impl Lifecycle {
    pub(crate) fn new(on_ready: Option<OnReady>) -> Self {
        Self { on_ready, ..Self::default() }
    }
}
