//! As primary: what replicas ask for, a rebuild or the images of single keys.

use crate::cluster::links::frames::{ALL_NEEDED, Fill, Slots, read_key};
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

impl Core {
    /// As primary: a replica asks to be filled.
    pub(crate) fn fill_wanted<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: RemoteCore, fill: Fill, slots: &Slots) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        if cluster.rebuild.queues.given_up_until(target, now_us).is_some() {
            cluster.rebuild.queues.postponed.push((target, fill, slots.clone()));
            return;
        }
        let known = cluster.rebuild.catch_up.known_of(target.0).map(Sequence).filter(|known| !self.shard.purged_above(*known));
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
            let filling = cluster.rebuild.queues.of(target);
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
            cluster.rebuild.queues.of(target).jobs.push_back(Job::Tail { places: changed.iter().copied().collect(), walk });
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
    pub(crate) fn keys_wanted(&mut self, target: RemoteCore, mut body: &[u8]) {
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

    /// Fills replicas that have waited long enough. Gives the time at which to look again.
    pub(crate) fn fill_postponed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let Queues { dropped, postponed, .. } = &mut self.cluster.as_mut()?.rebuild.queues;
        let until_us = |target: &RemoteCore| dropped.get(target).map_or(0, |dropped| dropped.until_us);
        let ripe: Vec<_> = postponed.extract_if(.., |(target, ..)| now_us >= until_us(target)).collect();
        let due_us = postponed.iter().map(|(target, ..)| until_us(target)).min();
        for (target, fill, slots) in ripe {
            self.fill_wanted(reactor, target, fill, &slots);
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
            assert_eq!(Answer::to(Fill::Difference, Some(Fill::Difference), is_known), Answer::GoOn, "it was accepted");
            assert_eq!(Answer::to(Fill::All, Some(Fill::Difference), is_known), Answer::Begin, "it has forgotten what it had");
            assert_eq!(Answer::to(Fill::All, Some(Fill::All), is_known), Answer::GoOn);
            assert_eq!(Answer::to(Fill::All, None, is_known), Answer::Begin);
        }
        assert_eq!(Answer::to(Fill::Difference, None, true), Answer::Begin);
        assert_eq!(Answer::to(Fill::Difference, None, false), Answer::AllNeeded);
    }
}
