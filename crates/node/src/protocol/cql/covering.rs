//! Filters of indexes: which slots of this core have entries of a value, so that a query that names it looks at no other.
//!
//! A core reads the slots that it is the primary of into the filters, one stretch a turn, as soon as their indexes are complete: after a start, when an index
//! or a member has come, and when a filter is full and gets a larger successor. Meanwhile queries look at slots that were not read, and each reads some of
//! them itself, so that they end this soon where they are many.

use super::indexing::prefix_of_entries;
use super::reply_header::ReplyHeader;
use crate::cluster::{Asker, NOBODY};
use crate::core::Core;
use crate::message::{Message, PartId};
use crate::protocol::Reply;
use crate::requests::{REQUEST_BYTES, Request};
use base::{Slot, TableId};
use cql::index::Cover;
use cql::wire::{ProtocolVersion, StreamId};
use engine::Sequence;
use io::Reactor;
use model::operation::{Covering, PrefixOf};
use shard::{Access, ShardError};
use std::collections::{BTreeSet, VecDeque};

/// After a stretch that could not be read.
const AGAIN_US: u64 = 500_000;
/// Between two looks while there are writes.
const LOOK_EVERY_US: u64 = 1_000_000;
/// The same while a filter is full.
const LOOK_FULL_EVERY_US: u64 = 20_000;

/// A slot of an index.
type Place = (TableId, Slot);

/// Slots that filters are to read.
#[derive(Default)]
pub(crate) struct Coverings {
    queue: VecDeque<(Place, PrefixOf)>,
    current: Option<(Place, PrefixOf)>,
    /// Slots that have rows without entries. Queries read them.
    refused: BTreeSet<Place>,
    /// The last look has seen the writes up to this one, of this version of the cluster, and so many slots with complete indexes.
    seen: Option<(Sequence, u64, usize)>,
    looked_at_us: u64,
    again_at_us: u64,
}

impl Coverings {
    /// Tables may have been emptied, or have other indexes.
    pub(super) fn schema_changed(&mut self) {
        self.queue.clear();
        self.refused.clear();
        self.seen = None;
    }
}

impl Core {
    /// Lets a filter read a stretch of a slot. Returns the time at which to be called again.
    pub(super) fn covering_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let coverings = &self.protocols.cql.coverings;
        if !self.shard.is_ready() || self.send_away_until_us.is_some() || coverings.current.is_some() {
            return None;
        }
        if coverings.queue.is_empty() {
            let engine = self.shard.engine();
            let version = self.cluster.as_ref().map_or(0, |cluster| cluster.view.version());
            let now_is = (engine.last_sequence(), version, self.protocols.cql.backfills.complete.len());
            if coverings.seen == Some(now_is) || !self.schema.has_indexes() {
                return None;
            }
            let pause_us = if engine.has_full_filters() { LOOK_FULL_EVERY_US } else { LOOK_EVERY_US };
            if coverings.seen.is_some() && now_us < coverings.looked_at_us + pause_us {
                return Some(coverings.looked_at_us + pause_us);
            }
            let queue = self.slots_to_cover();
            let coverings = &mut self.protocols.cql.coverings;
            (coverings.queue, coverings.seen, coverings.looked_at_us) = (queue, Some(now_is), now_us);
        }
        let coverings = &mut self.protocols.cql.coverings;
        if now_us < coverings.again_at_us {
            return Some(coverings.again_at_us);
        }
        let (place, prefix_of) = coverings.queue.pop_front()?;
        coverings.current = Some((place, prefix_of));
        let header = ReplyHeader::new(ProtocolVersion::V4, StreamId(0));
        let request = Request { asker: Some(Asker::Cover), ..Request::single(NOBODY, Reply::Cql(header), REQUEST_BYTES) };
        let part = PartId { request: self.requests.insert(request), part: PartId::WHOLE };
        let (index, slot) = place;
        self.run_part(reactor, self.core, part, Access::Primary, Box::new(Cover { index, slot, prefix_of }));
        Some(now_us)
    }

    /// Slots of this core with complete indexes whose entries their filters lack. Where none is left, a filter's successor replaces it.
    fn slots_to_cover(&self) -> VecDeque<(Place, PrefixOf)> {
        let (engine, complete) = (self.shard.engine(), &self.protocols.cql.backfills.complete);
        let refused = &self.protocols.cql.coverings.refused;
        let is_primary = |table, slot| self.cluster.as_ref().is_none_or(|cluster| cluster.is_primary(table, slot));
        let mut queue = VecDeque::new();
        for table in self.schema.tables() {
            for index in table.indexes.values() {
                let Some(prefix_of) = prefix_of_entries(table, index) else { continue };
                let mut slots = engine.slots_to_cover((index.id, table.id));
                slots.retain(|slot| is_primary(table.id, *slot) && !refused.contains(&(index.id, *slot)));
                if slots.is_empty() {
                    engine.end_covering(index.id);
                }
                let slots = slots.into_iter().map(|slot| (index.id, slot)).filter(|place| complete.contains(place));
                queue.extend(slots.map(|place| (place, prefix_of)));
            }
        }
        queue
    }

    /// A stretch has been read, or could not be.
    pub(crate) fn covered<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, outcome: Result<Vec<u8>, ShardError>) {
        let coverings = &mut self.protocols.cql.coverings;
        let Some(current) = coverings.current.take() else { return };
        match outcome.as_deref().map(Cover::read) {
            Ok(Some(Covering::Whole)) => {}
            Ok(Some(Covering::Partly)) => coverings.queue.push_front(current),
            Ok(Some(Covering::Refused)) => {
                coverings.refused.insert(current.0);
            }
            // This member is not the slot's primary any more, or the index has been dropped: the next look tells.
            Ok(None) | Err(_) => coverings.again_at_us = reactor.now().monotonic_us + AGAIN_US,
        }
        if coverings.queue.is_empty() {
            coverings.seen = None;
        }
    }
}
