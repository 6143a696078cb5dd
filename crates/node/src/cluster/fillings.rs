//! What a core knows of replicas that have not got everything: those that it fills, and itself.

use super::ClusterCore;
use super::frames::{Fill, Slots};
use super::pacing::Window;
use super::progress::{Held, Progress};
use super::roles::{Target, Waits};
use super::uncommitted::Uncommitted;
use base::{Epoch, NodeId, Slot, TableId};
use engine::{Key, ReceivedRows, Sequence};
use shard::{KeyspaceNumber, RowKey, SlotScan, TailWalk};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What was proposed and has not come about is proposed again.
pub(super) const PROPOSE_AGAIN_US: u64 = 2_000_000;
/// What could not be read, or written whole, is tried again after this time.
const FAILED_AGAIN_US: u64 = 1_000_000;
/// How long a replica that could not take what it was sent is not filled: twice as long each time, if it happens again soon.
const GIVEN_UP_US_MIN: u64 = 10_000_000;
const GIVEN_UP_US_MAX: u64 = 600_000_000;
/// The shard's numbers for wiping, and for the walk over what may be here alone.
pub(super) const WIPE: u32 = 0;
pub(super) const OWN_TAIL: u32 = 1;

/// Something that a replica is to be sent.
pub(super) enum Job {
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
pub(super) struct Filling {
    pub(super) jobs: VecDeque<Job>,
    /// The shard's number for the walks.
    pub(super) number: u32,
    /// Whether the job that runs waits for rows to be read.
    pub(super) waits: bool,
    /// When to try again what has failed.
    again_at_us: u64,
    /// Slots whose images have all been sent.
    pub(super) sent: BTreeMap<(KeyspaceNumber, Slot), Sent>,
    /// New primaries' slots, and the mark of the stream that has to be passed.
    pub(super) agreements: Vec<(Vec<(KeyspaceNumber, Slot)>, u64)>,
    pub(super) window: Window,
    pub(super) progress: Progress,
}

/// A slot whose images have all been sent.
pub(super) struct Sent {
    /// The mark of the stream that has to be passed: by the images, then by what was written until the primary began to wait for the replica.
    pub(super) mark: u64,
    /// All rows that were sent were written up to here.
    pub(super) sequence: u64,
    /// In which epoch, and when, the replica was proposed as one in sync.
    pub(super) proposed: Option<(Epoch, u64)>,
}

impl Filling {
    /// Until when the replica is sent nothing of what there is for it.
    pub(super) fn paused_until_us(&self, now_us: u64) -> Option<u64> {
        self.window.paused_until_us(now_us).max(self.failed_until_us(now_us)).filter(|_| !self.jobs.is_empty())
    }

    /// Until when what has failed is left alone.
    pub(super) fn failed_until_us(&self, now_us: u64) -> Option<u64> {
        Some(self.again_at_us).filter(|again_at_us| now_us < *again_at_us)
    }

    /// The job that runs cannot go on for now, for a reason that may pass.
    pub(super) fn failed(&mut self, now_us: u64) {
        self.again_at_us = now_us + FAILED_AGAIN_US;
    }

    /// Something else comes first.
    pub(super) fn hurry(&mut self) {
        self.again_at_us = 0;
    }

    /// Whether clients wait for what comes next.
    pub(super) fn is_urgent(&self) -> bool {
        matches!(self.jobs.front(), Some(Job::Keys(_) | Job::Agreement(_)))
    }

    /// Slots that are served once the replica has what is here of them.
    pub(super) fn awaited(&self) -> impl Iterator<Item = (KeyspaceNumber, Slot)> + '_ {
        let in_jobs = self.jobs.iter().filter_map(|job| match job {
            Job::Agreement(places) => Some(places),
            _ => None,
        });
        in_jobs.chain(self.agreements.iter().map(|(places, _)| places)).flatten().copied()
    }
}

impl Sent {
    pub(super) fn up_to(mark: u64, sequence: Sequence) -> Self {
        Self { mark, sequence: sequence.0, proposed: None }
    }

    /// Whether what was proposed may yet come about.
    pub(super) fn is_proposed(&self, epoch: Epoch, now_us: u64) -> bool {
        self.proposed.is_some_and(|(then, at_us)| then == epoch && now_us <= at_us + PROPOSE_AGAIN_US)
    }
}

/// A replica that could not take what it was sent.
#[derive(Clone, Copy)]
pub(super) struct GivenUp {
    pub(super) why: Held,
    /// Until then it is not filled.
    pub(super) until_us: u64,
    /// How long that was.
    pub(super) wait_us: u64,
    pub(super) propose_again_us: u64,
}

/// All of a core.
#[derive(Default)]
pub(crate) struct Fillings {
    pub(super) by_target: BTreeMap<Target, Filling>,
    pub(super) numbers: u32,
    /// Which of the tasks is to have the next bite.
    pub(super) next_task: usize,
    /// As replica: slots to wipe, then to ask for.
    pub(super) wipes: VecDeque<((KeyspaceNumber, Slot), SlotScan)>,
    pub(super) wipe_waits: bool,
    /// As replica: slots that are ready to be filled, and how.
    pub(super) wanted: BTreeMap<(KeyspaceNumber, Slot), Fill>,
    /// As replica: slots that a primary was asked to fill.
    pub(super) asked: BTreeMap<(KeyspaceNumber, Slot), Fill>,
    /// As replica after a restart: the walk over what may be here alone, in which slots, and in which one the next walk will be.
    pub(super) own_tail: Option<TailWalk>,
    pub(super) own_tail_waits: bool,
    pub(super) walked: BTreeSet<(KeyspaceNumber, Slot)>,
    pub(super) walked_next: BTreeSet<(KeyspaceNumber, Slot)>,
    /// By sender, in its order.
    pub(super) uncommitted: BTreeMap<Target, Uncommitted>,
    /// As replica: keys whose images the slot's primary has to send.
    pub(super) doubtful: BTreeMap<(KeyspaceNumber, Slot), BTreeSet<RowKey>>,
    /// As replica: keys that the primary was asked for. It may not have heard, and others may not have what is here of them.
    pub(super) doubted: BTreeMap<(KeyspaceNumber, Slot), BTreeSet<RowKey>>,
    /// Slots that this member has lost as it was taken for dead, with the keys of which others may not have what is here.
    pub(super) away: BTreeMap<(KeyspaceNumber, Slot), BTreeSet<RowKey>>,
    /// As new primary: slots in which not all have what is here, and the sequence since which they get it.
    pub(super) agreeing: BTreeMap<(KeyspaceNumber, Slot), u64>,
    /// What was committed here before anything was doubted or agreed on.
    pub(super) sure: Option<u64>,
    /// As primary: replicas that could not take what they were sent, and what they have asked for since.
    pub(super) given_up: BTreeMap<Target, GivenUp>,
    pub(super) postponed: Vec<(Target, Fill, Slots)>,
    /// As former primary: slots to say so of.
    pub(super) stepped_down: Vec<((KeyspaceNumber, Slot), NodeId)>,
}

/// A key that owns its bytes.
pub(super) fn owned(key: &Key<'_>) -> RowKey {
    RowKey { table: key.table, token: key.token, partition: key.partition.to_vec(), clustering: key.clustering.to_vec() }
}

impl Fillings {
    /// A process of a member is no more.
    pub(super) fn forget_member(&mut self, node: NodeId) {
        self.by_target.retain(|target, _| target.0 != node);
        self.given_up.retain(|target, _| target.0 != node);
        self.postponed.retain(|(target, ..)| target.0 != node);
    }

    /// A replica cannot take what it is sent, or does not ask for it because it could not; the latter if nothing `is_sent`. Gives whether that is
    /// to be proposed.
    pub(super) fn give_up(&mut self, target: Target, why: Held, is_sent: bool, now_us: u64) -> bool {
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
    pub(super) fn is_being_given_up(&self, target: Target, now_us: u64) -> bool {
        self.given_up.get(&target).is_some_and(|given_up| now_us < given_up.propose_again_us)
    }

    /// There is a new connection to a replica, by which it repeats what it asked for.
    pub(super) fn forget_postponed(&mut self, target: Target) {
        self.postponed.retain(|(asker, ..)| *asker != target);
    }

    /// Until when a replica is not filled, if it is not.
    pub(super) fn given_up_until(&self, target: Target, now_us: u64) -> Option<u64> {
        self.given_up.get(&target).map(|given_up| given_up.until_us).filter(|until_us| now_us < *until_us)
    }

    /// What came of a process of a member that is no more is settled by others: its slots have another primary, or a new term.
    pub(super) fn forget_sender(&mut self, node: NodeId) {
        self.uncommitted.retain(|from, _| from.0 != node);
    }

    /// Tables that are no more have no rows to ask for.
    pub(super) fn forget_tables(&mut self, is_known: impl Fn(TableId) -> bool) {
        for keys in [&mut self.doubtful, &mut self.doubted, &mut self.away] {
            keys.values_mut().for_each(|keys| keys.retain(|key| is_known(key.table)));
        }
        for keys in [&mut self.doubtful, &mut self.doubted] {
            keys.retain(|_, keys| !keys.is_empty());
        }
    }

    /// Images of a slot's primary have come: nothing is doubted of these rows any more.
    pub(super) fn answered(&mut self, place: (KeyspaceNumber, Slot), rows: &[u8]) {
        let Some(doubted) = self.doubted.get_mut(&place) else { return };
        for row in ReceivedRows::new(rows).filter_map(Result::ok) {
            doubted.remove(&owned(&row.key));
        }
        if doubted.is_empty() {
            self.doubted.remove(&place);
        }
    }

    /// As new primary: what was written since this sequence, in these slots, is not committed.
    pub(super) fn agreeing(&self) -> impl Iterator<Item = ((KeyspaceNumber, Slot), u64)> + '_ {
        self.agreeing.iter().map(|(place, since)| (*place, *since))
    }

    /// A write of a primary, or an image that others may not have, has been applied here.
    pub(super) fn applied(&mut self, from: Target, (sequence, own): (u64, Sequence), place: (KeyspaceNumber, Slot), rows: &[u8]) {
        self.uncommitted.entry(from).or_default().push(sequence, own.0, place, rows);
    }

    /// All up to `sequence` that came from there is committed.
    pub(super) fn committed(&mut self, from: Target, sequence: u64) {
        if let Some(writes) = self.uncommitted.get_mut(&from) {
            writes.committed(sequence);
        }
    }

    /// Up to here, what others have sent is committed: `last` if all of it.
    pub(super) fn committed_here(&self, last: u64) -> u64 {
        let received = self.uncommitted.values().filter_map(Uncommitted::first).map(|first| first - 1).min();
        let sure = self.sure.filter(|_| self.is_in_doubt());
        received.into_iter().chain(sure).min().unwrap_or(last)
    }

    /// Whether rows here may be here alone that are not among the uncommitted ones any more.
    fn is_in_doubt(&self) -> bool {
        !(self.doubtful.is_empty() && self.doubted.is_empty() && self.away.is_empty() && self.agreeing.is_empty())
    }

    /// There is a new view, before which this much was committed here.
    pub(super) fn doubt_after(&mut self, committed: u64) {
        self.sure = self.is_in_doubt().then(|| self.sure.map_or(committed, |sure| sure.min(committed)));
    }

    /// As replica: a slot is in sync.
    pub(super) fn in_sync(&mut self, place: (KeyspaceNumber, Slot)) {
        if self.asked.remove(&place).is_some() {
            // What was asked for before came before.
            self.doubted.remove(&place);
        }
        self.wanted.remove(&place);
    }

    /// Whether nothing is here that others may not have or may have otherwise.
    pub(super) fn is_settled(&self) -> bool {
        self.doubtful.is_empty() && self.walked.is_empty() && self.walked_next.is_empty() && self.asked.is_empty() && self.wanted.is_empty()
    }

    /// A slot is not this member's any more, for a while or for good: what is here alone is not forgotten before that is known.
    pub(super) fn leaves(&mut self, place: (KeyspaceNumber, Slot), own_writes: Vec<RowKey>) {
        self.asked.remove(&place);
        let mut keys = self.take_uncommitted(place);
        keys.extend(own_writes);
        self.away.insert(place, keys);
    }

    /// The slots that have left, and have not come back.
    pub(super) fn take_away(&mut self) -> impl Iterator<Item = (KeyspaceNumber, Slot)> + use<> {
        std::mem::take(&mut self.away).into_keys()
    }

    /// Whether a new primary waits for a replica.
    pub(super) fn agrees_with(&self, target: Target) -> bool {
        self.by_target.get(&target).is_some_and(|filling| filling.awaited().next().is_some())
    }

    /// As former primary: others agree on the slot now.
    pub(super) fn lost(&mut self, place: (KeyspaceNumber, Slot)) {
        self.agreeing.remove(&place);
    }

    /// As former primary: whether a new one has not been told.
    pub(super) fn has_to_step_down(&self) -> bool {
        !self.stepped_down.is_empty()
    }

    pub(super) fn take_uncommitted(&mut self, place: (KeyspaceNumber, Slot)) -> BTreeSet<RowKey> {
        let mut keys = self.doubtful.remove(&place).unwrap_or_default();
        keys.extend(self.doubted.remove(&place).unwrap_or_default());
        keys.extend(self.away.remove(&place).unwrap_or_default());
        self.uncommitted.values_mut().for_each(|writes| writes.take(place, &mut keys));
        self.uncommitted.retain(|_, writes| !writes.is_empty());
        keys
    }

    /// Whether this number is that of a scan that is under way.
    pub(super) fn scans(&self, number: u32) -> bool {
        match number {
            WIPE => !self.wipes.is_empty(),
            OWN_TAIL => self.own_tail.is_some(),
            _ => self.by_target.values().any(|filling| filling.number == number && !filling.jobs.is_empty()),
        }
    }

    pub(super) fn of(&mut self, target: Target) -> &mut Filling {
        let Self { by_target, numbers, .. } = self;
        by_target.entry(target).or_insert_with(|| {
            *numbers += 1;
            Filling { number: OWN_TAIL + *numbers, ..Filling::default() }
        })
    }
}

impl ClusterCore {
    /// For messages: what is under way.
    pub(crate) fn describe(&self) -> String {
        let Fillings { by_target, wipes, wipe_waits, wanted, asked, own_tail, own_tail_waits, walked, doubtful, stepped_down, .. } =
            &self.fillings;
        let mut text = format!(
            "version {}; to wipe {} (waits {wipe_waits}, may {}), wanted {}, asked {}, own tail {} (waits {own_tail_waits}, slots {}), doubtful {}, stepped down {}",
            self.view.version(),
            wipes.len(),
            self.differences.may_forget(),
            wanted.len(),
            asked.len(),
            own_tail.is_some(),
            walked.len(),
            doubtful.len(),
            stepped_down.len(),
        );
        for (target, filling) in by_target {
            let Filling { jobs, waits, sent, agreements, .. } = filling;
            let proposed = sent.values().filter(|sent| sent.proposed.is_some()).count();
            let (jobs, sent, agreements) = (jobs.len(), sent.len(), agreements.len());
            text += &format!("; to {target:?}: jobs {jobs} (waits {waits}), sent {sent}, proposed {proposed}, agreements {agreements}");
        }
        for (target, link) in &self.links.outgoing {
            let (open, pending, arrived) = (link.is_open(), link.stream.pending_bytes(), link.stream.arrived());
            text += &format!("; link {target:?} open {open}, pending {pending}, arrived {arrived}");
        }
        let unserved = self.roles.iter().filter(|(_, _, local)| local.waits != Waits::default()).count();
        text + &format!("; unserved {unserved}, early {}, routed {}", self.early_frames.len(), self.routed.len())
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
