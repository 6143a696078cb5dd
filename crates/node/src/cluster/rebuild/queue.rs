//! What a core knows of replicas that have not got everything: those that it fills, and itself.

use crate::cluster::links::frames::{Fill, Slots};
use crate::cluster::links::link::Target;
use crate::cluster::rebuild::progress::{Held, Progress};
use crate::cluster::replication::pacing::Window;
use crate::cluster::replication::uncommitted::{Uncommitted, owned};
use base::{Epoch, NodeId, Slot, TableId};
use engine::{ReceivedRows, Sequence};
use shard::{KeyspaceNumber, RowKey, SlotScan, TailWalk};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What was proposed and has not come about is proposed again.
pub(crate) const PROPOSE_AGAIN_US: u64 = 2_000_000;

/// What could not be read, or written whole, is tried again after this time.
const FAILED_AGAIN_US: u64 = 1_000_000;

/// How long a replica that could not take what it was sent is not filled: twice as long each time, if it happens again soon.
const GIVEN_UP_US_MIN: u64 = 10_000_000;

const GIVEN_UP_US_MAX: u64 = 600_000_000;

/// The shard's numbers for wiping, and for the walk over what may be here alone.
pub(crate) const WIPE: u32 = 0;

pub(crate) const OWN_TAIL: u32 = 1;

/// Something that a replica is to be sent.
pub(crate) enum Job {
    /// All rows of a slot.
    Slot { place: (KeyspaceNumber, Slot), scan: SlotScan },
    /// What was written in these slots since the replica was in sync.
    Tail { places: BTreeSet<(KeyspaceNumber, Slot)>, walk: TailWalk },
    /// The rows of these keys, of any of its slots.
    Keys(VecDeque<RowKey>),
    /// What is sent by now has to be acknowledged; then the new primary serves these slots, as far as it waits for this replica.
    Agreement(Vec<(KeyspaceNumber, Slot)>),
}

/// What is under way for one replica's core.
#[derive(Default)]
pub(crate) struct Filling {
    pub(crate) jobs: VecDeque<Job>,
    /// The shard's number for the walks.
    pub(crate) number: u32,
    /// Whether the job that runs waits for rows to be read.
    pub(crate) waits: bool,
    /// When to try again what has failed.
    again_at_us: u64,
    /// Slots whose images have all been sent.
    pub(crate) sent: BTreeMap<(KeyspaceNumber, Slot), Sent>,
    /// New primaries' slots, and the mark of the stream that has to be passed.
    pub(crate) agreements: Vec<(Vec<(KeyspaceNumber, Slot)>, u64)>,
    pub(crate) window: Window,
    pub(crate) progress: Progress,
}

/// A slot whose images have all been sent.
pub(crate) struct Sent {
    /// The mark of the stream that has to be passed: by the images, then by what was written until the primary began to wait for the replica.
    pub(crate) mark: u64,
    /// All rows that were sent were written up to here.
    pub(crate) sequence: u64,
    /// In which epoch, and when, the replica was proposed as one in sync.
    pub(crate) proposed: Option<(Epoch, u64)>,
}

impl Filling {
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

    /// Whether clients wait for what comes next.
    pub(crate) fn is_urgent(&self) -> bool {
        matches!(self.jobs.front(), Some(Job::Keys(_) | Job::Agreement(_)))
    }

    /// Slots that are served once the replica has what is here of them.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = (KeyspaceNumber, Slot)> + '_ {
        let in_jobs = self.jobs.iter().filter_map(|job| match job {
            Job::Agreement(places) => Some(places),
            _ => None,
        });
        in_jobs.chain(self.agreements.iter().map(|(places, _)| places)).flatten().copied()
    }
}

impl Sent {
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
pub(crate) struct GivenUp {
    pub(crate) why: Held,
    /// Until then it is not filled.
    pub(crate) until_us: u64,
    /// How long that was.
    pub(crate) wait_us: u64,
    pub(crate) propose_again_us: u64,
}

/// All of a core.
#[derive(Default)]
pub(crate) struct Fillings {
    pub(crate) by_target: BTreeMap<Target, Filling>,
    pub(crate) numbers: u32,
    /// Which of the tasks is to have the next bite.
    pub(crate) next_task: usize,
    /// As replica: slots to wipe, then to ask for.
    pub(crate) wipes: VecDeque<((KeyspaceNumber, Slot), SlotScan)>,
    pub(crate) wipe_waits: bool,
    /// As replica: slots that are ready to be filled, and how.
    pub(crate) wanted: BTreeMap<(KeyspaceNumber, Slot), Fill>,
    /// As replica: slots that a primary was asked to fill.
    pub(crate) asked: BTreeMap<(KeyspaceNumber, Slot), Fill>,
    /// As replica after a restart: the walk over what may be here alone, in which slots, and in which one the next walk will be.
    pub(crate) own_tail: Option<TailWalk>,
    pub(crate) own_tail_waits: bool,
    pub(crate) walked: BTreeSet<(KeyspaceNumber, Slot)>,
    pub(crate) walked_next: BTreeSet<(KeyspaceNumber, Slot)>,
    /// By sender, in its order.
    pub(crate) uncommitted: BTreeMap<Target, Uncommitted>,
    /// As replica: keys whose images the slot's primary has to send.
    pub(crate) doubtful: BTreeMap<(KeyspaceNumber, Slot), BTreeSet<RowKey>>,
    /// As replica: keys that the primary was asked for. It may not have heard, and others may not have what is here of them.
    pub(crate) doubted: BTreeMap<(KeyspaceNumber, Slot), BTreeSet<RowKey>>,
    /// Slots that this member has lost as it was taken for dead, with the keys of which others may not have what is here.
    pub(crate) away: BTreeMap<(KeyspaceNumber, Slot), BTreeSet<RowKey>>,
    /// As new primary: slots in which not all have what is here, and the sequence since which they get it.
    pub(crate) agreeing: BTreeMap<(KeyspaceNumber, Slot), u64>,
    /// What was committed here before anything was doubted or agreed on.
    pub(crate) sure: Option<u64>,
    /// As primary: replicas that could not take what they were sent, and what they have asked for since.
    pub(crate) given_up: BTreeMap<Target, GivenUp>,
    pub(crate) postponed: Vec<(Target, Fill, Slots)>,
    /// As former primary: slots to say so of.
    pub(crate) stepped_down: Vec<((KeyspaceNumber, Slot), NodeId)>,
}

impl Fillings {
    /// A process of a member is no more.
    pub(crate) fn forget_member(&mut self, node: NodeId) {
        self.by_target.retain(|target, _| target.0 != node);
        self.given_up.retain(|target, _| target.0 != node);
        self.postponed.retain(|(target, ..)| target.0 != node);
    }

    /// A replica cannot take what it is sent, or does not ask for it because it could not; the latter if nothing `is_sent`. Gives whether that is
    /// to be proposed.
    pub(crate) fn give_up(&mut self, target: Target, why: Held, is_sent: bool, now_us: u64) -> bool {
        let never = GivenUp { why, until_us: 0, wait_us: 0, propose_again_us: 0 };
        let given_up = self.given_up.entry(target).or_insert(never);
        if !is_sent {
            return false;
        }
        if now_us >= given_up.until_us {
            let is_soon = now_us < given_up.until_us + given_up.wait_us;
            let wait_us = if is_soon { (given_up.wait_us * 2).min(GIVEN_UP_US_MAX) } else { GIVEN_UP_US_MIN };
            (given_up.wait_us, given_up.until_us) = (wait_us, now_us + wait_us);
        }
        (given_up.why, given_up.propose_again_us) = (why, now_us + PROPOSE_AGAIN_US);
        true
    }

    /// Whether that was proposed of late.
    pub(crate) fn is_being_given_up(&self, target: Target, now_us: u64) -> bool {
        self.given_up.get(&target).is_some_and(|given_up| now_us < given_up.propose_again_us)
    }

    /// There is a new connection to a replica, by which it repeats what it asked for.
    pub(crate) fn forget_postponed(&mut self, target: Target) {
        self.postponed.retain(|(asker, ..)| *asker != target);
    }

    /// Until when a replica is not filled, if it is not.
    pub(crate) fn given_up_until(&self, target: Target, now_us: u64) -> Option<u64> {
        self.given_up.get(&target).map(|given_up| given_up.until_us).filter(|until_us| now_us < *until_us)
    }

    /// What came of a process of a member that is no more is settled by others: its slots have another primary, or a new term.
    pub(crate) fn forget_sender(&mut self, node: NodeId) {
        self.uncommitted.retain(|from, _| from.0 != node);
    }

    /// Tables that are no more have no rows to ask for.
    pub(crate) fn forget_tables(&mut self, is_known: impl Fn(TableId) -> bool) {
        for keys in [&mut self.doubtful, &mut self.doubted, &mut self.away] {
            keys.values_mut().for_each(|keys| keys.retain(|key| is_known(key.table)));
        }
        for keys in [&mut self.doubtful, &mut self.doubted] {
            keys.retain(|_, keys| !keys.is_empty());
        }
    }

    /// Images of a slot's primary have come: nothing is doubted of these rows any more.
    pub(crate) fn answered(&mut self, place: (KeyspaceNumber, Slot), rows: &[u8]) {
        let Some(doubted) = self.doubted.get_mut(&place) else { return };
        for row in ReceivedRows::new(rows).filter_map(Result::ok) {
            doubted.remove(&owned(&row.key));
        }
        if doubted.is_empty() {
            self.doubted.remove(&place);
        }
    }

    /// As new primary: what was written since this sequence, in these slots, is not committed.
    pub(crate) fn agreeing(&self) -> impl Iterator<Item = ((KeyspaceNumber, Slot), u64)> + '_ {
        self.agreeing.iter().map(|(place, since)| (*place, *since))
    }

    /// A write of a primary, or an image that others may not have, has been applied here.
    pub(crate) fn applied(&mut self, from: Target, (sequence, own): (u64, Sequence), place: (KeyspaceNumber, Slot), rows: &[u8]) {
        self.uncommitted.entry(from).or_default().push(sequence, own.0, place, rows);
    }

    /// All up to `sequence` that came from there is committed.
    pub(crate) fn committed(&mut self, from: Target, sequence: u64) {
        if let Some(writes) = self.uncommitted.get_mut(&from) {
            writes.committed(sequence);
        }
    }

    /// Up to here, what others have sent is committed: `last` if all of it.
    pub(crate) fn committed_here(&self, last: u64) -> u64 {
        let received = self.uncommitted.values().filter_map(Uncommitted::first).map(|first| first - 1).min();
        let sure = self.sure.filter(|_| self.is_in_doubt());
        received.into_iter().chain(sure).min().unwrap_or(last)
    }

    /// Whether rows here may be here alone that are not among the uncommitted ones any more.
    fn is_in_doubt(&self) -> bool {
        !(self.doubtful.is_empty() && self.doubted.is_empty() && self.away.is_empty() && self.agreeing.is_empty())
    }

    /// There is a new view, before which this much was committed here.
    pub(crate) fn doubt_after(&mut self, committed: u64) {
        self.sure = self.is_in_doubt().then(|| self.sure.map_or(committed, |sure| sure.min(committed)));
    }

    /// As replica: a slot is in sync.
    pub(crate) fn in_sync(&mut self, place: (KeyspaceNumber, Slot)) {
        if self.asked.remove(&place).is_some() {
            // What was asked for before came before.
            self.doubted.remove(&place);
        }
        self.wanted.remove(&place);
    }

    /// Whether nothing is here that others may not have or may have otherwise.
    pub(crate) fn is_settled(&self) -> bool {
        self.doubtful.is_empty() && self.walked.is_empty() && self.walked_next.is_empty() && self.asked.is_empty() && self.wanted.is_empty()
    }

    /// A slot is not this member's any more, for a while or for good: what is here alone is not forgotten before that is known.
    pub(crate) fn leaves(&mut self, place: (KeyspaceNumber, Slot), own_writes: Vec<RowKey>) {
        self.asked.remove(&place);
        let mut keys = self.take_uncommitted(place);
        keys.extend(own_writes);
        self.away.insert(place, keys);
    }

    /// The slots that have left, and have not come back.
    pub(crate) fn take_away(&mut self) -> impl Iterator<Item = (KeyspaceNumber, Slot)> + use<> {
        std::mem::take(&mut self.away).into_keys()
    }

    /// Whether a new primary waits for a replica.
    pub(crate) fn agrees_with(&self, target: Target) -> bool {
        self.by_target.get(&target).is_some_and(|filling| filling.awaited().next().is_some())
    }

    /// As former primary: others agree on the slot now.
    pub(crate) fn lost(&mut self, place: (KeyspaceNumber, Slot)) {
        self.agreeing.remove(&place);
    }

    /// As former primary: whether a new one has not been told.
    pub(crate) fn has_to_step_down(&self) -> bool {
        !self.stepped_down.is_empty()
    }

    pub(crate) fn take_uncommitted(&mut self, place: (KeyspaceNumber, Slot)) -> BTreeSet<RowKey> {
        let mut keys = self.doubtful.remove(&place).unwrap_or_default();
        keys.extend(self.doubted.remove(&place).unwrap_or_default());
        keys.extend(self.away.remove(&place).unwrap_or_default());
        self.uncommitted.values_mut().for_each(|writes| writes.take(place, &mut keys));
        self.uncommitted.retain(|_, writes| !writes.is_empty());
        keys
    }

    /// Whether this number is that of a scan that is under way.
    pub(crate) fn scans(&self, number: u32) -> bool {
        match number {
            WIPE => !self.wipes.is_empty(),
            OWN_TAIL => self.own_tail.is_some(),
            _ => self.by_target.values().any(|filling| filling.number == number && !filling.jobs.is_empty()),
        }
    }

    pub(crate) fn of(&mut self, target: Target) -> &mut Filling {
        let Self { by_target, numbers, .. } = self;
        by_target.entry(target).or_insert_with(|| {
            *numbers += 1;
            Filling { number: OWN_TAIL + *numbers, ..Filling::default() }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::Token;
    use engine::{Kind, WriteBatch};

    #[test]
    fn what_a_primary_has_answered_is_doubted_no_more() {
        let (mut fillings, place) = (Fillings::default(), (KeyspaceNumber(0), Slot(0)));
        let key = |table, number: u8| RowKey { table: TableId(table), token: Token(0), partition: vec![number], clustering: Vec::new() };
        fillings.doubted.insert(place, [key(1, 1), key(1, 2), key(2, 1)].into());
        let mut images = WriteBatch::new();
        images.put(&key(1, 1).borrow(), Kind::Live, b"row").unwrap();
        fillings.answered(place, images.bytes());
        fillings.answered((KeyspaceNumber(0), Slot(1)), images.bytes());
        assert_eq!(fillings.doubted[&place], [key(1, 2), key(2, 1)].into());
        fillings.forget_tables(|table| table == TableId(1));
        images.clear();
        images.put(&key(1, 2).borrow(), Kind::Live, b"row").unwrap();
        fillings.doubt_after(7);
        fillings.doubt_after(9);
        assert_eq!(fillings.committed_here(20), 7, "what is doubted may be here alone");
        fillings.answered(place, images.bytes());
        assert!(fillings.doubted.is_empty());
        assert_eq!(fillings.committed_here(20), 20);
        fillings.doubt_after(20);
        fillings.doubted.insert(place, [key(1, 1)].into());
        fillings.doubt_after(30);
        assert_eq!(fillings.committed_here(40), 30);
    }
}
