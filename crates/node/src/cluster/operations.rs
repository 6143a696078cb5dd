//! What an operator sees of a node, and what one asks of it.
//!
//! ```text
//! cores ── their figures, about once a second ──► Board ◄── Board::report ── whoever serves operators, on a thread of its own
//! core 0 ◄── orders, in its turns ─────────────── Board ◄── Board::order
//! ```
//!
//! Invariant: a core never waits for the board. What it cannot write at once it writes a little later.

pub use super::progress::Held;
use super::roles::{Role, Waits};
use super::{ClusterCore, metadata};
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, NodeId};
use cluster::{Command, MemberState, Outcome};
use io::Reactor;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Figures are written this often, while there is anything to do.
const REPORT_US: u64 = 1_000_000;
/// With so many keyspaces half as often, and so on.
const REPORT_KEYSPACES: u64 = 16;
/// So long after the cluster has changed, if that is sooner.
const CHANGED_US: u64 = 50_000;
/// When to try again what somebody who reads was in the way of.
const AGAIN_US: u64 = 10_000;
/// Orders that wait to be taken up, at most.
const ORDERS_MAX: usize = 64;

/// A node's figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Whether the node was started as a member of a cluster.
    pub clustered: bool,
    /// The cluster as this node knows it; none before it has recovered.
    pub cluster: Option<ClusterReport>,
    /// Of each core that has written its figures.
    pub cores: Vec<CoreReport>,
}

/// The cluster as a member knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterReport {
    /// Its name.
    pub name: String,
    /// Its id, in hexadecimal digits.
    pub id: String,
    /// This member; none before it has joined.
    pub node: Option<u32>,
    /// The newest entry of the metadata's log that this member has.
    pub version: u64,
    /// The version of the nodes' protocol that the cluster goes by: the latest that all members know.
    #[serde(default)]
    pub protocol_version: u16,
    /// The leader of the metadata's group, if one is known.
    pub leader: Option<u32>,
    /// How long this member's lease lasts, in milliseconds; none if it has no end, as that of a member that is alone.
    pub lease_ms: Option<u64>,
    /// All members that are not removed.
    pub members: Vec<MemberReport>,
    /// Slots, over all keyspaces, whose primary is not up.
    pub unavailable_slots: u32,
    /// Slots with fewer replicas in sync than their keyspace asks for.
    pub short_slots: u32,
}

/// A member. Slots are counted over all keyspaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberReport {
    /// Its id.
    pub id: u32,
    /// `up`, `down` or `draining`.
    pub state: String,
    /// Whether it is to be emptied; it may be down meanwhile.
    pub leaving: bool,
    /// Whether it votes in the metadata's group, of which a majority must be up.
    pub votes: bool,
    /// Where other nodes reach it.
    pub address: String,
    /// Where CQL's clients reach it.
    pub cql_address: String,
    /// Its rack.
    pub rack: String,
    /// Its data centre.
    pub data_center: String,
    /// Its program's version.
    pub version: String,
    /// The oldest and the latest version of the nodes' protocol that its program knows.
    #[serde(default)]
    pub protocol_versions: [u16; 2],
    /// How many cores it has.
    pub cores: u16,
    /// Slots that it is the primary of.
    pub primaries: u32,
    /// Slots that it is in sync in, as primary or secondary.
    pub replicas: u32,
    /// Slots that it is being filled with.
    pub learners: u32,
}

/// A core's figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreReport {
    /// Its number.
    pub core: u16,
    /// Rows that the index knows, tombstones included.
    pub rows: u64,
    /// Bytes of records that are not obsolete.
    pub live_bytes: u64,
    /// Bytes of the device that are in use, obsolete records included.
    pub device_used_bytes: u64,
    /// Bytes of the device that may be used.
    pub device_capacity_bytes: u64,
    /// Bytes of memory of the engine.
    pub memory_bytes: u64,
    /// Whether the device, or the memory that the index may have, is full: writes that need room are refused.
    #[serde(default)]
    pub is_full: bool,
    /// Records found damaged since the start.
    pub damaged_records: u64,
    /// Logged batches that their coordinators have not brought to an end, and that are not at one yet.
    #[serde(default)]
    pub unfinished_batches: u64,
    /// Slots that it is the primary of.
    pub primaries: u32,
    /// Slots that it is a secondary of.
    pub secondaries: u32,
    /// Slots that it is being filled with.
    pub learners: u32,
    /// Slots that it is the primary of and does not serve yet.
    pub unserved: u32,
    /// As primary: replicas that have to be filled, counted by slot.
    pub to_fill: u32,
    /// Requests of its clients, and parts of such, that it has sent on to other members since the start.
    #[serde(default)]
    pub forwarded: u64,
    /// As primary: members that are to be filled, and those that were.
    #[serde(default)]
    pub fills: Vec<FillReport>,
    /// Slots whose rows of before have to go: those of learners before they are filled, and those that are another member's now.
    #[serde(default)]
    pub to_wipe: u32,
    /// What other members have not acknowledged.
    pub pending: Vec<PendingReport>,
    /// Members for whose return it keeps what they have missed.
    pub absent: Vec<u32>,
}

/// What a core has to send to a member that is to have slots of its.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillReport {
    /// The member.
    pub node: u32,
    /// Slots that it does not have yet.
    pub slots: u32,
    /// About how many bytes have to be sent for them; not known where the member only lacks what has changed.
    pub left_bytes: u64,
    /// How many bytes it has acknowledged since this process knows it.
    pub sent_bytes: u64,
    /// The rate of that during the last second or so.
    pub bytes_per_s: u64,
    /// What it waited for most in that time.
    pub held: Held,
    /// How long it has waited in all, in microseconds: for clients, for the replica and for the device.
    pub held_us: [u64; 3],
}

/// What a member has not acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingReport {
    /// The member.
    pub node: u32,
    /// How many bytes.
    pub bytes: u64,
}

/// What an operator may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing is placed on a member any more.
    Drain {
        /// The member.
        node: u32,
    },
    /// A member that is down or empty is one no longer.
    Remove {
        /// The member.
        node: u32,
        /// Even if it alone has some slots' data.
        force: bool,
    },
}

/// What became of an [`Order`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It holds.
    Done(String),
    /// Nothing was changed.
    Refused(String),
    /// It may hold, may not, and may come to hold later.
    Unknown,
}

/// Where cores write what operators read, and find what operators ask for.
#[derive(Debug, Default)]
pub struct Board {
    clustered: bool,
    has_orders: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    cluster: Option<ClusterReport>,
    cores: BTreeMap<u16, CoreReport>,
    orders: VecDeque<(Order, Sender<Answer>)>,
}

impl Board {
    /// An empty one, of a node that takes part in a cluster or does not.
    #[must_use]
    pub fn new(clustered: bool) -> Self {
        Self { clustered, ..Self::default() }
    }

    /// What is known of the node.
    #[must_use]
    pub fn report(&self) -> Report {
        let inner = self.lock();
        Report { clustered: self.clustered, cluster: inner.cluster.clone(), cores: inner.cores.values().cloned().collect() }
    }

    /// Asks core 0 for something; the answer comes when the cluster has decided. `None` if too many wait.
    #[must_use]
    pub fn order(&self, order: Order) -> Option<Receiver<Answer>> {
        let (sender, receiver) = channel();
        let mut inner = self.lock();
        if inner.orders.len() >= ORDERS_MAX {
            return None;
        }
        inner.orders.push_back((order, sender));
        self.has_orders.store(true, Ordering::Release);
        Some(receiver)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For cores: takes what was ordered.
    fn take_orders(&self) -> VecDeque<(Order, Sender<Answer>)> {
        if !self.has_orders.load(Ordering::Acquire) {
            return VecDeque::new();
        }
        let Ok(mut inner) = self.inner.try_lock() else { return VecDeque::new() };
        self.has_orders.store(false, Ordering::Release);
        std::mem::take(&mut inner.orders)
    }

    /// For cores: whether it could be written.
    fn write(&self, core: CoreReport, cluster: Option<ClusterReport>) -> bool {
        let Ok(mut inner) = self.inner.try_lock() else { return false };
        if cluster.is_some() {
            inner.cluster = cluster;
        }
        inner.cores.insert(core.core, core);
        true
    }
}

impl Core {
    /// Writes the figures when they are due, and takes up orders. Gives the time at which to be called again.
    pub(crate) fn operations_turn<R: Reactor<Message = Message>>(&mut self, reactor: &R) -> Option<u64> {
        let board = self.config.board.as_deref()?;
        let leads = self.core == CoreId(0) && self.cluster.is_some();
        let orders = if leads { board.take_orders() } else { VecDeque::new() };
        for (order, sender) in orders {
            self.take_order(order, sender);
        }
        let now_us = reactor.now().monotonic_us;
        if now_us < self.report_due_us {
            return Some(self.report_due_us);
        }
        let is_written = self.write_report(now_us);
        // A node where nothing happens sleeps; but orders may come.
        (leads || !is_written).then_some(self.report_due_us)
    }

    /// This node is no member any more: its clients go to others, instead of waiting for answers that cannot come.
    pub(super) fn send_clients_away<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        if self.core == CoreId(0) {
            tracing::warn!("this node has been removed from its cluster and serves nothing any more; end it");
            reactor.stop_accepting();
        }
        self.begin_to_send_away(reactor.now().monotonic_us);
    }

    fn write_report(&mut self, now_us: u64) -> bool {
        let Some(board) = self.config.board.as_deref() else { return true };
        if let Some(cluster) = &mut self.cluster {
            cluster.sample_fills(now_us);
        }
        let cluster = self.cluster.as_deref().filter(|_| self.core == CoreId(0)).and_then(|cluster| cluster.report(now_us));
        let is_written = board.write(self.core_report(), cluster);
        self.report_due_us = now_us + if is_written { REPORT_US * self.report_weight() } else { AGAIN_US };
        is_written
    }

    /// The cluster has changed: who looks wants to see it.
    pub(super) fn report_soon(&mut self, now_us: u64) {
        self.report_due_us = self.report_due_us.min(now_us + CHANGED_US * self.report_weight());
    }

    /// To count the slots of many keyspaces takes its time, and is done less often.
    fn report_weight(&self) -> u64 {
        let keyspaces = self.cluster.as_ref().map_or(0, |cluster| cluster.view.keyspaces.len() as u64);
        1 + keyspaces / REPORT_KEYSPACES
    }

    fn core_report(&self) -> CoreReport {
        let stats = self.shard.engine().stats();
        let mut report = CoreReport {
            core: self.core.0,
            rows: stats.rows,
            live_bytes: stats.live_bytes,
            device_used_bytes: stats.segments.saturating_sub(stats.segments_free) * stats.segment_bytes,
            device_capacity_bytes: stats.segments_capacity * stats.segment_bytes,
            memory_bytes: stats.memory_bytes,
            is_full: self.shard.engine().has_no_room(),
            damaged_records: stats.damaged_records,
            unfinished_batches: self.unfinished_batches(),
            ..CoreReport::default()
        };
        if let Some(cluster) = &self.cluster {
            cluster.report_slots(&mut report);
            cluster.report_fills(&mut report);
        }
        report
    }

    fn take_order(&mut self, order: Order, sender: Sender<Answer>) {
        let has_joined = self.cluster.as_ref().is_some_and(|cluster| cluster.identity.is_some());
        if !has_joined {
            // Who asked may have given up.
            let _ = sender.send(Answer::Refused("this node is no member of a cluster yet; ask another one".to_owned()));
            return;
        }
        let command = match order {
            Order::Drain { node } => Command::Drain { node: NodeId(node) },
            Order::Remove { node, force } => Command::Remove { node: NodeId(node), force },
        };
        tracing::info!(?order, "an operator asks");
        self.propose_for(command, metadata::Waiter::Operator { order, sender });
    }

    /// An order has its outcome.
    pub(super) fn order_decided<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &R,
        order: Order,
        sender: &Sender<Answer>,
        outcome: &Outcome,
    ) {
        let answer = answer(order, outcome);
        tracing::info!(?order, ?answer, "an operator's order");
        // Who looks after the answer sees what it has changed.
        self.write_report(reactor.now().monotonic_us);
        let _ = sender.send(answer);
    }
}

fn answer(order: Order, outcome: &Outcome) -> Answer {
    match (order, outcome) {
        (_, Outcome::Refused(refused)) => Answer::Refused(refused.to_string()),
        (_, Outcome::Unknown) => Answer::Unknown,
        (Order::Drain { node }, _) => Answer::Done(format!("member {node} is being emptied")),
        (Order::Remove { node, .. }, Outcome::Removed { lost: 1.. }) => {
            let Outcome::Removed { lost } = outcome else { return Answer::Unknown };
            Answer::Done(format!("member {node} is removed, and with it the only whole copy of {lost} slots"))
        }
        (Order::Remove { node, .. }, _) => Answer::Done(format!("member {node} is removed")),
    }
}

impl ClusterCore {
    /// On core 0: the cluster as this member knows it.
    fn report(&self, now_us: u64) -> Option<ClusterReport> {
        let metadata = self.metadata.as_ref()?.metadata()?;
        let state = metadata.state();
        let status = state.status();
        let lease_us = metadata.lease_until_us();
        let voters = metadata.voters();
        let members = status.members.iter().filter_map(|counted| {
            let member = state.member(counted.id)?;
            let profile = &member.profile;
            Some(MemberReport {
                id: member.id.0,
                state: member.state.name().to_owned(),
                leaving: member.leaving || member.state == MemberState::Draining,
                votes: voters.contains(&member.id),
                address: profile.node_address.clone(),
                cql_address: profile.cql_address.clone(),
                rack: profile.rack.clone(),
                data_center: profile.data_center.clone(),
                version: profile.version.clone(),
                protocol_versions: [profile.protocol_versions.oldest(), profile.protocol_versions.latest()],
                cores: profile.cores,
                primaries: counted.primaries,
                replicas: counted.replicas,
                learners: counted.learners,
            })
        });
        Some(ClusterReport {
            name: self.cluster_name.clone(),
            id: format!("{:032x}", state.cluster_id),
            node: metadata.node().map(|node| node.0),
            version: state.version,
            protocol_version: state.protocol_version(),
            leader: metadata.leader().map(|node| node.0),
            lease_ms: (lease_us < u64::MAX).then_some(lease_us.saturating_sub(now_us) / 1_000),
            members: members.collect(),
            unavailable_slots: status.unavailable_slots,
            short_slots: status.short_slots,
        })
    }

    fn report_slots(&self, report: &mut CoreReport) {
        for (keyspace, slot, local) in self.roles.iter() {
            match local.role {
                Role::Primary => {
                    report.primaries += 1;
                    report.unserved += u32::from(local.waits != Waits::default());
                    let learners = self.view.assignment(keyspace, slot).map_or(0, |assignment| assignment.learners.iter().count());
                    report.to_fill += learners as u32;
                }
                Role::Secondary => report.secondaries += 1,
                Role::Learner => report.learners += 1,
                Role::None => {}
            }
        }
        let mut pending: BTreeMap<u32, u64> = BTreeMap::new();
        for (target, link) in &self.links.outgoing {
            *pending.entry(target.0.0).or_default() += link.stream.pending_bytes() as u64;
        }
        report.pending = pending.into_iter().map(|(node, bytes)| PendingReport { node, bytes }).collect();
        report.forwarded = self.routed.forwarded();
        report.absent = self.differences.absent().map(|node| node.0).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_taken_once_and_answered() {
        let board = Board::new(true);
        assert!(board.take_orders().is_empty());
        let answers = board.order(Order::Drain { node: 2 });
        let mut orders = board.take_orders();
        assert!(board.take_orders().is_empty());
        let (order, sender) = orders.pop_front().expect("one was ordered");
        assert_eq!(order, Order::Drain { node: 2 });
        sender.send(Answer::Unknown).expect("it is waited for");
        assert_eq!(answers.expect("there is room").recv(), Ok(Answer::Unknown));
    }

    #[test]
    fn orders_that_nobody_takes_are_bounded() {
        let board = Board::new(true);
        let kept: Vec<_> = (0..ORDERS_MAX).map(|_| board.order(Order::Drain { node: 1 })).collect();
        assert!(kept.iter().all(Option::is_some));
        assert!(board.order(Order::Drain { node: 1 }).is_none());
    }

    #[test]
    fn a_core_does_not_wait_for_whoever_reads() {
        let board = Board::new(true);
        let _answers = board.order(Order::Drain { node: 1 });
        let reading = board.lock();
        assert!(!board.write(CoreReport::default(), None));
        assert!(board.take_orders().is_empty());
        drop(reading);
        assert!(board.write(CoreReport::default(), None));
        assert_eq!(board.take_orders().len(), 1, "the order is still there");
        assert_eq!(board.report().cores.len(), 1);
    }

    #[test]
    fn outcomes_are_told_in_words() {
        let remove = Order::Remove { node: 3, force: true };
        assert_eq!(answer(remove, &Outcome::Removed { lost: 0 }), Answer::Done("member 3 is removed".to_owned()));
        let lossy = answer(remove, &Outcome::Removed { lost: 7 });
        assert_eq!(lossy, Answer::Done("member 3 is removed, and with it the only whole copy of 7 slots".to_owned()));
        let refused = Outcome::Refused(cluster::Refused::NoSuchMember { node: NodeId(9) });
        assert_eq!(answer(Order::Drain { node: 9 }, &refused), Answer::Refused("there is no member 9".to_owned()));
        assert_eq!(answer(remove, &Outcome::Unknown), Answer::Unknown);
    }
}
