//! Looks for what is left of transactions whose time is over, in the slots of one core.
//!
//! | bytes | reply |
//! |---|---|
//! | 1 | 1 if there may be more |
//! | 20 | the last row that was looked at, if there may be more |
//! | … | transactions: 1 if it is a monitor to be deleted, the transaction (8), the digest of the monitor or record (20), number of digests (2), digests (20 each) |
//!
//! A monitor has the digests of the records that it may have locked; what was found by a lock's entry, that of the record.

use super::monitor::{DIGESTS, ID};
use crate::exec::sets::current;
use crate::record::{Record, kept_in};
use crate::transaction::{Entry, Monitor, monitor_digest};
use crate::value::msgpack::{Head, List, Reader};
use base::{TableId, Token};
use model::Table;
use model::operation::{Context, Operation, Position, RowStore, ScannedRow, Stop, Visit, WriteSet};
use model::record_set::{DIGEST_BYTES, RecordSet, token};
use std::sync::Arc;

/// How many rows are looked at, and bytes given.
const ROWS_MAX: usize = 1_024;
const BYTES_MAX: usize = 256 << 10;

pub(super) type Digest = [u8; DIGEST_BYTES];

/// See the file's head.
pub(super) struct Find {
    pub(super) table: Arc<Table>,
    /// In order: each is looked through by itself, as those between them may be other members'.
    pub(super) slots: Arc<[u16]>,
    pub(super) after: Option<Digest>,
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) reached: Option<Digest>,
    pub(super) ended: Vec<Ended>,
}

/// A transaction whose time is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) id: u64,
    /// Nobody asks after it any more.
    pub(super) is_forgotten: bool,
    /// Whether its monitor was found.
    pub(super) is_monitor: bool,
    /// Records that it may have locked.
    pub(super) records: Vec<Digest>,
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(taken)
}

impl Found {
    pub(super) fn read(mut reply: &[u8]) -> Option<Self> {
        let [more] = *take::<1>(&mut reply)?;
        let last = *take::<DIGEST_BYTES>(&mut reply)?;
        let mut found = Self { reached: (more == 1).then_some(last), ended: Vec::new() };
        while !reply.is_empty() {
            let [is_forgotten] = *take::<1>(&mut reply)?;
            let id = u64::from_be_bytes(*take(&mut reply)?);
            let at: &Digest = take(&mut reply)?;
            let count = u16::from_be_bytes(*take(&mut reply)?);
            let records = (0..count).map(|_| take(&mut reply).copied()).collect::<Option<_>>()?;
            found.ended.push(Ended { id, is_forgotten: is_forgotten == 1, is_monitor: *at == monitor_digest(id), records });
        }
        Some(found)
    }
}

/// Tells what a row has, if it is of a transaction that is over.
fn look(set: &RecordSet, row: &ScannedRow<'_>, now_s: u32, reply: &mut Vec<u8>) {
    let Some(kept) = kept_in(row.row) else { return };
    let record = Record::of_row(row.row, now_s);
    let Some((monitor, record)) = Monitor::read(kept).zip(record) else {
        if let Some(entry) = Entry::read(kept).filter(|entry| entry.deadline.is_over(now_s)) {
            write_ended(false, entry.id, row.partition.bytes, &[row.partition.bytes], reply);
        }
        return;
    };
    let bin = |name: &[u8]| record.bin(set, name).map(|bin| bin.bytes);
    let Some(id) = bin(ID).and_then(|id| Some(u64::from_be_bytes(id[..].try_into().ok()?))) else { return };
    let is_done = monitor.is_done();
    if !monitor.deadline.is_over(now_s) || is_done && !monitor.is_forgotten(now_s) {
        return;
    }
    let list = bin(DIGESTS);
    let list = list.as_deref().and_then(|list| List::parse(list).ok().flatten()).unwrap_or_default();
    let digests: Vec<&[u8]> = list.items.iter().filter_map(|item| digest_in(item)).collect();
    write_ended(is_done, id, row.partition.bytes, if is_done { &[] } else { &digests }, reply);
}

/// A digest in msgpack, without its type.
fn digest_in(item: &[u8]) -> Option<&[u8]> {
    match Reader::new(item).head() {
        Ok(Head::Raw([_, digest @ ..])) if digest.len() == DIGEST_BYTES => Some(digest),
        _ => None,
    }
}

fn write_ended(is_forgotten: bool, id: u64, at: &[u8], records: &[&[u8]], reply: &mut Vec<u8>) {
    reply.push(u8::from(is_forgotten));
    reply.extend_from_slice(&id.to_be_bytes());
    reply.extend_from_slice(at);
    reply.extend_from_slice(&(records.len() as u16).to_be_bytes());
    records.iter().for_each(|digest| reply.extend_from_slice(digest));
}

impl Operation for Find {
    fn run(&self, context: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let (table, set) = current(store, &self.table)?;
        let start = reply.len();
        reply.extend_from_slice(&[0; 1 + DIGEST_BYTES]);
        let (mut rows, mut last): (usize, Option<Digest>) = (0, None);
        let mut has_more = false;
        let first = self.after.map_or(0, |digest| token(&digest).slot().0);
        for slot in self.slots.iter().filter(|slot| **slot >= first) {
            let after = self.after.filter(|_| *slot == first);
            let bottom = u64::from(*slot) << 52;
            let from = Position {
                token: after.map_or(Token::from_biased(bottom.max(1)), |digest| token(&digest)),
                partition: after.as_ref().map_or(&[], |digest| digest.as_slice()),
                clustering: &[],
            };
            let outcome = store.scan_table(table.id, from, Token::from_biased(bottom | ((1 << 52) - 1)), &mut |row| {
                let Ok(digest) = Digest::try_from(row.partition.bytes) else { return Visit::Continue };
                if after == Some(digest) {
                    return Visit::Continue;
                }
                if rows >= ROWS_MAX || reply.len() - start > BYTES_MAX {
                    has_more = true;
                    return Visit::Stop;
                }
                (rows, last) = (rows + 1, Some(digest));
                look(set, &row, context.now_s(), reply);
                Visit::Continue
            });
            match outcome {
                Ok(()) if has_more => break,
                // Another member looks through what is its own by now.
                Ok(()) | Err(Stop::NotPrimary) => {}
                Err(Stop::Miss) if last.is_some() => {
                    has_more = true;
                    break;
                }
                Err(stop) => {
                    reply.truncate(start);
                    return Err(stop);
                }
            }
        }
        if let Some(last) = last.filter(|_| has_more) {
            reply[start] = 1;
            reply[start + 1..=start + DIGEST_BYTES].copy_from_slice(&last);
        }
        Ok(())
    }
}

impl Find {
    pub(super) fn table(&self) -> TableId {
        self.table.id
    }
}
