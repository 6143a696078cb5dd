//! Views whose updates were left undone: entries that stay belong to writes whose coordinator has died, or could not reach the view. They are delivered again.
//!
//! Each core looks through the entries of the slots that it is the primary of, from time to time after a write or a change of the cluster. A slot whose first
//! entry is the same for long is delivered, up to the last entry that was seen then. A single node was the coordinator of all entries that it finds at its start, and
//! does not wait. To deliver what is being delivered does no harm: see `cql::exec`'s module `view`.

use super::{ReplyHeader, travel};
use crate::cluster::{Asker, NOBODY, PATIENCE_US, Route};
use crate::core::Core;
use crate::message::{Message, PartId};
use crate::protocol::{AnyCoordinator, Reply};
use crate::request_id::RequestId;
use crate::requests::{REQUEST_BYTES, Request};
use base::{Slot, TableId};
use cql::exec::{PendingEntries, ViewCoordinator, find_view_entries};
use cql::plan::view_plans;
use cql::wire::{self, Consistency, ProtocolVersion, StreamId};
use engine::Sequence;
use io::Reactor;
use model::Table;
use model::operation::{Operation, batch_log};
use shard::{Access, ShardError};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

const LOOK_EVERY_US: u64 = 2_000_000;
/// The interval while entries of the former process are left.
const LOOK_AT_START_EVERY_US: u64 = 50_000;
/// An entry that has been there for so long is delivered: its coordinator has given up by now.
const ABANDONED_AFTER_US: u64 = 2 * PATIENCE_US;
const LOOKS_PER_TURN: usize = 32;
/// How many slots are delivered at a time, at most.
const DELIVERIES_MAX: usize = 8;

/// What a core knows of entries.
#[derive(Default)]
pub(crate) struct ViewUpdates {
    look_at_us: u64,
    /// The last look has seen the writes up to this one, of this version of the cluster.
    seen: Option<(Sequence, u64)>,
    look_again: bool,
    /// Slots that are still to be looked at, and looks that are in flight.
    queue: VecDeque<(TableId, Slot)>,
    looking: usize,
    known: BTreeMap<(TableId, Slot), Known>,
    look: u64,
    /// The entries that this look finds are orphans.
    finds_orphans: bool,
    running: Vec<RequestId>,
}

struct Known {
    entries: PendingEntries,
    since_us: u64,
    /// The last look that has found them.
    look: u64,
    is_orphan: bool,
    /// They have been delivered by this core.
    was_abandoned: bool,
}

impl ViewUpdates {
    pub(super) fn schema_changed(&mut self) {
        self.queue.clear();
        self.known.clear();
        self.seen = None;
    }

    /// Slots with entries that their coordinators have left.
    pub(crate) fn behind(&self) -> u32 {
        self.known.values().filter(|known| known.is_orphan || known.was_abandoned).count() as u32
    }

    fn begin_look(&mut self, now_us: u64, seen: (Sequence, u64), is_alone: bool) {
        self.finds_orphans = is_alone && self.look == 0;
        let is_urgent = self.finds_orphans || self.known.values().any(|known| known.is_orphan);
        self.look_at_us = now_us + if is_urgent { LOOK_AT_START_EVERY_US } else { LOOK_EVERY_US };
        (self.seen, self.look_again) = (Some(seen), false);
        self.look += 1;
    }

    /// Notes what a look has found. Gives up to where the slot's entries are to be delivered now, if they are.
    fn note(&mut self, place: (TableId, Slot), entries: PendingEntries, now_us: u64) -> Option<i64> {
        let (look, is_orphan) = (self.look, self.finds_orphans);
        let known = self.known.entry(place).or_insert(Known { entries, since_us: now_us, look, is_orphan, was_abandoned: false });
        known.look = look;
        if known.entries.first != entries.first {
            // Those before are done.
            *known = Known { entries, since_us: now_us, look, is_orphan: known.is_orphan, was_abandoned: false };
        }
        let is_due = known.is_orphan || known.since_us + ABANDONED_AFTER_US <= now_us;
        if !is_due || self.running.len() >= DELIVERIES_MAX {
            return None;
        }
        (known.since_us, known.was_abandoned) = (now_us, true);
        Some(known.entries.last)
    }

    /// Forgets slots in which the complete look has found nothing.
    fn forget_ended(&mut self) {
        let look = self.look;
        if !self.look_again {
            self.known.retain(|_, known| known.look == look);
        }
    }
}

impl Core {
    /// Looks for entries when it is time. Returns the time at which to be called again.
    pub(crate) fn view_updates_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        if !self.schema.has_views() || !self.shard.is_ready() || self.send_away_until_us.is_some() {
            return None;
        }
        let requests = &mut self.requests;
        self.protocols.cql.view_updates.running.retain(|id| requests.get_mut(*id).is_some());
        if self.protocols.cql.view_updates.queue.is_empty() && self.protocols.cql.view_updates.looking == 0 {
            let now_is = (self.shard.engine().last_sequence(), self.cluster.as_ref().map_or(0, |cluster| cluster.view.version()));
            let updates = &mut self.protocols.cql.view_updates;
            if updates.seen == Some(now_is) && !updates.look_again && updates.known.is_empty() {
                return None;
            }
            if now_us < updates.look_at_us {
                return Some(updates.look_at_us);
            }
            updates.begin_look(now_us, now_is, self.cluster.is_none());
            self.queue_looks();
            if self.protocols.cql.view_updates.queue.is_empty() {
                self.protocols.cql.view_updates.forget_ended();
            }
        }
        for _ in 0..LOOKS_PER_TURN {
            let Some((table, slot)) = self.protocols.cql.view_updates.queue.pop_front() else { break };
            self.protocols.cql.view_updates.looking += 1;
            self.run_for_views(reactor, Asker::ViewEntries(table, slot), find_view_entries(table, slot));
        }
        let updates = &self.protocols.cql.view_updates;
        Some(if updates.queue.is_empty() { updates.look_at_us } else { now_us })
    }

    /// Queues the slots with entries whose primary this core is.
    fn queue_looks(&mut self) {
        let engine = self.shard.engine();
        let mut queue = VecDeque::new();
        for table in self.schema.tables().filter(|table| !table.views.is_empty()).map(|table| table.id) {
            let is_primary = |slot| self.cluster.as_ref().is_none_or(|cluster| cluster.is_primary(table, slot));
            queue.extend(engine.table_slots(batch_log(table)).filter(|slot| is_primary(*slot)).map(|slot| (table, slot)));
        }
        self.protocols.cql.view_updates.queue = queue;
    }

    /// Runs an operation of this core's own.
    pub(super) fn run_for_views<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, asker: Asker, operation: Box<dyn Operation>) {
        let header = ReplyHeader::new(ProtocolVersion::V4, StreamId(0));
        let request = Request { asker: Some(asker), ..Request::single(NOBODY, Reply::Cql(header), REQUEST_BYTES) };
        let part = PartId { request: self.requests.insert(request), part: PartId::WHOLE };
        self.run_part(reactor, self.core, part, Access::Primary, operation);
    }

    /// The result of a look at a slot's entries.
    pub(crate) fn view_entries_found<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        place: (TableId, Slot),
        outcome: Result<Vec<u8>, ShardError>,
    ) {
        let now_us = reactor.now().monotonic_us;
        let updates = &mut self.protocols.cql.view_updates;
        updates.looking = updates.looking.saturating_sub(1);
        match outcome.as_deref().map(PendingEntries::read) {
            // This member is not the slot's primary, or not yet.
            Err(_) => updates.look_again = true,
            Ok(None) => {}
            Ok(Some(entries)) => {
                if let Some(last) = updates.note(place, entries, now_us) {
                    self.deliver_entries(reactor, place, last);
                }
            }
        }
        let updates = &mut self.protocols.cql.view_updates;
        if updates.queue.is_empty() && updates.looking == 0 {
            updates.forget_ended();
        }
    }

    fn deliver_entries<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, (table, slot): (TableId, Slot), last: i64) {
        let Some(base) = self.schema.tables().find(|base| base.id == table).cloned() else { return };
        tracing::info!(
            core = self.core.0,
            table = base.name,
            slot = slot.0,
            "updates of materialized views were left undone; delivering them"
        );
        let pieces = self.pieces();
        let coordinator = ViewCoordinator::deliver(&base, &view_plans(&self.schema, &base), slot, last, pieces);
        let id = self.coordinate_for_views(reactor, coordinator);
        self.protocols.cql.view_updates.running.push(id);
    }

    /// Starts a coordinator of this core's own.
    pub(super) fn coordinate_for_views<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        coordinator: ViewCoordinator,
    ) -> RequestId {
        let header = ReplyHeader::new(ProtocolVersion::V4, StreamId(0));
        // Its parts need nothing of a request to be made elsewhere.
        let request = travel::pack(header, None, &wire::Request::Options, &[]);
        let route = request.filter(|_| self.cluster.is_some()).map(|request| Route {
            request: Some(request.into()),
            consistency: Consistency::One,
            reads_any: false,
            is_write: true,
            patience_us: PATIENCE_US,
        });
        self.coordinate_for_nobody(reactor, Reply::Cql(header), AnyCoordinator::Cql(Box::new(coordinator)), route)
    }

    /// The views of a table, and the table.
    pub(super) fn base_of(&self, view: &Table) -> Option<Arc<Table>> {
        self.schema.table(&view.keyspace, &view.view.as_ref()?.base).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_under_way_are_left_to_their_coordinator() {
        let mut updates = ViewUpdates::default();
        let place = (TableId(1), Slot(7));
        let entries = |first| PendingEntries { first, last: first + 5 };
        updates.begin_look(0, (Sequence(1), 0), false);
        assert_eq!(updates.note(place, entries(1), 0), None);
        assert_eq!(updates.note(place, entries(2), ABANDONED_AFTER_US), None, "another one is the first: it moves");
        assert_eq!(updates.note(place, entries(2), 2 * ABANDONED_AFTER_US), Some(7));
        assert_eq!((updates.note(place, entries(2), 2 * ABANDONED_AFTER_US), updates.behind()), (None, 1), "that is delivered now");
        updates.begin_look(0, (Sequence(1), 0), false);
        updates.forget_ended();
        assert_eq!(updates.behind(), 0);
    }

    #[test]
    fn a_node_by_itself_was_the_coordinator_of_what_it_finds_at_its_start() {
        let mut updates = ViewUpdates::default();
        updates.begin_look(0, (Sequence(1), 0), true);
        assert_eq!(updates.note((TableId(1), Slot(7)), PendingEntries { first: 1, last: 1 }, 0), Some(1));
    }
}
