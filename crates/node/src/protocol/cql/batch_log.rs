//! Recovery of logged batches: entries that stay in a batch log belong to batches whose coordinator did not finish; they are run again.
//!
//! Each core scans the logs of the slots that it is the primary of, from time to time after a write or a change of the cluster. It measures how long it has
//! known an entry itself: clocks of members differ.
//! A single node was the coordinator of all entries that it finds at its start, and does not wait. A batch that a member without room cannot take is
//! retried until it can.

use super::batch_logs::RUNS_AT_START;
use super::reply_header::ReplyHeader;
use super::statements::Statements;
use super::travel;
use crate::cluster::{Asker, NOBODY};
use crate::core::Core;
use crate::message::{Message, PartId};
use crate::protocol::Reply;
use crate::requests::{REQUEST_BYTES, Request};
use base::TableId;
use cql::CqlError;
use cql::exec::{FoundEntry, delete_entry, find_entries, found_entries};
use cql::wire::{ProtocolVersion, StreamId};
use io::Reactor;
use model::operation::{Operation, batch_log};
use shard::{Access, ShardError};

const LOOKS_PER_TURN: usize = 32;
/// How many batches one scan of a slot starts, at most.
const RUNS_PER_SLOT: usize = 16;

impl Core {
    /// Scans for unfinished batches when it is time. Returns the time at which to be called again.
    pub(crate) fn batches_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let is_done = self.protocols.cql.batches.queue.is_empty() && self.protocols.cql.batches.looking == 0;
        if is_done {
            let now_is = (self.shard.engine().last_sequence(), self.cluster.as_ref().map_or(0, |cluster| cluster.view.version()));
            let logs = &mut self.protocols.cql.batches;
            let is_quiet = now_is == logs.seen && !logs.look_again && logs.known.is_empty();
            if is_quiet || !self.shard.is_ready() || self.send_away_until_us.is_some() {
                return None;
            }
            if now_us < logs.look_at_us {
                return Some(logs.look_at_us);
            }
            logs.begin_look(now_us, now_is, self.cluster.is_none());
            self.queue_logs();
            if self.protocols.cql.batches.queue.is_empty() {
                self.protocols.cql.batches.forget_ended();
            }
        }
        for _ in 0..LOOKS_PER_TURN {
            let Some((table, slot)) = self.protocols.cql.batches.queue.pop_front() else { break };
            self.protocols.cql.batches.looking += 1;
            let operation = find_entries(table, slot, self.protocols.cql.batches.due(now_us));
            self.run_for_log(reactor, Asker::BatchLog(table), operation);
        }
        Some(if self.protocols.cql.batches.queue.is_empty() { self.protocols.cql.batches.look_at_us } else { now_us })
    }

    /// Queues the slots with entries that this core scans.
    fn queue_logs(&mut self) {
        let tables = self.schema.keyspaces.values().flat_map(|keyspace| keyspace.tables.values());
        let engine = self.shard.engine();
        // A container's log has its transactions.
        let tables = tables.filter(|table| !table.is_container()).map(|table| table.id);
        for table in tables.filter(|table| engine.table_rows(batch_log(*table)) > 0) {
            let is_primary = |slot| self.cluster.as_ref().is_none_or(|cluster| cluster.is_primary(table, slot));
            self.protocols
                .cql
                .batches
                .queue
                .extend(engine.table_slots(batch_log(table)).filter(|slot| is_primary(*slot)).map(|slot| (table, slot)));
        }
    }

    fn run_for_log<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, asker: Asker, operation: Box<dyn Operation>) {
        let header = ReplyHeader::new(ProtocolVersion::V4, StreamId(0));
        let request = Request { asker: Some(asker), ..Request::single(NOBODY, Reply::Cql(header), REQUEST_BYTES) };
        let part = PartId { request: self.requests.insert(request), part: PartId::WHOLE };
        self.run_part(reactor, self.core, part, Access::Primary, operation);
    }

    /// The result of a scan of a slot's entries.
    pub(crate) fn batches_found<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        table: TableId,
        outcome: Result<Vec<u8>, ShardError>,
    ) {
        self.protocols.cql.batches.looking = self.protocols.cql.batches.looking.saturating_sub(1);
        let found = outcome.as_deref().map(found_entries);
        let Ok(Ok(found)) = found else {
            // This member is not the slot's primary, or not yet.
            self.protocols.cql.batches.look_again = true;
            return;
        };
        let now_us = reactor.now().monotonic_us;
        let mut runs = 0;
        for entry in &found {
            self.protocols.cql.batches.note(entry.batch, now_us);
            if let Some(request) = entry.request
                && runs < RUNS_PER_SLOT
                && !self.is_full()
            {
                runs += 1;
                let runs = self.protocols.cql.batches.ran(&entry.batch, now_us);
                self.run_batch_again(reactor, table, entry, request, runs);
            }
        }
        if self.protocols.cql.batches.queue.is_empty() && self.protocols.cql.batches.looking == 0 {
            self.protocols.cql.batches.forget_ended();
        }
    }

    fn run_batch_again<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        table: TableId,
        entry: &FoundEntry<'_>,
        request: &[u8],
        runs: u32,
    ) {
        let damaged = || CqlError::Protocol("the request cannot be read".to_owned());
        let travelled = travel::unpack(request).ok().flatten().ok_or_else(damaged);
        let done = travelled.and_then(|travelled| {
            Statements { core: self, reactor, connection: NOBODY, asker: None }.run_batch_again(&travelled, entry.batch, entry.lane)
        });
        let (core, started_us) = (self.core.0, entry.batch.started_us);
        match done {
            Ok(()) if runs <= 1 => {
                tracing::info!(core, started_us, "a logged batch was left unfinished by its coordinator; running it again")
            }
            Ok(()) if runs == RUNS_AT_START => {
                tracing::warn!(
                    core,
                    started_us,
                    runs,
                    "a logged batch cannot be finished; retrying until it can: is a member out of room?"
                );
            }
            Ok(()) => tracing::debug!(core, started_us, runs, "running a logged batch again"),
            Err(error) => {
                tracing::warn!(core, started_us, %error, "the rest of a logged batch cannot be done; dropping it");
                self.run_for_log(reactor, Asker::Nobody, delete_entry(table, entry));
            }
        }
    }
}
