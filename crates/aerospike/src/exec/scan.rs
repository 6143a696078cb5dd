//! A scan or a query: the records of partitions, of a set or of the whole namespace, in many messages. [`by_index`] finds those that have what
//! a query asks for.
//!
//! Within a partition records come in the order of their tokens, and then digests, whatever sets they are in: a client that has a record of
//! it goes on after that one. A part looks through a piece of the ring on one core, and gives what [`part`] says.
//!
//! Without a limit, cores look through their pieces at the same time; with one, pieces come one after another, so that no record is
//! given that the client must drop, or faster than it wants.
//!
//! In a cluster a piece is a slot, which may be another member's. A slot that nobody can be asked about ends with a code of its own: the
//! client asks again for what follows the last record that it was given.

mod by_index;
mod job;
mod pace;
mod part;
mod piece;
mod rows;
mod slice;
mod stream;
mod walk;

use self::part::{Found, ScanPart};
use self::piece::Piece;
use self::rows::{Gives, Set, Target};
use self::walk::Walk;
use super::batch;
use super::need::declaration_failure;
use super::options::{Namespace, Options};
use super::request::{Selection, is_write};
use super::work::{RecordCoordinator, Work};
use crate::ResultCode;
use crate::expression;
use crate::index::Filter;
use crate::jobs::{Ending, JobKind, RunningJob};
use crate::udf::{Modules, StreamCall};
use crate::wire::{Kind, Message, MessageWriter, Proto, info1, info3, write_result};
use base::{SLOT_COUNT, Token};
use model::Schema;
use model::operation::{Coordinator, Operation, Step};
use model::record_set::{DIGEST_BYTES, MONITOR_SET, table_name, token};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// With more tables than this, parts look through one slot at a time: what one table has beyond the place that another reached is looked at
/// again, which must stay little.
const JOINED_TABLES_MAX: usize = 8;

/// How many parts run at a time where pieces are slots: first, and at most.
const PARTS_FIRST: usize = 8;
const PARTS_MAX: usize = 64;

/// When the parts of a step gave less than the first, more run in the next step; when more than the second, fewer.
const STEP_BYTES: Range<usize> = 1 << 20..4 << 20;

/// What functions do in requests about many records: they are given a stream of them, or applied to each.
pub const UDF_OF_STREAM: u8 = 1;
const UDF_IN_BACKGROUND: u8 = 2;

struct ScanCoordinator {
    /// A queue of pieces for each core.
    walk: Walk,
    cores: usize,
    /// How many parts run at a time.
    parts: usize,
    records_left: Option<u64>,
    /// The partitions that the client has named, if it has.
    wanted: Option<Vec<u16>>,
    /// Whether it wants to hear of the end of each.
    tells_ends: bool,
    /// Partitions that could not be looked through to their end.
    failed: BTreeMap<u16, ResultCode>,
}

pub(super) fn start<'a>(
    schema: &Schema,
    message: &Message<'_>,
    namespace: &Namespace,
    set: &str,
    options: &Options<'_>,
) -> Result<Work<'a>, ResultCode> {
    let purpose = Purpose::of(message)?;
    let fields = &message.fields;
    let mut wanted = Vec::new();
    for partition in fields.partitions.unwrap_or_default().chunks(2) {
        wanted.push((partition_id(partition)?, None));
    }
    for digest in fields.digests.unwrap_or_default().chunks(DIGEST_BYTES) {
        let digest: [u8; DIGEST_BYTES] = digest.try_into().map_err(|_| ResultCode::PARAMETER)?;
        wanted.push((token(&digest).slot().0, Some(digest)));
    }
    if wanted.len() > SLOT_COUNT as usize {
        return Err(ResultCode::PARAMETER);
    }
    let tells_ends = message.attributes.info3 & info3::PARTITION_DONE == 0;
    let names_partitions = fields.partitions.is_some() || fields.digests.is_some();
    let named = names_partitions.then(|| wanted.iter().map(|(slot, _)| *slot).collect());
    if !names_partitions {
        wanted = (0..SLOT_COUNT as u16).filter(|slot| options.holds(&namespace.name, *slot)).map(|slot| (slot, None)).collect();
    }
    let target = Target::new(schema, message, namespace, set)?;
    // Where there is no such set there is nothing to do.
    let is_asked = purpose == Purpose::Read || !target.tables.is_empty();
    if is_asked && target.filter.as_ref().is_some_and(|filter| !target.tables.iter().any(|set| filter.index_of(&set.table).is_some())) {
        return Err(ResultCode::INDEX_NOT_FOUND);
    }
    let pieces =
        if target.tables.is_empty() { Vec::new() } else { pieces(wanted, target.tables.len() <= JOINED_TABLES_MAX, options.cores) };
    match purpose {
        Purpose::Read => {}
        Purpose::Write => return job::start(schema, message, (target, pieces), options),
        Purpose::Stream => return stream::start(message, (target, pieces), options),
    }
    let job = told(message, &target, &pieces, options);
    Ok(Work::Coordinate(Box::new(ScanCoordinator {
        parts: if pieces.len() > PARTS_MAX { PARTS_FIRST } else { PARTS_MAX },
        cores: pieces.len(),
        walk: Walk::new(target, pieces, fields.records_per_second, job),
        records_left: fields.records_max.filter(|records| *records > 0),
        wanted: named,
        tells_ends,
        failed: BTreeMap::new(),
    })))
}

/// Has a scan that its client has given a number told of, if there is room for it.
fn told(message: &Message<'_>, target: &Target, pieces: &[VecDeque<Piece>], options: &Options<'_>) -> Option<RunningJob> {
    message.fields.query_id?;
    let about = job::about(message, JobKind::Basic, &target.namespace, pieces.iter().flatten());
    options.jobs?.start(about).ok()
}

/// Makes a part again from the scan's message and the part's description.
pub(super) fn part_of(
    schema: &Schema,
    message: &Message<'_>,
    namespace: &Namespace,
    set: &str,
    description: &[u8],
    options: &Options<'_>,
) -> Result<Option<Box<dyn Operation>>, ResultCode> {
    let target = Target::new(schema, message, namespace, set)?;
    let description = match (&target.gives, description.split_first()) {
        (Gives::Places, Some((&batch::OF_RECORDS, records))) => {
            return batch::part(schema, records, Some(Selection { filter: target.filter }), options);
        }
        (Gives::Places, Some((&batch::OF_SEARCH, piece))) => piece,
        (Gives::Places, _) => return Err(ResultCode::PARAMETER),
        (Gives::Messages | Gives::Stream(_), _) => description,
    };
    let part = ScanPart::of_description(&Arc::new(target), description).ok_or(ResultCode::PARAMETER)?;
    Ok(Some(Box::new(part)))
}

/// What a request about many records is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Read,
    /// Each record is written, in the background.
    Write,
    /// A function is given them.
    Stream,
}

impl Purpose {
    fn of(message: &Message<'_>) -> Result<Self, ResultCode> {
        let udf = &message.fields.udf;
        if !udf.is_asked() {
            return Ok(if is_write(&message.attributes) { Self::Write } else { Self::Read });
        }
        match (udf.operation, udf.module, udf.function) {
            (Some(UDF_IN_BACKGROUND), Some(_), Some(_)) => Ok(Self::Write),
            (Some(UDF_OF_STREAM), Some(_), Some(_)) if !is_write(&message.attributes) => Ok(Self::Stream),
            _ => Err(ResultCode::PARAMETER),
        }
    }
}

impl Target {
    fn new(schema: &Schema, message: &Message<'_>, namespace: &Namespace, set: &str) -> Result<Self, ResultCode> {
        // An index is of one set, or of the records without one.
        let is_of_all = set.is_empty() && message.fields.index.range.is_none();
        let own = if is_of_all { None } else { schema.record_set(&namespace.name, set).map_err(|error| declaration_failure(&error))? };
        let filter = Filter::read(&message.fields.index, own.map(|table| &**table))?;
        let gives = match Purpose::of(message)? {
            Purpose::Read => Gives::Messages,
            Purpose::Write => Gives::Places,
            Purpose::Stream => Gives::Stream(stream_call(schema, message)),
        };
        let is_read = matches!(gives, Gives::Messages);
        Ok(Self {
            namespace: namespace.name.clone(),
            tables: if is_of_all { all_tables(schema, namespace) } else { own.map(|table| Set::new(table, set)).into_iter().collect() },
            filter,
            // Functions find all bins.
            bins: if is_read { bin_names(message)? } else { Vec::new() },
            gives,
            no_bins: is_read && message.attributes.info1 & info1::NO_BINS != 0,
            condition: condition(message)?,
        })
    }
}

/// The stream function of a request.
fn stream_call(schema: &Schema, message: &Message<'_>) -> StreamCall {
    let part = |part: Option<&[u8]>| part.unwrap_or_default().to_vec();
    let udf = &message.fields.udf;
    StreamCall { modules: Modules::of(schema), module: part(udf.module), name: part(udf.function), arguments: part(udf.arguments) }
}

/// The expression that records have to meet, which is read anew by each part.
fn condition(message: &Message<'_>) -> Result<Option<Box<[u8]>>, ResultCode> {
    let Some(condition) = message.fields.filter else { return Ok(None) };
    expression::Filter::parse(condition)?;
    Ok(Some(condition.into()))
}

fn partition_id(bytes: &[u8]) -> Result<u16, ResultCode> {
    let id = u16::from_le_bytes(bytes.try_into().map_err(|_| ResultCode::PARAMETER)?);
    if u32::from(id) < SLOT_COUNT { Ok(id) } else { Err(ResultCode::PARAMETER) }
}

/// The tables of a namespace, each with its set's name.
fn all_tables(schema: &Schema, namespace: &Namespace) -> Vec<Set> {
    let keyspace = schema.keyspaces.get(&namespace.name);
    let tables = keyspace
        .into_iter()
        .flat_map(|keyspace| keyspace.tables.values())
        .filter(|table| table.records.is_some() && table.name != MONITOR_SET);
    tables.map(|table| Set::new(table, if Some(table.name.as_str()) == table_name("") { "" } else { &table.name })).collect()
}

/// The bins that are wanted; empty for all.
fn bin_names(message: &Message<'_>) -> Result<Vec<Vec<u8>>, ResultCode> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    for operation in message.operations.iter() {
        if operation.code != crate::operate::code::READ {
            return Err(ResultCode::UNSUPPORTED_FEATURE);
        }
        names.push(operation.name.to_vec());
    }
    if let Some([count, rest @ ..]) = message.fields.query_bins {
        let mut rest = rest;
        for _ in 0..*count {
            let (length, after) = rest.split_first().ok_or(ResultCode::PARAMETER)?;
            let (name, after) = after.split_at_checked(usize::from(*length)).ok_or(ResultCode::PARAMETER)?;
            names.push(name.to_vec());
            rest = after;
        }
    }
    Ok(names)
}

/// The pieces of each core; if `joined`, slots that follow one another are one.
fn pieces(mut wanted: Vec<(u16, Option<[u8; DIGEST_BYTES]>)>, joined: bool, cores: u16) -> Vec<VecDeque<Piece>> {
    wanted.sort_unstable();
    // A partition that is named twice starts where it was told to go on.
    wanted.reverse();
    wanted.dedup_by_key(|(slot, _)| *slot);
    wanted.reverse();
    let mut pieces: Vec<VecDeque<Piece>> = vec![VecDeque::new(); usize::from(cores.max(1))];
    for (slot, after) in wanted {
        let of_core = &mut pieces[usize::from(base::Slot(slot).core(cores.max(1)).0)];
        let first = u64::from(slot) << 52;
        let until = Token::from_biased(first | ((1 << 52) - 1));
        match of_core.back_mut() {
            Some(last) if joined && after.is_none() && last.until.biased().checked_add(1) == Some(first) => last.until = until,
            _ => {
                let from = after.as_ref().map_or(Token::from_biased(first), |digest| token(digest));
                of_core.push_back(Piece { from, after, until });
            }
        }
    }
    pieces
}

impl ScanCoordinator {
    /// Appends what parts found, and moves their pieces on.
    fn take_results(&mut self, results: &[Vec<u8>], reply: &mut Vec<u8>) {
        let proto = Proto::begin(reply, Kind::Message);
        for (core, result) in self.walk.take_running().into_iter().zip(results) {
            let Some(found) = Found::read(result) else { continue };
            reply.extend_from_slice(found.messages);
            if let Some(left) = &mut self.records_left {
                *left = left.saturating_sub(u64::from(found.records));
            }
            self.walk.tell(|job| {
                job.succeeded(found.records.into());
                job.saw(found.now_us);
            });
            if let Some((piece, code)) = self.walk.pass(core, &found) {
                self.failed.extend(piece.slots().map(|slot| (slot, code)));
            }
        }
        proto.end_unless_empty(reply);
        self.walk.tell_progress(0);
        let bytes: usize = results.iter().map(Vec::len).sum();
        if bytes < STEP_BYTES.start {
            self.parts = (self.parts * 2).min(PARTS_MAX);
        } else if bytes > STEP_BYTES.end && self.cores > PARTS_MAX {
            self.parts = (self.parts / 2).max(1);
        }
    }

    /// Tells the ends of partitions and of the reply.
    fn finish(&self, reply: &mut Vec<u8>) {
        let proto = Proto::begin(reply, Kind::Message);
        for slot in self.wanted.iter().flatten() {
            let failure = self.failed.get(slot);
            if self.tells_ends || failure.is_some() {
                let mut message = MessageWriter::begin(reply);
                message.attributes.info3 = info3::PARTITION_DONE;
                message.attributes.generation = u32::from(*slot);
                message.end(reply, failure.copied().unwrap_or(ResultCode::OK));
            }
        }
        proto.end_unless_empty(reply);
        write_result(reply, ResultCode::OK, info3::LAST);
    }
}

impl Coordinator for ScanCoordinator {
    type Error = ResultCode;

    fn step(&mut self, results: Vec<Vec<u8>>, reply: &mut Vec<u8>) -> Result<Step, ResultCode> {
        let has_results = !results.is_empty();
        if has_results {
            self.take_results(&results, reply);
        }
        if self.walk.is_aborted() {
            return Err(ResultCode::QUERY_ABORTED);
        }
        let is_in_turn = self.records_left.is_some() || self.walk.is_paced();
        if !self.walk.choose(if is_in_turn { 1 } else { self.parts }) || self.records_left == Some(0) {
            self.finish(reply);
            self.walk.tell(|job| job.end(self.failed.values().next().map_or(Ending::Done, |code| Ending::Failed(*code))));
            return Ok(Step::Done);
        }
        if has_results && let Some(step) = self.walk.wait() {
            self.walk.tell(|job| job.throttled(1));
            return Ok(step);
        }
        Ok(self.walk.run(self.records_left.map_or(u32::MAX, |left| left.min(u64::from(u32::MAX)) as u32)))
    }
}

impl RecordCoordinator for ScanCoordinator {
    fn part_failed(&self, _: usize, code: ResultCode) -> Option<Vec<u8>> {
        // Who has not named partitions cannot be told of one.
        let is_passing = matches!(code, ResultCode::PARTITION_UNAVAILABLE | ResultCode::TIMEOUT);
        (is_passing && self.wanted.is_some()).then(|| Found::failed(ResultCode::PARTITION_UNAVAILABLE))
    }

    fn writes(&self) -> bool {
        false
    }
}
