//! Writes to several partitions, and batches.
//!
//! All statements for one core run there as one operation, hence atomically. A batch over several cores is several operations at the same
//! time, each of which is all or nothing; a logged one is so as a whole (see [`batch_log`](super::batch_log)).

use super::batch_log::{DELETE_ENTRY, DeleteEntry, EntryPlace, LoggedBatch};
use super::{Bindings, Environment, Execution, Failure, Options, OwnedValues, Work, condition, keys, modify};
use crate::plan::{BatchKind, Modify, Statement};
use crate::wire::writer::{write_byte, write_int, write_long};
use crate::wire::{FRAME_HEADER_BYTES, Reader, WireError};
use crate::{CqlError, reply};
use base::{SLOT_COUNT, TableId, Token};
use model::operation::{Context, Coordinator, Operation, Part, PartitionKey, RowStore, Standing, Step, Stop, WriteSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One statement on one of its partitions.
struct BatchItem {
    plan: Arc<Modify>,
    values: Arc<OwnedValues>,
    partition: Vec<u8>,
    token: Token,
    /// Its statement's number in the batch.
    item: usize,
    /// Its own number among all of the batch.
    number: u32,
}

/// How a part is described that runs statements: this, then what [`Described`] has.
const STATEMENTS: u8 = 0;
const LOGGED_STATEMENTS: u8 = 1;

/// How a [`Run`] is described.
const TRIAL: u8 = 0;
const FIRST: u8 = 1;
const OTHER: u8 = 2;

/// The numbers of list elements of one statement of a logged batch, so that they do not depend on how the batch is cut into parts.
const LIST_NUMBERS_PER_ITEM: u32 = 24;

/// Statements that run on one core, together.
struct ModifyMany {
    items: Arc<[BatchItem]>,
    /// USING TIMESTAMP of the batch.
    timestamp: Option<i64>,
    options: Options,
    conditional: bool,
    logged: Option<Logged>,
}

/// What a part of a logged batch goes by.
struct Logged {
    batch: LoggedBatch,
    run: Run,
}

/// Why a part of a logged batch runs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Run {
    /// To see whether it can, and what timestamp it needs.
    Trial,
    /// To leave the entry, with the request.
    First(Arc<[u8]>),
    /// For what it does.
    Other,
}

/// A statement of a BATCH message: what was prepared, and its values.
pub struct BatchStatement<'a> {
    /// The plan.
    pub plan: Arc<Modify>,
    /// Its values.
    pub bindings: Bindings<'a>,
}

/// Starts a statement with IN on its partition key, or the text of a BATCH.
pub(super) fn start(execution: &Execution<'_>, context: &Context) -> Result<Work, CqlError> {
    let environment = Environment { bindings: &execution.bindings, context };
    let coordinator = match &execution.prepared.statement {
        Statement::Modify(plan) => {
            let statements = vec![BatchStatement { plan: Arc::clone(plan), bindings: execution.bindings.clone() }];
            let kind = if plan.table.is_counter() { BatchKind::Counter } else { BatchKind::Unlogged };
            start_many(statements, None, kind, execution.options, context)
        }
        Statement::Batch(batch) => {
            let timestamp = modify::timestamp(batch.timestamp.as_ref(), &environment)?;
            let statements = batch
                .statements
                .iter()
                .map(|plan| BatchStatement { plan: Arc::clone(plan), bindings: execution.bindings.clone() })
                .collect();
            start_many(statements, timestamp, batch.kind, execution.options, context)
        }
        _ => Err(CqlError::Server("not a statement that writes".to_owned())),
    };
    coordinator.map(Work::Batch)
}

/// Starts the statements of a batch.
///
/// # Errors
/// Statements that do not go together, or values that cannot be keys.
pub fn start_many(
    statements: Vec<BatchStatement<'_>>,
    timestamp: Option<i64>,
    kind: BatchKind,
    options: Options,
    context: &Context,
) -> Result<Box<BatchCoordinator>, CqlError> {
    check_kinds(&statements, kind)?;
    let conditional = statements.iter().any(|statement| statement.plan.is_conditional());
    let items = items(&statements, &options, context)?;
    if conditional && let Some(first) = items.first() {
        if items.iter().any(|item| item.plan.table.id != first.plan.table.id) {
            return Err(CqlError::invalid("Batch with conditions cannot span multiple tables"));
        }
        if items.iter().any(|item| item.partition != first.partition) {
            return Err(CqlError::invalid("Batch with conditions cannot span multiple partitions"));
        }
    }
    Ok(Box::new(BatchCoordinator::new(items, kind, timestamp, options, conditional)))
}

/// The statements, each for each of its partitions.
fn items(statements: &[BatchStatement<'_>], options: &Options, context: &Context) -> Result<Vec<BatchItem>, CqlError> {
    let mut items: Vec<BatchItem> = Vec::new();
    for (item, statement) in statements.iter().enumerate() {
        let context = &options.fix(context, item);
        let environment = Environment { bindings: &statement.bindings, context };
        let values = Arc::new(statement.bindings.to_owned_values());
        for partition in keys::partition_keys(&statement.plan.table, &statement.plan.partition, &environment)? {
            let (plan, token, number) = (&statement.plan, keys::token(&statement.plan.table, &partition), items.len() as u32);
            items.push(BatchItem { plan: Arc::clone(plan), values: Arc::clone(&values), partition, token, item, number });
        }
    }
    Ok(items)
}

/// What a part of a batch has described elsewhere ([`Operation::describe`]): the request's nonce, the batch's own timestamp, the numbers of its
/// items, and what it goes by if it is logged.
struct Described {
    nonce: u64,
    timestamp: Option<i64>,
    numbers: BTreeSet<u32>,
    logged: Option<Logged>,
}

impl Described {
    fn read(reader: &mut Reader<'_>, is_logged: bool, request: &[u8]) -> Result<Option<Self>, WireError> {
        let nonce = reader.long()?.cast_unsigned();
        let (has_timestamp, timestamp) = (reader.byte()? != 0, reader.long()?);
        let count = reader.int()?;
        let numbers = (0..count).map(|_| reader.int().map(i32::cast_unsigned)).collect::<Result<_, _>>()?;
        let mut described = Self { nonce, timestamp: has_timestamp.then_some(timestamp), numbers, logged: None };
        if is_logged {
            let run = match reader.byte()? {
                TRIAL => Run::Trial,
                FIRST => Run::First(request.into()),
                _ => Run::Other,
            };
            let Some(batch) = LoggedBatch::read(reader)? else { return Ok(None) };
            described.logged = Some(Logged { batch, run });
        }
        Ok(Some(described))
    }
}

/// Makes a part of a batch again from all its statements. `request` is what the whole batch came as, which its entry in the log is made of.
///
/// # Errors
/// Values that cannot be keys, and descriptions that are of no part of it.
pub fn part_of_batch(
    statements: &[BatchStatement<'_>],
    mut options: Options,
    description: &[u8],
    request: &[u8],
    context: &Context,
) -> Result<Box<dyn Operation>, CqlError> {
    let damaged = || CqlError::Protocol("a part of a batch cannot be read".to_owned());
    let mut reader = Reader::new(description);
    let kind = reader.byte().map_err(|_| damaged())?;
    if kind == DELETE_ENTRY {
        let number = reader.int().map_err(|_| damaged())?.cast_unsigned();
        let lane = reader.short().map_err(|_| damaged())?;
        let batch = LoggedBatch::read(&mut reader).ok().flatten().ok_or_else(damaged)?;
        options = batch.fix(options);
        let item = items(statements, &options, context)?.into_iter().find(|item| item.number == number).ok_or_else(damaged)?;
        return Ok(Box::new(DeleteEntry { place: item.entry_place(), lane, batch }));
    }
    let described = Described::read(&mut reader, kind == LOGGED_STATEMENTS, request).ok().flatten().ok_or_else(damaged)?;
    options.nonce = described.nonce;
    if let Some(logged) = &described.logged {
        options = logged.batch.fix(options);
    }
    let conditional = statements.iter().any(|statement| statement.plan.is_conditional());
    let items = items(statements, &options, context)?.into_iter().filter(|item| described.numbers.contains(&item.number)).collect();
    Ok(Box::new(ModifyMany { items, timestamp: described.timestamp, options, conditional, logged: described.logged }))
}

/// As [`part_of_batch`], of one statement's text: a BATCH, or one with IN on its partition key.
///
/// # Errors
/// As [`part_of_batch`].
pub fn part_of_modification(
    execution: &Execution<'_>,
    description: &[u8],
    request: &[u8],
    context: &Context,
) -> Result<Box<dyn Operation>, CqlError> {
    let statement = |plan: &Arc<Modify>| BatchStatement { plan: Arc::clone(plan), bindings: execution.bindings.clone() };
    let statements = match &execution.prepared.statement {
        Statement::Modify(plan) => vec![statement(plan)],
        Statement::Batch(batch) => batch.statements.iter().map(statement).collect(),
        _ => return Err(CqlError::Server("not a statement that writes".to_owned())),
    };
    part_of_batch(&statements, execution.options, description, request, context)
}

fn check_kinds(statements: &[BatchStatement<'_>], kind: BatchKind) -> Result<(), CqlError> {
    let counters = statements.iter().filter(|statement| statement.plan.table.is_counter()).count();
    match kind {
        BatchKind::Counter if counters < statements.len() => {
            Err(CqlError::invalid("Cannot include non-counter statement in a counter batch"))
        }
        BatchKind::Logged if counters > 0 => Err(CqlError::invalid("Cannot include a counter statement in a logged batch")),
        BatchKind::Unlogged if counters > 0 && counters < statements.len() => {
            Err(CqlError::invalid("Counter and non-counter mutations cannot exist in the same batch"))
        }
        _ => Ok(()),
    }
}

/// Sends each core its part, then answers; what it does in the log is told in [`batch_log`](super::batch_log).
pub struct BatchCoordinator {
    /// What one core owns; where that depends on the keyspace, each is by itself.
    parts: Vec<Arc<[BatchItem]>>,
    kind: BatchKind,
    timestamp: Option<i64>,
    options: Options,
    conditional: bool,
    log: Option<Log>,
    stage: Stage,
}

/// The log of a batch that is logged.
struct Log {
    batch: LoggedBatch,
    /// None if the batch runs again, for nobody.
    request: Option<Arc<[u8]>>,
    /// The entry's.
    lane: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    /// All parts are out, and there is no log.
    Unlogged,
    /// All parts are tried out.
    Trial,
    /// The part is out that leaves the entry.
    First,
    /// Other parts are out.
    Others,
    /// The entry is being deleted.
    End,
}

impl BatchCoordinator {
    fn new(items: Vec<BatchItem>, kind: BatchKind, timestamp: Option<i64>, options: Options, conditional: bool) -> Self {
        let mut parts: BTreeMap<(u16, Option<String>), Vec<BatchItem>> = BTreeMap::new();
        let by_keyspace = u32::from(options.cores) == SLOT_COUNT;
        for item in items {
            let keyspace = by_keyspace.then(|| item.plan.table.keyspace.clone());
            parts.entry((item.token.slot().core(options.cores).0, keyspace)).or_default().push(item);
        }
        let parts = parts.into_values().map(Arc::from).collect();
        Self { parts, kind, timestamp, options, conditional, log: None, stage: Stage::Start }
    }

    /// Whether it has to be given a log to be done as a whole.
    #[must_use]
    pub fn needs_log(&self) -> bool {
        self.kind == BatchKind::Logged && self.parts.len() > 1
    }

    /// Has the batch leave an entry, with the request as it can be run again.
    pub fn log(&mut self, request: Arc<[u8]>, context: &Context) {
        self.log = Some(Log { batch: LoggedBatch::new(&self.options, context.timestamp_us), request: Some(request), lane: 0 });
    }

    /// Has the batch of an entry run again; it was made with [`LoggedBatch::fix`]ed options.
    pub fn run_again(&mut self, batch: LoggedBatch, lane: u16) {
        self.log = Some(Log { batch, request: None, lane });
    }

    fn run(&mut self, stage: Stage, parts: std::ops::Range<usize>, run: &Run) -> Step {
        self.stage = stage;
        let make = |items: &Arc<[BatchItem]>| Part {
            table: items.first().map_or(TableId(0), |item| item.plan.table.id),
            token: items.first().map_or(Token(0), |item| item.token),
            operation: Box::new(ModifyMany {
                items: Arc::clone(items),
                timestamp: self.timestamp,
                options: self.options,
                conditional: self.conditional,
                logged: self.log.as_ref().map(|log| Logged { batch: log.batch, run: run.clone() }),
            }),
        };
        Step::Run(self.parts[parts].iter().map(make).collect())
    }

    fn delete_entry(&mut self) -> Step {
        self.stage = Stage::End;
        let first = self.parts.first().and_then(|part| part.first());
        let (Some(log), Some(place)) = (&self.log, first.map(BatchItem::entry_place)) else { return Step::Done };
        let operation = Box::new(DeleteEntry { place, lane: log.lane, batch: log.batch });
        Step::Run(vec![Part { table: place.table, token: place.token, operation }])
    }
}

impl Coordinator for BatchCoordinator {
    type Error = CqlError;

    fn step(&mut self, mut results: Vec<Vec<u8>>, reply: &mut Vec<u8>) -> Result<Step, CqlError> {
        // Each part's reply is a whole frame: a void, an error, or for conditions the only part's rows. Those of a trial, a timestamp, and of the first
        // part, the entry's lane, are shorter than any frame.
        let error = results.iter().position(|frame| is_error(frame));
        let end = self.parts.len();
        Ok(match (self.stage, &mut self.log) {
            (Stage::Start, _) if self.parts.is_empty() => {
                reply::write_void(reply, self.options.version, self.options.stream);
                Step::Done
            }
            (Stage::Start, None) => self.run(Stage::Unlogged, 0..end, &Run::Other),
            (Stage::Start, Some(Log { request: None, .. })) => self.run(Stage::Others, 0..end, &Run::Other),
            (Stage::Start, Some(_)) => self.run(Stage::Trial, 0..end, &Run::Trial),
            (Stage::Others, Some(Log { request: None, .. })) => self.delete_entry(),
            (Stage::Unlogged | Stage::Others, log) => {
                let is_logged = log.is_some();
                reply.extend_from_slice(&results.swap_remove(error.unwrap_or(0)));
                if is_logged { self.delete_entry() } else { Step::Done }
            }
            (Stage::Trial | Stage::First, _) if let Some(error) = error => {
                reply.extend_from_slice(&results[error]);
                Step::Done
            }
            (Stage::Trial, Some(Log { batch, request: Some(request), .. })) => {
                let needed = results.iter().filter_map(|result| result.as_slice().try_into().ok().map(i64::from_be_bytes)).max();
                batch.timestamp_us = batch.timestamp_us.max(needed.unwrap_or(i64::MIN));
                let run = Run::First(Arc::clone(request));
                self.run(Stage::First, 0..1, &run)
            }
            (Stage::First, log) => {
                let lane = results.first().and_then(|lane| lane.as_slice().try_into().ok().map(u16::from_be_bytes));
                if let (Some(log), Some(lane)) = (log, lane) {
                    log.lane = lane;
                }
                self.run(Stage::Others, 1..end, &Run::Other)
            }
            (Stage::Trial | Stage::End, _) => Step::Done,
        })
    }

    fn standing(&self) -> Standing {
        match self.stage {
            Stage::Start | Stage::Unlogged | Stage::Trial | Stage::First => Standing::Open,
            Stage::Others => Standing::Decided,
            Stage::End => Standing::Done,
        }
    }
}

/// Whether a whole frame is an ERROR.
fn is_error(frame: &[u8]) -> bool {
    frame.len() >= FRAME_HEADER_BYTES && frame[4] == crate::wire::Opcode::Error as u8
}

impl Operation for ModifyMany {
    fn describe(&self, out: &mut Vec<u8>) -> bool {
        write_byte(out, if self.logged.is_some() { LOGGED_STATEMENTS } else { STATEMENTS });
        write_long(out, self.options.nonce.cast_signed());
        write_byte(out, self.timestamp.is_some().into());
        write_long(out, self.timestamp.unwrap_or(0));
        write_int(out, self.items.len() as i32);
        for item in &*self.items {
            write_int(out, item.number.cast_signed());
        }
        if let Some(logged) = &self.logged {
            write_byte(out, logged.run.code());
            logged.batch.write(out);
        }
        true
    }

    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Stop> {
        let start = out.len();
        match self.run_all(context, store, writes, out) {
            Ok(()) => Ok(()),
            Err(Failure::Stop(stop)) => Err(stop),
            Err(Failure::Error(error)) => {
                out.truncate(start);
                writes.clear();
                reply::write_error(out, self.options.version, self.options.stream, &error);
                Ok(())
            }
        }
    }
}

impl Run {
    fn code(&self) -> u8 {
        match self {
            Self::Trial => TRIAL,
            Self::First(_) => FIRST,
            Self::Other => OTHER,
        }
    }
}

impl ModifyMany {
    fn run_all(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Failure> {
        if let Some(logged) = &self.logged {
            return self.run_logged(logged, context, store, writes, out);
        }
        let conditional_timestamp = if self.conditional {
            match self.check_conditions(context, store, writes, out)? {
                Some(timestamp) => Some(timestamp),
                None => return Ok(()),
            }
        } else {
            None
        };
        let least = self.write(context, store, writes, conditional_timestamp, i64::MIN)?;
        if least > context.timestamp_us {
            // As for a statement alone: what is acknowledged must be seen, wherever the clock stands.
            writes.clear();
            self.write(context, store, writes, conditional_timestamp, least)?;
        }
        if !self.conditional {
            reply::write_void(out, self.options.version, self.options.stream);
        }
        Ok(())
    }

    fn run_logged(
        &self,
        logged: &Logged,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let needed = self.write(context, store, writes, None, i64::MIN)?;
        match &logged.run {
            Run::Trial => {
                writes.clear();
                out.extend_from_slice(&needed.to_be_bytes());
                return Ok(());
            }
            Run::First(request) => {
                let Some(place) = self.items.first().map(BatchItem::entry_place) else { return Ok(()) };
                let lane = place.put(context, store, writes, &logged.batch, request)?;
                let full = || CqlError::Overloaded("too many logged batches are under way; try again later".to_owned());
                out.extend_from_slice(&lane.ok_or_else(full)?.to_be_bytes());
                return Ok(());
            }
            Run::Other => {}
        }
        reply::write_void(out, self.options.version, self.options.stream);
        Ok(())
    }

    /// Stages what all statements write, those without a timestamp with one of at least `least`. Gives the least one that is above all that
    /// these have written over.
    fn write(
        &self,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        conditional_timestamp: Option<i64>,
        least: i64,
    ) -> Result<i64, Failure> {
        let now_s = match &self.logged {
            Some(_) => self.options.now_s(&self.options.fix(context, 0)),
            None => self.options.now_s(context),
        };
        let (mut list_sequence, mut above) = (0, i64::MIN);
        for item in &*self.items {
            let bindings = item.values.bindings();
            let mut context = self.options.fix(context, item.item);
            if let Some(logged) = &self.logged {
                context.timestamp_us = logged.batch.timestamp_us;
                list_sequence = u64::from(item.number) << LIST_NUMBERS_PER_ITEM;
            }
            let context = &context;
            let environment = Environment { bindings: &bindings, context };
            let own = modify::timestamp(item.plan.timestamp.as_ref(), &environment)?;
            let given = conditional_timestamp.or(own).or(self.timestamp).or(self.options.timestamp);
            let tracked = given.is_none().then_some(above);
            let mut writer =
                modify::Writer { environment: &environment, store, writes: &mut *writes, now_s, list_sequence, least: tracked };
            writer.apply(&item.plan, &item.key(), given.unwrap_or(context.timestamp_us.max(least)))?;
            list_sequence = writer.list_sequence;
            above = writer.least.unwrap_or(above);
        }
        Ok(above)
    }

    /// Appends the outcome of the conditions and gives the timestamp to write with, if they hold.
    fn check_conditions(
        &self,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        out: &mut Vec<u8>,
    ) -> Result<Option<i64>, Failure> {
        let now_s = self.options.now_s(context);
        let mut applied = true;
        let mut rows = Vec::new();
        let mut plans: Vec<&Modify> = Vec::new();
        for item in self.items.iter().filter(|item| item.plan.is_conditional()) {
            let bindings = item.values.bindings();
            let context = &self.options.fix(context, item.item);
            let environment = Environment { bindings: &bindings, context };
            let writer = modify::Writer { environment: &environment, store, writes: &mut *writes, now_s, list_sequence: 0, least: None };
            let existing = condition::existing(&writer, &item.plan, &item.key())?;
            applied &= condition::holds(&writer, &item.plan, &existing)?;
            rows.push(existing);
            plans.push(&item.plan);
        }
        let bindings = Bindings::default();
        let environment = Environment { bindings: &bindings, context };
        let writer = modify::Writer { environment: &environment, store, writes, now_s, list_sequence: 0, least: None };
        let statements: Vec<_> = plans.into_iter().zip(&rows).collect();
        if let Some(item) = self.items.first() {
            condition::write_outcome(&writer, out, &self.options, &item.key(), applied, &statements);
        }
        Ok(applied.then(|| condition::next_timestamp(&writer, &rows)))
    }
}

impl BatchItem {
    fn key(&self) -> PartitionKey<'_> {
        PartitionKey { table: self.plan.table.id, token: self.token, bytes: &self.partition }
    }

    fn entry_place(&self) -> EntryPlace {
        EntryPlace { table: self.plan.table.id, token: self.token, number: self.number }
    }
}
