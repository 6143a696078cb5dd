//! Monitors: the records by which clients begin, commit and end transactions, in a set of their own.
//!
//! A client writes the number of its transaction and the digests of records that it is about to write, with the time that the transaction may last as the time to live; it commits by writing
//! `fwd`, and deletes the record when nothing is locked any more. What the transaction is to be is decided here alone: a monitor that is committed is never aborted, one that the
//! sweep has aborted is never committed.

use super::{Field, Rows, drop_entry};
use crate::ResultCode;
use crate::exec::failure::Failure;
use crate::exec::request::{Request, is_write};
use crate::exec::sets::current;
use crate::operate::code;
use crate::record::{Record, kept_in, write_record};
use crate::transaction::{Deadline, Entry, Lock, Monitor, RECORDS_MAX, State};
use crate::value::msgpack::List;
use crate::wire::{Attributes, MessageWriter, field, info2, info4};
use model::operation::{PartitionKey, WriteSet};
use smallvec::SmallVec;

/// The bins of a monitor.
pub(super) const ID: &[u8] = b"id";
pub(super) const DIGESTS: &[u8] = b"keyds";
const COMMITTED: &[u8] = b"fwd";

/// A record that lasts for ever.
const TTL_NEVER: u32 = u32::MAX;

impl Request<'_> {
    pub(super) fn run_on_monitor(
        &self,
        rows: &mut Rows<'_>,
        reply: &mut MessageWriter,
        out: &mut Vec<u8>,
        field: &mut Option<Field>,
    ) -> Result<ResultCode, Failure> {
        let flags = self.attributes.info4;
        if self.selection.is_some() {
            return Err(ResultCode::FORBIDDEN.into());
        }
        if flags & (info4::ROLL_FORWARD | info4::ROLL_BACK) != 0 {
            return self.settle(rows);
        }
        let (context, store) = (rows.context, rows.store);
        let row = store.get(&self.partition(), &[])?;
        let record = row.and_then(|row| Record::of_row(row, context.now_s()));
        let monitor = record.and(row).and_then(kept_in).and_then(Monitor::read);
        if !is_write(&self.attributes) {
            let record = record.ok_or(ResultCode::NOT_FOUND)?;
            self.check_filter(context, &record)?;
            self.give(context, &record, reply, out)?;
            return Ok(ResultCode::OK);
        }
        if flags & (info4::VERIFY | info4::DONE) != 0 {
            let (record, monitor) = record.zip(monitor).ok_or(ResultCode::NOT_FOUND)?;
            return self.judge(&record, monitor, rows);
        }
        if self.has(info2::DELETE) {
            self.write_over(row, record, context, rows.writes, reply, out)?;
            return Ok(ResultCode::OK);
        }
        let after = self.next_monitor(monitor, rows.context.now_s())?;
        *field = Some((field::TRANSACTION_DEADLINE, SmallVec::from_slice(&after.deadline.0.to_le_bytes())));
        let mut made = WriteSet::default();
        let lasting = Request { attributes: Attributes { ttl: TTL_NEVER, ..self.attributes }, ..*self };
        lasting.write_over(row, record, context, &mut made, reply, out)?;
        let image = made.find(&self.partition(), &[]).and_then(|row| Record::of_row(row, context.now_s()));
        let image = image.ok_or(ResultCode::PARAMETER)?;
        if digests(&image, self).is_some_and(|digests| digests.items.len() > RECORDS_MAX) {
            return Err(ResultCode::MRT_TOO_MANY_WRITES.into());
        }
        self.stage_monitor(&image, after, rows)?;
        Ok(ResultCode::OK)
    }

    /// What a write makes of a monitor.
    fn next_monitor(&self, monitor: Option<Monitor>, now_s: u32) -> Result<Monitor, ResultCode> {
        let names = |name: &[u8]| self.operations.iter().any(|operation| operation.name == name);
        let is_known = |name: &[u8]| matches!(name, ID | DIGESTS | COMMITTED);
        let is_odd = |code: u8| !matches!(code, code::WRITE | code::CDT_MODIFY);
        if self.operations.iter().any(|operation| !is_known(operation.name) || is_odd(operation.code)) {
            return Err(ResultCode::PARAMETER);
        }
        let Some(monitor) = monitor else {
            if names(COMMITTED) || !names(ID) {
                return Err(ResultCode::MRT_EXPIRED);
            }
            let deadline = Deadline::of_begin(now_s, self.attributes.ttl).ok_or(ResultCode::PARAMETER)?;
            return Ok(Monitor { deadline, state: State::Open });
        };
        match monitor.state {
            _ if names(ID) => Err(ResultCode::MRT_MONITOR_EXISTS),
            State::Committed | State::CommittedDone => Err(ResultCode::MRT_COMMITTED),
            State::Aborted | State::AbortedDone => Err(ResultCode::MRT_ABORTED),
            State::Open if monitor.deadline.is_over(now_s) => Err(ResultCode::MRT_EXPIRED),
            State::Open if names(COMMITTED) => Ok(Monitor { state: State::Committed, ..monitor }),
            State::Open => Ok(monitor),
        }
    }

    /// Says what becomes of a transaction, for the sweep: one that is neither committed nor aborted when its time is over is aborted now. Or notes that nothing of it is left.
    fn judge(&self, record: &Record<'_>, monitor: Monitor, rows: &mut Rows<'_>) -> Result<ResultCode, Failure> {
        let is_done = self.attributes.info4 & info4::DONE != 0;
        let state = match monitor.state {
            State::Open if monitor.deadline.is_over(rows.context.now_s()) => State::Aborted,
            State::Committed if is_done => State::CommittedDone,
            State::Aborted if is_done => State::AbortedDone,
            state => state,
        };
        if state != monitor.state {
            self.stage_monitor(record, Monitor { state, ..monitor }, rows)?;
        }
        Ok(match state {
            State::Open => ResultCode::OK,
            State::Committed | State::CommittedDone => ResultCode::MRT_COMMITTED,
            State::Aborted | State::AbortedDone => ResultCode::MRT_ABORTED,
        })
    }

    fn stage_monitor(&self, record: &Record<'_>, monitor: Monitor, rows: &mut Rows<'_>) -> Result<(), ResultCode> {
        let (kept, bins) = (monitor.to_bytes(), record.to_bins(self.set));
        let out = rows.writes.begin(&self.partition(), &[]);
        write_record(self.set, record.stamp, (record.generation, record.key), &bins, Some(&kept), out)?;
        rows.writes.end(None);
        Ok(())
    }

    /// Rolls the record whose lock has its entry here, for the sweep, which does not know the record's set.
    fn settle(&self, rows: &mut Rows<'_>) -> Result<ResultCode, Failure> {
        let (monitors, id) = (self.table.id, self.transaction.id.ok_or(ResultCode::PARAMETER)?);
        let entry = rows.store.get(&self.partition(), &[])?.and_then(kept_in).and_then(Entry::read);
        let Some(entry) = entry.filter(|entry| entry.id == id) else { return Ok(ResultCode::OK) };
        // Where the set is not known, what is locked in it stays until it is.
        let table = rows.store.record_set_of_name(&self.table.keyspace, entry.table).ok_or(ResultCode::NOT_FOUND)?;
        let (table, set) = current(rows.store, table)?;
        let of_record = Request { table, set, ..*self };
        let place = PartitionKey { table: table.id, ..self.partition() };
        let row = rows.store.get(&place, &[])?;
        let lock = row.and_then(kept_in).and_then(Lock::read).filter(|lock| lock.id == id);
        if let (Some(row), Some(lock)) = (row, lock) {
            of_record.roll(row, &lock, rows)?;
        }
        drop_entry(monitors, self.partition(), rows);
        Ok(ResultCode::OK)
    }
}

/// The digests of the records that a transaction may have locked.
fn digests<'a>(record: &Record<'a>, request: &Request<'a>) -> Option<List<'a>> {
    let bytes = record.bins(request.set).find(|(bin, _)| bin.name.as_bytes() == DIGESTS)?.1;
    List::parse(bytes).ok().flatten()
}
