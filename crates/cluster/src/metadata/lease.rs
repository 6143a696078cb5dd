//! A member's lease: what it was granted, and its heartbeats that ask for it.

use base::NodeId;

/// Grants that wait for entries: a leader that is heard sends one a heartbeat.
const WAITING_MAX: usize = 16;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Lease {
    until_us: u64,
    /// Entry and end of grants that hold once this node acts by the entry.
    waiting: Vec<(u64, u64)>,
    pub(crate) next_heartbeat_us: u64,
    pub(crate) last_sent_us: u64,
    /// Term and sending time of the newest grant.
    pub(crate) echo: (u64, u64),
    pub(crate) leader: Option<NodeId>,
}

impl Lease {
    pub(super) fn until_us(&self) -> u64 {
        self.until_us
    }

    pub(super) fn next_heartbeat_us(&self, sends: bool) -> u64 {
        if sends { self.next_heartbeat_us } else { u64::MAX }
    }

    /// For a member that leads the group itself: it knows what is decided.
    pub(super) fn set(&mut self, until_us: u64) {
        self.until_us = until_us;
        self.waiting.clear();
    }

    pub(super) fn lose(&mut self) {
        self.set(0);
    }

    /// This node acts by entry `published`.
    pub(super) fn published(&mut self, published: u64) {
        let until_us = &mut self.until_us;
        self.waiting.retain(|(index, end_us)| {
            let holds = *index <= published;
            if holds {
                *until_us = (*until_us).max(*end_us);
            }
            !holds
        });
    }

    pub(crate) fn granted(&mut self, index: u64, end_us: u64) {
        if self.waiting.len() == WAITING_MAX {
            self.waiting.remove(0);
        }
        self.waiting.push((index, end_us));
    }
}
