//! A batch: many requests on one record each, answered in several messages.
//!
//! Records are read in parts of a few, written in parts of one; a part's reply is the number of records it came to (4 bytes), then their
//! messages. A part that has read much ends early, and what it did not come to is asked for again.
//!
//! A record may have a user's function applied to it, in a part of its own. Which bins that writes is known when it has run: if the set lacks some, the part has
//! changed nothing, they are declared, and it runs again. A request that applies a function to one record is a batch of one whose reply is a message alone; so is a read
//! by digest alone in a cluster, or of a client that may not look in all sets.
//!
//! A part is described by a batch of its records alone, in the form in which clients send batches. In front of it are the sets in which records are looked for that are
//! named by their digests alone, if the client may not look in all, and the batch's filter if it has one.

mod part;
mod plan;

pub(super) use self::part::{OF_RECORDS, OF_SEARCH};

use self::part::{BatchPart, split_result};
use self::plan::{Entry, PART_READS_MAX, Plan, Planned, Positions, plan};
use super::need::Need;
use super::options::Options;
use super::request::{Selection, is_write, write_failure};
use super::target::{digest_of, names};
use super::work::{RecordCoordinator, Work};
use crate::ResultCode;
use crate::wire::{BatchEntries, BatchWriter, Kind, Message, Proto, TransactionFields, VERSION_BYTES, field, info3, write_result};
use base::TableId;
use model::operation::{Coordinator, Operation, Part, Step};
use model::record_set::{DIGEST_BYTES, NewBin, set_name, token};
use model::{Schema, Table};
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// How many parts run at a time: first, and at most.
const PARTS_FIRST: usize = 16;
const PARTS_MAX: usize = 256;

/// When the parts of a step gave less than the first, there are more in the next step; when more than the second, fewer.
const STEP_BYTES: Range<usize> = 1 << 20..4 << 20;

/// How many records a job without functions writes at a time.
const JOB_PARTS: usize = 64;

/// How many parts with functions run at a time: each may take some milliseconds of a core.
const CALLS_MAX: usize = 4;

/// So often a function runs that each time writes bins that have to be declared first.
const DECLARATIONS_MAX: u8 = 8;

pub(super) fn start<'a>(schema: &Schema, field: &[u8], filter: Option<&[u8]>, options: &Options<'_>) -> Result<Work<'a>, ResultCode> {
    match plan(schema, field, filter, options)? {
        Planned::Plan(plan) => Ok(Work::Coordinate(Box::new(BatchCoordinator::new(Arc::new(plan), options.cores, false)))),
        Planned::Missing(needs) => Ok(Work::Declare(needs)),
    }
}

/// Starts a request on one record as a batch.
pub(super) fn start_one<'a>(schema: &Schema, message: &Message<'_>, options: &Options<'_>) -> Result<Work<'a>, ResultCode> {
    let fields = &message.fields;
    let (_, set) = names(fields, options)?;
    let digest = digest_of(fields, set).ok_or(ResultCode::PARAMETER)?;
    let mut batch = BatchWriter::default();
    push(&mut batch, message, fields.set, &digest);
    match plan(schema, batch.data(), None, options)? {
        Planned::Plan(plan) => match plan.kinds.first().map(|kind| &kind.table) {
            Some(Err(code)) => Err(*code),
            _ => Ok(Work::Coordinate(Box::new(BatchCoordinator::new(Arc::new(plan), options.cores, true)))),
        },
        Planned::Missing(needs) => Ok(Work::Declare(needs)),
    }
}

/// Adds what a request does with one record, of this set.
fn push(batch: &mut BatchWriter, message: &Message<'_>, set: Option<&[u8]>, digest: &[u8; DIGEST_BYTES]) {
    let fields = &message.fields;
    let TransactionFields { id, version, deadline_s, .. } = fields.transaction;
    let (id, version, deadline) = (id.map(u64::to_le_bytes), version.map(u64::to_le_bytes), deadline_s.map(u32::to_le_bytes));
    let said = [
        (field::NAMESPACE, fields.namespace),
        (field::SET, set),
        (field::KEY, fields.key),
        (field::FILTER, fields.filter),
        (field::UDF_PACKAGE, fields.udf.module),
        (field::UDF_FUNCTION, fields.udf.function),
        (field::UDF_ARGUMENTS, fields.udf.arguments),
        (field::TRANSACTION_ID, id.as_ref().map(|id| id.as_slice())),
        (field::RECORD_VERSION, version.as_ref().map(|version| &version[..VERSION_BYTES])),
        (field::TRANSACTION_DEADLINE, deadline.as_ref().map(|deadline| deadline.as_slice())),
    ];
    let said: SmallVec<[(u8, &[u8]); 10]> = said.into_iter().filter_map(|(kind, data)| Some((kind, data?))).collect();
    batch.push(digest, message.attributes, &said, message.operations.iter());
}

/// Makes a part again from its description; `None` if something has to be declared first.
pub(super) fn part(
    schema: &Schema,
    field: &[u8],
    selection: Option<Selection>,
    options: &Options<'_>,
) -> Result<Option<Box<dyn Operation>>, ResultCode> {
    let malformed = |_| ResultCode::PARAMETER;
    let (sets, field) = BatchEntries::split_sets(field).map_err(malformed)?;
    let (filter, field) = BatchEntries::split_filter(field).map_err(malformed)?;
    let may_read = |table: &Table| sets.as_ref().is_some_and(|sets| sets.binary_search(&table.id).is_ok());
    let options = Options { may_read: sets.is_some().then_some(&may_read), ..*options };
    let Planned::Plan(mut plan) = plan(schema, field, filter, &options)? else { return Ok(None) };
    plan.selection = selection.map(Arc::new);
    let positions = (0..plan.entries.len() as u32).collect();
    Ok(Some(Box::new(BatchPart { plan: Arc::new(plan), positions })))
}

/// What a job in the background does with records of each of its sets.
pub(super) struct JobWrites {
    /// Without records.
    plan: Plan,
    cores: u16,
}

/// How a job writes, or what has to be declared before it starts.
pub(super) enum JobPlanned {
    Writes(JobWrites),
    Missing(Vec<Need>),
}

impl JobWrites {
    /// Of a request about all records of these sets.
    pub(super) fn plan<'s>(
        schema: &Schema,
        message: &Message<'_>,
        sets: impl Iterator<Item = &'s str>,
        selection: Selection,
        options: &Options<'_>,
    ) -> Result<JobPlanned, ResultCode> {
        let mut batch = BatchWriter::default();
        for set in sets {
            push(&mut batch, message, (!set.is_empty()).then_some(set.as_bytes()), &[0; DIGEST_BYTES]);
        }
        Ok(match plan(schema, batch.data(), None, options)? {
            Planned::Missing(needs) => JobPlanned::Missing(needs),
            Planned::Plan(mut plan) => {
                if let Some(code) = plan.kinds.iter().find_map(|kind| kind.table.as_ref().err()) {
                    return Err(*code);
                }
                plan.entries.clear();
                plan.selection = Some(Arc::new(selection));
                JobPlanned::Writes(Self { plan, cores: options.cores })
            }
        })
    }

    /// Writes records: their tables and digests. What it replies are messages in frames.
    pub(super) fn of(&self, records: impl Iterator<Item = (TableId, [u8; DIGEST_BYTES])>) -> BatchCoordinator {
        let kind_of = |wanted: TableId| {
            let is_its = |kind: &plan::RequestKind| kind.table.as_ref().is_ok_and(|table| table.id == wanted);
            self.plan.kinds.iter().position(is_its).map(|kind| kind as u32)
        };
        let entries = records.filter_map(|(table, digest)| Some(Entry { index: 0, digest, kind: kind_of(table)? })).collect();
        let mut coordinator = BatchCoordinator::new(Arc::new(Plan { entries, ..self.plan.clone() }), self.cores, true);
        if !coordinator.has_calls {
            coordinator.parts = JOB_PARTS;
        }
        coordinator
    }
}

pub(super) struct BatchCoordinator {
    plan: Arc<Plan>,
    /// What needs no part to be answered: there is no such set or namespace.
    refused: Vec<(u32, ResultCode)>,
    waiting: VecDeque<Positions>,
    running: Vec<Positions>,
    parts: usize,
    has_calls: bool,
    /// Whether it is one record's request, answered by its message alone.
    is_one: bool,
    /// What must be declared before parts run again.
    needs: Vec<Need>,
    /// How often entries had to wait for that.
    declared: BTreeMap<u32, u8>,
    log: Vec<(i64, String)>,
}

impl BatchCoordinator {
    /// Runs a batch whose reply is messages in frames; none if something has to be declared first.
    pub(super) fn of_batch(schema: &Schema, field: &[u8], options: &Options<'_>) -> Option<Self> {
        match plan(schema, field, None, options).ok()? {
            Planned::Plan(plan) => Some(Self::new(Arc::new(plan), options.cores, true)),
            Planned::Missing(_) => None,
        }
    }

    fn new(plan: Arc<Plan>, cores: u16, is_one: bool) -> Self {
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
        let has_calls = plan.kinds.iter().any(|kind| kind.call.is_some());
        let parts = if has_calls { CALLS_MAX } else { PARTS_FIRST };
        let (running, needs, log) = (Vec::new(), Vec::new(), Vec::new());
        Self { plan, refused, waiting, running, parts, has_calls, is_one, needs, declared: BTreeMap::new(), log }
    }

    /// Appends what parts gave.
    fn take_results(&mut self, results: &[Vec<u8>], reply: &mut Vec<u8>) {
        let proto = Proto::begin(reply, Kind::Message);
        for (mut positions, result) in std::mem::take(&mut self.running).into_iter().zip(results) {
            let Some((done, aside, messages)) = split_result(result) else { continue };
            reply.extend_from_slice(messages);
            let mut done = done.min(positions.len());
            if aside.bins.is_empty() {
                self.log.extend(aside.log);
            } else if let Some(position) = positions.get(done) {
                // What has run and changed nothing logs again.
                if !self.need(*position, aside.bins) {
                    write_failure(self.plan.entries[*position as usize].index, ResultCode::SERVER_ERROR, reply);
                    done += 1;
                }
            }
            if done < positions.len() {
                positions.drain(..done);
                self.waiting.push_back(positions);
            }
        }
        proto.end_unless_empty(reply);
        let bytes: usize = results.iter().map(Vec::len).sum();
        if self.has_calls {
            return;
        }
        if bytes < STEP_BYTES.start {
            self.parts = (self.parts * 2).min(PARTS_MAX);
        } else if bytes > STEP_BYTES.end {
            self.parts = (self.parts / 2).max(1);
        }
    }
}

impl BatchCoordinator {
    /// Notes bins to be declared for an entry; false if that was done too often.
    fn need(&mut self, position: u32, bins: Vec<NewBin>) -> bool {
        let count = self.declared.entry(position).or_default();
        *count += 1;
        let Ok(table) = &self.plan.kind(&self.plan.entries[position as usize]).table else { return false };
        let (namespace, set) = (table.keyspace.clone(), set_name(&table.name).to_owned());
        let need = Need { namespace, set, bins, remembers: false };
        if !self.needs.contains(&need) {
            self.needs.push(need);
        }
        *count <= DECLARATIONS_MAX
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
        if !self.needs.is_empty() {
            return Ok(Step::Wait { until_us: u64::MAX });
        }
        if self.waiting.is_empty() && self.is_one {
            return Ok(Step::Done);
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

    fn take_needs(&mut self) -> Vec<Need> {
        std::mem::take(&mut self.needs)
    }

    fn take_log(&mut self) -> Vec<(i64, String)> {
        std::mem::take(&mut self.log)
    }

    fn writes(&self) -> bool {
        self.plan.kinds.iter().any(|kind| is_write(&kind.attributes))
    }
}
