//! As learner: rows of before go, and after a restart the keys that may be here alone are found.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::frames::RebuildMethod;
use crate::cluster::membership::roles::Role;
use crate::cluster::rebuild::images::CHUNK_BYTES;
use crate::cluster::rebuild::learner_state::Learner;
use crate::cluster::rebuild::queue::{OWN_TAIL, WIPE};
use crate::cluster::rebuild::state::Rebuild;
use crate::cluster::replication::state::Replication;
use crate::cluster::replication::uncommitted::owned;
use crate::core::Core;
use crate::message::Message;
use base::{Slot, TableId};
use engine::Sequence;
use io::Reactor;
use shard::{Chunk, Enough, KeyspaceNumber, SlotScan};
use std::collections::BTreeSet;

impl ClusterCore {
    /// What is here of a slot goes, once: what comes after that stays.
    pub(crate) fn want_wiped(&mut self, place: (KeyspaceNumber, Slot)) {
        if self.rebuild.learner.wipes.iter().all(|(known, _)| *known != place) {
            let scan = SlotScan::new(self.view.tables_of(place.0), place.1);
            self.rebuild.learner.wipes.push_back((place, scan));
        }
    }

    /// A slot is not this node's any more: its rows are of no use.
    pub(crate) fn leave_slot(&mut self, place: (KeyspaceNumber, Slot)) {
        self.rebuild.catch_up.forget_slot(&self.view.keyspaces[usize::from(place.0.0)].name, place.1);
        self.want_wiped(place);
    }
}

impl Core {
    /// As learner: a chunk of wiping; `None` if there is nothing to do for now.
    pub(crate) fn wipe<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<()> {
        let cluster = self.cluster.as_mut()?;
        if cluster.rebuild.learner.wipe_waits || !cluster.rebuild.catch_up.may_forget() {
            return None;
        }
        let (place, scan) = cluster.rebuild.learner.wipes.front_mut()?;
        let place = *place;
        let (role, is_asked) = cluster.roles.get(place.0, place.1).map_or((Role::None, false), |local| (local.role, local.is_asked()));
        if !matches!(role, Role::Learner | Role::None) || is_asked {
            cluster.rebuild.learner.wipes.pop_front();
            return Some(());
        }
        match self.shard.wipe_slot(reactor.now(), WIPE, scan, CHUNK_BYTES) {
            Ok(Chunk::More) => {}
            Ok(Chunk::Waits) => cluster.rebuild.learner.wipe_waits = true,
            Ok(Chunk::End) => {
                cluster.rebuild.learner.wipes.pop_front();
                if role == Role::Learner {
                    cluster.rebuild.learner.wanted.insert(place, RebuildMethod::Full);
                }
            }
            Err(error) => {
                tracing::error!(core = self.core.0, %error, "a slot cannot be emptied for a full copy; the slot stays without this replica");
                cluster.rebuild.repairs.wipe_failed(place);
                cluster.rebuild.learner.wipes.pop_front();
            }
        }
        Some(())
    }

    /// As learner after a restart: a chunk of the walk over what may be here alone. `None` if there is nothing to do for now.
    pub(crate) fn walk_own_tail<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<()> {
        let cluster = self.cluster.as_mut()?;
        let ClusterCore { rebuild: Rebuild { learner, catch_up, .. }, replication: Replication { divergence, .. }, view, .. } =
            &mut **cluster;
        let Learner { own_tail, wanted, .. } = learner;
        if own_tail.walk.is_none() {
            let after = catch_up.restored().filter(|_| !own_tail.next_slots.is_empty())?;
            own_tail.slots = std::mem::take(&mut own_tail.next_slots);
            let tables: BTreeSet<TableId> = own_tail.slots.iter().flat_map(|place| view.tables_of(place.0)).collect();
            own_tail.walk = Some(self.shard.tail_walk(tables, Sequence(after)));
        }
        if own_tail.waits {
            return None;
        }
        let walk = own_tail.walk.as_mut()?;
        let (walked, doubtful) = (&own_tail.slots, &mut divergence.to_fetch);
        let wants = |table, slot| view.keyspace_of(table).is_some_and(|keyspace| walked.contains(&(keyspace, slot)));
        let chunk = self.shard.walk_tail(reactor.now(), OWN_TAIL, walk, &wants, &mut |key, _, _| {
            if let Some(keyspace) = view.keyspace_of(key.table) {
                doubtful.entry((keyspace, key.token.slot())).or_default().insert(owned(key));
            }
            Enough::No
        });
        match chunk {
            Ok(Chunk::More) => {}
            Ok(Chunk::Waits) => own_tail.waits = true,
            Ok(Chunk::End) => {
                own_tail.walk = None;
                let learners = std::mem::take(&mut own_tail.slots);
                wanted.extend(learners.into_iter().map(|place| (place, RebuildMethod::CatchUp)));
            }
            Err(error) => {
                tracing::warn!(core = self.core.0, %error, "what may be here alone cannot be read; all is rebuilt by full copy");
                own_tail.walk = None;
                for place in std::mem::take(&mut own_tail.slots) {
                    cluster.want_full_copy(place);
                }
            }
        }
        Some(())
    }
}
