//! How rebuilds get on, for operators.

use crate::cluster::core::ClusterCore;
use crate::cluster::membership::roles::Role;
use crate::cluster::rebuild::progress::{FillReport, Held};
use crate::cluster::rebuild::queue::Job;
use base::NodeId;
use std::collections::BTreeMap;

impl ClusterCore {
    /// Looks at how fills get on, for operators.
    pub(crate) fn sample_fills(&mut self, now_us: u64) {
        for (target, filling) in &mut self.rebuild.queues.by_target {
            let done = self.links.outgoing.get(target).map_or(0, |link| link.stream.images().done);
            filling.progress.sample(done, now_us);
        }
    }

    /// How fills get on. A slot has about `bytes_a_slot`, where nothing better is known.
    pub(crate) fn report_fills(&self, bytes_a_slot: u64) -> Vec<FillReport> {
        let mut fills: BTreeMap<NodeId, FillReport> = BTreeMap::new();
        for (keyspace, slot, local) in self.roles.iter().filter(|(_, _, local)| local.role == Role::Primary) {
            for node in self.view.assignment(keyspace, slot).iter().flat_map(|assignment| assignment.learners.iter()) {
                let fill = fills.entry(node).or_insert_with(|| FillReport { node: node.0, held: Held::Unasked, ..FillReport::default() });
                fill.slots += 1;
                if local.fills(node) {
                    fill.held = Held::No;
                }
            }
        }
        for (target, given_up) in &self.rebuild.queues.dropped {
            // What is being filled has been taken up again.
            if let Some(fill) = fills.get_mut(&target.0).filter(|fill| fill.held != Held::No) {
                fill.held = given_up.why;
            }
        }
        for (target, filling) in &self.rebuild.queues.by_target {
            let Some(link) = self.links.outgoing.get(target) else { continue };
            let images = link.stream.images();
            let fill = fills.entry(target.0).or_insert_with(|| FillReport { node: target.0.0, ..FillReport::default() });
            // Only slots that the member has asked all of are counted in bytes.
            let slots = filling.jobs.iter().filter(|job| matches!(job, Job::Slot { .. })).count() as u64;
            fill.left_bytes += slots * filling.progress.bytes_a_slot().unwrap_or(bytes_a_slot) + images.under_way();
            filling.progress.add_to(images.done, fill);
        }
        fills.into_values().collect()
    }

    /// Notes what fills wait for from now on.
    pub(crate) fn note_progress(&mut self, now_us: u64, rests: bool) {
        for (target, filling) in &mut self.rebuild.queues.by_target {
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
}
