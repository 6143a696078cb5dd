//! Requests that belong to a transaction over several records.
//!
//! A write of a transaction changes nothing that others see: what it makes of the record is kept in the record's row, which is locked by that
//! ([`crate::transaction`]). The transaction sees it; others see what was there before, and must not write. To roll forward is one write that makes it the record, to roll back one that drops
//! it. [`monitor`] is about the records by which clients begin and commit, [`sweep`] ends what clients have left.
//!
//! A reply to a read, or to a write that has changed nothing, has the record's version, which the client has verified when it commits: what it has read is still so then, and nobody
//! has locked it.

mod find;
mod monitor;
mod sweep;

pub use self::sweep::sweep;

use super::failure::Failure;
use super::request::{Request, Role, is_write};
use crate::ResultCode;
use crate::record::{Record, kept_in, timestamp_after, timestamp_of, write_absent, write_record, write_tombstone};
use crate::transaction::{Deadline, Entry, Lock};
use crate::wire::{MessageWriter, VERSION_BYTES, field, info4};
use base::TableId;
use model::operation::{Context, PartitionKey, RowStore, Stop, WriteSet, purge_after_s};
use model::record_set::MONITOR_SET;
use smallvec::SmallVec;

/// What is done with the row that a transaction sees.
pub(super) type Act<'f> = dyn FnMut(Option<&[u8]>, &mut WriteSet, &mut MessageWriter, &mut Vec<u8>) -> Result<ResultCode, Failure> + 'f;

/// Nobody asks when an entry was written.
const ENTRY_TIMESTAMP: i64 = 0;

/// A field of a reply, whatever the reply says.
type Field = (u8, SmallVec<[u8; 8]>);

/// Rows, and those to be written.
struct Rows<'r> {
    context: &'r Context,
    store: &'r dyn RowStore,
    writes: &'r mut WriteSet,
}

/// The version of the record in a row: it is another one after each write. A record that is missing has one, too, as long as its deletion is remembered.
fn version_of(row: Option<&[u8]>) -> u64 {
    row.map_or(0, |row| timestamp_of(row).max(0) as u64) & ((1 << (8 * VERSION_BYTES)) - 1)
}

fn version_field(version: u64) -> Field {
    (field::RECORD_VERSION, SmallVec::from_slice(&version.to_le_bytes()[..VERSION_BYTES]))
}

impl Request<'_> {
    /// Runs a request that has a role in a transaction, and appends one message.
    pub(super) fn run_in_role(
        &self,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        if self.limits.role == Role::Monitor {
            let mut rows = Rows { context, store, writes };
            return self.reply_to(out, |reply, out, field| self.run_on_monitor(&mut rows, reply, out, field));
        }
        self.run_in_transaction(context, store, writes, out, &mut |row, writes, reply, out| {
            let old = row.and_then(|row| Record::of_row(row, context.now_s()));
            self.write_over(row, old, context, writes, reply, out).map(|()| ResultCode::OK)
        })
    }

    /// As [`Request::run_in_role`]; `act` is how it writes.
    pub(super) fn run_in_transaction(
        &self,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        out: &mut Vec<u8>,
        act: &mut Act<'_>,
    ) -> Result<(), Stop> {
        let Role::Member(monitors) = self.limits.role else { return Err(Stop::UnknownTable) };
        let mut rows = Rows { context, store, writes };
        self.reply_to(out, |reply, out, field| self.act_in_transaction(monitors, &mut rows, (reply, out), field, act))
    }

    /// Appends one message with what `run` says; with a field, if it gives one.
    fn reply_to(
        &self,
        out: &mut Vec<u8>,
        run: impl FnOnce(&mut MessageWriter, &mut Vec<u8>, &mut Option<Field>) -> Result<ResultCode, Failure>,
    ) -> Result<(), Stop> {
        let (start, mut field) = (out.len(), None);
        let begin = |out: &mut Vec<u8>| {
            let mut reply = MessageWriter::begin(out);
            reply.number = self.index;
            reply
        };
        let mut reply = begin(out);
        let code = match run(&mut reply, out, &mut field) {
            Ok(code) => code,
            Err(Failure::Stop(stop)) => {
                out.truncate(start);
                return Err(stop);
            }
            Err(Failure::Code(code)) => {
                out.truncate(start);
                reply = begin(out);
                code
            }
        };
        if let Some((kind, data)) = field {
            reply.first_field(out, kind, &data);
        }
        reply.end(out, code);
        Ok(())
    }

    fn act_in_transaction(
        &self,
        monitors: TableId,
        rows: &mut Rows<'_>,
        (reply, out): (&mut MessageWriter, &mut Vec<u8>),
        field: &mut Option<Field>,
        act: &mut Act<'_>,
    ) -> Result<ResultCode, Failure> {
        let partition = self.partition();
        let (context, flags, sent) = (rows.context, self.attributes.info4, &self.transaction);
        // A batch may have written this record already.
        let staged = rows.writes.find(&partition, &[]).map(<[u8]>::to_vec);
        let row = match &staged {
            Some(row) => Some(row.as_slice()),
            None => rows.store.get(&partition, &[])?,
        };
        let lock = row.and_then(kept_in).and_then(Lock::read);
        let own = lock.filter(|lock| sent.id == Some(lock.id));
        if flags & info4::VERIFY != 0 {
            self.refuse_locked(row, context, rows.store)?;
            return verify(version_of(row), sent.version);
        }
        let id = sent.id.ok_or(ResultCode::PARAMETER)?;
        if flags & (info4::ROLL_FORWARD | info4::ROLL_BACK) != 0 {
            if let (Some(row), Some(lock)) = (row, own) {
                self.roll(row, &lock, rows)?;
                drop_entry(monitors, partition, rows);
            }
            return Ok(ResultCode::OK);
        }
        if own.is_none() {
            self.refuse_locked(row, context, rows.store)?;
            *field = Some(version_field(version_of(row)));
        }
        let seen = own.map_or(row, |lock| Some(lock.image));
        if !is_write(&self.attributes) {
            let record = seen.and_then(|row| Record::of_row(row, context.now_s())).ok_or(ResultCode::NOT_FOUND)?;
            self.check_key(&record)?;
            self.check_filter(context, &record)?;
            self.give(context, &record, reply, out)?;
            return Ok(ResultCode::OK);
        }
        let deadline = Deadline(sent.deadline_s.ok_or(ResultCode::PARAMETER)?);
        if let Err(code) = self.may_lock(deadline, own.is_some(), version_of(row), context) {
            *field = None;
            return Err(code.into());
        }
        let mut made = WriteSet::default();
        let code = act(seen, &mut made, reply, out)?;
        if let Some(image) = made.find(&partition, &[]) {
            *field = None;
            self.lock(monitors, row, &Lock { id, deadline, image }, rows)?;
        }
        Ok(code)
    }

    /// Refuses a row that is locked. A lock that is over and has no entry is none: it was restored without the table of monitors, or that was emptied.
    pub(super) fn refuse_locked(&self, row: Option<&[u8]>, context: &Context, store: &dyn RowStore) -> Result<(), Failure> {
        let Some(lock) = row.and_then(kept_in).and_then(Lock::read) else { return Ok(()) };
        if lock.deadline.is_over(context.now_s()) {
            let monitors = store.record_set_of_name(&self.table.keyspace, MONITOR_SET);
            let row = match monitors {
                Some(table) => store.get(&entry_place(table.id, self.partition()), &[])?,
                None => None,
            };
            if row.and_then(kept_in).and_then(Entry::read).is_none_or(|entry| entry.id != lock.id) {
                return Ok(());
            }
        }
        Err(ResultCode::MRT_BLOCKED.into())
    }

    /// Refuses a write of a transaction that is over, or that has read what is no longer so.
    fn may_lock(&self, deadline: Deadline, is_locked: bool, version: u64, context: &Context) -> Result<(), ResultCode> {
        if deadline.is_over(context.now_s()) {
            return Err(ResultCode::MRT_EXPIRED);
        }
        if !deadline.is_possible(context.now_s()) {
            return Err(ResultCode::PARAMETER);
        }
        if is_locked && self.attributes.info4 & info4::ON_LOCKING_ONLY != 0 {
            return Err(ResultCode::MRT_ALREADY_LOCKED);
        }
        if !is_locked && self.transaction.version.is_some_and(|read| read != version) {
            return Err(ResultCode::MRT_VERSION_MISMATCH);
        }
        Ok(())
    }

    /// Writes the row as it is, with this lock, and the lock's entry.
    fn lock(&self, monitors: TableId, row: Option<&[u8]>, lock: &Lock<'_>, rows: &mut Rows<'_>) -> Result<(), ResultCode> {
        let Lock { id, deadline, .. } = *lock;
        self.stage_committed(row, Some(&lock.to_bytes()), rows)?;
        let entry = Entry { id, deadline, table: &self.table.name };
        write_absent(ENTRY_TIMESTAMP, &entry.to_bytes(), rows.writes.begin(&entry_place(monitors, self.partition()), &[]));
        rows.writes.end(None);
        Ok(())
    }

    /// Writes what others see of a row, with or without something that is kept.
    fn stage_committed(&self, row: Option<&[u8]>, kept: Option<&[u8]>, rows: &mut Rows<'_>) -> Result<(), ResultCode> {
        let now_s = rows.context.now_s();
        let out = rows.writes.begin(&self.partition(), &[]);
        let timestamp = row.map_or(0, timestamp_of);
        let kind = match (row.and_then(|row| Record::of_row(row, now_s)), kept) {
            (Some(record), kept) => {
                write_record(self.set, record.stamp, (record.generation, record.key), &record.to_bins(self.set), kept, out)?
            }
            (None, Some(kept)) => {
                write_absent(timestamp, kept, out);
                rows.writes.end(None);
                return Ok(());
            }
            (None, None) => write_tombstone(timestamp, now_s, out),
        };
        let purge_after_s = purge_after_s(kind, self.table.options.gc_grace_seconds);
        rows.writes.end(purge_after_s.filter(|_| kept.is_none()));
        Ok(())
    }

    /// Makes what a transaction has written the record, or drops it.
    fn roll(&self, row: &[u8], lock: &Lock<'_>, rows: &mut Rows<'_>) -> Result<(), ResultCode> {
        if self.attributes.info4 & info4::ROLL_FORWARD == 0 {
            return self.stage_committed(Some(row), None, rows);
        }
        let (now_s, timestamp) = (rows.context.now_s(), timestamp_after(Some(row), rows.context.timestamp_us));
        let out = rows.writes.begin(&self.partition(), &[]);
        let kind = match Record::of_row(lock.image, now_s) {
            Some(record) => {
                let stamp = model::row::Stamp { timestamp, ..record.stamp };
                write_record(self.set, stamp, (record.generation, record.key), &record.to_bins(self.set), None, out)?
            }
            None => write_tombstone(timestamp, now_s, out),
        };
        rows.writes.end(purge_after_s(kind, self.table.options.gc_grace_seconds));
        Ok(())
    }
}

fn verify(version: u64, read: Option<u64>) -> Result<ResultCode, Failure> {
    let read = read.ok_or(ResultCode::PARAMETER)?;
    if read == version { Ok(ResultCode::OK) } else { Err(ResultCode::MRT_VERSION_MISMATCH.into()) }
}

/// Where the entry of a record's lock is.
fn entry_place<'p>(monitors: TableId, record: PartitionKey<'p>) -> PartitionKey<'p> {
    PartitionKey { table: monitors, ..record }
}

fn drop_entry(monitors: TableId, record: PartitionKey<'_>, rows: &mut Rows<'_>) {
    let kind = write_tombstone(ENTRY_TIMESTAMP, rows.context.now_s(), rows.writes.begin(&entry_place(monitors, record), &[]));
    rows.writes.end(purge_after_s(kind, 0));
}
