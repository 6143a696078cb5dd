//! Views whose updates were left undone: entries that stay belong to writes whose coordinator has died, or could not reach the view. They are delivered again.
//!
//! Each core looks through the entries of the slots that it is the primary of, from time to time after a write or a change of the cluster. A slot whose first
//! entry is the same for long is delivered, up to the last entry that was seen then. A single node was the coordinator of all entries that it finds at its start, and
//! does not wait. To deliver what is being delivered does no harm: see `cql::exec`'s module `view`.

use super::reply_header::ReplyHeader;
use super::travel;
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
use io::Reactor;
use model::Table;
use model::operation::{Operation, batch_log};
use shard::{Access, ShardError};
use std::collections::VecDeque;
use std::sync::Arc;

const LOOKS_PER_TURN: usize = 32;

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
