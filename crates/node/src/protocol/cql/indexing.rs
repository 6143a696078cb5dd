//! Secondary indexes of this core's slots: who keeps their entries, and entries for rows that were there before.
//!
//! A core backfills the slots that it is the primary of, one stretch a turn. It looks for slots with rows whose index is not complete when the schema or the
//! cluster has changed, and from time to time after writes: a slot that gets its first row is one of them, so that indexes cost nothing where there are no
//! rows. How far a slot has come is stored with its entries, so nothing is lost when the process dies or another member becomes the primary.

use super::reply_header::ReplyHeader;
use crate::cluster::{Asker, NOBODY};
use crate::core::Core;
use crate::message::{Message, PartId};
use crate::protocol::Reply;
use crate::requests::{REQUEST_BYTES, Request};
use base::TableId;
use cql::cdc;
use cql::exec::ViewEntries;
use cql::index::{self, Backfill, Backfilled};
use cql::plan::view_plans;
use cql::wire::{ProtocolVersion, StreamId};
use engine::Sequence;
use io::Reactor;
use model::operation::{IndexedValues, PrefixOf, batch_log};
use model::{Index, Schema, Table};
use shard::{Access, DerivedTruncation, Observation, ShardError, VectorIndex};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// After a stretch that could not be done.
const AGAIN_US: u64 = 500_000;
/// Between two looks while there are writes.
const LOOK_EVERY_US: u64 = 1_000_000;

/// Tells what entries an index has of a cell, where only the protocol of those who made it knows.
fn values_within(table: &Table, index: &Index) -> Option<Arc<dyn IndexedValues>> {
    aerospike::index::values_within(table, index).or_else(|| griddb::container::values_within(table, index))
}

/// The prefixes by which queries find the slots of an index; `None` if it has no entries.
pub(super) fn prefix_of_entries(table: &Table, index: &Index) -> Option<PrefixOf> {
    let prefix_of = aerospike::index::prefix_of_entries(table, index).unwrap_or(index::value_prefix);
    index::has_entries(table, index).then_some(prefix_of)
}

/// The observers of a table of the schema.
pub(crate) fn observations(schema: &Schema, table: &Arc<Table>) -> Vec<Observation> {
    let observe = |(index, entries): (Arc<Index>, index::Entries)| Observation {
        table: table.id,
        observer: Arc::new(entries.of_values_within(values_within(table, &index))),
        derived: vec![index.id],
        truncation: DerivedTruncation::WithTable,
    };
    let indexes = index::observers(table).map(observe);
    let views = (!table.views.is_empty()).then(|| Observation {
        table: table.id,
        observer: Arc::new(ViewEntries::new(table, &view_plans(schema, table))),
        derived: vec![batch_log(table.id)],
        truncation: DerivedTruncation::WithTable,
    });
    let log = schema.keyspaces.get(&table.keyspace).and_then(|keyspace| cdc::log_of(keyspace, table));
    let log = log.and_then(|log| Some((log, cdc::Recorder::new(table, log)?))).map(|(log, recorder)| Observation {
        table: table.id,
        observer: Arc::new(recorder),
        derived: vec![log.id],
        truncation: DerivedTruncation::Stays,
    });
    indexes.chain(views).chain(log).collect()
}

/// The indexes on vectors of a table of the schema.
pub(crate) fn vector_indexes(table: &Arc<Table>) -> Vec<VectorIndex> {
    let found = index::vector_columns(table);
    found.map(|(index, column)| VectorIndex { table: table.id, index: index.id, column: Arc::new(column) }).collect()
}

impl Core {
    /// Backfills a stretch of a slot. Returns the time at which to be called again.
    pub(crate) fn backfill_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        if !self.shard.is_ready() || self.send_away_until_us.is_some() || self.protocols.cql.backfills.current.is_some() {
            return None;
        }
        let now_is = (self.shard.engine().last_sequence(), self.cluster.as_ref().map_or(0, |cluster| cluster.view.version()));
        if self.protocols.cql.backfills.queue.is_empty() {
            let backfills = &self.protocols.cql.backfills;
            if backfills.seen == Some(now_is) || !self.schema.has_indexes() {
                return None;
            }
            if now_us < backfills.look_at_us && backfills.seen.is_some() {
                return Some(backfills.look_at_us);
            }
            self.queue_backfills(now_us, now_is);
        }
        if now_us < self.protocols.cql.backfills.again_at_us {
            return Some(self.protocols.cql.backfills.again_at_us);
        }
        let (place, backfill) = loop {
            let place = self.protocols.cql.backfills.queue.pop_front()?;
            // It may have been dropped.
            let of_index = |table: &&Arc<Table>| table.indexes.values().any(|index| index.id == place.0);
            let Some(table) = self.schema.tables().find(of_index) else { continue };
            let Some(index) = table.indexes.values().find(|index| index.id == place.0) else { continue };
            if let Some(backfill) = Backfill::new(table, index, place.1) {
                break (place, backfill.of_values_within(values_within(table, index)));
            }
        };
        self.protocols.cql.backfills.current = Some(place);
        let header = ReplyHeader::new(ProtocolVersion::V4, StreamId(0));
        let request = Request { asker: Some(Asker::Backfill), ..Request::single(NOBODY, Reply::Cql(header), REQUEST_BYTES) };
        let part = PartId { request: self.requests.insert(request), part: PartId::WHOLE };
        self.run_part(reactor, self.core, part, Access::Primary, Box::new(backfill));
        Some(now_us)
    }

    /// Slots of this core that have rows and whose indexes may not be complete.
    fn queue_backfills(&mut self, now_us: u64, now_is: (Sequence, u64)) {
        let (engine, complete) = (self.shard.engine(), &self.protocols.cql.backfills.complete);
        let is_primary = |table, slot| self.cluster.as_ref().is_none_or(|cluster| cluster.is_primary(table, slot));
        let mut queue = VecDeque::new();
        for table in self.schema.tables().filter(|table| !table.indexes.is_empty()) {
            for slot in engine.table_slots(table.id).filter(|slot| is_primary(table.id, *slot)) {
                let indexes = table.indexes.values().filter(|index| index::has_entries(table, index));
                queue.extend(indexes.map(|index| (index.id, slot)).filter(|place| !complete.contains(place)));
            }
        }
        let backfills = &mut self.protocols.cql.backfills;
        (backfills.queue, backfills.seen, backfills.look_at_us) = (queue, Some(now_is), now_us + LOOK_EVERY_US);
        let indexes: BTreeSet<TableId> = self.schema.tables().flat_map(|table| table.indexes.values().map(|index| index.id)).collect();
        let former = backfills.built.len();
        backfills.built.retain(|index| indexes.contains(index));
        let complete: Vec<TableId> = indexes.into_iter().filter(|index| !backfills.has_slots_of(*index)).collect();
        backfills.built.extend(complete);
        if backfills.built.len() != former {
            self.report_soon(now_us);
        }
    }

    /// A stretch has been done, or could not be.
    pub(crate) fn backfilled<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, outcome: Result<Vec<u8>, ShardError>) {
        let Some(place) = self.protocols.cql.backfills.current.take() else { return };
        match outcome.as_deref().map(Backfilled::read) {
            Ok(Some(Backfilled::Complete)) => {
                let backfills = &mut self.protocols.cql.backfills;
                backfills.complete.insert(place);
                if !backfills.has_slots_of(place.0) && backfills.built.insert(place.0) {
                    self.report_soon(reactor.now().monotonic_us);
                }
            }
            Ok(Some(Backfilled::More)) => self.protocols.cql.backfills.queue.push_front(place),
            // This member is not the slot's primary, not yet, or there is no room.
            Ok(None) | Err(_) => {
                self.protocols.cql.backfills.queue.push_back(place);
                self.protocols.cql.backfills.again_at_us = reactor.now().monotonic_us + AGAIN_US;
            }
        }
    }
}
