//! A core writes its figures when they are due, and core 0 takes up orders.

use crate::cluster::core::ClusterCore;
use crate::cluster::membership::group::Waiter;
use crate::cluster::membership::orders::{Answer, Order, answer};
use crate::cluster::membership::roles::{Role, Waits};
use crate::cluster::operations::reports::{ClusterReport, CoreReport, MemberReport, PendingReport};
use crate::cluster::rebuild::learner_state::Learner;
use crate::cluster::rebuild::queue::ReplicaQueue;
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, NodeId};
use cluster::{Command, MemberState, Outcome};
use io::Reactor;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::Sender;

/// Figures are written this often, while there is anything to do.
const REPORT_US: u64 = 1_000_000;

/// With so many keyspaces half as often, and so on.
const REPORT_KEYSPACES: u64 = 16;

/// So long after the cluster has changed, if that is sooner.
const CHANGED_US: u64 = 50_000;

/// When to try again what somebody who reads was in the way of.
const AGAIN_US: u64 = 10_000;

impl Core {
    /// Writes the figures when they are due, and takes up orders. Returns the time at which to be called again.
    pub(crate) fn operations_turn<R: Reactor<Message = Message>>(&mut self, reactor: &R) -> Option<u64> {
        let board = self.config.board.as_deref()?;
        let leads = self.core == CoreId(0) && self.cluster.is_some();
        let orders = if leads { board.take_orders() } else { VecDeque::new() };
        for (order, sender) in orders {
            self.take_order(order, sender);
        }
        let now_us = reactor.now().monotonic_us;
        if now_us < self.figures.report_due_us {
            return Some(self.figures.report_due_us);
        }
        self.figures.disk = reactor.disk_latencies();
        self.tell_of_large_partitions(reactor.now().wall_us);
        let is_written = self.write_report(now_us);
        // A node where nothing happens sleeps; but orders may come.
        (leads || !is_written).then_some(self.figures.report_due_us)
    }

    /// Writes the figures of this core and, on core 0, of the cluster. Returns whether nobody was in the way.
    pub(crate) fn write_report(&mut self, now_us: u64) -> bool {
        self.note_room();
        self.measure_tables();
        self.requests.meter.tables.rate(now_us, &self.schema);
        let Some(board) = self.config.board.as_deref() else { return true };
        if let Some(cluster) = &mut self.cluster {
            cluster.sample_rebuilds(now_us);
        }
        let cluster = self.cluster.as_deref().filter(|_| self.core == CoreId(0)).and_then(|cluster| cluster.report(now_us));
        let is_written = board.write(self.core_report(), cluster);
        self.figures.report_due_us = now_us + if is_written { REPORT_US * self.report_weight() } else { AGAIN_US };
        is_written
    }

    /// Logs when there is no room for writes any more, and when there is again.
    ///
    /// A file that is asked to grow is not full for a moment, so room counts when it has been there for two looks.
    fn note_room(&mut self) {
        let engine = self.shard.engine();
        let (full, is_full) = (engine.full(), engine.has_no_room());
        self.figures.looks_with_room = if is_full { 0 } else { self.figures.looks_with_room.saturating_add(1) };
        if is_full && !self.figures.told_full {
            self.figures.told_full = true;
            match full {
                Some(space) => tracing::error!(core = self.core.0, %space, "device full: writes that need room are refused"),
                None => tracing::error!(
                    core = self.core.0,
                    "the index takes all that memory_limit leaves: writes of new rows are refused; delete rows or raise the limit"
                ),
            }
        } else if self.figures.told_full && self.figures.looks_with_room >= 2 {
            self.figures.told_full = false;
            tracing::info!(core = self.core.0, "there is room again: writes are taken");
        }
    }

    /// The cluster has changed: who looks wants to see it.
    pub(crate) fn report_soon(&mut self, now_us: u64) {
        self.figures.report_due_us = self.figures.report_due_us.min(now_us + CHANGED_US * self.report_weight());
    }

    /// To count the slots of many keyspaces takes its time, and is done less often.
    fn report_weight(&self) -> u64 {
        let keyspaces = self.cluster.as_ref().map_or(0, |cluster| cluster.view.keyspaces.len() as u64);
        1 + keyspaces / REPORT_KEYSPACES
    }

    /// Looks at the sizes of some tables: those of this core, in a cluster those that it is the primary of.
    fn measure_tables(&mut self) {
        let (engine, cluster) = (self.shard.engine(), self.cluster.as_deref());
        self.figures.tables.measure(self.schema.tables().map(|table| table.id), |table| {
            engine.table_sizes(table, |slot| cluster.is_none_or(|cluster| cluster.is_primary(table, slot)))
        });
    }

    fn core_report(&self) -> CoreReport {
        let stats = self.shard.engine().stats();
        let vectors = self.shard.vector_figures();
        let mut report = CoreReport {
            core: self.core.0,
            rows: stats.rows,
            live_bytes: stats.live_bytes,
            device_used_bytes: stats.segments.saturating_sub(stats.segments_free) * stats.segment_bytes,
            device_capacity_bytes: stats.segments_capacity * stats.segment_bytes,
            memory_bytes: stats.memory_bytes,
            is_full: self.shard.engine().has_no_room(),
            damaged_records: stats.damaged_records,
            damaged_at_start: self.lifecycle.damaged_at_start,
            logins_failed: self.logins.failures(),
            disk: self.figures.disk,
            clients_cut: self.figures.clients_cut,
            slow_requests: self.requests.watch.count(),
            audit_dropped: self.audit.as_ref().map_or(0, |audit| audit.dropped()),
            unfinished_batches: self.unfinished_batches(),
            indexes_built: self
                .protocols
                .cql
                .backfills
                .built()
                .filter(|index| !self.shard.builds_vectors(*index))
                .chain(self.protocols.cql.view_builds.built())
                .map(|index| index.0)
                .collect(),
            slots_to_index: self.protocols.cql.backfills.slots_left(),
            vectors_linked: vectors.linked,
            vectors_restored: vectors.restored,
            vectors_left: vectors.left,
            vector_bytes: vectors.bytes,
            vector_indexes_refused: vectors.refused,
            view_slots_left: self.protocols.cql.view_builds.slots_left(),
            views_behind: self.protocols.cql.view_updates.behind(),
            engine: stats,
            requests: self.requests.meter.figures(),
            connections: self.connections.count(),
            requests_waiting: self.requests.waiting() as u64,
            waiting_bytes: self.requests.bytes() as u64,
            tables: self.figures.tables.sizes().clone(),
            ..CoreReport::default()
        };
        if let Some(cluster) = &self.cluster {
            cluster.report_slots(&mut report);
            let bytes_a_slot = report.live_bytes / u64::from(report.primaries + report.secondaries).max(1);
            report.rebuilds = cluster.rebuild_reports(bytes_a_slot);
            report.slots_to_repair = cluster.rebuild.repairs.slots.len() as u32;
            report.slots_repaired = cluster.rebuild.repairs.repaired;
            report.damaged_members = cluster.rebuild.repairs.damaged_members();
            report.to_wipe = cluster.rebuild.learner.wipes.len() as u32;
        }
        report
    }

    fn take_order(&mut self, order: Order, sender: Sender<Answer>) {
        let has_joined = self.cluster.as_ref().is_some_and(|cluster| cluster.membership.identity.is_some());
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
        self.propose_for(command, Waiter::Operator { order, sender });
    }

    /// An order has its outcome.
    pub(crate) fn order_decided<R: Reactor<Message = Message>>(
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

impl ClusterCore {
    /// On core 0: the cluster as this member knows it.
    fn report(&self, now_us: u64) -> Option<ClusterReport> {
        let metadata = self.membership.group.as_ref()?.metadata()?;
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
            name: self.membership.cluster_name.clone(),
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
                    report.to_rebuild += learners as u32;
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
        report.forwarded = self.routing.routed.forwarded();
        report.absent = self.rebuild.catch_up.absent().map(|node| node.0).collect();
    }

    /// For messages: what is under way.
    pub(crate) fn describe(&self) -> String {
        let Learner { wipes, wipe_waits, wanted, asked, own_tail } = &self.rebuild.learner;
        let mut text = format!(
            "version {}; to wipe {} (waits {wipe_waits}, may {}), wanted {}, asked {}, own tail {} (waits {}, slots {}), to fetch {}, stepped down {}",
            self.view.version(),
            wipes.len(),
            self.rebuild.catch_up.may_forget(),
            wanted.len(),
            asked.len(),
            own_tail.walk.is_some(),
            own_tail.waits,
            own_tail.slots.len(),
            self.replication.divergence.to_fetch.len(),
            self.leadership.stepped_down.len(),
        );
        for (target, queue) in &self.rebuild.queues.by_target {
            let ReplicaQueue { jobs, waits, sent, reconciliations, .. } = queue;
            let proposed = sent.values().filter(|sent| sent.proposed.is_some()).count();
            let (jobs, sent, reconciliations) = (jobs.len(), sent.len(), reconciliations.len());
            text += &format!(
                "; to {target:?}: jobs {jobs} (waits {waits}), sent {sent}, proposed {proposed}, reconciliations {reconciliations}"
            );
        }
        for (target, link) in &self.links.outgoing {
            let (open, pending, arrived) = (link.is_open(), link.stream.pending_bytes(), link.stream.arrived());
            text += &format!("; link {target:?} open {open}, pending {pending}, arrived {arrived}");
        }
        let unserved = self.roles.iter().filter(|(_, _, local)| local.waits != Waits::default()).count();
        text + &format!("; unserved {unserved}, pending frames {}, routed {}", self.links.pending.len(), self.routing.routed.len())
    }
}
