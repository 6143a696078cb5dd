//! Writes to several partitions, and batches.
//!
//! All statements for one core run there as one operation, hence atomically. A batch over several cores is several operations at the same
//! time; each core's part is all or nothing.

use super::{Bindings, Environment, Execution, Failure, Options, OwnedValues, Work, condition, keys, modify};
use crate::plan::{BatchKind, Modify, Statement};
use crate::wire::writer::{write_byte, write_int, write_long};
use crate::wire::{Reader, WireError};
use crate::{CqlError, reply};
use base::{SLOT_COUNT, TableId, Token};
use model::operation::{Context, Coordinator, Operation, Part, PartitionKey, RowStore, Step, Stop, WriteSet};
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

/// Statements that run on one core, together.
struct ModifyMany {
    items: Vec<BatchItem>,
    /// USING TIMESTAMP of the batch.
    timestamp: Option<i64>,
    options: Options,
    conditional: bool,
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
    match &execution.prepared.statement {
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
    }
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
) -> Result<Work, CqlError> {
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
    Ok(Work::Coordinate(Box::new(BatchCoordinator { items, timestamp, options, conditional })))
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

/// What a part of a batch has described elsewhere ([`Operation::describe`]): the request's nonce, the batch's own timestamp, and the
/// numbers of its items.
fn read_description(bytes: &[u8]) -> Result<(u64, Option<i64>, BTreeSet<u32>), WireError> {
    let mut reader = Reader::new(bytes);
    let nonce = reader.long()?.cast_unsigned();
    let (has_timestamp, timestamp) = (reader.byte()? != 0, reader.long()?);
    let count = reader.int()?;
    let numbers = (0..count).map(|_| reader.int().map(i32::cast_unsigned)).collect::<Result<_, _>>()?;
    Ok((nonce, has_timestamp.then_some(timestamp), numbers))
}

/// Makes a part of a batch again from all its statements.
///
/// # Errors
/// Values that cannot be keys, and descriptions that are of no part of it.
pub fn part_of_batch(
    statements: &[BatchStatement<'_>],
    mut options: Options,
    description: &[u8],
    context: &Context,
) -> Result<Box<dyn Operation>, CqlError> {
    let damaged = |_| CqlError::Protocol("a part of a batch cannot be read".to_owned());
    let (nonce, timestamp, numbers) = read_description(description).map_err(damaged)?;
    options.nonce = nonce;
    let conditional = statements.iter().any(|statement| statement.plan.is_conditional());
    let items = items(statements, &options, context)?.into_iter().filter(|item| numbers.contains(&item.number)).collect();
    Ok(Box::new(ModifyMany { items, timestamp, options, conditional }))
}

/// As [`part_of_batch`], of one statement's text: a BATCH, or one with IN on its partition key.
///
/// # Errors
/// As [`part_of_batch`].
pub fn part_of_modification(execution: &Execution<'_>, description: &[u8], context: &Context) -> Result<Box<dyn Operation>, CqlError> {
    let statement = |plan: &Arc<Modify>| BatchStatement { plan: Arc::clone(plan), bindings: execution.bindings.clone() };
    let statements = match &execution.prepared.statement {
        Statement::Modify(plan) => vec![statement(plan)],
        Statement::Batch(batch) => batch.statements.iter().map(statement).collect(),
        _ => return Err(CqlError::Server("not a statement that writes".to_owned())),
    };
    part_of_batch(&statements, execution.options, description, context)
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

/// Sends each core its part, then answers.
struct BatchCoordinator {
    items: Vec<BatchItem>,
    timestamp: Option<i64>,
    options: Options,
    conditional: bool,
}

impl Coordinator for BatchCoordinator {
    type Error = CqlError;

    fn step(&mut self, results: Vec<Vec<u8>>, reply: &mut Vec<u8>) -> Result<Step, CqlError> {
        // Each part's reply is a whole frame: a void, an error, or for conditions the only part's rows.
        if let Some(worst) = results.into_iter().max_by_key(|frame| u8::from(is_error(frame))) {
            reply.extend_from_slice(&worst);
            return Ok(Step::Done);
        }
        if self.items.is_empty() {
            reply::write_void(reply, self.options.version, self.options.stream);
            return Ok(Step::Done);
        }
        // What one core owns; where that depends on the keyspace, each is by itself.
        let mut parts: BTreeMap<(u16, Option<String>), Vec<BatchItem>> = BTreeMap::new();
        let by_keyspace = u32::from(self.options.cores) == SLOT_COUNT;
        for item in self.items.drain(..) {
            let keyspace = by_keyspace.then(|| item.plan.table.keyspace.clone());
            parts.entry((item.token.slot().core(self.options.cores).0, keyspace)).or_default().push(item);
        }
        let (timestamp, options, conditional) = (self.timestamp, self.options, self.conditional);
        let make = |items: Vec<BatchItem>| Part {
            table: items.first().map_or(TableId(0), |item| item.plan.table.id),
            token: items.first().map_or(Token(0), |item| item.token),
            operation: Box::new(ModifyMany { items, timestamp, options, conditional }),
        };
        Ok(Step::Run(parts.into_values().map(make).collect()))
    }
}

/// Whether a whole frame is an ERROR.
fn is_error(frame: &[u8]) -> bool {
    frame.get(4) == Some(&(crate::wire::Opcode::Error as u8))
}

impl Operation for ModifyMany {
    fn describe(&self, out: &mut Vec<u8>) -> bool {
        write_long(out, self.options.nonce.cast_signed());
        write_byte(out, self.timestamp.is_some().into());
        write_long(out, self.timestamp.unwrap_or(0));
        write_int(out, self.items.len() as i32);
        for item in &self.items {
            write_int(out, item.number.cast_signed());
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

impl ModifyMany {
    fn run_all(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Failure> {
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
        let now_s = self.options.now_s(context);
        let (mut list_sequence, mut above) = (0, i64::MIN);
        for item in &self.items {
            let bindings = item.values.bindings();
            let context = &self.options.fix(context, item.item);
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
}
