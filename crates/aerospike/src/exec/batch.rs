//! A batch: many requests on one record each, answered in several messages.
//!
//! Records are read in parts of a few, written in parts of one; a part's reply is the number of records it came to (4 bytes), then their
//! messages. A part that has read much ends early, and what it did not come to is asked for again.
//!
//! A part is described by a batch of its records alone, in the form in which clients send batches, behind the batch's filter if it has one.

use super::need::Need;
use super::options::Options;
use super::request::{Limits, Request, is_write, write_failure};
use super::target::{Target, check_served, dictionary, names, target};
use super::work::{RecordCoordinator, Work};
use crate::ResultCode;
use crate::wire::{Attributes, BatchEntries, Kind, Operations, Proto, info3, write_result};
use base::TableId;
use model::operation::{Context, Coordinator, Operation, Part, RowStore, Step, Stop, WriteSet};
use model::record_set::{DIGEST_BYTES, token};
use model::{Schema, Table};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// How many records a part reads.
const PART_READS_MAX: usize = 8;

/// A part that has read so much reads no further record.
const PART_BYTES_MAX: usize = 1 << 20;

/// How many parts run at a time: first, and at most.
const PARTS_FIRST: usize = 16;
const PARTS_MAX: usize = 256;

/// When the parts of a step gave less than the first, there are more in the next step; when more than the second, fewer.
const STEP_BYTES: Range<usize> = 1 << 20..4 << 20;

const COUNT_BYTES: usize = 4;
const INDEX_BYTES: usize = 4;

/// What a batch asks for.
struct Plan {
    /// The field as it came.
    bytes: Box<[u8]>,
    /// What records have to meet whose requests say nothing of their own.
    filter: Option<Box<[u8]>>,
    kinds: Vec<RequestKind>,
    entries: Vec<Entry>,
}

/// What records in a row have in common.
struct RequestKind {
    table: Result<Arc<Table>, ResultCode>,
    attributes: Attributes,
    key: Option<Range<usize>>,
    filter: Option<Range<usize>>,
    operations: Range<usize>,
    operation_count: u16,
    limits: Limits,
    /// What the field says of the first of them, but for index and digest.
    said: Range<usize>,
}

struct Entry {
    index: u32,
    digest: [u8; DIGEST_BYTES],
    kind: u32,
}

/// Positions in [`Plan::entries`].
type Positions = SmallVec<[u32; PART_READS_MAX]>;

pub(super) fn start<'a>(schema: &Schema, field: &[u8], filter: Option<&[u8]>, options: &Options<'_>) -> Result<Work<'a>, ResultCode> {
    match plan(schema, field, filter, options)? {
        Planned::Plan(plan) => Ok(Work::Coordinate(Box::new(BatchCoordinator::new(Arc::new(plan), options.cores)))),
        Planned::Missing(needs) => Ok(Work::Declare(needs)),
    }
}

/// Makes a part again from its description; `None` if something has to be declared first.
pub(super) fn part(schema: &Schema, field: &[u8], options: &Options<'_>) -> Result<Option<Box<dyn Operation>>, ResultCode> {
    let (filter, field) = BatchEntries::split_filter(field).map_err(|_| ResultCode::PARAMETER)?;
    let Planned::Plan(plan) = plan(schema, field, filter, options)? else { return Ok(None) };
    let positions = (0..plan.entries.len() as u32).collect();
    Ok(Some(Box::new(BatchPart { plan: Arc::new(plan), positions })))
}

enum Planned {
    Plan(Plan),
    Missing(Vec<Need>),
}

fn plan(schema: &Schema, field: &[u8], filter: Option<&[u8]>, options: &Options<'_>) -> Result<Planned, ResultCode> {
    let malformed = |_| ResultCode::PARAMETER;
    let mut batch = BatchEntries::read(field).map_err(malformed)?;
    let mut plan =
        Plan { bytes: field.into(), filter: filter.map(Into::into), kinds: Vec::new(), entries: Vec::with_capacity(batch.len()) };
    let mut needs = Vec::new();
    let within = |part: &[u8]| {
        let start = part.as_ptr() as usize - field.as_ptr() as usize;
        start..start + part.len()
    };
    loop {
        let start = field.len() - batch.rest().len();
        let Some(entry) = batch.next() else { break };
        let entry = entry.map_err(malformed)?;
        if !entry.repeats {
            check_served(&entry.fields, &entry.attributes)?;
            let (table, default_ttl_s) = match names(&entry.fields, options) {
                Err(code) => (Err(code), 0),
                Ok((namespace, set)) => {
                    let table = match target(schema, namespace, set, &entry.attributes, &entry.operations) {
                        Ok(Target::Table(table)) => Ok(Arc::clone(table)),
                        Ok(Target::Nothing) => Err(ResultCode::NOT_FOUND),
                        Ok(Target::Missing(need)) => {
                            if !needs.contains(&need) {
                                needs.push(need);
                            }
                            continue;
                        }
                        Err(code) => Err(code),
                    };
                    (table, namespace.default_ttl_s)
                }
            };
            plan.kinds.push(RequestKind {
                table,
                attributes: entry.attributes,
                key: entry.fields.key.map(within),
                filter: entry.fields.filter.map(within),
                operations: if entry.operations.is_empty() { 0..0 } else { within(entry.operations.bytes()) },
                operation_count: entry.operations.len() as u16,
                limits: Limits { default_ttl_s, record_bytes_max: options.record_bytes_max },
                said: start + INDEX_BYTES + DIGEST_BYTES..field.len() - batch.rest().len(),
            });
        }
        if needs.is_empty() {
            let kind = plan.kinds.len() as u32 - 1;
            plan.entries.push(Entry { index: entry.index, digest: *entry.digest, kind });
        }
    }
    Ok(if needs.is_empty() { Planned::Plan(plan) } else { Planned::Missing(needs) })
}

impl Plan {
    fn kind(&self, entry: &Entry) -> &RequestKind {
        &self.kinds[entry.kind as usize]
    }

    /// The table of an entry that has one.
    fn table(&self, position: u32) -> TableId {
        self.kind(&self.entries[position as usize]).table.as_ref().map_or(TableId(0), |table| table.id)
    }
}

/// A few records that one core owns.
struct BatchPart {
    plan: Arc<Plan>,
    positions: Positions,
}

impl Operation for BatchPart {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let start = reply.len();
        reply.extend_from_slice(&[0; COUNT_BYTES]);
        let mut done = 0u32;
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
            let request = Request {
                table,
                set: dictionary(store, table)?,
                digest: &entry.digest,
                attributes: kind.attributes,
                key: kind.key.clone().map(|range| &self.plan.bytes[range]),
                filter: kind.filter.clone().map_or(self.plan.filter.as_deref(), |range| Some(&self.plan.bytes[range])),
                operations: Operations::of_checked(kind.operation_count, &self.plan.bytes[kind.operations.clone()]),
                limits: kind.limits,
                index: entry.index,
            };
            match request.run(context, store, writes, reply) {
                Ok(()) => done += 1,
                // What is done need not be done again.
                Err(Stop::Miss) if done > 0 => break,
                Err(stop) => {
                    reply.truncate(start);
                    return Err(stop);
                }
            }
            if reply.len() - start > PART_BYTES_MAX {
                break;
            }
        }
        reply[start..start + COUNT_BYTES].copy_from_slice(&done.to_be_bytes());
        Ok(())
    }

    fn describe(&self, out: &mut Vec<u8>) -> bool {
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

struct BatchCoordinator {
    plan: Arc<Plan>,
    /// What needs no part to be answered: there is no such set or namespace.
    refused: Vec<(u32, ResultCode)>,
    waiting: VecDeque<Positions>,
    running: Vec<Positions>,
    parts: usize,
}

impl BatchCoordinator {
    fn new(plan: Arc<Plan>, cores: u16) -> Self {
        let (mut refused, mut waiting) = (Vec::new(), VecDeque::new());
        let mut reads: Vec<(u16, u32)> = Vec::new();
        for (position, entry) in plan.entries.iter().enumerate() {
            let position = position as u32;
            if let Err(code) = &plan.kind(entry).table {
                refused.push((entry.index, *code));
            } else if is_write(&plan.kind(entry).attributes) {
                waiting.push_back(Positions::from_slice(&[position]));
            } else {
                reads.push((token(&entry.digest).slot().core(cores.max(1)).0, position));
            }
        }
        reads.sort_unstable();
        for of_core in reads.chunk_by(|one, other| one.0 == other.0) {
            waiting.extend(of_core.chunks(PART_READS_MAX).map(|part| part.iter().map(|(_, position)| *position).collect()));
        }
        Self { plan, refused, waiting, running: Vec::new(), parts: PARTS_FIRST }
    }

    /// Appends what parts gave.
    fn take_results(&mut self, results: &[Vec<u8>], reply: &mut Vec<u8>) {
        let proto = Proto::begin(reply, Kind::Message);
        for (mut positions, result) in std::mem::take(&mut self.running).into_iter().zip(results) {
            let Some((done, messages)) = result.split_first_chunk::<COUNT_BYTES>() else { continue };
            reply.extend_from_slice(messages);
            let done = (u32::from_be_bytes(*done) as usize).min(positions.len());
            if done < positions.len() {
                positions.drain(..done);
                self.waiting.push_back(positions);
            }
        }
        proto.end_unless_empty(reply);
        let bytes: usize = results.iter().map(Vec::len).sum();
        if bytes < STEP_BYTES.start {
            self.parts = (self.parts * 2).min(PARTS_MAX);
        } else if bytes > STEP_BYTES.end {
            self.parts = (self.parts / 2).max(1);
        }
    }
}

impl Coordinator for BatchCoordinator {
    type Error = ResultCode;

    fn step(&mut self, results: Vec<Vec<u8>>, reply: &mut Vec<u8>) -> Result<Step, ResultCode> {
        if !self.refused.is_empty() {
            let proto = Proto::begin(reply, Kind::Message);
            for (index, code) in std::mem::take(&mut self.refused) {
                write_failure(index, code, reply);
            }
            proto.end(reply);
        }
        if !results.is_empty() {
            self.take_results(&results, reply);
        }
        if self.waiting.is_empty() {
            write_result(reply, ResultCode::OK, info3::LAST);
            return Ok(Step::Done);
        }
        let count = self.parts.min(self.waiting.len());
        self.running.extend(self.waiting.drain(..count));
        let part = |positions: &Positions| Part {
            table: self.plan.table(positions[0]),
            token: token(&self.plan.entries[positions[0] as usize].digest),
            operation: Box::new(BatchPart { plan: Arc::clone(&self.plan), positions: positions.clone() }),
        };
        Ok(Step::Run(self.running.iter().map(part).collect()))
    }
}

impl RecordCoordinator for BatchCoordinator {
    fn part_failed(&self, part: usize, code: ResultCode) -> Option<Vec<u8>> {
        let positions = self.running.get(part)?;
        let mut result = (positions.len() as u32).to_be_bytes().to_vec();
        for position in positions {
            write_failure(self.plan.entries[*position as usize].index, code, &mut result);
        }
        Some(result)
    }

    fn writes(&self) -> bool {
        self.plan.kinds.iter().any(|kind| is_write(&kind.attributes))
    }
}
