//! Bringing replicas to what their primary has.
//!
//! A learner asks the slot's primary to fill it (`WANTED`), and from then on gets its writes; beside them, on the same stream, it gets the image
//! of every row. Because both come from one core in one order, what arrives last is what the row is. When all images are acknowledged the
//! primary waits for the learner as for those in sync, and when it has what was written by then, too, proposes that it be one of them.
//!
//! A learner that was in sync before, and still has its rows, is filled with the difference alone: what was written since (`differences`).
//!
//! A replica that may have rows which the primary does not have, because a primary before this one sent them and did not live to see them
//! acknowledged, asks for the images of these keys (`KEYS`). A new primary sends such rows of its own to the others before it serves.

use super::frames::{ALL_NEEDED, Fill, KEYS, STEPPED_DOWN, Slots, WANTED, read_key, read_wanted, split_version, write_key, write_wanted};
use super::links::Incoming;
use super::operations::{CoreReport, FillReport};
use super::pacing::{Slice, Window};
use super::progress::{Held, Progress};
use super::roles::{Role, Target, Waits};
use super::uncommitted::Uncommitted;
use super::{ClusterCore, EarlyFrame, From};
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, Epoch, NodeId, Slot, TableId};
use cluster::wire::Kind;
use cluster::{Command, SlotEpochs};
use engine::{Key, ReceivedRows, Sequence, WriteBatch};
use io::{ConnectionId, Reactor};
use shard::{Bite, Enough, KeyspaceNumber, RowKey, SlotScan, TailWalk};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Images go in groups of about this size: what is done between two looks at the clock.
const BITE_BYTES: usize = 16 << 10;
/// No more images of single keys are made for a replica that has so much to acknowledge.
const PENDING_BYTES_MAX: usize = 1 << 20;
/// So many bites of what clients wait for are made a turn.
const URGENT_BITES_PER_TURN: usize = 16;
/// Keys travel in frames of about this size.
const KEYS_BYTES: usize = 256 << 10;
/// At most so many slots are proposed as in sync at once: a command is repeated to whoever leads the metadata's group until it is decided, and must not clog the way there.
const PROPOSED_SLOTS_MAX: usize = 512;
/// What was proposed and has not come about is proposed again.
const PROPOSE_AGAIN_US: u64 = 2_000_000;
/// How long a replica that could not take what it was sent is not filled: twice as long each time, if it happens again soon.
const GIVEN_UP_US_MIN: u64 = 10_000_000;
const GIVEN_UP_US_MAX: u64 = 600_000_000;

/// What a primary makes of a replica's wish to be filled with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It is being filled so. Who asks again may not know that it was heard.
    GoOn,
    Begin,
    /// What it has missed is not known.
    AllNeeded,
}

impl Answer {
    /// To `wish`, when `begun` is under way. One that has begun with the difference and wishes for all has forgotten its rows meanwhile; one whose difference has
    /// begun is not told that it needs all, for it would forget the rows that it is taken to have.
    fn to(wish: Fill, begun: Option<Fill>, is_known: bool) -> Self {
        match (wish, begun) {
            (_, Some(Fill::All)) | (Fill::Difference, Some(Fill::Difference)) => Self::GoOn,
            (Fill::Difference, None) if !is_known => Self::AllNeeded,
            (Fill::Difference, None) | (Fill::All, _) => Self::Begin,
        }
    }
}

/// Something that a replica is to be sent.
enum Job {
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
struct Filling {
    jobs: VecDeque<Job>,
    /// The shard's number for the walks.
    number: u32,
    /// Whether the job that runs waits for rows to be read.
    waits: bool,
    /// Slots whose images have all been sent.
    sent: BTreeMap<(KeyspaceNumber, Slot), Sent>,
    /// New primaries' slots, and the mark of the stream that has to be passed.
    agreements: Vec<(Vec<(KeyspaceNumber, Slot)>, u64)>,
    window: Window,
    progress: Progress,
}

/// What is done in slices.
#[derive(Clone, Copy)]
enum Task {
    Wipe,
    OwnTail,
    Fill(Target),
}

/// A slot whose images have all been sent.
struct Sent {
    /// The mark of the stream that has to be passed: by the images, then by what was written until the primary began to wait for the replica.
    mark: u64,
    /// All rows that were sent were written up to here.
    sequence: u64,
    /// In which epoch, and when, the replica was proposed as one in sync.
    proposed: Option<(Epoch, u64)>,
}

impl Filling {
    /// Until when the replica is sent nothing of what there is for it.
    fn paused_until_us(&self, now_us: u64) -> Option<u64> {
        self.window.paused_until_us(now_us).filter(|_| !self.jobs.is_empty())
    }

    /// Whether clients wait for what comes next.
    fn is_urgent(&self) -> bool {
        matches!(self.jobs.front(), Some(Job::Keys(_) | Job::Agreement(_)))
    }

    /// Slots that are served once the replica has what is here of them.
    fn awaited(&self) -> impl Iterator<Item = (KeyspaceNumber, Slot)> + '_ {
        let in_jobs = self.jobs.iter().filter_map(|job| match job {
            Job::Agreement(places) => Some(places),
            _ => None,
        });
        in_jobs.chain(self.agreements.iter().map(|(places, _)| places)).flatten().copied()
    }
}

impl Sent {
    fn up_to(mark: u64, sequence: Sequence) -> Self {
        Self { mark, sequence: sequence.0, proposed: None }
    }

    /// Whether what was proposed may yet come about.
    fn is_proposed(&self, epoch: Epoch, now_us: u64) -> bool {
        self.proposed.is_some_and(|(then, at_us)| then == epoch && now_us <= at_us + PROPOSE_AGAIN_US)
    }
}

/// A replica that could not take what it was sent.
#[derive(Clone, Copy)]
struct GivenUp {
    why: Held,
    /// Until then it is not filled.
    until_us: u64,
    /// How long that was.
    wait_us: u64,
    propose_again_us: u64,
}

/// All of a core.
#[derive(Default)]
pub(crate) struct Fillings {
    by_target: BTreeMap<Target, Filling>,
    numbers: u32,
    /// Which of the tasks is to have the next bite.
    next_task: usize,
    /// As replica: slots to wipe, then to ask for.
    wipes: VecDeque<((KeyspaceNumber, Slot), SlotScan)>,
    wipe_waits: bool,
    /// As replica: slots that are ready to be filled, and how.
    wanted: BTreeMap<(KeyspaceNumber, Slot), Fill>,
    /// As replica: slots that a primary was asked to fill.
    asked: BTreeMap<(KeyspaceNumber, Slot), Fill>,
    /// As replica after a restart: the walk over what may be here alone, in which slots, and in which one the next walk will be.
    own_tail: Option<TailWalk>,
    own_tail_waits: bool,
    walked: BTreeSet<(KeyspaceNumber, Slot)>,
    walked_next: BTreeSet<(KeyspaceNumber, Slot)>,
    /// By sender, in its order.
    uncommitted: BTreeMap<Target, Uncommitted>,
    /// As replica: keys whose images the slot's primary has to send.
    doubtful: BTreeMap<(KeyspaceNumber, Slot), BTreeSet<RowKey>>,
    /// As replica: keys that the primary was asked for. It may not have heard, and others may not have what is here of them.
    doubted: BTreeMap<(KeyspaceNumber, Slot), BTreeSet<RowKey>>,
    /// Slots that this member has lost as it was taken for dead, with the keys of which others may not have what is here.
    away: BTreeMap<(KeyspaceNumber, Slot), BTreeSet<RowKey>>,
    /// As new primary: slots in which not all have what is here, and the sequence since which they get it.
    agreeing: BTreeMap<(KeyspaceNumber, Slot), u64>,
    /// What was committed here before anything was doubted or agreed on.
    sure: Option<u64>,
    /// As primary: replicas that could not take what they were sent, and what they have asked for since.
    given_up: BTreeMap<Target, GivenUp>,
    postponed: Vec<(Target, Fill, Slots)>,
    /// As former primary: slots to say so of.
    stepped_down: Vec<((KeyspaceNumber, Slot), NodeId)>,
}

/// Frames that wait for newer metadata, at most.
const EARLY_FRAMES_MAX: usize = 10_000;
/// The shard's numbers for wiping, and for the walk over what may be here alone.
const WIPE: u32 = 0;
const OWN_TAIL: u32 = 1;

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
    fn given_up_until(&self, target: Target, now_us: u64) -> Option<u64> {
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

    fn take_uncommitted(&mut self, place: (KeyspaceNumber, Slot)) -> BTreeSet<RowKey> {
        let mut keys = self.doubtful.remove(&place).unwrap_or_default();
        keys.extend(self.doubted.remove(&place).unwrap_or_default());
        keys.extend(self.away.remove(&place).unwrap_or_default());
        self.uncommitted.values_mut().for_each(|writes| writes.take(place, &mut keys));
        self.uncommitted.retain(|_, writes| !writes.is_empty());
        keys
    }

    fn of(&mut self, target: Target) -> &mut Filling {
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

    /// As replica: slots whose primary is another than before; what the one before may have sent only here is asked for.
    pub(super) fn follow_primary(&mut self, place: (KeyspaceNumber, Slot), own_writes: Vec<RowKey>) {
        let mut keys = self.fillings.take_uncommitted(place);
        keys.extend(own_writes);
        if !keys.is_empty() {
            self.fillings.doubtful.insert(place, keys);
        }
    }

    /// As new primary: the others get what may be here alone. Gives whether there is anything to wait for.
    pub(super) fn begin_agreement(&mut self, place: (KeyspaceNumber, Slot), own_writes: Vec<RowKey>, last: Sequence) -> bool {
        let mut keys = self.fillings.take_uncommitted(place);
        keys.extend(own_writes);
        self.fillings.agreeing.remove(&place);
        let Some(set) = self.roles.get(place.0, place.1).and_then(|local| local.set) else { return false };
        let others = self.roles.set(set).waits_for.clone();
        if keys.is_empty() || others.is_empty() {
            return false;
        }
        // Never 0: see `fill_target`.
        self.fillings.agreeing.insert(place, last.0.max(1));
        for target in others {
            // Clients wait for it; those who are being filled do not mind.
            let jobs = &mut self.fillings.of(target).jobs;
            jobs.push_front(Job::Agreement(vec![place]));
            jobs.push_front(Job::Keys(keys.iter().cloned().collect()));
        }
        true
    }

    /// As learner: a slot is to be filled. What is here of it is kept, if it is only behind.
    pub(super) fn want_slot(&mut self, place: (KeyspaceNumber, Slot), own_writes: Vec<RowKey>) {
        let was_in_sync = self.roles.get(place.0, place.1).is_some_and(|local| local.was_in_sync);
        let is_held = self.differences.holds(&self.view.keyspaces[usize::from(place.0.0)].name, place.1);
        self.fillings.asked.remove(&place);
        self.fillings.wanted.remove(&place);
        let mut keys = self.fillings.take_uncommitted(place);
        if is_held && was_in_sync {
            keys.extend(own_writes);
            self.fillings.doubtful.insert(place, keys);
            self.fillings.wanted.insert(place, Fill::Difference);
        } else if is_held && self.differences.restored().is_some() {
            self.fillings.walked_next.insert(place);
        } else {
            self.want_all(place);
        }
    }

    /// As learner: a slot is to be filled anew; what is here of it is of no use.
    fn want_all(&mut self, place: (KeyspaceNumber, Slot)) {
        self.differences.let_go(&self.view.keyspaces[usize::from(place.0.0)].name, place.1);
        self.fillings.doubtful.remove(&place);
        self.fillings.doubted.remove(&place);
        self.want_wiped(place);
    }

    /// What is here of a slot goes, once: what comes after that stays.
    fn want_wiped(&mut self, place: (KeyspaceNumber, Slot)) {
        if self.fillings.wipes.iter().all(|(known, _)| *known != place) {
            let scan = SlotScan::new(self.view.tables_of(place.0), place.1);
            self.fillings.wipes.push_back((place, scan));
        }
    }

    /// As former primary: the new one hears that it may serve.
    pub(super) fn step_down(&mut self, place: (KeyspaceNumber, Slot), to: NodeId) {
        self.fillings.stepped_down.push((place, to));
    }

    /// A slot is not this node's any more: its rows are of no use.
    pub(super) fn leave_slot(&mut self, place: (KeyspaceNumber, Slot)) {
        self.differences.let_go(&self.view.keyspaces[usize::from(place.0.0)].name, place.1);
        self.want_wiped(place);
    }

    /// Keeps a frame that goes by newer metadata than this core's; whether it is one.
    pub(super) fn is_early(&mut self, from: From, kind: Kind, body: &[u8]) -> bool {
        let Some((version, _)) = split_version(kind.0, body).filter(|(version, _)| *version > self.view.version()) else { return false };
        if self.early_frames.len() < EARLY_FRAMES_MAX {
            self.early_frames.push(EarlyFrame { version, from, kind: kind.0, body: body.to_vec() });
        }
        true
    }
}

impl Core {
    /// As learner, or replica of a new primary: there is a connection by which it can be asked.
    pub(super) fn incoming_opened(&mut self, node: NodeId, connection: ConnectionId) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(core) = cluster.links.incoming.get(&connection).and_then(|incoming| incoming.hello.as_ref()).map(|hello| hello.core)
        else {
            return;
        };
        let Some(peer) = cluster.view.peers.get(&node) else { return };
        let cores = peer.cores;
        let learned = cluster.roles.iter().filter(|(_, slot, local)| {
            local.role == Role::Learner && local.primary == Some(node) && slot.core(cores) == CoreId(core) && local.is_asked
        });
        let learned: Vec<_> = learned.map(|(keyspace, slot, _)| (keyspace, slot)).collect();
        // What was asked may not have arrived. A filling that has begun is not begun again.
        for place in learned {
            if let Some(fill) = cluster.fillings.asked.get(&place) {
                cluster.fillings.wanted.insert(place, *fill);
            }
        }
        let ClusterCore { fillings, roles, .. } = &mut **cluster;
        let is_here = |(keyspace, slot): &(KeyspaceNumber, Slot)| {
            let is_asked = roles.get(*keyspace, *slot).is_some_and(|local| local.primary == Some(node));
            is_asked && slot.core(cores) == CoreId(core)
        };
        let doubted: Vec<_> = fillings.doubted.keys().filter(|place| is_here(place)).copied().collect();
        for place in doubted {
            let keys = fillings.doubted.remove(&place).unwrap_or_default();
            fillings.doubtful.entry(place).or_default().extend(keys);
        }
    }

    /// What a replica asks of this primary; `None` if it makes no sense.
    pub(super) fn request_of_replica<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        target: Target,
        kind: Kind,
        body: &[u8],
    ) -> Option<()> {
        let (_, body) = split_version(kind.0, body)?;
        if kind.0 == WANTED {
            let (fill, slots) = read_wanted(body)?;
            self.fill_wanted(reactor, target, fill, &slots);
        } else {
            self.keys_wanted(target, body);
        }
        Some(())
    }

    /// What a primary, or one that was, has to say; `None` if it makes no sense.
    pub(super) fn word_of_primary(&mut self, node: NodeId, kind: Kind, body: &[u8]) -> Option<()> {
        let (_, body) = split_version(kind.0, body)?;
        let slots = Slots::read(body)?;
        if kind.0 == STEPPED_DOWN {
            self.stepped_down(node, &slots);
        } else {
            self.all_needed(node, &slots);
        }
        Some(())
    }

    /// Takes up frames for which the metadata has come.
    pub(super) fn run_early_frames<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        let version = cluster.view.version();
        let ripe: Vec<EarlyFrame> = cluster.early_frames.extract_if(.., |frame| frame.version <= version).collect();
        for frame in ripe {
            // Those that make no sense would have closed the connection, which may not be there any more.
            let _ = match frame.from {
                From::Link(target) => self.request_of_replica(reactor, target, Kind(frame.kind), &frame.body),
                From::Member(node) => self.word_of_primary(node, Kind(frame.kind), &frame.body),
            };
        }
    }

    /// As primary: a replica asks to be filled.
    fn fill_wanted<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: Target, fill: Fill, slots: &Slots) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        if cluster.fillings.given_up_until(target, now_us).is_some() {
            cluster.fillings.postponed.push((target, fill, slots.clone()));
            return;
        }
        let known = cluster.differences.known_of(target.0).map(Sequence).filter(|known| !self.shard.purged_above(*known));
        let (mut changed, mut unknown) = (Vec::new(), Slots::default());
        for (name, slot, wanted) in slots.iter() {
            let Some(keyspace) = cluster.view.number_of(name) else { continue };
            let filling = cluster.view.assignment(keyspace, slot).and_then(|assignment| assignment.filling_of(target.0));
            let Some(named) = filling.filter(|filling| filling.0 == wanted) else { continue };
            let tables: Vec<_> = cluster.view.tables_of(keyspace).collect();
            let Some(local) = cluster.roles.get_mut(keyspace, slot).filter(|local| local.role == Role::Primary) else { continue };
            let begun = local.filling.iter().find(|(node, filling, _)| (*node, *filling) == (target.0, named)).map(|(.., fill)| *fill);
            match Answer::to(fill, begun, known.is_some()) {
                Answer::GoOn => continue,
                Answer::AllNeeded => {
                    unknown.push(name, slot, wanted);
                    continue;
                }
                Answer::Begin => {}
            }
            local.stop_filling(target.0);
            local.filling.push((target.0, named, fill));
            let place = (keyspace, slot);
            let filling = cluster.fillings.of(target);
            filling.sent.remove(&place);
            filling.jobs.retain_mut(|job| match job {
                Job::Slot { place: known, .. } => *known != place,
                Job::Tail { places, .. } => {
                    places.remove(&place);
                    true
                }
                Job::Keys(_) | Job::Agreement(_) => true,
            });
            if fill == Fill::All {
                filling.jobs.push_back(Job::Slot { place, scan: SlotScan::new(tables, slot) });
            }
            changed.push(place);
        }
        if let (Fill::Difference, Some(known), false) = (fill, known, changed.is_empty()) {
            let tables: BTreeSet<TableId> = changed.iter().flat_map(|place| cluster.view.tables_of(place.0)).collect();
            let walk = self.shard.tail_walk(tables, known);
            cluster.fillings.of(target).jobs.push_back(Job::Tail { places: changed.iter().copied().collect(), walk });
        }
        if !unknown.0.is_empty() {
            let version = cluster.view.version().to_le_bytes();
            cluster.send(reactor, target, ALL_NEEDED, |body| {
                body.extend_from_slice(&version);
                unknown.write(body);
            });
        }
        if changed.is_empty() {
            return;
        }
        tracing::info!(core = self.core.0, node = target.0.0, slots = changed.len(), ?fill, "fills a replica");
        self.serve_slots(&changed);
    }

    /// As primary: a replica may have other rows of these keys.
    fn keys_wanted(&mut self, target: Target, mut body: &[u8]) {
        let Some(cluster) = &mut self.cluster else { return };
        let mut keys = VecDeque::new();
        while let Some(key) = read_key(&mut body) {
            let place = cluster.view.keyspace_of(key.table).map(|keyspace| (keyspace, key.token.slot()));
            let is_mine =
                place.and_then(|(keyspace, slot)| cluster.roles.get(keyspace, slot)).is_some_and(|local| local.role == Role::Primary);
            if is_mine {
                keys.push_back(owned(&key));
            }
        }
        if !keys.is_empty() {
            cluster.fillings.of(target).jobs.push_back(Job::Keys(keys));
        }
    }

    /// As new primary: the one before serves these slots no more.
    fn stepped_down(&mut self, node: NodeId, slots: &Slots) {
        let Some(cluster) = &mut self.cluster else { return };
        let mut changed = Vec::new();
        for (keyspace, slot, term) in slots.iter() {
            let Some(keyspace) = cluster.view.number_of(keyspace) else { continue };
            let from = cluster.view.assignment(keyspace, slot).and_then(|assignment| assignment.handover_from);
            let Some(local) = cluster.roles.get_mut(keyspace, slot) else { continue };
            if local.role == Role::Primary && local.term.0 == term && from == Some(node) {
                local.waits.handover = false;
                changed.push((keyspace, slot));
            }
        }
        self.serve_slots(&changed);
    }

    /// As learner: the primary cannot fill it with a difference.
    fn all_needed(&mut self, node: NodeId, slots: &Slots) {
        let Some(cluster) = &mut self.cluster else { return };
        for (keyspace, slot, wanted) in slots.iter() {
            let Some(keyspace) = cluster.view.number_of(keyspace) else { continue };
            let Some(local) = cluster.roles.get_mut(keyspace, slot) else { continue };
            let is_meant = local.role == Role::Learner && local.primary == Some(node) && local.learning == Some(Epoch(wanted));
            // It may have asked for all already.
            if is_meant && cluster.fillings.asked.get(&(keyspace, slot)) == Some(&Fill::Difference) {
                local.is_asked = false;
                cluster.fillings.asked.remove(&(keyspace, slot));
                cluster.fillings.wanted.remove(&(keyspace, slot));
                cluster.want_all((keyspace, slot));
            }
        }
    }

    /// Goes on with everything that is under way. Gives the time at which to be called again; 0 for at once.
    pub(super) fn fill<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        self.ask(reactor);
        let postponed_due_us = self.fill_postponed(reactor);
        let now_us = reactor.now().monotonic_us;
        let ready: BTreeSet<u32> = self.shard.take_scans_ready().collect();
        let cluster = self.cluster.as_mut()?;
        let ClusterCore { fillings, links, budget, .. } = &mut **cluster;
        fillings.wipe_waits &= !ready.contains(&WIPE);
        fillings.own_tail_waits &= !ready.contains(&OWN_TAIL);
        for (target, filling) in &mut fillings.by_target {
            filling.waits &= !ready.contains(&filling.number);
            if let Some(link) = links.outgoing.get(target) {
                filling.window.acknowledged(link.stream.images().done, link.stream.writes_pushed(), *budget, now_us);
            }
        }
        let targets: Vec<Target> = fillings.by_target.keys().copied().collect();
        let mut goes_on = false;
        for target in &targets {
            for _ in 0..URGENT_BITES_PER_TURN {
                let is_urgent =
                    self.cluster.as_ref().and_then(|cluster| cluster.fillings.by_target.get(target)).is_some_and(Filling::is_urgent);
                if !is_urgent || self.fill_target(reactor, *target).is_none() {
                    break;
                }
                goes_on = true;
            }
        }
        let due_us = self.migrate(reactor, &targets);
        for target in targets {
            self.wait_for_filled(target);
            self.propose_filled(reactor, target);
        }
        if goes_on { Some(0) } else { [due_us, postponed_due_us].into_iter().flatten().min() }
    }

    /// Fills replicas that have waited long enough. Gives the time at which to look again.
    fn fill_postponed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let Fillings { given_up, postponed, .. } = &mut self.cluster.as_mut()?.fillings;
        let until_us = |target: &Target| given_up.get(target).map_or(0, |given_up| given_up.until_us);
        let ripe: Vec<_> = postponed.extract_if(.., |(target, ..)| now_us >= until_us(target)).collect();
        let due_us = postponed.iter().map(|(target, ..)| until_us(target)).min();
        for (target, fill, slots) in ripe {
            self.fill_wanted(reactor, target, fill, &slots);
        }
        due_us
    }

    /// A slice of what clients need not wait for. Gives the time at which to go on.
    fn migrate<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, targets: &[Target]) -> Option<u64> {
        let cluster = self.cluster.as_mut()?;
        let Fillings { by_target, wipes, own_tail, walked_next, next_task, .. } = &cluster.fillings;
        let is_idle = wipes.is_empty() && own_tail.is_none() && walked_next.is_empty();
        if is_idle && by_target.values().all(|filling| filling.jobs.is_empty()) {
            cluster.note_progress(reactor.now().monotonic_us, false);
            return None;
        }
        let mut slice = Slice::begin(cluster.budget, reactor.clock_us());
        let mut due_us = cluster.rest.due_us(reactor.slept_us(), reactor.clock_us());
        if due_us.is_none() {
            let mut tasks = VecDeque::from([Task::Wipe, Task::OwnTail]);
            tasks.extend(targets.iter().map(|target| Task::Fill(*target)));
            let first = *next_task % tasks.len();
            tasks.rotate_left(first);
            while let Some(task) = tasks.pop_front() {
                let worked = match task {
                    Task::Wipe => self.wipe(reactor),
                    Task::OwnTail => self.walk_own_tail(reactor),
                    Task::Fill(target) => self.fill_target(reactor, target),
                };
                // One that has nothing to do is out, and takes no time.
                if worked.is_none() {
                    continue;
                }
                tasks.push_back(task);
                slice.take();
                if slice.is_over(reactor.clock_us()) {
                    break;
                }
            }
            let now_us = reactor.clock_us();
            let cluster = self.cluster.as_mut()?;
            cluster.fillings.next_task = first + 1;
            if slice.has_bites() {
                cluster.rest.worked(&slice, reactor.slept_us(), now_us);
            }
            let paused_until_us = || cluster.fillings.by_target.values().filter_map(|filling| filling.paused_until_us(now_us)).min();
            due_us = if tasks.is_empty() { paused_until_us() } else { Some(0) };
        }
        let cluster = self.cluster.as_mut()?;
        cluster.note_progress(reactor.now().monotonic_us, due_us.is_some_and(|due_us| due_us > 0));
        due_us
    }

    /// A bite of the first job of a replica; `None` if there is nothing to do for now.
    fn fill_target<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: Target) -> Option<()> {
        let now = reactor.now();
        let cluster = self.cluster.as_mut()?;
        // Nothing is made for one that is not there: it may never come back.
        let stream = &cluster.links.outgoing.get(&target).filter(|link| link.is_open())?.stream;
        let filling = cluster.fillings.by_target.get_mut(&target)?;
        let has_room = match filling.jobs.front()? {
            Job::Slot { .. } | Job::Tail { .. } => filling.window.has_room(stream.images().under_way(), now.monotonic_us),
            Job::Keys(_) | Job::Agreement(_) => stream.pending_bytes() <= PENDING_BYTES_MAX,
        };
        if filling.waits || !has_room {
            return None;
        }
        let job = filling.jobs.front_mut()?;
        // Never 0: what was committed before the first write could not be told from what is committed with it.
        let (sequence, timestamp_us) = (self.shard.engine().last_sequence().max(Sequence(1)), self.shard.last_timestamp_us());
        let mut batch = WriteBatch::new();
        match job {
            Job::Slot { place, scan } => {
                let (place, mut is_sent) = (*place, false);
                // Before anything is asked of the shard: what is read for one scan the next must not take for its own.
                if !cluster.roles.get(place.0, place.1).is_some_and(|local| local.fills(target.0)) {
                    filling.jobs.pop_front();
                    return Some(());
                }
                match self.shard.scan_slot(now, filling.number, scan, BITE_BYTES, &mut batch) {
                    Err(error) => {
                        tracing::warn!(core = self.core.0, node = target.0.0, %error, "a slot cannot be copied for now");
                        filling.waits = true;
                        return None;
                    }
                    Ok(Bite::Waits) => filling.waits = true,
                    Ok(Bite::More) => {}
                    Ok(Bite::End) => {
                        filling.jobs.pop_front();
                        filling.progress.slot_ended();
                        is_sent = true;
                    }
                }
                filling.progress.sent(batch.bytes().len());
                if !batch.is_empty() {
                    cluster.send_image(target, place.0, place.1, sequence, timestamp_us, batch.bytes());
                }
                if is_sent {
                    cluster.send_time(target, place, sequence, timestamp_us);
                    cluster.all_sent(target, &[place], sequence);
                }
            }
            Job::Tail { places, walk } => {
                let wants = |table, slot| cluster.view.keyspace_of(table).is_some_and(|keyspace| places.contains(&(keyspace, slot)));
                let mut place = None;
                let bite = self.shard.walk_tail(now, filling.number, walk, &wants, &mut |key, kind, bytes| {
                    place = cluster.view.keyspace_of(key.table).map(|keyspace| (keyspace, key.token.slot()));
                    // Keys and rows that were stored can be stored again.
                    let is_put = batch.put(key, kind, bytes).is_ok();
                    if is_put && batch.bytes_in_log() < BITE_BYTES { Enough::No } else { Enough::Yes }
                });
                let mut ended = BTreeSet::new();
                match bite {
                    Err(error) => {
                        tracing::warn!(core = self.core.0, node = target.0.0, %error, "what a replica has missed cannot be read for now");
                        filling.waits = true;
                        return None;
                    }
                    Ok(Bite::Waits) => filling.waits = true,
                    Ok(Bite::More) => {}
                    Ok(Bite::End) => {
                        ended = std::mem::take(places);
                        filling.jobs.pop_front();
                    }
                }
                if let Some((keyspace, slot)) = place {
                    cluster.send_image(target, keyspace, slot, sequence, timestamp_us, batch.bytes());
                }
                let ended: Vec<_> = ended.into_iter().collect();
                for place in &ended {
                    cluster.send_time(target, *place, sequence, timestamp_us);
                }
                cluster.all_sent(target, &ended, sequence);
            }
            Job::Keys(keys) => {
                let place_of = |key: &RowKey| (cluster.view.keyspace_of(key.table), key.token.slot());
                let Some(first) = keys.front().map(place_of) else {
                    filling.jobs.pop_front();
                    return Some(());
                };
                let (Some(keyspace), slot) = first else {
                    keys.pop_front();
                    return Some(());
                };
                keys.make_contiguous();
                let of_slot = keys.iter().take_while(|key| place_of(key) == first).count();
                let (slice, _) = keys.as_slices();
                match self.shard.images(now, filling.number, &slice[..of_slot], BITE_BYTES, &mut batch) {
                    Err(error) => {
                        tracing::warn!(core = self.core.0, node = target.0.0, %error, "rows cannot be copied for now");
                        filling.waits = true;
                        return None;
                    }
                    Ok(None) => filling.waits = true,
                    Ok(Some(count)) => {
                        keys.drain(..count);
                        cluster.send_image(target, keyspace, slot, sequence, timestamp_us, batch.bytes());
                    }
                }
            }
            Job::Agreement(places) => {
                let places = std::mem::take(places);
                filling.jobs.pop_front();
                filling.agreements.push((places, stream.mark()));
            }
        }
        if !batch.is_empty() {
            self.cluster.as_mut()?.image_sent(target, reactor.clock_us());
        }
        Some(())
    }

    /// As primary: in slots whose images a replica has, nothing is acknowledged from now on that it does not have. Not before: clients' writes would wait for images,
    /// and a replica that needs long for them would be dropped.
    fn wait_for_filled(&mut self, target: Target) {
        let Some(cluster) = &mut self.cluster else { return };
        let ClusterCore { fillings, links, roles, .. } = &mut **cluster;
        let Some(filling) = fillings.by_target.get_mut(&target) else { return };
        let Some(stream) = links.outgoing.get(&target).map(|link| &link.stream) else { return };
        let mut filled = Vec::new();
        for (place, sent) in filling.sent.iter_mut().filter(|(_, sent)| stream.has_passed(sent.mark)) {
            let local = roles.get_mut(place.0, place.1).filter(|local| local.fills(target.0) && !local.filled.contains(&target.0));
            if let Some(local) = local {
                local.filled.push(target.0);
                sent.mark = stream.mark();
                filled.push(*place);
            }
        }
        if !filled.is_empty() {
            self.serve_slots(&filled);
        }
    }

    /// As primary: what a replica has acknowledged makes it one in sync, or lets a new primary serve.
    fn propose_filled<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: Target) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        let ClusterCore { fillings, links, roles, view, .. } = &mut **cluster;
        let Some(filling) = fillings.by_target.get_mut(&target) else { return };
        let Some(stream) = links.outgoing.get(&target).map(|link| &link.stream) else { return };
        // It has all rows as they were then, and so have all others: what is not committed it would not know to have alone.
        let has_all = |place: &(KeyspaceNumber, Slot), sent: &Sent| {
            let Some(local) = roles.get(place.0, place.1).filter(|local| local.waits == Waits::default()) else { return false };
            let waits_for = local.set.map(|set| &roles.set(set).waits_for).into_iter().flatten();
            let mut others = waits_for.filter_map(|other| links.outgoing.get(other));
            stream.has_passed(sent.mark) && others.all(|link| link.stream.arrived() >= sent.sequence)
        };
        let is_filled = |place: &(KeyspaceNumber, Slot)| roles.get(place.0, place.1).filter(|local| local.filled.contains(&target.0));
        let mut waits = false;
        filling.sent.retain(|place, sent| {
            let local = roles.get(place.0, place.1).filter(|local| local.fills(target.0));
            waits |= local.is_some_and(|local| sent.is_proposed(local.epoch, now_us));
            local.is_some()
        });
        // One proposal at a time: what is sent meanwhile goes with the next.
        let mut slots: Vec<SlotEpochs> = Vec::new();
        let ready = filling.sent.iter_mut().filter(|(place, sent)| !waits && is_filled(place).is_some() && has_all(place, sent));
        for (place, sent) in ready.take(PROPOSED_SLOTS_MAX) {
            let (Some(local), Some(keyspace)) = (is_filled(place), view.keyspaces.get(usize::from(place.0.0))) else { continue };
            sent.proposed = Some((local.epoch, now_us));
            match slots.last_mut().filter(|slots| slots.keyspace == keyspace.name) {
                Some(of_keyspace) => of_keyspace.slots.push((place.1, local.epoch)),
                None => slots.push(SlotEpochs { keyspace: keyspace.name.clone(), slots: vec![(place.1, local.epoch)] }),
            }
        }
        let mut agreed = Vec::new();
        filling.agreements.retain(|(places, mark)| {
            let is_over = stream.has_passed(*mark);
            if is_over {
                agreed.extend_from_slice(places);
            }
            !is_over
        });
        if !slots.is_empty() {
            let count: usize = slots.iter().map(|of_keyspace| of_keyspace.slots.len()).sum();
            tracing::debug!(core = self.core.0, node = target.0.0, slots = count, "a replica has everything");
            reactor.send(CoreId(0), Message::Propose(Box::new(Command::InSync { node: target.0, slots })));
        }
        if !agreed.is_empty() {
            self.agreed(&agreed);
        }
    }

    /// As new primary: a replica has what it needs of these slots, or is in sync no longer. They are served if all others have it. Of one that has
    /// restarted nobody knows what it has: it is in sync until it was let go.
    pub(super) fn agreed(&mut self, places: &[(KeyspaceNumber, Slot)]) {
        let Some(cluster) = &mut self.cluster else { return };
        let awaits = |place: &(KeyspaceNumber, Slot)| {
            cluster.roles.get(place.0, place.1).is_some_and(|local| local.role == Role::Primary && local.waits.agreement)
        };
        let places: Vec<_> = places.iter().filter(|place| awaits(place)).copied().collect();
        if places.is_empty() {
            return;
        }
        let of_target = |(target, filling): (&Target, &Filling)| filling.awaited().map(|place| (place, target.0)).collect::<Vec<_>>();
        let open: BTreeSet<_> = cluster.fillings.by_target.iter().flat_map(of_target).collect();
        let is_open = |place: &(KeyspaceNumber, Slot)| {
            let Some(assignment) = cluster.view.assignment(place.0, place.1) else { return true };
            let has_all = |node: &NodeId| !open.contains(&(*place, *node)) && !assignment.restarted.contains(node);
            !assignment.in_sync.iter().all(has_all)
        };
        let over: Vec<_> = places.into_iter().filter(|place| !is_open(place)).collect();
        for place in &over {
            cluster.fillings.agreeing.remove(place);
            if let Some(local) = cluster.roles.get_mut(place.0, place.1) {
                local.waits.agreement = false;
            }
        }
        self.serve_slots(&over);
    }

    /// As learner: a bite of wiping; `None` if there is nothing to do for now.
    fn wipe<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<()> {
        let cluster = self.cluster.as_mut()?;
        if cluster.fillings.wipe_waits || !cluster.differences.may_forget() {
            return None;
        }
        let (place, scan) = cluster.fillings.wipes.front_mut()?;
        let place = *place;
        let (role, is_asked) = cluster.roles.get(place.0, place.1).map_or((Role::None, false), |local| (local.role, local.is_asked));
        if !matches!(role, Role::Learner | Role::None) || is_asked {
            cluster.fillings.wipes.pop_front();
            return Some(());
        }
        match self.shard.wipe_slot(reactor.now(), WIPE, scan, BITE_BYTES) {
            Ok(Bite::More) => {}
            Ok(Bite::Waits) => cluster.fillings.wipe_waits = true,
            Ok(Bite::End) => {
                cluster.fillings.wipes.pop_front();
                if role == Role::Learner {
                    cluster.fillings.wanted.insert(place, Fill::All);
                }
            }
            Err(error) => {
                tracing::error!(core = self.core.0, %error, "a slot cannot be emptied to be filled anew; it stays without this replica");
                cluster.fillings.wipes.pop_front();
            }
        }
        Some(())
    }

    /// As replica: asks primaries for what is wanted, as far as they have connected.
    fn ask<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        if cluster.fillings.wanted.is_empty() && cluster.fillings.doubtful.is_empty() && cluster.fillings.stepped_down.is_empty() {
            return;
        }
        let version = cluster.view.version().to_le_bytes();
        let mut wanted: BTreeMap<(ConnectionId, bool), Slots> = BTreeMap::new();
        // Without room for it, it would only hold back its primaries.
        let is_full = self.shard.engine().is_full() || self.shard.engine().index_is_full();
        if is_full {
            cluster.tell_full(reactor);
        }
        let takes_none = cluster.is_ending() || is_full;
        let wants = if takes_none { BTreeMap::new() } else { cluster.fillings.wanted.clone() };
        for (place, fill) in wants {
            let Some(local) = cluster.roles.get(place.0, place.1).filter(|local| local.role == Role::Learner) else {
                cluster.fillings.wanted.remove(&place);
                continue;
            };
            let Some(learning) = local.learning else { continue };
            let Some(connection) = local.primary.and_then(|primary| cluster.incoming_from(primary, place.1)) else { continue };
            let name = &cluster.view.keyspaces[usize::from(place.0.0)].name;
            wanted.entry((connection, fill == Fill::All)).or_default().push(name, place.1, learning.0);
            cluster.fillings.wanted.remove(&place);
            cluster.fillings.asked.insert(place, fill);
            cluster.ask_for_keys(reactor, connection, place);
            if let Some(local) = cluster.roles.get_mut(place.0, place.1) {
                local.is_asked = true;
            }
        }
        for ((connection, is_all), slots) in wanted {
            let fill = if is_all { Fill::All } else { Fill::Difference };
            tracing::info!(core = self.core.0, slots = slots.iter().count(), ?fill, "asks a primary to be filled");
            cluster.answer(reactor, connection, WANTED, |body| {
                body.extend_from_slice(&version);
                write_wanted(body, fill, &slots);
            });
        }
        for place in cluster.fillings.doubtful.keys().copied().collect::<Vec<_>>() {
            let Some(local) = cluster.roles.get(place.0, place.1) else { continue };
            if local.role == Role::Learner {
                continue;
            }
            let Some(primary) = local.primary.filter(|_| local.role == Role::Secondary) else {
                cluster.fillings.doubtful.remove(&place);
                continue;
            };
            let Some(connection) = cluster.incoming_from(primary, place.1) else { continue };
            cluster.ask_for_keys(reactor, connection, place);
        }
        let mut told: BTreeMap<Target, Slots> = BTreeMap::new();
        for (place, to) in std::mem::take(&mut cluster.fillings.stepped_down) {
            let assignment = cluster.view.assignment(place.0, place.1).filter(|assignment| assignment.primary == to);
            let (Some(assignment), Some(core)) = (assignment, cluster.view.core_of(to, place.1)) else { continue };
            let name = &cluster.view.keyspaces[usize::from(place.0.0)].name;
            told.entry((to, core)).or_default().push(name, place.1, assignment.term.0);
        }
        for (target, slots) in told {
            let write = |body: &mut Vec<u8>| {
                body.extend_from_slice(&version);
                slots.write(body);
            };
            if !cluster.send(reactor, target, STEPPED_DOWN, write) {
                let places = slots.iter().filter_map(|(name, slot, _)| Some(((cluster.view.number_of(name)?, slot), target.0)));
                let places: Vec<_> = places.collect();
                cluster.fillings.stepped_down.extend(places);
            }
        }
    }
}

impl Core {
    /// As learner after a restart: a bite of the walk over what may be here alone. `None` if there is nothing to do for now.
    fn walk_own_tail<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<()> {
        let cluster = self.cluster.as_mut()?;
        let ClusterCore { fillings, differences, view, .. } = &mut **cluster;
        if fillings.own_tail.is_none() {
            let after = differences.restored().filter(|_| !fillings.walked_next.is_empty())?;
            fillings.walked = std::mem::take(&mut fillings.walked_next);
            let tables: BTreeSet<TableId> = fillings.walked.iter().flat_map(|place| view.tables_of(place.0)).collect();
            fillings.own_tail = Some(self.shard.tail_walk(tables, Sequence(after)));
        }
        if fillings.own_tail_waits {
            return None;
        }
        let walk = fillings.own_tail.as_mut()?;
        let (walked, doubtful) = (&fillings.walked, &mut fillings.doubtful);
        let wants = |table, slot| view.keyspace_of(table).is_some_and(|keyspace| walked.contains(&(keyspace, slot)));
        let bite = self.shard.walk_tail(reactor.now(), OWN_TAIL, walk, &wants, &mut |key, _, _| {
            if let Some(keyspace) = view.keyspace_of(key.table) {
                doubtful.entry((keyspace, key.token.slot())).or_default().insert(owned(key));
            }
            Enough::No
        });
        match bite {
            Ok(Bite::More) => {}
            Ok(Bite::Waits) => fillings.own_tail_waits = true,
            Ok(Bite::End) => {
                fillings.own_tail = None;
                let learners = std::mem::take(&mut fillings.walked);
                fillings.wanted.extend(learners.into_iter().map(|place| (place, Fill::Difference)));
            }
            Err(error) => {
                tracing::warn!(core = self.core.0, %error, "what may be here alone cannot be read; all is filled anew");
                fillings.own_tail = None;
                for place in std::mem::take(&mut fillings.walked) {
                    cluster.want_all(place);
                }
            }
        }
        Some(())
    }
}

impl ClusterCore {
    /// As primary: all rows of these slots are in a replica's stream.
    fn all_sent(&mut self, target: Target, places: &[(KeyspaceNumber, Slot)], sequence: Sequence) {
        let mark = self.links.outgoing(target).stream.mark();
        self.fillings.of(target).sent.extend(places.iter().map(|place| (*place, Sent::up_to(mark, sequence))));
    }

    /// As learner: primaries hear why they are not asked.
    fn tell_full<R: Reactor>(&mut self, reactor: &mut R) {
        let primary_of = |(keyspace, slot): &(KeyspaceNumber, Slot)| Some((self.roles.get(*keyspace, *slot)?.primary?, *slot));
        let primaries = self.fillings.wanted.keys().filter_map(primary_of);
        let connections: BTreeSet<_> = primaries.filter_map(|(primary, slot)| self.incoming_from(primary, slot)).collect();
        for connection in connections {
            self.answer_full(reactor, connection);
        }
    }

    /// Asks a primary for the images of the rows that are doubtful here.
    fn ask_for_keys<R: Reactor>(&mut self, reactor: &mut R, connection: ConnectionId, place: (KeyspaceNumber, Slot)) {
        let Some(keys) = self.fillings.doubtful.remove(&place).filter(|keys| !keys.is_empty()) else { return };
        let version = self.view.version().to_le_bytes();
        let mut body = version.to_vec();
        for key in &keys {
            write_key(&mut body, &key.borrow());
            if body.len() > KEYS_BYTES {
                self.answer(reactor, connection, KEYS, |out| out.extend_from_slice(&body));
                body.truncate(version.len());
            }
        }
        self.answer(reactor, connection, KEYS, |out| out.extend_from_slice(&body));
        self.fillings.doubted.entry(place).or_default().extend(keys);
    }

    /// An image is in a replica's stream.
    fn image_sent(&mut self, target: Target, now_us: u64) {
        let Some(link) = self.links.outgoing.get(&target) else { return };
        if let Some(filling) = self.fillings.by_target.get_mut(&target) {
            filling.window.sent(link.stream.images().pushed, link.stream.writes_pushed(), now_us);
        }
    }

    /// Looks at how fills get on, for operators.
    pub(super) fn sample_fills(&mut self, now_us: u64) {
        for (target, filling) in &mut self.fillings.by_target {
            let done = self.links.outgoing.get(target).map_or(0, |link| link.stream.images().done);
            filling.progress.sample(done, now_us);
        }
    }

    /// How fills get on. `report` knows already what slots there are.
    pub(super) fn report_fills(&self, report: &mut CoreReport) {
        let mut fills: BTreeMap<NodeId, FillReport> = BTreeMap::new();
        // Only slots that the member has asked all of are counted in bytes.
        let bytes_a_slot = report.live_bytes / u64::from(report.primaries + report.secondaries).max(1);
        for (keyspace, slot, local) in self.roles.iter().filter(|(_, _, local)| local.role == Role::Primary) {
            for node in self.view.assignment(keyspace, slot).iter().flat_map(|assignment| assignment.learners.iter()) {
                let fill = fills.entry(node).or_insert_with(|| FillReport { node: node.0, held: Held::Unasked, ..FillReport::default() });
                fill.slots += 1;
                if local.fills(node) {
                    fill.held = Held::No;
                }
            }
        }
        for (target, given_up) in &self.fillings.given_up {
            // What is being filled has been taken up again.
            if let Some(fill) = fills.get_mut(&target.0).filter(|fill| fill.held != Held::No) {
                fill.held = given_up.why;
            }
        }
        for (target, filling) in &self.fillings.by_target {
            let Some(link) = self.links.outgoing.get(target) else { continue };
            let images = link.stream.images();
            let fill = fills.entry(target.0).or_insert_with(|| FillReport { node: target.0.0, ..FillReport::default() });
            let slots = filling.jobs.iter().filter(|job| matches!(job, Job::Slot { .. })).count() as u64;
            fill.left_bytes += slots * filling.progress.bytes_a_slot().unwrap_or(bytes_a_slot) + images.under_way();
            filling.progress.add_to(images.done, fill);
        }
        report.fills = fills.into_values().collect();
        report.to_wipe = self.fillings.wipes.len() as u32;
    }

    /// Notes what fills wait for from now on.
    fn note_progress(&mut self, now_us: u64, rests: bool) {
        for (target, filling) in &mut self.fillings.by_target {
            let under_way = self.links.outgoing.get(target).map_or(u64::MAX, |link| link.stream.images().under_way());
            let held = match filling.jobs.front() {
                None => Held::No,
                Some(_) if filling.waits => Held::Device,
                Some(_) if filling.window.is_full(under_way) || filling.paused_until_us(now_us).is_some() => Held::Replica,
                Some(_) if rests => Held::Clients,
                Some(_) => Held::No,
            };
            filling.progress.is_held(held, now_us);
        }
    }

    /// The connection of the core of `primary` that has `slot`.
    fn incoming_from(&self, primary: NodeId, slot: Slot) -> Option<ConnectionId> {
        let core = self.view.core_of(primary, slot)?;
        let is_from = |incoming: &Incoming| incoming.hello.as_ref().is_some_and(|hello| hello.core == core.0);
        self.links.incoming_of(primary).find(|(_, incoming)| is_from(incoming)).map(|(connection, _)| connection)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::Token;
    use engine::Kind;

    #[test]
    fn a_wish_that_is_repeated_changes_nothing_and_one_for_all_begins_anew() {
        for is_known in [false, true] {
            assert_eq!(Answer::to(Fill::Difference, Some(Fill::Difference), is_known), Answer::GoOn, "it was accepted");
            assert_eq!(Answer::to(Fill::All, Some(Fill::Difference), is_known), Answer::Begin, "it has forgotten what it had");
            assert_eq!(Answer::to(Fill::All, Some(Fill::All), is_known), Answer::GoOn);
            assert_eq!(Answer::to(Fill::All, None, is_known), Answer::Begin);
        }
        assert_eq!(Answer::to(Fill::Difference, None, true), Answer::Begin);
        assert_eq!(Answer::to(Fill::Difference, None, false), Answer::AllNeeded);
    }

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
