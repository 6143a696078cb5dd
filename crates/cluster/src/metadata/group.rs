//! The consensus state machine with its log and its blobs.

mod change;
mod persistence;

pub(super) use change::Change;

use super::timing::{ELECTION_TICKS, GROUP_HEARTBEAT_TICKS, SNAPSHOT_RETRY_US, STAND_APART_TICKS, STAND_TICKS, STAND_TICKS_MAX};
use crate::raft_log::{Applied, Identity, Log};
use crate::raft_message::may_step;
use crate::state::State;
use crate::versions::Versions;
use base::{NodeId, Rng};
use change::{change_context, change_in, change_of};
use raft::eraftpb::{ConfChangeType, Entry, Message, MessageType};
use raft::{Config, INVALID_ID, ProgressState, RawNode, SnapshotStatus, StateRole};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A member on a slow link hears of its leader when a message is through: that must be sooner than it stands for election.
const MESSAGE_BYTES_MAX: u64 = 16 << 10;
const UNCOMMITTED_BYTES_MAX: u64 = 32 << 20;
const MESSAGES_IN_FLIGHT_MAX: usize = 16;

/// See the module.
pub(super) struct Group {
    pub(super) raw: RawNode<Log>,
    known: Versions,
    seed: u64,
    /// What is being stored, and what waits for it.
    flight: Option<Flight>,
    /// What is to be stored next.
    unsaved: Option<Unsaved>,
    snapshot_unsaved: bool,
    /// Messages whose blobs are stored.
    released: Vec<Message>,
    storage: Storage,
    /// The node cannot act by what is decided, and looks again at this time.
    held_until_us: Option<u64>,
    snapshots_sent: BTreeMap<u64, u64>,
}

/// Changes that only memory has.
#[derive(Default)]
struct Unsaved {
    /// The newest of the state machine's hand-outs that is in it.
    ready: u64,
    /// What may be sent when it is stored.
    messages: Vec<Message>,
}

struct Flight {
    unsaved: Unsaved,
    /// The entry of the snapshot that is being stored; none while the log is.
    snapshot: Option<u64>,
    /// Whether the blob has been handed out.
    handed_out: bool,
}

/// How storing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    Works,
    /// There is no room. What is to be stored is handed out again at this time.
    Full {
        again_us: u64,
        /// Nothing is sent, taken or decided meanwhile.
        is_silent: bool,
    },
    /// It never works again.
    Failed,
}

/// What one round of the state machine gives.
#[derive(Default)]
pub(super) struct Round {
    pub(super) messages: Vec<Message>,
    pub(super) state: Option<Arc<State>>,
    pub(super) committed: Vec<Entry>,
}

impl Group {
    pub(super) fn new(identity: &Identity, log: Log, known: Versions, seed: u64, store_state: bool) -> Self {
        let config = Config {
            id: u64::from(identity.node.0),
            election_tick: ELECTION_TICKS,
            min_election_tick: ELECTION_TICKS,
            max_election_tick: STAND_TICKS_MAX + 1,
            heartbeat_tick: GROUP_HEARTBEAT_TICKS,
            applied: log.applied.index,
            max_size_per_msg: MESSAGE_BYTES_MAX,
            max_inflight_msgs: MESSAGES_IN_FLIGHT_MAX,
            max_uncommitted_size: UNCOMMITTED_BYTES_MAX,
            check_quorum: true,
            pre_vote: true,
            ..Config::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let raw = RawNode::new(&config, log, &logger).expect("the configuration is valid and the log was checked");
        let mut group = Self {
            raw,
            known,
            seed,
            flight: None,
            unsaved: None,
            snapshot_unsaved: store_state,
            released: Vec::new(),
            storage: Storage::Works,
            held_until_us: None,
            snapshots_sent: BTreeMap::new(),
        };
        // What says that this data directory is a member's: it must be there before anything is said.
        group.unsaved = Some(Unsaved::default());
        if group.is_only_voter() {
            let _ = group.raw.campaign();
        }
        group.draw_timeout();
        group
    }

    pub(super) fn leader(&self) -> Option<NodeId> {
        let id = self.raw.raft.leader_id;
        (id != 0 && !self.is_silent()).then_some(NodeId(id as u32))
    }

    pub(super) fn term(&self) -> u64 {
        self.raw.raft.term
    }

    pub(super) fn is_leader(&self) -> bool {
        self.raw.raft.state == StateRole::Leader && !self.is_silent()
    }

    /// Whether the state has all that this member knows to be decided.
    pub(super) fn has_applied_all(&self) -> bool {
        self.raw.store().applied.index == self.raw.raft.raft_log.committed
    }

    pub(super) fn committed(&self) -> u64 {
        self.raw.raft.raft_log.committed
    }

    pub(super) fn voters(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.raw.store().applied.group.voters.iter().map(|id| NodeId(*id as u32))
    }

    pub(super) fn learners(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.raw.store().applied.group.learners.iter().map(|id| NodeId(*id as u32))
    }

    /// Whether the group has this member only.
    pub(super) fn is_alone(&self) -> bool {
        self.is_only_voter() && self.learners().next().is_none()
    }

    fn is_only_voter(&self) -> bool {
        self.raw.store().applied.group.voters == [self.raw.raft.id]
    }

    /// Lets a tick pass. A member whose disk is at work does not stand for election: what it would stand for is not yet stored.
    pub(super) fn tick(&mut self) {
        let storing = self.flight.is_some() || self.unsaved.is_some();
        if self.raw.raft.state == StateRole::Leader || !storing {
            self.raw.tick();
            self.draw_timeout();
        }
    }

    pub(super) fn step(&mut self, from: NodeId, message: Message) {
        let stands = message.get_msg_type() == MessageType::MsgTimeoutNow;
        if may_step(&self.raw.raft, u64::from(from.0), &message) && !(stands && self.lags()) {
            let _ = self.raw.step(message);
            self.draw_timeout();
        }
    }

    #[cfg(test)]
    pub(super) fn undecided(&self) -> u64 {
        let log = &self.raw.raft.raft_log;
        log.last_index() - log.committed
    }

    #[cfg(test)]
    pub(super) fn describe(&self) -> String {
        let raft = &self.raw.raft;
        let log = &raft.raft_log;
        format!(
            "{:?} in term {}, log {}..{}, committed {}, persisted {}, {:?}, storage {:?}, storing {} {} {}, progress {:?}",
            raft.state,
            raft.term,
            log.first_index(),
            log.last_index(),
            log.committed,
            log.persisted,
            self.raw.store().applied.group,
            self.storage,
            self.flight.is_some(),
            self.unsaved.is_some(),
            self.snapshot_unsaved,
            raft.prs().iter().collect::<Vec<_>>(),
        )
    }

    /// Whether the entry is in the leader's log now. What is said again while nothing is decided is there once.
    pub(super) fn propose(&mut self, data: Vec<u8>) -> bool {
        self.is_leader() && (self.is_undecided(&data) || self.raw.propose(Vec::new(), data).is_ok())
    }

    /// Whether the log has an entry with this data that is not applied.
    fn is_undecided(&self, data: &[u8]) -> bool {
        let (store, unsaved) = (self.raw.store(), self.raw.raft.raft_log.unstable_entries());
        let applied = store.applied.index;
        unsaved.iter().chain(store.entries_after(applied)).any(|entry| entry.index > applied && entry.data == data)
    }

    pub(super) fn propose_change(&mut self, change: Change) {
        let (kind, node) = match change {
            Change::Learner(node) => (ConfChangeType::AddLearnerNode, node),
            Change::Voter(node) => (ConfChangeType::AddNode, node),
            Change::Gone(node) => (ConfChangeType::RemoveNode, node),
        };
        let _ = self.raw.propose_conf_change(change_context(kind, node), change_of(kind, node));
    }

    /// Applies an entry that changes the group.
    pub(super) fn apply_change(&mut self, context: &[u8]) {
        let Some((kind, node)) = change_in(context) else { return };
        if let Ok(group) = self.raw.apply_conf_change(&change_of(kind, node)) {
            self.raw.mut_store().applied.group = group;
        }
    }

    /// The state after entry `index`.
    pub(super) fn applied(&mut self, index: u64, term: u64, state: Arc<State>) {
        let applied = &mut self.raw.mut_store().applied;
        (applied.index, applied.term, applied.state) = (index, term, state);
        self.raw.advance_apply_to(index);
        self.snapshot_unsaved |= self.raw.store().wants_snapshot();
    }

    pub(super) fn unreachable(&mut self, node: NodeId) {
        let id = u64::from(node.0);
        if self.raw.raft.prs().get(id).is_some_and(|progress| progress.state == ProgressState::Snapshot) {
            self.raw.report_snapshot(id, SnapshotStatus::Failure);
        }
        self.raw.report_unreachable(id);
    }

    /// Sends snapshots again that nobody answered.
    pub(super) fn retry_snapshots(&mut self, now_us: u64) {
        let progress = self.raw.raft.prs();
        let waiting: Vec<u64> =
            progress.iter().filter(|(_, progress)| progress.state == ProgressState::Snapshot).map(|(id, _)| *id).collect();
        self.snapshots_sent.retain(|id, _| waiting.contains(id));
        for id in waiting {
            let sent = *self.snapshots_sent.entry(id).or_insert(now_us);
            if now_us >= sent + SNAPSHOT_RETRY_US {
                self.snapshots_sent.remove(&id);
                self.raw.report_snapshot(id, SnapshotStatus::Failure);
            }
        }
    }

    /// How far `node` has the log; none if it is not known.
    pub(super) fn matched(&self, node: NodeId) -> Option<u64> {
        self.raw.raft.prs().get(u64::from(node.0)).map(|progress| progress.matched)
    }

    pub(super) fn applied_term(&self) -> u64 {
        self.raw.store().applied.term
    }

    /// Whether a change of the group may be under way.
    pub(super) fn is_changing(&self) -> bool {
        self.raw.raft.has_pending_conf()
    }

    /// Asks `heir` to lead.
    pub(super) fn transfer(&mut self, heir: NodeId) {
        self.raw.transfer_leader(u64::from(heir.0));
    }

    /// Asks the state machine for what it has to do; none when there is nothing.
    pub(super) fn round(&mut self) -> Option<Round> {
        if self.is_silent() {
            return None;
        }
        if !self.raw.has_ready() {
            let messages = std::mem::take(&mut self.released);
            return (!messages.is_empty()).then(|| Round { messages, ..Round::default() });
        }
        let mut ready = self.raw.ready();
        let mut round = Round { messages: std::mem::take(&mut self.released), ..Round::default() };
        round.messages.extend(ready.take_messages());
        if !ready.snapshot().is_empty() {
            let metadata = ready.snapshot().get_metadata();
            let state = State::decode(&ready.snapshot().data, self.known).map(Arc::new).expect("decoded when it arrived");
            let group = metadata.get_conf_state().clone();
            let applied = Applied { state: Arc::clone(&state), index: metadata.index, term: metadata.term, group };
            self.raw.mut_store().restore(applied);
            self.snapshot_unsaved = true;
            round.state = Some(state);
        }
        self.raw.mut_store().append(ready.entries());
        if let Some(hard_state) = ready.hs() {
            self.raw.mut_store().hard_state = hard_state.clone();
        }
        round.committed = ready.take_committed_entries();
        let (number, must_sync, waiting) = (ready.number(), ready.must_sync(), ready.take_persisted_messages());
        self.raw.advance_append_async(ready);
        match (must_sync, &mut self.unsaved, &mut self.flight) {
            (true, _, _) | (false, Some(_), _) => {
                let unsaved = self.unsaved.get_or_insert_default();
                unsaved.ready = number;
                unsaved.messages.extend(waiting);
            }
            (false, None, Some(flight)) => {
                flight.unsaved.ready = number;
                flight.unsaved.messages.extend(waiting);
            }
            (false, None, None) => {
                self.persisted(number);
                round.messages.extend(waiting);
            }
        }
        Some(round)
    }

    /// After how many ticks this member stands for election. Those who lose a leader do so one after the other: two at once would share the votes, and a
    /// leader be found a round later. Who has stood or voted draws; not from the library's generator, but by seed and term, so that a run can be repeated.
    fn draw_timeout(&mut self) {
        let voters = &self.raw.store().applied.group.voters;
        let raft = &self.raw.raft;
        let has_lost = raft.state == StateRole::Follower && raft.leader_id != INVALID_ID;
        let ticks = if has_lost {
            let before = voters.iter().filter(|voter| **voter < raft.id && **voter != raft.leader_id).count();
            (STAND_TICKS + before * STAND_APART_TICKS).min(STAND_TICKS_MAX)
        } else {
            let drawn = Rng::new(self.seed ^ raft.term.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ raft.id)
                .below((STAND_TICKS_MAX + 1 - ELECTION_TICKS) as u64);
            ELECTION_TICKS + drawn as usize
        };
        self.raw.raft.set_randomized_election_timeout(ticks);
    }
}
