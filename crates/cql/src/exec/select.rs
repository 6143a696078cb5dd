//! SELECT on the core that holds the connection: asks shards for chunks, turns rows into the result's columns, and answers with a page.
//!
//! What is looked through is a list of extents in the order of the result: partitions, or runs of tokens that one shard owns each. Chunks
//! of several extents may be under way at once, and are taken in order. A chunk that gave more rows than the page or LIMIT has room for is
//! asked for again with the room there is; so every chunk is taken whole, and its cursor is the page's.
//!
//! Invariant: a page says that there is more only if there is (or if finding out would mean to go on filtering for long, or it is a full one by an index).

mod aggregate;
mod evaluate;
mod extents;
mod folded;
mod groups;
mod output;
mod paging;

use super::fetch::{BoundFilter, BoundNearest, Chunk, Described, EntryRanges, Extent, FetchPlan, Gathered};
use super::length::KEY_BYTES_MAX;
use super::{Bound, Environment, Execution, Options, OwnedValues, keys};
use crate::CqlError;
use crate::index::IndexClass;
use crate::plan::{KeyTerm, Select, Statement, Term};
use crate::wire::{
    Direction, FRAME_BODY_BYTES_MAX, Opcode, ResponseExtras, ResultColumns, RowsDescription, begin_frame, begin_rows, end_frame, end_rows,
};
use base::{Rng, SLOT_COUNT, Slot};
use evaluate::Surroundings;
use extents::{Range, extents, skip_to};
use folded::Folded;
use model::operation::{Context, Coordinator, Operation, Part, Step};
use output::{Output, Room, Taken};
use paging::{NO_LIMIT, PagingState};

pub use folded::can_aggregate;
pub use paging::aggregating;

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Chunks of this many extents are asked for at the same time.
const EXTENTS_AT_ONCE: usize = 16;

/// With more pieces than a node can have cores, each is a slot: of the nearest rows a chunk may give those of many, and of others say which slots have none.
const COVERED_FROM: u16 = 1024;
/// After so many chunks in a row that covered no slot that was left, each of the others is asked for.
const COVER_TRIES: u32 = 16;

/// Whether a statement is about one row that its shard answers for alone.
#[inline]
pub(super) fn is_single(plan: &Select) -> bool {
    plan.single
}

/// Checks the limits of a statement that never gives more than one row.
pub(super) fn check_limits(plan: &Select, environment: &Environment<'_>) -> Result<(), CqlError> {
    limit(plan.limit.as_ref(), environment)?;
    limit(plan.per_partition_limit.as_ref(), environment)?;
    Ok(())
}

/// Checks the paging state of a statement that has one page.
pub(super) fn check_paging_state(plan: &Select, state: &[u8]) -> Result<(), CqlError> {
    PagingState::decode(state, plan.table.id).map(|_| ())
}

/// The value of LIMIT or PER PARTITION LIMIT, which messages do not tell apart.
fn limit(term: Option<&Term>, environment: &Environment<'_>) -> Result<u32, CqlError> {
    let Some(term) = term else { return Ok(NO_LIMIT) };
    match term.evaluate(environment)? {
        Bound::Bytes(bytes) => {
            let count = <[u8; 4]>::try_from(&*bytes).map(i32::from_be_bytes).map_err(|_| CqlError::invalid("Invalid limit value"))?;
            if count <= 0 {
                return Err(CqlError::invalid("LIMIT must be strictly positive"));
            }
            Ok(count.unsigned_abs())
        }
        Bound::Null => Err(CqlError::invalid("Invalid null value of limit")),
        Bound::Unset => Ok(NO_LIMIT),
    }
}

/// Prepares a statement that takes several steps.
///
/// # Errors
/// Values that cannot be keys or limits, a paging state that is none.
pub(super) fn coordinate(execution: &Execution<'_>, context: &Context) -> Result<Box<dyn Coordinator<Error = CqlError>>, CqlError> {
    let Statement::Select(plan) = &execution.prepared.statement else {
        return Err(CqlError::Server("not a SELECT".to_owned()));
    };
    let environment = Environment { bindings: &execution.bindings, context };
    let options = execution.options;
    let mut limit_left = limit(plan.limit.as_ref(), &environment)?;
    let per_partition = limit(plan.per_partition_limit.as_ref(), &environment)?;
    let asked = execution.paging_state.map(|state| paging::aggregates(state, plan.outputs.len())).transpose()?.flatten();
    let (spec, state) = asked.map_or((None, execution.paging_state), |(spec, after)| (Some(spec), after));
    let state = state.map(|state| PagingState::decode(state, plan.table.id)).transpose()?;
    let folded = spec.map(|spec| Folded::new(plan, spec)).transpose()?;
    let mut extents = extents(plan, &environment, options.cores)?;
    let mut first_cursor = None;
    if let Some(state) = state {
        limit_left = limit_left.min(state.limit_left);
        first_cursor = Some(skip_to(&mut extents, state.cursor)?);
    }
    let grouped = plan.group_by.is_some();
    let rows_of_partition = match per_partition {
        // Aggregates of a DISTINCT count partitions.
        limit if plan.distinct => limit.min(1),
        _ if grouped => NO_LIMIT,
        // Each partition's rows come sorted, so no more than the first of each can be among the first of all.
        limit if !plan.sort.is_empty() => limit.min(limit_left),
        limit => limit,
    };
    let fetch = Arc::new(fetch_plan(plan, &environment, rows_of_partition, options.now_s(context))?);
    // An aggregate over everything is one row, the nearest rows are few, and what is to be sorted must all be there first.
    let page_size = options.page_size.filter(|_| plan.nearest.is_none() && (plan.aggregates.is_empty() || grouped));
    let page_left = page_size.unwrap_or(NO_LIMIT);
    if !plan.sort.is_empty() && page_left < limit_left {
        return Err(CqlError::invalid(
            "Cannot page queries with both ORDER BY and a IN restriction on the partition key; \
             you must either remove the ORDER BY or the IN and sort client side, or disable paging for this query",
        ));
    }
    let groups_per_partition = if grouped { per_partition } else { NO_LIMIT };
    let room = Room { page_left, limit_left, paged: page_size.is_some(), bytes_max: options.result_bytes_max };
    let is_of_all = plan.token_lower.is_none() && plan.token_upper.is_none();
    Ok(Box::new(SelectCoordinator {
        fetch,
        options,
        values: execution.bindings.to_owned_values(),
        context: *context,
        random: Rng::new(context.nonce),
        output: Output::new(plan, room, groups_per_partition, (first_cursor, folded)),
        extents,
        queue: VecDeque::new(),
        ring_extents: 1,
        cover_tries: if is_of_all && options.cores > COVERED_FROM { COVER_TRIES } else { 0 },
        is_complete: false,
        script_instructions: 0,
    }))
}

/// What all chunks of a statement have in common.
fn fetch_plan(plan: &Arc<Select>, environment: &Environment<'_>, per_partition: u32, now_s: u32) -> Result<FetchPlan, CqlError> {
    let filters =
        plan.filters.iter().map(|filter| BoundFilter::new(filter, plan.table.clustering(), environment)).collect::<Result<Vec<_>, _>>()?;
    let ranges =
        if plan.partition.is_empty() { Vec::new() } else { keys::clustering_ranges(&plan.table, &plan.clustering, environment, true)? };
    if let Some(used) = plan.index.as_ref().filter(|used| IndexClass::of(&used.index) == IndexClass::Legacy) {
        let mut values = used.filters.iter().filter_map(|position| filters.get(*position)).flat_map(|filter| filter.comparison().2);
        if values.any(|value| value.len() > KEY_BYTES_MAX) {
            return Err(CqlError::invalid("Index expression values may not be larger than 64K"));
        }
    }
    let entries = plan.index.as_ref().filter(|_| plan.partition.is_empty()).map(|used| EntryRanges::new(used, &filters));
    let nearest =
        plan.nearest.as_ref().map(|nearest| BoundNearest::new(nearest, nearest_rows(plan, environment)?, environment)).transpose()?;
    Ok(FetchPlan { plan: Arc::clone(plan), ranges, filters, entries, nearest, per_partition, now_s, keyed: plan.group_by.is_some() })
}

/// How many rows `ORDER BY … ANN OF` may be asked for.
const NEAREST_ROWS_MAX: u32 = 1000;

/// How many rows `ORDER BY … ANN OF` asks for.
fn nearest_rows(plan: &Select, environment: &Environment<'_>) -> Result<u32, CqlError> {
    let rows = limit(plan.limit.as_ref(), environment)?;
    match rows {
        NO_LIMIT => Err(CqlError::invalid("Top-K queries must have a limit specified and the limit must be less than the query page size")),
        _ if rows > NEAREST_ROWS_MAX => Err(CqlError::Invalid(format!(
            "Use of ANN OF in an ORDER BY clause requires a LIMIT that is not greater than {NEAREST_ROWS_MAX}. LIMIT was {rows}"
        ))),
        _ => Ok(rows),
    }
}

/// Makes a chunk of a SELECT again that [`Operation::describe`] has described elsewhere.
///
/// # Errors
/// Values that cannot be keys, and descriptions that are of no chunk.
pub fn part_of_select(execution: &Execution<'_>, description: &[u8], context: &Context) -> Result<Box<dyn Operation>, CqlError> {
    let Statement::Select(plan) = &execution.prepared.statement else {
        return Err(CqlError::Server("not a SELECT".to_owned()));
    };
    let damaged = || CqlError::Protocol("a part of a SELECT cannot be read".to_owned());
    let described = Described::read(description).ok().flatten().ok_or_else(damaged)?;
    let mut options = execution.options;
    options.nonce = described.nonce;
    let context = &options.fix(context, 0);
    let environment = Environment { bindings: &execution.bindings, context };
    let fetch = Arc::new(fetch_plan(plan, &environment, described.per_partition, described.now_s)?);
    let Described { extent, covers, cursor, rows_max, peek, nonce, .. } = described;
    Ok(Box::new(Chunk { fetch, extent, cursor, rows_max, peek, covers, nonce }))
}

/// What functions of users may take in one statement: some 40 seconds of a core, in slices.
const SCRIPT_INSTRUCTIONS_MAX: u64 = 10_000_000_000;

/// What has been taken of the replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replies {
    /// All that the result or page needs.
    All,
    /// Not all: more has to be asked for.
    Some,
    /// As many as a step has time for.
    Paused,
}

/// An extent that has been asked for.
struct Asked {
    range: Range,
    /// What a chunk replied, until it is taken.
    reply: Option<Vec<u8>>,
}

struct SelectCoordinator {
    fetch: Arc<FetchPlan>,
    options: Options,
    values: OwnedValues,
    context: Context,
    random: Rng,
    /// Extents not yet asked for.
    extents: VecDeque<Range>,
    /// Extents asked for, in order.
    queue: VecDeque<Asked>,
    /// How many pieces of the ring are asked for at the same time: more while they turn out to have little.
    ring_extents: usize,
    /// While it is not 0 a chunk is asked to cover as many slots as it can; of the nearest rows one at a time, so that none is covered twice. So many may fail to in a row: those of a
    /// core without a graph, or of slots whose primary is not to be had.
    cover_tries: u32,
    /// Everything has come, and the page is being computed.
    is_complete: bool,
    /// What functions of users have cost so far, in instructions.
    script_instructions: u64,
    output: Output,
}

impl Coordinator for SelectCoordinator {
    type Error = CqlError;

    fn step(&mut self, results: Vec<Vec<u8>>, reply: &mut Vec<u8>) -> Result<Step, CqlError> {
        let waiting = self.queue.iter_mut().filter(|asked| asked.reply.is_none());
        for (asked, result) in waiting.zip(results) {
            asked.reply = Some(result);
        }
        let (values, context) = (std::mem::take(&mut self.values), self.context);
        let bindings = values.bindings();
        let environment = Environment { bindings: &bindings, context: &context };
        let random = RefCell::new(self.random.clone());
        let surroundings = Surroundings { environment: &environment, random: &random };
        let replies = if self.is_complete { Replies::All } else { self.take_replies(surroundings)? };
        if replies == Replies::All {
            self.is_complete = true;
            if self.finish(surroundings, reply)? {
                return Ok(Step::Done);
            }
        }
        self.script_instructions = self.script_instructions.saturating_add(bindings.meter().spent());
        if self.script_instructions > SCRIPT_INSTRUCTIONS_MAX {
            return Err(CqlError::Invalid(format!(
                "The functions of this statement have taken more than {SCRIPT_INSTRUCTIONS_MAX} instructions: ask for fewer rows at a time"
            )));
        }
        drop(bindings);
        self.values = values;
        self.random = random.into_inner();
        Ok(match replies {
            Replies::Some => Step::Run(self.ask()),
            // Others have their turn, and it goes on in the next one.
            Replies::All | Replies::Paused => Step::Wait { until_us: 0 },
        })
    }
}

impl SelectCoordinator {
    /// Takes what has come, in order.
    fn take_replies(&mut self, surroundings: Surroundings<'_>) -> Result<Replies, CqlError> {
        if self.output.room_is_used_up() {
            return Ok(Replies::All);
        }
        while let Some(asked) = self.queue.front_mut() {
            let Some(reply) = asked.reply.take() else { return Ok(Replies::Some) };
            let damaged = || CqlError::Server("a shard's reply cannot be read".to_owned());
            let gathered = Gathered::read(&reply).ok().flatten().ok_or_else(damaged)?;
            if !gathered.covered.is_empty() && self.fetch.gives_covered_rows() {
                let is_ring = |range: &&Range| range.extent != Extent::Partition;
                let left = self.extents.iter().filter(is_ring).map(|range| range.cursor.token.slot());
                let left: BTreeSet<Slot> = left.chain([asked.range.cursor.token.slot()]).collect();
                if !gathered.covered.iter().all(|slot| left.contains(slot)) {
                    // A slot has moved to a member since another one answered for it. Its rows came then: each slot answers for itself from here on.
                    self.cover_tries = 0;
                    return Ok(Replies::Some);
                }
            }
            match self.output.take(&self.fetch.plan, &gathered, &asked.range.cursor, surroundings)? {
                Taken::AllOfExtent => {
                    self.queue.pop_front();
                    self.cover(&gathered.covered);
                    self.ring_extents = (2 * self.ring_extents).min(EXTENTS_AT_ONCE);
                }
                Taken::Part => {
                    asked.range.cursor = gathered.cursor;
                    self.ring_extents = 1;
                    return Ok(Replies::Some);
                }
                Taken::Paused => {
                    asked.reply = Some(reply);
                    return Ok(Replies::Paused);
                }
                Taken::TooMany => return Ok(Replies::Some),
                Taken::PageComplete => return Ok(Replies::All),
            }
        }
        Ok(if self.extents.is_empty() { Replies::All } else { Replies::Some })
    }

    /// A chunk has covered these slots besides its extent, or none.
    fn cover(&mut self, slots: &[Slot]) {
        let before = self.extents.len();
        if !slots.is_empty() {
            let mut covered = [false; SLOT_COUNT as usize];
            for slot in slots {
                // A damaged reply may name one that there is not.
                if let Some(covered) = covered.get_mut(usize::from(slot.0)) {
                    *covered = true;
                }
            }
            let is_left = |range: &Range| range.extent == Extent::Partition || !covered[usize::from(range.cursor.token.slot().0)];
            self.extents.retain(is_left);
        }
        self.cover_tries = match self.cover_tries {
            0 => 0,
            left if self.extents.len() == before => left - 1,
            _ => COVER_TRIES,
        };
    }

    /// The chunks to run next.
    fn ask(&mut self) -> Vec<Part> {
        // When everything is read anyway, all cores do it at the same time.
        let plan = &self.fetch.plan;
        let everything = plan.nearest.is_some() || (!plan.aggregates.is_empty() && plan.group_by.is_none());
        let at_once = match self.extents.front().map(|range| range.extent) {
            Some(Extent::Ring { .. }) if self.cover_tries > 0 && self.fetch.gives_covered_rows() => 1,
            Some(Extent::Ring { .. }) if !everything => self.ring_extents,
            _ => EXTENTS_AT_ONCE,
        };
        while self.queue.len() < at_once
            && let Some(range) = self.extents.pop_front()
        {
            self.queue.push_back(Asked { range, reply: None });
        }
        let (rows_max, peek) = self.output.rows_wanted();
        let part = |asked: &Asked| Part {
            table: self.fetch.plan.table.id,
            token: asked.range.cursor.token,
            operation: Box::new(Chunk {
                fetch: Arc::clone(&self.fetch),
                extent: asked.range.extent,
                cursor: asked.range.cursor.clone(),
                rows_max,
                peek,
                covers: self.cover_tries > 0 && matches!(asked.range.extent, Extent::Ring { .. }),
                nonce: self.options.nonce,
            }),
        };
        self.queue.iter().filter(|asked| asked.reply.is_none()).map(part).collect()
    }

    /// Appends the reply frame; false if there is more to compute than a step may.
    fn finish(&mut self, surroundings: Surroundings<'_>, reply: &mut Vec<u8>) -> Result<bool, CqlError> {
        let plan = &*self.fetch.plan;
        let Some(page) = self.output.finish(plan, surroundings)? else { return Ok(false) };
        let state = page.next.map(|cursor| PagingState { table: plan.table.id, limit_left: page.limit_left, cursor }.encode());
        let options = &self.options;
        let mut warnings = warnings(plan);
        if let (Some(nearest), Some(page_size)) = (&self.fetch.nearest, options.page_size)
            && page_size < nearest.rows_max
        {
            let limit = nearest.rows_max;
            warnings.push(format!(
                "Top-K queries do not support paging and the page size is set to {page_size}, which is less than LIMIT {limit}. \
                 The page size has been set to {limit} to match the LIMIT."
            ));
        }
        let extras = ResponseExtras { warnings: &warnings, ..ResponseExtras::default() };
        let mark = begin_frame(reply, options.version, Direction::Response, extras.flags(options.version), options.stream, Opcode::Result);
        extras.write(reply, options.version);
        let columns = if options.skip_metadata { ResultColumns::Skipped } else { ResultColumns::Described };
        let folded = page.is_folded.then(|| folded::metadata(plan, options.version));
        let metadata = folded.as_ref().unwrap_or_else(|| plan.metadata(options.version));
        let rows = begin_rows(reply, metadata, RowsDescription::Columns(columns), state.as_deref());
        reply.extend_from_slice(&page.body);
        end_rows(reply, rows, page.row_count);
        end_frame(reply, mark).map_err(|_| output::too_large(FRAME_BODY_BYTES_MAX))?;
        Ok(true)
    }
}

/// What Cassandra warns of: an aggregation that reads more than one partition.
fn warnings(plan: &Select) -> Vec<String> {
    if plan.aggregates.is_empty() && plan.group_by.is_none() {
        Vec::new()
    } else if !plan.restricts_partition {
        vec!["Aggregation query used without partition key".to_owned()]
    } else if plan.partition.iter().any(KeyTerm::is_in) {
        vec!["Aggregation query used on multiple partition keys (IN restriction)".to_owned()]
    } else {
        Vec::new()
    }
}
