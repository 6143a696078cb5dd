//! Filters of indexes: which slots of this core have entries of a value, so that a query that names it looks at no other.
//!
//! A core reads the slots that it is the primary of into the filters, one stretch a turn, as soon as their indexes are complete: after a start, when an index
//! or a member has come, and when a filter is full and gets a larger successor. Meanwhile queries look at slots that were not read, and each reads some of
//! them itself, so that they end this soon where they are many.

use super::coverings::{Pass, Seen};
use super::indexing::prefix_of_entries;
use super::reply_header::ReplyHeader;
use crate::cluster::{Asker, NOBODY};
use crate::core::Core;
use crate::message::{Message, PartId};
use crate::protocol::Reply;
use crate::requests::{REQUEST_BYTES, Request};
use base::{SLOT_COUNT, Slot, TableId};
use cql::index::Cover;
use cql::wire::{ProtocolVersion, StreamId};
use io::Reactor;
use model::operation::Covering;
use shard::{Access, ShardError};

/// After a stretch that could not be read.
const AGAIN_US: u64 = 500_000;
/// Between two looks while there are writes.
const LOOK_EVERY_US: u64 = 1_000_000;
/// As `LOOK_EVERY_US`, while a filter is full.
const LOOK_FULL_EVERY_US: u64 = 20_000;
/// Slots that could not be read are tried again after so long, or when the cluster has changed.
const REFUSED_US: u64 = 60_000_000;

impl Core {
    /// Lets a filter read a stretch of a slot. Returns the time at which to be called again.
    pub(super) fn covering_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let coverings = &self.protocols.cql.coverings;
        if !self.shard.is_ready() || self.send_away_until_us.is_some() || coverings.current.is_some() {
            return None;
        }
        // Which slots are complete is not known yet.
        self.protocols.cql.backfills.seen?;
        if now_us < coverings.again_at_us {
            return Some(coverings.again_at_us);
        }
        if coverings.queue.is_empty()
            && let Some(due_us) = self.queue_passes(now_us)
        {
            return due_us;
        }
        let first = self.protocols.cql.coverings.queue.front()?;
        let (index, of, prefix_of) = (first.index, first.of, first.prefix_of);
        let Some(slot) = self.next_slot_to_cover(index, of, first.from) else {
            self.end_pass();
            return Some(now_us);
        };
        let coverings = &mut self.protocols.cql.coverings;
        coverings.current = Some((index, slot));
        coverings.queue.front_mut()?.from = slot.0;
        let header = ReplyHeader::new(ProtocolVersion::V4, StreamId(0));
        let request = Request { asker: Some(Asker::Cover), ..Request::single(NOBODY, Reply::Cql(header), REQUEST_BYTES) };
        let part = PartId { request: self.requests.insert(request), part: PartId::WHOLE };
        self.run_part(reactor, self.core, part, Access::Primary, Box::new(Cover { index, slot, prefix_of }));
        Some(now_us)
    }

    /// Begins a walk for each index, if anything has changed since the last ones; else says when to be called again.
    fn queue_passes(&mut self, now_us: u64) -> Option<Option<u64>> {
        let engine = self.shard.engine();
        let coverings = &self.protocols.cql.coverings;
        let now = Seen {
            last_write: engine.last_sequence(),
            cluster_version: self.cluster.as_ref().map_or(0, |cluster| cluster.view.version()),
            complete: self.protocols.cql.backfills.complete.len(),
        };
        let retries = !coverings.refused.is_empty() && now_us >= coverings.refused_until_us;
        if !retries && (coverings.seen == Some(now) || !self.schema.has_indexes()) {
            return Some((!coverings.refused.is_empty()).then_some(coverings.refused_until_us));
        }
        let in_vain = if coverings.has_read { 0 } else { coverings.full_in_vain };
        let pause_us = if engine.full_filters() > in_vain { LOOK_FULL_EVERY_US } else { LOOK_EVERY_US };
        if !retries && coverings.seen.is_some() && now_us < coverings.looked_at_us + pause_us {
            return Some(Some(coverings.looked_at_us + pause_us));
        }
        let indexes = self.schema.tables().flat_map(|table| table.indexes.values().map(move |index| (table, index)));
        // Each row of a GridDB container is in one slot: its filter is made by whoever asks for it otherwise.
        let indexes = indexes.filter(|(table, index)| !table.is_container() || engine.has_filter(index.id));
        let passes = indexes.filter_map(|(table, index)| {
            Some(Pass { index: index.id, of: table.id, prefix_of: prefix_of_entries(table, index)?, from: 0, has_failed: false })
        });
        let (queue, full_in_vain) = (passes.collect(), engine.full_filters());
        let coverings = &mut self.protocols.cql.coverings;
        if now_us >= coverings.refused_until_us || coverings.seen.is_some_and(|seen| seen.cluster_version != now.cluster_version) {
            coverings.refused.clear();
            coverings.refused_until_us = now_us + REFUSED_US;
        }
        (coverings.has_read, coverings.full_in_vain) = (false, full_in_vain);
        (coverings.queue, coverings.seen, coverings.looked_at_us) = (queue, Some(now), now_us);
        None
    }

    /// The next slot of this core with a complete index whose entries the filter lacks.
    fn next_slot_to_cover(&self, index: TableId, of: TableId, mut from: u16) -> Option<Slot> {
        let (complete, refused) = (&self.protocols.cql.backfills.complete, &self.protocols.cql.coverings.refused);
        let is_primary = |slot| self.cluster.as_ref().is_none_or(|cluster| cluster.is_primary(of, slot));
        while u32::from(from) < SLOT_COUNT {
            let slot = self.shard.engine().next_slot_to_cover((index, of), Slot(from))?;
            let place = (index, slot);
            if is_primary(slot) && complete.contains(&place) && !refused.contains(&place) {
                return Some(slot);
            }
            from = slot.0 + 1;
        }
        None
    }

    /// A walk has come to the last slot. If none is left before, the successor of the index's filter replaces it.
    fn end_pass(&mut self) {
        let Some(pass) = self.protocols.cql.coverings.queue.pop_front() else { return };
        let (engine, backfills) = (self.shard.engine(), &self.protocols.cql.backfills);
        let mut unknown = backfills.queue.iter().chain(&backfills.current).filter(|(index, _)| *index == pass.index);
        if self.next_slot_to_cover(pass.index, pass.of, 0).is_some() {
            // The filter has got a successor in between.
            self.protocols.cql.coverings.queue.push_back(Pass { from: 0, has_failed: false, ..pass });
        } else if !pass.has_failed && !unknown.any(|(index, slot)| engine.is_covered(*index, *slot)) {
            engine.end_covering(pass.index);
        }
    }

    /// A stretch has been read, or could not be.
    pub(crate) fn covered<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, outcome: Result<Vec<u8>, ShardError>) {
        let coverings = &mut self.protocols.cql.coverings;
        let Some(place) = coverings.current.take() else { return };
        if std::mem::take(&mut coverings.is_stale) {
            return;
        }
        match outcome.as_deref().map(Cover::read) {
            Ok(Some(Covering::Partly)) => coverings.has_read = true,
            Ok(Some(Covering::Whole)) => {
                coverings.has_read = true;
                // Each index in turn.
                if let Some(pass) = coverings.queue.pop_front() {
                    coverings.queue.push_back(pass);
                }
            }
            Ok(Some(Covering::Refused)) => {
                coverings.refused.insert(place);
            }
            // This member is not the slot's primary any more, its rows are damaged, or the index has been dropped.
            Ok(None) | Err(_) => {
                coverings.again_at_us = reactor.now().monotonic_us + AGAIN_US;
                coverings.refused.insert(place);
                coverings.queue.front_mut().into_iter().for_each(|pass| pass.has_failed = true);
            }
        }
    }
}
