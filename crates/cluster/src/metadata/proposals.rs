//! Proposals of this process that have no outcome yet.

use crate::command::Outcome;
use crate::metadata::event::{Event, ProposalId};
use base::NodeId;
use std::collections::BTreeMap;

/// The most that wait for their outcome.
pub(crate) const PENDING_MAX: usize = 1024;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Proposals {
    pub(crate) last: u64,
    pub(crate) pending: BTreeMap<u64, Pending>,
    /// The one that says that this process has started.
    pub(crate) start: Option<u64>,
    /// The one by which this process, as a primary, drops replicas.
    pub(crate) release: Option<u64>,
    /// There is nobody to drop in the state of this version.
    pub(crate) released_by: u64,
    /// To whom the pending ones have been sent.
    pub(crate) leader: Option<NodeId>,
}

#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) data: Vec<u8>,
    pub(crate) until_us: u64,
    pub(crate) retry_us: u64,
}

impl Proposals {
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(crate) fn is_pending(&self, number: Option<u64>) -> bool {
        number.is_some_and(|number| self.pending.contains_key(&number))
    }

    /// Ends those whose time is over.
    pub(super) fn expire(&mut self, now_us: u64, events: &mut Vec<Event>) {
        self.pending.retain(|number, pending| {
            let waits = now_us < pending.until_us;
            if !waits {
                events.push(Event::Done { proposal: ProposalId(*number), outcome: Outcome::Unknown });
            }
            waits
        });
    }

    /// Ends all: nothing will be heard of them.
    pub(super) fn fail(&mut self, events: &mut Vec<Event>) {
        for (number, _) in std::mem::take(&mut self.pending) {
            events.push(Event::Done { proposal: ProposalId(number), outcome: Outcome::Unknown });
        }
    }

    /// Proposal `number` of this process has been decided.
    pub(super) fn decided(&mut self, number: u64, outcome: &Outcome) -> Option<Event> {
        self.pending.remove(&number)?;
        Some(Event::Done { proposal: ProposalId(number), outcome: outcome.clone() })
    }
}
