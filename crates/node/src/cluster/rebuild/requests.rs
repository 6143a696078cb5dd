//! As primary: what replicas ask for, a rebuild or the images of single keys.

use crate::cluster::links::frames::{FULL_COPY_NEEDED, RebuildMethod, Slots, read_key};
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::roles::Role;
use crate::cluster::rebuild::queue::{Job, Queues};
use crate::cluster::replication::uncommitted::owned;
use crate::core::Core;
use crate::message::Message;
use base::TableId;
use engine::Sequence;
use io::Reactor;
use shard::SlotScan;
use std::collections::{BTreeSet, VecDeque};

/// What a primary makes of a replica's wish to be rebuilt with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It is being rebuilt so. Who asks again may not know that it was heard.
    GoOn,
    Begin,
    /// What it has missed is not known, or its rows are damaged.
    AllNeeded,
}

impl Answer {
    /// To `wish`, when `begun` is under way. One that has begun with the difference and wishes for all has forgotten its rows meanwhile; one whose difference has
    /// begun is not told that it needs all, for it would forget the rows that it is taken to have.
    fn to(wish: RebuildMethod, begun: Option<RebuildMethod>, is_known: bool) -> Self {
        match (wish, begun) {
            (_, Some(RebuildMethod::Full)) | (RebuildMethod::CatchUp, Some(RebuildMethod::CatchUp)) => Self::GoOn,
            (RebuildMethod::CatchUp, None) if !is_known => Self::AllNeeded,
            (RebuildMethod::CatchUp, None) | (RebuildMethod::Full, _) => Self::Begin,
        }
    }
}

impl Core {
    /// As primary: a replica asks to be rebuilt.
    pub(crate) fn rebuild_requested<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        target: RemoteCore,
        method: RebuildMethod,
        slots: &Slots,
    ) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        if cluster.rebuild.queues.dropped_until(target, now_us).is_some() {
            cluster.rebuild.queues.postponed.push((target, method, slots.clone()));
            return;
        }
        cluster.rebuild.verification.forget_old(now_us);
        let known = cluster.rebuild.catch_up.known_of(target.0).map(Sequence).filter(|known| !self.shard.purged_above(*known));
        let (mut changed, mut unknown) = (Vec::new(), Slots::default());
        for (name, slot, wanted) in slots.iter() {
            let Some(keyspace) = cluster.view.number_of(name) else { continue };
            let queue = cluster.view.assignment(keyspace, slot).and_then(|assignment| assignment.rebuild_of(target.0));
            let Some(named) = queue.filter(|queue| queue.0 == wanted) else { continue };
            let tables: Vec<_> = cluster.view.tables_of(keyspace).collect();
            let is_known = known.is_some() && !cluster.needs_full_copy((keyspace, slot), target.0);
            let Some(local) = cluster.roles.get_mut(keyspace, slot).filter(|local| local.role == Role::Primary) else { continue };
            let begun = local.rebuilding.iter().find(|(node, queue, _)| (*node, *queue) == (target.0, named)).map(|(.., method)| *method);
            match Answer::to(method, begun, is_known) {
                Answer::GoOn => continue,
                Answer::AllNeeded => {
                    unknown.push(name, slot, wanted);
                    continue;
                }
                Answer::Begin => {}
            }
            local.stop_rebuild(target.0);
            local.rebuilding.push((target.0, named, method));
            let place = (keyspace, slot);
            let queue = cluster.rebuild.queues.of(target);
            queue.withdraw(place);
            if method == RebuildMethod::Full {
                queue.jobs.push_back(Job::Slot { place, scan: SlotScan::new(tables, slot) });
            }
            changed.push(place);
        }
        if let (RebuildMethod::CatchUp, Some(known), false) = (method, known, changed.is_empty()) {
            let tables: BTreeSet<TableId> = changed.iter().flat_map(|place| cluster.view.tables_of(place.0)).collect();
            let walk = self.shard.tail_walk(tables, known);
            cluster.rebuild.queues.of(target).jobs.push_back(Job::Tail { places: changed.iter().copied().collect(), walk });
        }
        if !unknown.0.is_empty() {
            let version = cluster.view.version().to_le_bytes();
            cluster.send(reactor, target, FULL_COPY_NEEDED, |body| {
                body.extend_from_slice(&version);
                unknown.write(body);
            });
        }
        if changed.is_empty() {
            return;
        }
        tracing::info!(core = self.core.0, node = target.0.0, slots = changed.len(), ?method, "rebuild of a replica begins");
        self.serve_slots(&changed);
    }

    /// As primary: a replica may have other rows of these keys.
    pub(crate) fn fetch_requested(&mut self, target: RemoteCore, mut body: &[u8]) {
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
            cluster.rebuild.queues.of(target).jobs.push_back(Job::Keys(keys));
        }
    }

    /// Begins the rebuilds that have waited long enough. Returns the time at which to look again.
    pub(crate) fn rebuild_postponed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let Queues { dropped, postponed, .. } = &mut self.cluster.as_mut()?.rebuild.queues;
        let until_us = |target: &RemoteCore| dropped.get(target).map_or(0, |dropped| dropped.until_us);
        let ready: Vec<_> = postponed.extract_if(.., |(target, ..)| now_us >= until_us(target)).collect();
        let due_us = postponed.iter().map(|(target, ..)| until_us(target)).min();
        for (target, method, slots) in ready {
            self.rebuild_requested(reactor, target, method, &slots);
        }
        due_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_that_is_repeated_changes_nothing_and_one_for_all_begins_anew() {
        for is_known in [false, true] {
            assert_eq!(Answer::to(RebuildMethod::CatchUp, Some(RebuildMethod::CatchUp), is_known), Answer::GoOn, "it was accepted");
            assert_eq!(
                Answer::to(RebuildMethod::Full, Some(RebuildMethod::CatchUp), is_known),
                Answer::Begin,
                "it has forgotten what it had"
            );
            assert_eq!(Answer::to(RebuildMethod::Full, Some(RebuildMethod::Full), is_known), Answer::GoOn);
            assert_eq!(Answer::to(RebuildMethod::Full, None, is_known), Answer::Begin);
        }
        assert_eq!(Answer::to(RebuildMethod::CatchUp, None, true), Answer::Begin);
        assert_eq!(Answer::to(RebuildMethod::CatchUp, None, false), Answer::AllNeeded);
    }
}
