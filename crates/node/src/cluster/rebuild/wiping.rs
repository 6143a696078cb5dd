//! As learner: rows of before go, and after a restart the keys that may be here alone are found.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::frames::Fill;
use crate::cluster::membership::roles::Role;
use crate::cluster::rebuild::images::BITE_BYTES;
use crate::cluster::rebuild::queue::{OWN_TAIL, WIPE};
use crate::cluster::replication::uncommitted::owned;
use crate::core::Core;
use crate::message::Message;
use base::{Slot, TableId};
use engine::Sequence;
use io::Reactor;
use shard::{Bite, Enough, KeyspaceNumber, SlotScan};
use std::collections::BTreeSet;

impl ClusterCore {
    /// What is here of a slot goes, once: what comes after that stays.
    pub(crate) fn want_wiped(&mut self, place: (KeyspaceNumber, Slot)) {
        if self.fillings.wipes.iter().all(|(known, _)| *known != place) {
            let scan = SlotScan::new(self.view.tables_of(place.0), place.1);
            self.fillings.wipes.push_back((place, scan));
        }
    }

    /// A slot is not this node's any more: its rows are of no use.
    pub(crate) fn leave_slot(&mut self, place: (KeyspaceNumber, Slot)) {
        self.differences.let_go(&self.view.keyspaces[usize::from(place.0.0)].name, place.1);
        self.want_wiped(place);
    }
}

impl Core {
    /// As learner: a bite of wiping; `None` if there is nothing to do for now.
    pub(crate) fn wipe<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<()> {
        let cluster = self.cluster.as_mut()?;
        if cluster.fillings.wipe_waits || !cluster.differences.may_forget() {
            return None;
        }
        let (place, scan) = cluster.fillings.wipes.front_mut()?;
        let place = *place;
        let (role, is_asked) = cluster.roles.get(place.0, place.1).map_or((Role::None, false), |local| (local.role, local.is_asked()));
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

    /// As learner after a restart: a bite of the walk over what may be here alone. `None` if there is nothing to do for now.
    pub(crate) fn walk_own_tail<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<()> {
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
