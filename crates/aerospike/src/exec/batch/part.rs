//! A few records of a batch, on the core that owns them.
//!
//! Its reply is the number of records that it came to (4 bytes), with its highest bit what it says aside behind the aside's length (4 bytes), and the records' messages.

use super::super::aside::Aside;
use super::super::elsewhere::Elsewhere;
use super::super::request::{Request, write_failure};
use super::super::sets::current;
use super::plan::{Plan, Positions};
use crate::ResultCode;
use crate::expression::Filter;
use crate::wire::{BatchEntries, Operations};
use model::operation::{Context, Operation, RowStore, Stop, WriteSet};
use std::sync::Arc;

/// A part that has read so much, or whose filters have, reads no further record.
const PART_BYTES_MAX: usize = 1 << 20;

/// What the description of a job's part begins with: records are written, or looked for.
pub(in super::super) const OF_RECORDS: u8 = 1;
pub(in super::super) const OF_SEARCH: u8 = 0;

const COUNT_BYTES: usize = 4;

/// A part's reply whose number of records has this bit has an aside behind it, with its length.
const HAS_ASIDE: u32 = 1 << 31;

/// A few records that one core owns.
pub(super) struct BatchPart {
    pub(super) plan: Arc<Plan>,
    pub(super) positions: Positions,
}

/// The filter of the record before, which is mostly that of all: a region in it may have many edges.
#[derive(Default)]
struct Filters<'a> {
    last: Option<(&'a [u8], Result<Filter<'a>, ResultCode>)>,
    asked_bytes: usize,
}

impl<'a> Filters<'a> {
    fn parsed(&mut self, filter: &'a [u8]) -> &Result<Filter<'a>, ResultCode> {
        if self.last.as_ref().is_some_and(|(last, _)| !std::ptr::eq(*last, filter)) {
            // To parse another takes time, too; the first is parsed in any case.
            self.asked_bytes += filter.len();
            self.last = None;
        }
        &self.last.get_or_insert_with(|| (filter, Filter::parse(filter))).1
    }

    /// As many bytes as take as long to look at as what was parsed and asked.
    fn asked_bytes(&mut self) -> usize {
        if let Some((_, Ok(filter))) = &self.last {
            self.asked_bytes += filter.take_spent();
        }
        self.asked_bytes
    }
}

impl BatchPart {
    fn looks_elsewhere(&self) -> bool {
        self.positions.iter().any(|position| self.plan.kind(&self.plan.entries[*position as usize]).elsewhere.is_some())
    }
}

impl Operation for BatchPart {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let start = reply.len();
        reply.extend_from_slice(&[0; COUNT_BYTES]);
        let mut done = 0u32;
        let mut aside = Aside::default();
        let mut filters = Filters::default();
        for position in &self.positions {
            let entry = &self.plan.entries[*position as usize];
            let kind = self.plan.kind(entry);
            let table = match &kind.table {
                Ok(table) => table,
                Err(code) => {
                    write_failure(entry.index, *code, reply);
                    done += 1;
                    continue;
                }
            };
            let (table, set) = current(store, table)?;
            let filter = kind.filter.clone().map_or(self.plan.filter.as_deref(), |range| Some(&self.plan.bytes[range]));
            let request = Request {
                table,
                set,
                digest: &entry.digest,
                attributes: kind.attributes,
                key: kind.key.clone().map(|range| &self.plan.bytes[range]),
                filter: filter.map(|filter| filters.parsed(filter)),
                operations: Operations::of_checked(kind.operation_count, &self.plan.bytes[kind.operations.clone()]),
                limits: kind.limits,
                index: entry.index,
                transaction: kind.transaction,
                selection: self.plan.selection.as_deref(),
                elsewhere: kind.elsewhere.as_deref().map(|keyspace| Elsewhere { keyspace, only: self.plan.only.as_deref() }),
            };
            let ran = match self.plan.call(kind, context.timestamp_us / 1_000) {
                None => request.run(context, store, writes, reply),
                Some(call) => request.apply(&call, context, store, writes, reply).map(|said| aside = said),
            };
            match ran {
                Ok(()) if !aside.bins.is_empty() => break,
                Ok(()) => done += 1,
                // What is done need not be done again.
                Err(Stop::Miss) if done > 0 => break,
                Err(stop) => {
                    reply.truncate(start);
                    return Err(stop);
                }
            }
            if reply.len() - start + filters.asked_bytes() > PART_BYTES_MAX {
                break;
            }
        }
        if !aside.is_empty() {
            let mut said = vec![0; COUNT_BYTES];
            aside.encode(&mut said);
            let length = (said.len() - COUNT_BYTES) as u32;
            said[..COUNT_BYTES].copy_from_slice(&length.to_be_bytes());
            reply.splice(start + COUNT_BYTES..start + COUNT_BYTES, said);
            done |= HAS_ASIDE;
        }
        reply[start..start + COUNT_BYTES].copy_from_slice(&done.to_be_bytes());
        Ok(())
    }

    fn describe(&self, out: &mut Vec<u8>) -> bool {
        if self.plan.selection.is_some() {
            out.push(OF_RECORDS);
        }
        if self.looks_elsewhere() {
            BatchEntries::write_sets(self.plan.only.as_deref(), out);
        }
        BatchEntries::write_filter(self.plan.filter.as_deref(), out);
        BatchEntries::write_head(self.positions.len() as u32, out);
        for position in &self.positions {
            let entry = &self.plan.entries[*position as usize];
            out.extend_from_slice(&entry.index.to_be_bytes());
            out.extend_from_slice(&entry.digest);
            out.extend_from_slice(&self.plan.bytes[self.plan.kind(entry).said.clone()]);
        }
        true
    }
}

/// A part's reply: how many records it came to, what it says aside, and messages.
pub(super) fn split_result(result: &[u8]) -> Option<(usize, Aside, &[u8])> {
    let (done, rest) = result.split_first_chunk::<COUNT_BYTES>()?;
    let done = u32::from_be_bytes(*done);
    if done & HAS_ASIDE == 0 {
        return Some((done as usize, Aside::default(), rest));
    }
    let (length, rest) = rest.split_first_chunk::<COUNT_BYTES>()?;
    let (aside, messages) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    Some(((done & !HAS_ASIDE) as usize, Aside::decode(aside)?, messages))
}
