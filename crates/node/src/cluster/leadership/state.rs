//! What a core keeps of slots that go to another primary, and of the shutdown of its process.

use crate::cluster::membership::roles::Place;
use base::{Epoch, NodeId};
use engine::Sequence;
use std::collections::BTreeMap;

/// Those that are drained wait so long for the others, to be proposed with them.
pub(crate) const TOGETHER_US: u64 = 20_000;

/// No slot is closed for longer: less than requests wait for a primary.
pub(crate) const CLOSED_US_MAX: u64 = 3_000_000;

/// A slot that takes no operations any more.
pub(crate) struct Closing {
    pub(crate) to: NodeId,
    pub(crate) since_us: u64,
    /// All that was written in it is up to here.
    pub(crate) written: Sequence,
    /// With this epoch it was proposed.
    pub(crate) proposed: Option<Epoch>,
}

/// All of a core.
#[derive(Default)]
pub(crate) struct PrimaryTransfer {
    /// Slots that should have another primary, by the view of this version.
    pub(crate) wanted: BTreeMap<Place, NodeId>,
    pub(crate) version: u64,
    pub(crate) closing: BTreeMap<Place, Closing>,
    /// When those that are wanted are closed.
    pub(crate) close_at_us: Option<u64>,
}

impl PrimaryTransfer {
    /// Whether there is nothing to give away.
    pub(crate) fn is_over(&self, version: u64) -> bool {
        self.version == version && self.wanted.is_empty() && self.closing.is_empty()
    }

    /// When to look again, if nothing else happens before.
    pub(crate) fn due_us(&self, now_us: u64) -> Option<u64> {
        let steps = |closing: &Closing| [closing.since_us + TOGETHER_US, closing.since_us + CLOSED_US_MAX];
        self.closing.values().flat_map(steps).chain(self.close_at_us).filter(|at_us| *at_us > now_us).min()
    }
}

/// How far a core is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Transferring,
    /// It waits for the other cores and members.
    Transferred,
    SendingAway,
    WritingOut,
}

/// A process that ends.
pub(crate) struct Shutdown {
    pub(crate) step: Step,
    pub(crate) until_us: u64,
    /// On core 0: when to ask again, how many cores have given everything away, and by which version of the metadata.
    pub(crate) ask_at_us: u64,
    pub(crate) cores: u16,
    pub(crate) version: u64,
}

/// The part of this floor in [`ClusterCore`](crate::cluster::ClusterCore).
#[derive(Default)]
pub(crate) struct Leadership {
    pub(crate) transfer: PrimaryTransfer,
    /// While the process shuts down.
    pub(crate) shutdown: Option<Shutdown>,
    /// As former primary: slots whose new primary has not been told.
    pub(crate) stepped_down: Vec<(Place, NodeId)>,
}
