//! New materialized views: rows that were there before, slot by slot.
//!
//! A core builds what views have of the slots that it is the primary of, one slot at a time. It looks for slots with rows that are not built when the schema or
//! the cluster has changed, and from time to time after writes. How far a slot has come is stored, so nothing is lost when the process dies or another member
//! becomes the primary.

use crate::cluster::Asker;
use crate::core::Core;
use crate::message::Message;
use base::TableId;
use cql::exec::{BuildState, ViewCoordinator, build_state};
use cql::plan::view_plans;
use engine::Sequence;
use io::Reactor;
use shard::ShardError;
use std::collections::{BTreeSet, VecDeque};

/// After a slot that could not be built.
const AGAIN_US: u64 = 500_000;
/// Between two looks while there are writes, and at a slot that is being built.
const LOOK_EVERY_US: u64 = 1_000_000;
const WAIT_US: u64 = 2_000;

impl Core {
    /// Builds a slot. Returns the time at which to be called again.
    pub(crate) fn view_builds_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        if !self.schema.has_views() || !self.shard.is_ready() || self.send_away_until_us.is_some() {
            return None;
        }
        if let Some(running) = self.protocols.cql.view_build {
            if self.requests.get_mut(running).is_some() {
                return Some(now_us + WAIT_US);
            }
            // It is done, or has failed: the slot says which.
            self.protocols.cql.view_build = None;
            if let Some(place) = self.protocols.cql.view_builds.current.take() {
                self.protocols.cql.view_builds.queue.push_front(place);
            }
        }
        if self.protocols.cql.view_builds.current.is_some() {
            return None;
        }
        let now_is = (self.shard.engine().last_sequence(), self.cluster.as_ref().map_or(0, |cluster| cluster.view.version()));
        if self.protocols.cql.view_builds.queue.is_empty() {
            let builds = &self.protocols.cql.view_builds;
            if builds.seen == Some(now_is) {
                return None;
            }
            if now_us < builds.look_at_us && builds.seen.is_some() {
                return Some(builds.look_at_us);
            }
            self.queue_builds(now_us, now_is);
        }
        if now_us < self.protocols.cql.view_builds.again_at_us {
            return Some(self.protocols.cql.view_builds.again_at_us);
        }
        let (view, slot) = self.protocols.cql.view_builds.queue.pop_front()?;
        self.protocols.cql.view_builds.current = Some((view, slot));
        self.run_for_views(reactor, Asker::ViewBuild, build_state(view, slot));
        Some(now_us)
    }

    /// Slots of this core that have rows and may not be built.
    fn queue_builds(&mut self, now_us: u64, now_is: (Sequence, u64)) {
        let (engine, complete) = (self.shard.engine(), &self.protocols.cql.view_builds.complete);
        let mut queue = VecDeque::new();
        let mut views = BTreeSet::new();
        for view in self.schema.tables().filter(|table| table.view.is_some()) {
            let Some(base) = self.base_of(view) else { continue };
            views.insert(view.id);
            let is_primary = |slot| self.cluster.as_ref().is_none_or(|cluster| cluster.is_primary(base.id, slot));
            let slots = engine.table_slots(base.id).filter(|slot| is_primary(*slot)).map(|slot| (view.id, slot));
            queue.extend(slots.filter(|place| !complete.contains(place)));
        }
        let builds = &mut self.protocols.cql.view_builds;
        (builds.queue, builds.seen, builds.look_at_us) = (queue, Some(now_is), now_us + LOOK_EVERY_US);
        let former = builds.built.len();
        builds.built.retain(|view| views.contains(view));
        let complete: Vec<TableId> = views.into_iter().filter(|view| !builds.has_slots_of(*view)).collect();
        builds.built.extend(complete);
        if builds.built.len() != former {
            self.report_soon(now_us);
        }
    }

    /// How far a slot has come is known, or could not be.
    pub(crate) fn view_build_seen<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, outcome: Result<Vec<u8>, ShardError>) {
        let now_us = reactor.now().monotonic_us;
        let Some(place) = self.protocols.cql.view_builds.current else { return };
        let view = self.schema.tables().find(|table| table.id == place.0).cloned();
        let base = view.as_ref().and_then(|view| self.base_of(view));
        let builds = &mut self.protocols.cql.view_builds;
        match (outcome.as_deref().map(BuildState::read), base) {
            // It has been dropped.
            (_, None) => builds.current = None,
            (Ok(Some(BuildState::Complete)), _) => {
                builds.current = None;
                builds.complete.insert(place);
                if !builds.has_slots_of(place.0) && builds.built.insert(place.0) {
                    self.report_soon(now_us);
                }
            }
            (Ok(Some(BuildState::Open)), Some(base)) => {
                let pieces = self.pieces();
                let coordinator = ViewCoordinator::build(&base, &view_plans(&self.schema, &base), place.0, place.1, pieces);
                let id = self.coordinate_for_views(reactor, coordinator);
                self.protocols.cql.view_build = Some(id);
            }
            // This member is not the slot's primary, not yet, or there is no room.
            (Ok(None) | Err(_), Some(_)) => {
                builds.current = None;
                builds.queue.push_back(place);
                builds.again_at_us = now_us + AGAIN_US;
            }
        }
    }
}
