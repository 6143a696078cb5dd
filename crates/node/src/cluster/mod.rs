//! A core's part in a cluster. Without clustering none of this is there, and costs nothing.
//!
//! ```text
//! metadata (core 0) ─ View ─► roles ─► shard: what is served here, who must have its writes
//!                               │
//! request ─► routing ─ Forward ─┼─► forwarding (on the slot's primary) ─► shard
//!                               └─► streams: writes to replicas, acknowledgements back
//!                                   filling (as primary), learning (as replica): who has not got everything; fillings: what is known of that
//!                                   agreeing: what a new primary does before it serves
//!                                   handing_over, ending: slots that go to another primary in peace
//! ```
//!
//! Invariants: a core acts on views in their order; it serves a slot only under the lease, as the primary of the slot's newest term that it
//! knows of; what it acknowledges, every member in sync of its view has.

mod agreeing;
mod announcements;
mod channel;
mod differences;
mod early_frames;
mod ending;
mod filling;
mod fillings;
pub(crate) mod following;
mod forwarding;
mod frames;
mod handing_over;
mod learning;
mod links;
mod metadata;
mod operations;
mod pacing;
mod progress;
mod roles;
mod routing;
mod strangers;
mod streams;
mod tablets;
mod uncommitted;
mod view;

pub(crate) use forwarding::NOBODY;
pub(crate) use frames::Forward;
pub use metadata::MetadataBlobs;
pub use operations::{Answer, Board, ClusterReport, CoreReport, FillReport, Held, MemberReport, Order, PendingReport, Report};
pub(crate) use routing::{Asker, PATIENCE_US, Place, Route};
pub use view::View;

use crate::config::replication_blob;
use crate::core::{Core, node_tag};
use crate::message::Message;
use crate::schema_changes::DIFFERENCES_TAG;
use base::{CoreId, NodeId, Slot, TableId};
use cluster::{Identity, Member, MemberState, State, Versions};
use differences::{Differences, Reached};
use ending::Ending;
use engine::{ReceivedRows, Sequence, WriteBatch};
use fillings::Fillings;
use forwarding::EarlyRequests;
use handing_over::HandingOver;
use io::{DiskError, DiskRequest, Reactor};
use links::{Link, Links};
use metadata::MetadataCore;
use pacing::{Budget, Rest};
use roles::{LocalSlot, Role, Roles, Set, Target, Waits};
use routing::RoutedRequests;
use shard::{KeyspaceNumber, RowKey, Serving, SetId, Shard};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

/// Replicas hear this often of what is committed, when nothing else is sent to them.
const TELL_COMMITTED_US: u64 = 50_000;
/// A replica that has acknowledged nothing for so long, although there is something to acknowledge, is taken out of those in sync.
const SILENT_US: u64 = 1_500_000;

/// A learner that has so many bytes to acknowledge is given up for a while: no client waits for it, and so nothing else bounds them.
const LEARNER_STREAM_BYTES_MAX: usize = 32 << 20;

/// What a node is told about clustering.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// Members that are asked to take this node in, if it is none yet. Without any, it founds a cluster.
    pub join: Vec<SocketAddr>,
    /// The member whose place it takes.
    pub replaces: Option<NodeId>,
    /// Random at each start of the process.
    pub incarnation: u64,
    /// The program's version.
    pub version: String,
    /// What it knows of the nodes' protocol: [`Versions::KNOWN`], but for tests of other programs than this one.
    pub protocol_versions: Versions,
    /// Names the start of the machine under the process, until which what processes leave in memory is there; 0 if it is not known.
    pub boot: u128,
    /// By how much moving rows between nodes may lengthen a request.
    pub migration_latency_us: u64,
    /// What links between nodes are encrypted with; none for plaintext.
    pub tls: Option<Arc<tls::Config>>,
    /// A bug, to see whether it is found.
    pub planted: Option<Planted>,
}

/// Bugs that tests make on purpose, to see that they are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Whoever gets a former primary's writes takes them, and acknowledges them.
    NoFencing,
    /// Writes are acknowledged before replicas have them.
    EarlyAcknowledgement,
    /// Leases have no end.
    StaleLease,
}

/// The state of a core.
pub(crate) struct ClusterCore {
    pub(crate) config: ClusterConfig,
    cluster_name: String,
    host_id: u128,
    identity: Option<Identity>,
    pub(crate) view: Arc<View>,
    /// When members last came, went or moved.
    pub(crate) members_moved_us: u64,
    has_endless_lease: bool,
    /// Whether there has been a view in which this process takes part.
    has_served: bool,
    roles: Roles,
    links: Links,
    routed: RoutedRequests,
    /// Whether something has changed that requests may have waited for.
    routed_changed: bool,
    /// Requests of others that go by newer metadata.
    early: EarlyRequests,
    /// Frames of others that do.
    early_frames: early_frames::EarlyFrames,
    fillings: Fillings,
    budget: Budget,
    rest: Rest,
    handing_over: HandingOver,
    /// While the process takes leave.
    ending: Option<Ending>,
    differences: Differences,
    /// No row of a later sequence is purged here.
    purge_floor: Option<u64>,
    /// Links whose streams have something to send.
    unsent: BTreeSet<Target>,
    /// Sets in which something was written that is not known to be committed.
    uncommitted_sets: BTreeSet<SetId>,
    /// Whether sets may be further than the shard knows.
    written: bool,
    batch: WriteBatch,
    /// Incoming streams that wait for the shard.
    receivers_waiting: BTreeSet<u32>,
    /// Which of the incoming streams is the first to be applied in the next turn: images of those after it may have to wait.
    first_stream: usize,
    /// Where members are that no view shows yet.
    members_told: BTreeMap<NodeId, SocketAddr>,
    committed_due_us: u64,
    /// On core 0.
    metadata: Option<Box<MetadataCore>>,
}

impl ClusterCore {
    /// On every core; `metadata` is for core 0, `kept` is what the core has stored of differences.
    pub(crate) fn new(
        config: ClusterConfig,
        cluster_name: String,
        host_id: u128,
        metadata: Option<MetadataBlobs>,
        kept: Option<&[u8]>,
    ) -> Self {
        Self {
            budget: Budget::new(config.migration_latency_us),
            rest: Rest::default(),
            config,
            cluster_name,
            host_id,
            identity: None,
            view: Arc::new(View::nothing()),
            members_moved_us: 0,
            has_endless_lease: false,
            has_served: false,
            roles: Roles::default(),
            links: Links::default(),
            routed: RoutedRequests::default(),
            routed_changed: false,
            early: EarlyRequests::default(),
            early_frames: early_frames::EarlyFrames::default(),
            fillings: Fillings::default(),
            handing_over: HandingOver::default(),
            ending: None,
            differences: Differences::restore(kept),
            purge_floor: None,
            unsent: BTreeSet::new(),
            uncommitted_sets: BTreeSet::new(),
            written: false,
            batch: WriteBatch::new(),
            receivers_waiting: BTreeSet::new(),
            first_stream: 0,
            members_told: BTreeMap::new(),
            committed_due_us: 0,
            metadata: metadata.map(|blobs| Box::new(MetadataCore::new(blobs))),
        }
    }

    /// Work of a client has come.
    pub(crate) fn client_came(&mut self) {
        self.rest.client_came();
    }

    /// Whether this node is the primary of a slot, as far as it knows.
    pub(crate) fn is_primary(&self, table: TableId, slot: Slot) -> bool {
        self.leads(self.view.keyspace_of(table), slot)
    }

    /// The same of a keyspace by its name.
    pub(crate) fn is_primary_in(&self, keyspace: &str, slot: Slot) -> bool {
        self.leads(self.view.number_of(keyspace), slot)
    }

    fn leads(&self, keyspace: Option<KeyspaceNumber>, slot: Slot) -> bool {
        let assignment = keyspace.and_then(|keyspace| self.view.assignment(keyspace, slot));
        assignment.is_some_and(|assignment| assignment.primary == self.view.me)
    }

    /// Who votes in the metadata's group.
    pub(crate) fn voters(&self) -> Vec<NodeId> {
        let metadata = self.metadata.as_ref().and_then(|metadata| metadata.metadata());
        metadata.map(|metadata| metadata.voters()).unwrap_or_default()
    }

    /// Who leads it.
    pub(crate) fn leader(&self) -> Option<NodeId> {
        self.metadata.as_ref().and_then(|metadata| metadata.metadata()?.leader())
    }

    /// The newest state there is here.
    pub(crate) fn newest_state(&self) -> Arc<State> {
        let of_metadata = self.metadata.as_ref().and_then(|metadata| metadata.state());
        of_metadata.unwrap_or_else(|| Arc::clone(&self.view.state))
    }

    /// Tells the shard what a slot is now.
    fn serve(&mut self, shard: &mut Shard, keyspace: KeyspaceNumber, slot: Slot) {
        let serving = self.roles.serving(&self.view, keyspace, slot);
        if let Serving::With(set) = serving {
            // The slot may bring along what was written in the set before.
            self.uncommitted_sets.insert(set);
        }
        shard.serve(keyspace, slot, serving);
    }

    /// Forgets what was under way with processes that are no more.
    fn forget_peers(&mut self, before: &View) {
        let Self { view, links, roles, fillings, .. } = self;
        for node in view.gone_since(before) {
            roles.forget_member(node);
            fillings.forget_member(node);
            for (_, link) in links.outgoing.iter_mut().filter(|(target, _)| target.0 == node) {
                forget_stream(link, view, node);
            }
        }
    }
}

/// Forgets what a member was to be sent. While it is in sync, what it lacks stays: nothing is acknowledged without it.
fn forget_stream(link: &mut Link, view: &View, node: NodeId) {
    link.stream.retain(|table, slot, _, _| {
        let assignment = view.keyspace_of(table).and_then(|keyspace| view.assignment(keyspace, slot));
        assignment.is_some_and(|assignment| assignment.in_sync.contains(&node))
    });
}

fn is_removed(members: &BTreeMap<NodeId, Member>, node: NodeId) -> bool {
    members.get(&node).is_some_and(|member| member.state == MemberState::Removed)
}

impl Core {
    /// How many pieces statements about many partitions come in: see [`cql::exec::Options::cores`].
    pub(crate) fn pieces(&self) -> u16 {
        if self.cluster.is_some() { base::SLOT_COUNT as u16 } else { self.cores }
    }

    /// The cluster is this now.
    pub(crate) fn apply_view<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, view: Arc<View>) {
        let now_us = reactor.now().monotonic_us;
        let committed = self.committed_here();
        let Some(cluster) = &mut self.cluster else { return };
        cluster.fillings.doubt_after(committed);
        // What was written until now was written in the terms until now.
        cluster.send_written(&mut self.shard);
        let before = std::mem::replace(&mut cluster.view, Arc::clone(&view));
        cluster.identity.clone_from(&view.identity);
        if view.is_current && !cluster.has_served {
            cluster.has_served = true;
            reactor.send(CoreId(0), Message::Serving);
        }
        cluster.routed_changed = true;
        cluster.written = true;
        if view.members_since != before.members_since {
            cluster.members_moved_us = now_us;
        }
        cluster.forget_peers(&before);
        let members = Arc::clone(&before.state.members);
        self.shard.set_replicated(view.tables.iter().copied());
        let changes = cluster.roles.follow(&before, &view, self.core, self.cores);
        // Writes that were on their way when this node ceased to be the primary may be here alone.
        let lost: BTreeSet<(KeyspaceNumber, Slot)> = changes.lost.iter().copied().collect();
        let mut own: BTreeMap<(KeyspaceNumber, Slot), Vec<RowKey>> = BTreeMap::new();
        if !lost.is_empty() {
            for link in cluster.links.outgoing.values_mut() {
                link.stream.retain(|table, slot, _, rows| {
                    let Some(place) = view.keyspace_of(table).map(|keyspace| (keyspace, slot)) else { return false };
                    let is_lost = lost.contains(&place);
                    if is_lost {
                        own.entry(place)
                            .or_default()
                            .extend(ReceivedRows::new(rows).filter_map(Result::ok).map(|row| fillings::owned(&row.key)));
                    }
                    !is_lost
                });
            }
        }
        cluster.differences.follow(&before, &view, &cluster.roles, &changes.changed, committed, now_us);
        if !(changes.lost.is_empty() && changes.gained.is_empty() && changes.followed.is_empty() && changes.learned.is_empty()) {
            cluster.differences.unsettle(now_us);
        }
        let has_part = |name: &str, slot| {
            let local = view.number_of(name).and_then(|keyspace| cluster.roles.get(keyspace, slot));
            local.is_some_and(|local| local.role != Role::None)
        };
        // Before the metadata knows of this process nothing follows from what it does not show.
        if view.is_current
            && (!before.is_current || before.keyspaces.len() != view.keyspaces.len() || before.tables.len() != view.tables.len())
        {
            cluster.differences.let_go_of_others(has_part);
            cluster.fillings.forget_tables(|table| view.keyspace_of(table).is_some());
        }
        for (keyspace, slot) in &changes.changed {
            if cluster.roles.get(*keyspace, *slot).is_some_and(|local| matches!(local.role, Role::Primary | Role::Secondary)) {
                cluster.differences.hold(&view.keyspaces[usize::from(keyspace.0)].name, *slot, self.shard.engine().last_sequence().0);
                cluster.fillings.in_sync((*keyspace, *slot));
                if let Some(local) = cluster.roles.get_mut(*keyspace, *slot) {
                    local.learned_at = None;
                }
            }
            cluster.serve(&mut self.shard, *keyspace, *slot);
        }
        self.shard.fail_unserved();
        for place in &changes.lost {
            cluster.fillings.lost(*place);
            let Some(assignment) = view.assignment(place.0, place.1) else { continue };
            if assignment.handover_from == Some(view.me) {
                cluster.step_down(*place, assignment.primary);
            }
        }
        for place in &changes.followed {
            cluster.follow_primary(*place, own.remove(place).unwrap_or_default());
        }
        for place in &changes.gained {
            let waits = cluster.begin_agreement(*place, own.remove(place).unwrap_or_default(), self.shard.engine().last_sequence());
            if let Some(local) = cluster.roles.get_mut(place.0, place.1) {
                local.waits.agreement = waits;
            }
        }
        let last_sequence = self.shard.engine().last_sequence().0;
        for place in &changes.learned {
            if let Some(local) = cluster.roles.get_mut(place.0, place.1) {
                local.learned_at.get_or_insert(last_sequence);
            }
            cluster.want_slot(*place, own.remove(place).unwrap_or_default());
        }
        cluster.fillings.doubt_after(committed);
        cluster.hold_purges(&mut self.shard);
        // One that ends, or is taken for dead, comes back and has what it had.
        if !cluster.is_ending() {
            for place in &changes.left {
                cluster.fillings.leaves(*place, own.remove(place).unwrap_or_default());
            }
            if view.is_up() {
                cluster.fillings.take_away().for_each(|place| cluster.leave_slot(place));
            }
        }
        view.gone_since(&before).for_each(|node| cluster.fillings.forget_sender(node));
        cluster.want_links(&before, &changes.changed);
        let unanswered = cluster.links.take_forwards(|node| !view.is_peer_up(node));
        self.serve_slots(&changes.gained);
        self.agreed(&changes.changed);
        self.announce_members(reactor, &members);
        if is_removed(&view.state.members, view.me) && !is_removed(&members, view.me) {
            self.send_clients_away(reactor);
        }
        self.routed_lost(reactor, &unanswered);
        self.run_early(reactor);
        self.run_early_frames(reactor);
    }

    /// Tells the shard again what these slots are.
    fn serve_slots(&mut self, places: &[(KeyspaceNumber, Slot)]) {
        let Some(cluster) = &mut self.cluster else { return };
        for (keyspace, slot) in places {
            cluster.serve(&mut self.shard, *keyspace, *slot);
        }
        cluster.written = true;
        cluster.routed_changed = true;
    }

    /// This member's lease ends then.
    pub(crate) fn apply_lease<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, until_us: u64) {
        let Some(cluster) = &mut self.cluster else { return };
        let is_stale = cluster.config.planted == Some(Planted::StaleLease);
        self.shard.set_lease(if is_stale { u64::MAX } else { until_us });
        cluster.routed_changed = true;
        let had_no_end = std::mem::replace(&mut cluster.has_endless_lease, until_us == u64::MAX);
        if had_no_end && until_us < u64::MAX {
            reactor.send(CoreId(0), Message::LeaseHasEnd);
        }
    }

    /// The cluster's share of a turn. Gives the time at which to be called again; `Some(0)` for at once.
    pub(crate) fn cluster_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        self.cluster.as_ref()?;
        let now_us = reactor.now().monotonic_us;
        let metadata_due_us = self.metadata_turn(reactor);
        let applied_due_us = self.apply_streams(reactor);
        if let Some(cluster) = &mut self.cluster {
            cluster.send_written(&mut self.shard);
        }
        let filling_due_us = self.fill(reactor);
        let handing_over_due_us = self.hand_over(reactor);
        let ending_due_us = self.end_turn(reactor);
        let routed_due_us = self.retry_routed(reactor);
        let Some(cluster) = &mut self.cluster else { return None };
        cluster.send_written(&mut self.shard);
        cluster.tell_committed(&mut self.shard);
        cluster.flush_streams(reactor);
        let mut committed_due_us = None;
        if cluster.links.has_news() {
            if now_us >= cluster.committed_due_us {
                cluster.committed_due_us = now_us + TELL_COMMITTED_US;
                cluster.tell_replicas_committed(reactor);
            }
            committed_due_us = Some(cluster.committed_due_us);
        }
        let links_due_us = cluster.connect_links(reactor, self.core, self.cores);
        let strangers_due_us = cluster.end_strangers(reactor, self.core);
        let silent_due_us = self.drop_silent(reactor);
        let kept_due_us = self.keep_differences(reactor);
        let due = [metadata_due_us, routed_due_us, committed_due_us, links_due_us, strangers_due_us, silent_due_us, kept_due_us];
        let due_us = due.into_iter().chain([applied_due_us, filling_due_us, handing_over_due_us, ending_due_us]).flatten().min();
        if self.shard.has_runnable() { Some(0) } else { due_us }
    }

    /// Up to this sequence of the engine, all replicas in sync have what is here.
    fn committed_here(&self) -> u64 {
        let last = self.shard.engine().last_sequence().0;
        let Some(cluster) = &self.cluster else { return last };
        let sent = cluster.links.outgoing.values().map(|link| link.stream.arrived()).min().unwrap_or(last);
        // A process that is new does not know what it has alone, before it has taken part.
        let is_new = !cluster.view.is_current || cluster.roles.begin_anew();
        let known = if is_new { cluster.differences.restored().unwrap_or(0) } else { last };
        sent.min(cluster.fillings.committed_here(last)).min(known).min(last)
    }

    /// Notes what is committed, and stores what has to be kept.
    fn keep_differences<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let due_us = self.cluster.as_ref().filter(|cluster| cluster.view.is_current)?.differences.due_us();
        if now_us < due_us {
            return Some(due_us);
        }
        let committed = self.committed_here();
        let cluster = self.cluster.as_mut()?;
        let is_at_rest = |local: &LocalSlot| local.waits == Waits::default() && !local.has_restarted();
        let is_settled = cluster.fillings.is_settled() && cluster.roles.iter().all(|(_, _, local)| is_at_rest(local));
        if cluster.differences.is_full(self.shard.engine().has_no_room(), now_us) {
            let forgotten = cluster.differences.forget_away(|node| cluster.view.is_peer_up(node));
            for node in forgotten {
                let node = node.0;
                tracing::warn!(
                    core = self.core.0,
                    node,
                    "there is no room: deletions and expired rows are kept no longer for a member that is away; it will be filled anew"
                );
            }
        }
        cluster.hold_purges(&mut self.shard);
        let (durable, timestamp_us) = (self.shard.engine().durable_sequence().0, self.shard.last_timestamp_us());
        if let Some(bytes) = cluster.differences.note(Reached { committed, durable, timestamp_us, is_settled }, now_us) {
            let name = replication_blob(self.core);
            reactor.submit(node_tag(DIFFERENCES_TAG), DiskRequest::ReplaceBlob { name, bytes });
        }
        Some(cluster.differences.due_us())
    }

    /// What has to be kept is stored, or is not.
    pub(crate) fn differences_stored(&mut self, result: &Result<(), DiskError>) {
        let Some(cluster) = &mut self.cluster else { return };
        if let Err(error) = result {
            tracing::warn!(core = self.core.0, %error, "what is kept for replicas that are away could not be stored; it is tried again");
        }
        cluster.differences.stored(result.is_ok());
    }

    /// The shard has recovered: what must not be purged is known from before, as far as it is still there.
    pub(crate) fn restore_purge_floor(&mut self) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.differences.recovered(self.shard.engine().last_sequence().0);
        if !self.shard.engine().damage_reports().is_empty() {
            tracing::warn!(
                core = self.core.0,
                "rows may be missing here, for stored data is damaged: in slots that other members have, all rows are fetched from them"
            );
            cluster.differences.let_go_of_all();
        }
        self.shard.raise_timestamp(cluster.differences.timestamp_us());
        // Of members of which nothing is known all may have been purged.
        if let Some(floor) = cluster.differences.purge_floor(|_| false) {
            cluster.purge_floor = Some(floor);
            self.shard.set_purge_floor(Some(Sequence(floor)));
            self.shard.restore_purged(Sequence(floor));
        }
    }

    /// As primary: replicas that acknowledge nothing get a new connection, and if writes or a new primary wait they are proposed to be taken out of their slots. For
    /// images nobody waits: whoever is being filled goes on with what it has.
    fn drop_silent<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let cluster = self.cluster.as_mut()?;
        let mut next = None;
        let mut silent = Vec::new();
        for (target, link) in &mut cluster.links.outgoing {
            let Some(since_us) = link.waiting_since_us(now_us) else { continue };
            let due_us = since_us + SILENT_US;
            if now_us >= due_us {
                link.wait_anew(now_us);
                silent.push(*target);
            } else {
                next = Some(next.map_or(due_us, |next: u64| next.min(due_us)));
            }
        }
        let is_behind = |link: &Link| link.stream.pending_bytes() > LEARNER_STREAM_BYTES_MAX;
        let behind: Vec<Target> = cluster.links.outgoing.iter().filter(|(_, link)| is_behind(link)).map(|(target, _)| *target).collect();
        for target in silent {
            // The other side may have forgotten the connection.
            cluster.links.abort(reactor, target);
            if !cluster.is_waited_for(target) {
                continue;
            }
            let slots = cluster.slots_with(target, |_| true);
            if !slots.is_empty() {
                tracing::warn!(
                    core = self.core.0,
                    node = target.0.0,
                    "a replica acknowledges nothing; the metadata is asked to go on without it"
                );
                reactor.send(CoreId(0), Message::Propose(Box::new(cluster::Command::DropReplica { node: target.0, slots })));
            }
        }
        for target in behind {
            self.give_up(reactor, target, Held::Slow);
        }
        next
    }

    /// As primary: a replica cannot take what it is sent. The metadata is asked to go on without it, and to be filled it has to wait a while. Of one that is
    /// only slow nothing is taken that is in sync: clients wait for it, and so do not get ahead of it by more than they may.
    pub(super) fn give_up<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: Target, why: Held) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = self.cluster.as_mut().filter(|cluster| !cluster.fillings.is_being_given_up(target, now_us)) else { return };
        let slots = cluster.slots_with(target, |set| why == Held::Full || set.fills.contains(&target));
        if !cluster.fillings.give_up(target, why, !slots.is_empty(), now_us) {
            return;
        }
        tracing::warn!(
            core = self.core.0,
            node = target.0.0,
            why = why.name(),
            "a replica cannot take its slots' writes; they go on without it"
        );
        reactor.send(CoreId(0), Message::Propose(Box::new(cluster::Command::DropReplica { node: target.0, slots })));
    }
}

impl ClusterCore {
    /// Whether more than images waits to be acknowledged.
    fn is_waited_for(&self, target: Target) -> bool {
        let has_writes = self.links.outgoing.get(&target).is_some_and(|link| link.stream.has_writes());
        has_writes || self.fillings.agrees_with(target)
    }

    /// Tells the shard what must not be purged. That it may purge more has to follow from what is stored.
    fn hold_purges(&mut self, shard: &mut Shard) {
        let floor = self.differences.purge_floor(|node| self.view.is_peer_up(node));
        let is_lower = floor.is_some_and(|floor| self.purge_floor.is_none_or(|held| floor < held));
        if floor != self.purge_floor && (is_lower || self.differences.may_forget()) {
            self.purge_floor = floor;
            shard.set_purge_floor(floor.map(Sequence));
        }
    }

    /// Slots whose primary is here and that this replica gets the writes of, as far as their sets are of interest.
    fn slots_with(&self, target: Target, wants: impl Fn(&Set) -> bool) -> Vec<cluster::SlotEpochs> {
        let mut slots: BTreeMap<KeyspaceNumber, Vec<(Slot, base::Epoch)>> = BTreeMap::new();
        for (keyspace, slot, local) in self.roles.iter().filter(|(_, _, local)| local.role == Role::Primary) {
            let set = local.set.map(|set| self.roles.set(set));
            if set.is_some_and(|set| set.targets().any(|known| known == target) && wants(set)) {
                slots.entry(keyspace).or_default().push((slot, local.epoch));
            }
        }
        let named = slots.into_iter().map(|(keyspace, slots)| {
            let keyspace = self.view.keyspaces[usize::from(keyspace.0)].name.clone();
            cluster::SlotEpochs { keyspace, slots }
        });
        named.collect()
    }

    /// Links to all who get this core's writes, or may have to be filled; streams to others are forgotten.
    fn want_links(&mut self, before: &View, changed: &[roles::Place]) {
        let mut wanted: BTreeSet<Target> = BTreeSet::new();
        let mut want = |(keyspace, slot): roles::Place| {
            let is_primary = self.roles.get(keyspace, slot).is_some_and(|local| local.role == Role::Primary);
            let Some(assignment) = self.view.assignment(keyspace, slot).filter(|_| is_primary) else { return };
            for node in assignment.in_sync.iter().copied().chain(assignment.learners.iter()) {
                wanted.extend(self.view.core_of(node, slot).map(|core| (node, core)));
            }
        };
        if Arc::ptr_eq(&before.peers, &self.view.peers) {
            changed.iter().copied().for_each(want);
        } else {
            self.roles.iter().for_each(|(keyspace, slot, _)| want((keyspace, slot)));
        }
        let streamed = self.roles.targets();
        for target in wanted {
            self.links.outgoing(target);
        }
        for (target, link) in self.links.outgoing.iter_mut().filter(|(target, _)| !streamed.contains(target)) {
            forget_stream(link, &self.view, target.0);
        }
        let peers = &self.view.peers;
        if self.view.version() > 0 {
            self.links.outgoing.retain(|target, link| link.is_used() || peers.contains_key(&target.0));
        }
    }
}
