//! Logged batches over several slots: all of it or nothing, whoever dies on the way.
//!
//! 1. All parts are tried out: what is wrong with any of them is found before anything is done, and the batch gets a timestamp that is above all
//!    that it writes over, as an acknowledged write must be seen, however far ahead a member's clock was that wrote before.
//! 2. The first part runs and leaves an *entry* beside what it writes, in the same atomic group and so on the same replicas: what the whole batch
//!    is. From then on it will be done.
//! 3. The other parts run.
//! 4. The client hears of it, and the entry is deleted.
//!
//! Who is the primary of an entry that stays for long runs the batch again: its coordinator has died, or could not reach all. A part that runs twice
//! changes nothing: timestamps, times, identifiers and places in lists are the entry's, so that what was written over since stays so.
//! Only what depends on the row itself is not the same: an element of a list by its position.
//!
//! | bytes | entry |
//! |---|---|
//! | 1 | version, 1 |
//! | 8 | when the request was taken, microseconds since 1970 |
//! | 8 | its nonce |
//! | 8 | the timestamp of statements that have none |
//! | … | the request, as the node keeps it |
//!
//! Integers are big-endian. An entry is the only cell of a row of the table [`batch_log`], under the token of the part that it is beside. Its partition key
//! is a *lane*, the first of the slot that is free, so that there are no more rows than there were batches at a time.

use super::Options;
use crate::wire::writer::{write_byte, write_bytes, write_int, write_long, write_short};
use crate::wire::{Reader, WireError};
use base::{Slot, TableId, Token};
use model::ColumnId;
use model::operation::{Context, Operation, PartitionKey, Position, RowStore, Stop, Visit, WriteSet, batch_log, purge_after_s};
use model::row::{Deletion, RowView, RowWriter, Stamp};
use std::collections::BTreeSet;

const VERSION: u8 = 1;
/// So many batches can be under way that begin in a slot, at most.
const LANES: u16 = 4096;
const ENTRY: ColumnId = ColumnId(0);
/// One look for entries gives so many bytes of requests at most, but for the last.
const FOUND_BYTES_MAX: usize = 1 << 20;

/// What a batch that is logged goes by, however often it runs. No two have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoggedBatch {
    /// When its request was taken.
    pub started_us: i64,
    /// The request's.
    pub nonce: u64,
    /// Of statements that have none.
    pub timestamp_us: i64,
}

impl LoggedBatch {
    pub(super) fn new(options: &Options, timestamp_us: i64) -> Self {
        Self { started_us: options.started.wall_us, nonce: options.nonce, timestamp_us }
    }

    /// The options with which the batch ran at first.
    #[must_use]
    pub fn fix(&self, options: Options) -> Options {
        let started = base::Now { wall_us: self.started_us, ..options.started };
        Options { started, nonce: self.nonce, ..options }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_byte(out, VERSION);
        write_long(out, self.started_us);
        write_long(out, self.nonce.cast_signed());
        write_long(out, self.timestamp_us);
    }

    /// Reads what [`LoggedBatch::write`] has written; `None` if a later release has.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        if reader.byte()? != VERSION {
            return Ok(None);
        }
        let (started_us, nonce, timestamp_us) = (reader.long()?, reader.long()?.cast_unsigned(), reader.long()?);
        Ok(Some(Self { started_us, nonce, timestamp_us }))
    }
}

/// How a part is described that deletes the entry: this, the number of the item that it is beside, the lane and the batch.
pub(super) const DELETE_ENTRY: u8 = 2;

/// Where an entry is: beside the first item of the first part.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryPlace {
    pub(super) table: TableId,
    pub(super) token: Token,
    /// The item's.
    pub(super) number: u32,
}

/// The entry in a row; nothing if the lane is free.
fn entry_in(row: &[u8], now_s: u32) -> Option<&[u8]> {
    RowView::new(row).cells().next()?.live_value(now_s)
}

/// The batch of an entry and its request; nothing if a later release has written it, which is for members that know it.
fn read_entry(entry: &[u8]) -> Option<(LoggedBatch, &[u8])> {
    let mut reader = Reader::new(entry);
    let batch = LoggedBatch::read(&mut reader).ok().flatten()?;
    Some((batch, reader.rest()))
}

impl EntryPlace {
    fn key<'a>(&self, lane: &'a [u8; 2]) -> PartitionKey<'a> {
        PartitionKey { table: batch_log(self.table), token: self.token, bytes: lane }
    }

    /// Stages an entry. Gives its lane, if one is free.
    pub(super) fn put(
        &self,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        batch: &LoggedBatch,
        request: &[u8],
    ) -> Result<Option<u16>, Stop> {
        for lane in 0..LANES {
            let bytes = lane.to_be_bytes();
            let key = self.key(&bytes);
            if store.get(&key, &[])?.is_some_and(|row| entry_in(row, context.now_s()).is_some()) {
                continue;
            }
            let mut entry = Vec::with_capacity(64 + request.len());
            batch.write(&mut entry);
            entry.extend_from_slice(request);
            let stamp = Stamp::at(batch.timestamp_us);
            let mut row = RowWriter::new(writes.begin(&key, &[]), stamp, false, None);
            row.value(ENTRY, stamp, &entry);
            row.finish();
            writes.end(None);
            return Ok(Some(lane));
        }
        Ok(None)
    }
}

/// Deletes an entry: all of its batch is done, or nobody can make a batch of it.
pub(super) struct DeleteEntry {
    pub(super) place: EntryPlace,
    pub(super) lane: u16,
    pub(super) batch: LoggedBatch,
}

/// Deletes an entry that nobody can make a batch of.
#[must_use]
pub fn delete_entry(table: TableId, entry: &FoundEntry<'_>) -> Box<dyn Operation> {
    let place = EntryPlace { table, token: entry.token, number: 0 };
    Box::new(DeleteEntry { place, lane: entry.lane, batch: entry.batch })
}

impl Operation for DeleteEntry {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, _: &mut Vec<u8>) -> Result<(), Stop> {
        let (lane, now_s) = (self.lane.to_be_bytes(), context.now_s());
        let key = self.place.key(&lane);
        // The lane may belong to another batch by now, if this one has finished.
        let entry = store.get(&key, &[])?.and_then(|row| entry_in(row, now_s)).and_then(read_entry);
        if entry.is_some_and(|(batch, _)| batch == self.batch) {
            let deletion = Deletion { timestamp: i64::MAX, deleted_at_s: now_s };
            let kind = RowWriter::new(writes.begin(&key, &[]), Stamp::at(i64::MIN), false, Some(deletion)).finish();
            writes.end(purge_after_s(kind, 0));
        }
        Ok(())
    }

    fn describe(&self, out: &mut Vec<u8>) -> bool {
        write_byte(out, DELETE_ENTRY);
        write_int(out, self.place.number.cast_signed());
        write_short(out, self.lane);
        self.batch.write(out);
        true
    }
}

/// Looks for the entries of a slot. The reply is for [`found_entries`].
#[must_use]
pub fn find_entries(table: TableId, slot: Slot, due: BTreeSet<LoggedBatch>) -> Box<dyn Operation> {
    Box::new(FindEntries { table, slot, due })
}

struct FindEntries {
    table: TableId,
    slot: Slot,
    /// Of these the request is wanted, too.
    due: BTreeSet<LoggedBatch>,
}

/// An entry that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundEntry<'a> {
    /// Its batch.
    pub batch: LoggedBatch,
    /// Its place in the slot.
    pub lane: u16,
    /// Where it is.
    pub token: Token,
    /// The batch's request, if it was asked for.
    pub request: Option<&'a [u8]>,
}

impl Operation for FindEntries {
    fn run(&self, context: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let start = reply.len();
        let from = Position { token: self.slot.first_token(), partition: &[], clustering: &[] };
        store.scan_table(batch_log(self.table), from, self.slot.last_token(), &mut |found| {
            let Ok(lane) = found.partition.bytes.try_into().map(u16::from_be_bytes) else { return Visit::Continue };
            let Some((batch, request)) = entry_in(found.row, context.now_s()).and_then(read_entry) else { return Visit::Continue };
            batch.write(reply);
            write_short(reply, lane);
            write_long(reply, found.partition.token.0);
            let has_room = reply.len() - start < FOUND_BYTES_MAX;
            write_bytes(reply, (has_room && self.due.contains(&batch)).then_some(request));
            Visit::Continue
        })
    }
}

/// Reads the reply of [`find_entries`].
///
/// # Errors
/// Bytes that are no such reply.
pub fn found_entries(reply: &[u8]) -> Result<Vec<FoundEntry<'_>>, WireError> {
    let mut reader = Reader::new(reply);
    let mut found = Vec::new();
    while !reader.rest().is_empty() {
        let Some(batch) = LoggedBatch::read(&mut reader)? else { break };
        let (lane, token) = (reader.short()?, Token(reader.long()?));
        found.push(FoundEntry { batch, lane, token, request: reader.bytes()? });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let batch = LoggedBatch { started_us: -1, nonce: u64::MAX, timestamp_us: 1_700_000_000_000_000 };
        let mut bytes = Vec::new();
        batch.write(&mut bytes);
        bytes.extend_from_slice(b"request");
        assert_eq!(read_entry(&bytes), Some((batch, &b"request"[..])));
        bytes[0] += 1;
        assert_eq!(read_entry(&bytes), None, "a later release's is left alone");
        bytes[0] -= 1;
        for length in 0..bytes.len() - b"request".len() {
            assert_eq!(read_entry(&bytes[..length]), None);
        }
    }
}
