//! As primary: what this core sends to each replica besides writes.

use crate::cluster::links::frames::{RebuildMethod, Slots};
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::rebuild::progress::{Held, Progress};
use crate::cluster::replication::pacing::Window;
use base::{Epoch, NodeId, Slot};
use engine::Sequence;
use shard::{KeyspaceNumber, RowKey, SlotScan, TailWalk};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What was proposed and has not come about is proposed again.
pub(crate) const PROPOSE_AGAIN_US: u64 = 2_000_000;

/// What could not be read, or written whole, is tried again after this time.
const FAILED_AGAIN_US: u64 = 1_000_000;

/// How long a replica that could not take what it was sent is not rebuilt: twice as long each time, if it happens again soon.
const DROPPED_US_MIN: u64 = 10_000_000;

const DROPPED_US_MAX: u64 = 600_000_000;

/// The shard's numbers for wiping, for the walk over what may be here alone, and for the verification of slots. Those of replicas follow.
pub(crate) const WIPE: u32 = 0;

pub(crate) const OWN_TAIL: u32 = 1;

pub(crate) const VERIFY: u32 = 2;

/// Something that a replica is to be sent.
pub(crate) enum Job {
    /// All rows of a slot.
    Slot { place: (KeyspaceNumber, Slot), scan: SlotScan },
    /// What was written in these slots since the replica was in sync.
    Tail { places: BTreeSet<(KeyspaceNumber, Slot)>, walk: TailWalk },
    /// The rows of these keys, of any of its slots.
    Keys(VecDeque<RowKey>),
    /// What is sent by now has to be acknowledged; then the new primary serves these slots, as far as it waits for this replica.
    Reconciliation(Vec<(KeyspaceNumber, Slot)>),
}

/// What is under way for one replica's core.
#[derive(Default)]
pub(crate) struct ReplicaQueue {
    pub(crate) jobs: VecDeque<Job>,
    /// The shard's number for the walks.
    pub(crate) number: u32,
    /// Whether the job that runs waits for rows to be read.
    pub(crate) waits: bool,
    /// When to try again what has failed.
    again_at_us: u64,
    /// Slots whose images have all been sent.
    pub(crate) sent: BTreeMap<(KeyspaceNumber, Slot), SentSlot>,
    /// New primaries' slots, and the mark of the stream that has to be passed.
    pub(crate) reconciliations: Vec<(Vec<(KeyspaceNumber, Slot)>, u64)>,
    pub(crate) window: Window,
    pub(crate) progress: Progress,
}

/// A slot whose images have all been sent.
pub(crate) struct SentSlot {
    /// The mark of the stream that has to be passed: by the images, then by what was written until the primary began to wait for the replica.
    pub(crate) mark: u64,
    /// All rows that were sent were written up to here.
    pub(crate) sequence: u64,
    /// In which epoch, and when, the replica was proposed as one in sync.
    pub(crate) proposed: Option<(Epoch, u64)>,
}

impl ReplicaQueue {
    /// Until when the replica is sent nothing of what there is for it.
    pub(crate) fn paused_until_us(&self, now_us: u64) -> Option<u64> {
        self.window.paused_until_us(now_us).max(self.failed_until_us(now_us)).filter(|_| !self.jobs.is_empty())
    }

    /// Until when what has failed is left alone.
    pub(crate) fn failed_until_us(&self, now_us: u64) -> Option<u64> {
        Some(self.again_at_us).filter(|again_at_us| now_us < *again_at_us)
    }

    /// The job that runs cannot go on for now, for a reason that may pass.
    pub(crate) fn failed(&mut self, now_us: u64) {
        self.again_at_us = now_us + FAILED_AGAIN_US;
    }

    /// Something else comes first.
    pub(crate) fn hurry(&mut self) {
        self.again_at_us = 0;
    }

    /// A slot is rebuilt anew: what was to be sent of it, or was sent, does not count.
    pub(crate) fn withdraw(&mut self, place: (KeyspaceNumber, Slot)) {
        self.sent.remove(&place);
        self.jobs.retain_mut(|job| match job {
            Job::Slot { place: known, .. } => *known != place,
            Job::Tail { places, .. } => {
                places.remove(&place);
                true
            }
            Job::Keys(_) | Job::Reconciliation(_) => true,
        });
    }

    /// Whether clients wait for what comes next.
    pub(crate) fn is_urgent(&self) -> bool {
        matches!(self.jobs.front(), Some(Job::Keys(_) | Job::Reconciliation(_)))
    }

    /// Slots that are served once the replica has what is here of them.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = (KeyspaceNumber, Slot)> + '_ {
        let in_jobs = self.jobs.iter().filter_map(|job| match job {
            Job::Reconciliation(places) => Some(places),
            _ => None,
        });
        in_jobs.chain(self.reconciliations.iter().map(|(places, _)| places)).flatten().copied()
    }
}

impl SentSlot {
    pub(crate) fn up_to(mark: u64, sequence: Sequence) -> Self {
        Self { mark, sequence: sequence.0, proposed: None }
    }

    /// Whether what was proposed may yet come about.
    pub(crate) fn is_proposed(&self, epoch: Epoch, now_us: u64) -> bool {
        self.proposed.is_some_and(|(then, at_us)| then == epoch && now_us <= at_us + PROPOSE_AGAIN_US)
    }
}

/// A replica that could not take what it was sent.
#[derive(Clone, Copy)]
pub(crate) struct Dropped {
    pub(crate) why: Held,
    /// Until then it is not rebuilt.
    pub(crate) until_us: u64,
    /// How long that was.
    pub(crate) wait_us: u64,
    pub(crate) propose_again_us: u64,
}

/// What this core sends to replicas besides writes.
#[derive(Default)]
pub(crate) struct Queues {
    pub(crate) by_target: BTreeMap<RemoteCore, ReplicaQueue>,
    numbers: u32,
    /// Which of the tasks is to have the next chunk.
    pub(crate) next_task: usize,
    /// Replicas that could not take what they were sent, ...
    pub(crate) dropped: BTreeMap<RemoteCore, Dropped>,
    /// ... and what they have asked for since.
    pub(crate) postponed: Vec<(RemoteCore, RebuildMethod, Slots)>,
}

impl Queues {
    pub(crate) fn of(&mut self, target: RemoteCore) -> &mut ReplicaQueue {
        let Self { by_target, numbers, .. } = self;
        by_target.entry(target).or_insert_with(|| {
            *numbers += 1;
            ReplicaQueue { number: VERIFY + *numbers, ..ReplicaQueue::default() }
        })
    }

    /// A process of a member has ended.
    pub(crate) fn forget_member(&mut self, node: NodeId) {
        self.by_target.retain(|target, _| target.0 != node);
        self.dropped.retain(|target, _| target.0 != node);
        self.postponed.retain(|(target, ..)| target.0 != node);
    }

    /// A replica cannot take what it is sent, or does not ask for it because it could not; the latter if nothing `is_sent`. Returns whether that is
    /// to be proposed.
    pub(crate) fn give_up(&mut self, target: RemoteCore, why: Held, is_sent: bool, now_us: u64) -> bool {
        let never = Dropped { why, until_us: 0, wait_us: 0, propose_again_us: 0 };
        let dropped = self.dropped.entry(target).or_insert(never);
        if !is_sent {
            return false;
        }
        if now_us >= dropped.until_us {
            let is_soon = now_us < dropped.until_us + dropped.wait_us;
            let wait_us = if is_soon { (dropped.wait_us * 2).min(DROPPED_US_MAX) } else { DROPPED_US_MIN };
            (dropped.wait_us, dropped.until_us) = (wait_us, now_us + wait_us);
        }
        (dropped.why, dropped.propose_again_us) = (why, now_us + PROPOSE_AGAIN_US);
        true
    }

    /// Whether that was proposed of late.
    pub(crate) fn is_being_dropped(&self, target: RemoteCore, now_us: u64) -> bool {
        self.dropped.get(&target).is_some_and(|dropped| now_us < dropped.propose_again_us)
    }

    /// Until when a replica is not rebuilt, if it is not.
    pub(crate) fn dropped_until(&self, target: RemoteCore, now_us: u64) -> Option<u64> {
        self.dropped.get(&target).map(|dropped| dropped.until_us).filter(|until_us| now_us < *until_us)
    }

    /// There is a new connection to a replica, by which it repeats what it asked for.
    pub(crate) fn forget_postponed(&mut self, target: RemoteCore) {
        self.postponed.retain(|(asker, ..)| *asker != target);
    }

    /// Whether a new primary waits for a replica.
    pub(crate) fn reconciles_with(&self, target: RemoteCore) -> bool {
        self.by_target.get(&target).is_some_and(|queue| queue.awaited().next().is_some())
    }
}
