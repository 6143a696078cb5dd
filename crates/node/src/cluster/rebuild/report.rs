//! How rebuilds get on, for operators.

use crate::cluster::core::ClusterCore;
use crate::cluster::membership::roles::Role;
use crate::cluster::rebuild::progress::{Held, RebuildReport};
use crate::cluster::rebuild::queue::Job;
use base::NodeId;
use std::collections::BTreeMap;

impl ClusterCore {
    /// Looks at how rebuilds get on, for operators.
    pub(crate) fn sample_rebuilds(&mut self, now_us: u64) {
        for (target, queue) in &mut self.rebuild.queues.by_target {
            let done = self.links.outgoing.get(target).map_or(0, |link| link.stream.images().done);
            queue.progress.sample(done, now_us);
        }
    }

    /// How rebuilds get on. A slot has about `bytes_a_slot`, where nothing better is known.
    pub(crate) fn rebuild_reports(&self, bytes_a_slot: u64) -> Vec<RebuildReport> {
        let mut rebuilds: BTreeMap<NodeId, RebuildReport> = BTreeMap::new();
        for (keyspace, slot, local) in self.roles.iter().filter(|(_, _, local)| local.role == Role::Primary) {
            for node in self.view.assignment(keyspace, slot).iter().flat_map(|assignment| assignment.learners.iter()) {
                let rebuild =
                    rebuilds.entry(node).or_insert_with(|| RebuildReport { node: node.0, held: Held::Unasked, ..RebuildReport::default() });
                rebuild.slots += 1;
                if local.rebuilds(node) {
                    rebuild.held = Held::No;
                }
            }
        }
        for (target, dropped) in &self.rebuild.queues.dropped {
            // What is being rebuilt has been taken up again.
            if let Some(rebuild) = rebuilds.get_mut(&target.0).filter(|rebuild| rebuild.held != Held::No) {
                rebuild.held = dropped.why;
            }
        }
        for (target, queue) in &self.rebuild.queues.by_target {
            let Some(link) = self.links.outgoing.get(target) else { continue };
            let images = link.stream.images();
            let rebuild = rebuilds.entry(target.0).or_insert_with(|| RebuildReport { node: target.0.0, ..RebuildReport::default() });
            // Only slots that the member has asked all of are counted in bytes.
            let slots = queue.jobs.iter().filter(|job| matches!(job, Job::Slot { .. })).count() as u64;
            rebuild.left_bytes += slots * queue.progress.bytes_a_slot().unwrap_or(bytes_a_slot) + images.under_way();
            queue.progress.add_to(images.done, rebuild);
        }
        rebuilds.into_values().collect()
    }

    /// Notes what rebuilds wait for from now on.
    pub(crate) fn note_progress(&mut self, now_us: u64, rests: bool) {
        for (target, queue) in &mut self.rebuild.queues.by_target {
            let under_way = self.links.outgoing.get(target).map_or(u64::MAX, |link| link.stream.images().under_way());
            let held = match queue.jobs.front() {
                None => Held::No,
                Some(_) if queue.waits => Held::Device,
                Some(_) if queue.window.is_full(under_way) || queue.paused_until_us(now_us).is_some() => Held::Replica,
                Some(_) if rests => Held::Clients,
                Some(_) => Held::No,
            };
            queue.progress.is_held(held, now_us);
        }
    }
}
