//! Writes to several partitions, and batches.
//!
//! All statements for one core run there as one operation, hence atomically. A batch over several cores is several operations at the same
//! time, each of which is all or nothing; a logged one is so as a whole (see [`batch_log`](super::batch_log)).

mod coordinator;
mod limits;
mod mixed;
mod operation;

pub use coordinator::BatchCoordinator;
pub use limits::BatchLimits;

use super::batch_log::{DELETE_ENTRY, DeleteEntry, LoggedBatch};
use super::bindings::{Bindings, Environment};
use super::execution::{Execution, Options};
use super::{keys, modify};
use crate::CqlError;
use crate::plan::{BatchKind, Modify, Statement};
use crate::wire::Reader;
use model::operation::{Context, Operation};
use operation::{BatchItem, Conditions, Described, LOGGED_STATEMENTS, ModifyMany};
use std::sync::Arc;

/// A statement of a BATCH message: what was prepared, and its values.
pub struct BatchStatement<'a> {
    /// The plan.
    pub plan: Arc<Modify>,
    /// Its values.
    pub bindings: Bindings<'a>,
}

/// Starts a statement with IN on its partition key, or the text of a BATCH.
pub(super) fn start(execution: &Execution<'_>, context: &Context) -> Result<Box<BatchCoordinator>, CqlError> {
    let environment = Environment { bindings: &execution.bindings, context };
    match &execution.prepared.statement {
        Statement::Modify(plan) => {
            let statements = vec![BatchStatement { plan: Arc::clone(plan), bindings: execution.bindings.clone() }];
            let kind = if plan.table.is_counter() { BatchKind::Counter } else { BatchKind::Unlogged };
            start_items(statements, None, kind, execution.options, context, Conditions::OfStatement)
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
) -> Result<Box<BatchCoordinator>, CqlError> {
    start_items(statements, timestamp, kind, options, context, Conditions::OfBatch)
}

/// As [`start_many`]; `of` says whose the conditions are, if there are any.
fn start_items(
    statements: Vec<BatchStatement<'_>>,
    timestamp: Option<i64>,
    kind: BatchKind,
    options: Options,
    context: &Context,
    of: Conditions,
) -> Result<Box<BatchCoordinator>, CqlError> {
    kind.check(statements.iter().filter(|statement| statement.plan.table.is_counter()).count(), statements.len())?;
    let conditions = conditions(&statements, of);
    let items = items(&statements, &options, context)?;
    if conditions != Conditions::None
        && let Some(first) = items.first()
    {
        if items.iter().any(|item| item.plan.table.id != first.plan.table.id) {
            return Err(CqlError::invalid("Batch with conditions cannot span multiple tables"));
        }
        if items.iter().any(|item| item.partition != first.partition) {
            return Err(CqlError::invalid("Batch with conditions cannot span multiple partitions"));
        }
        if conditions == Conditions::OfBatch {
            mixed::check(&items, &options, context)?;
        }
    }
    Ok(Box::new(BatchCoordinator::new(items, kind, timestamp, options, conditions)))
}

fn conditions(statements: &[BatchStatement<'_>], of: Conditions) -> Conditions {
    if statements.iter().any(|statement| statement.plan.is_conditional()) { of } else { Conditions::None }
}

/// The statements, each for each of its partitions.
fn items(statements: &[BatchStatement<'_>], options: &Options, context: &Context) -> Result<Vec<BatchItem>, CqlError> {
    let mut items: Vec<BatchItem> = Vec::new();
    let mut script_instructions = 0;
    for (item, statement) in statements.iter().enumerate() {
        let context = &options.fix(context, item);
        let environment = Environment { bindings: &statement.bindings, context };
        check_calls(&statement.plan, &environment, &mut script_instructions)?;
        let values = Arc::new(statement.bindings.to_owned_values());
        let bytes = limits::bytes_written(&statement.plan, &statement.bindings);
        for partition in keys::partition_keys(&statement.plan.table, &statement.plan.partition, &environment)? {
            let (plan, token, number) = (&statement.plan, keys::token(&statement.plan.table, &partition), items.len() as u32);
            items.push(BatchItem { plan: Arc::clone(plan), values: Arc::clone(&values), partition, token, bytes, item, number });
        }
    }
    Ok(items)
}

/// Calls the functions of users once before anything is done: they give the same later, and one that fails fails the whole batch. All of a batch may take what one
/// statement may.
fn check_calls(plan: &Modify, environment: &Environment<'_>, spent: &mut u64) -> Result<(), CqlError> {
    if plan.user_calls.is_empty() {
        return Ok(());
    }
    environment.bindings.meter().carry(*spent);
    for call in &plan.user_calls {
        call.evaluate(environment)?;
    }
    *spent = environment.bindings.meter().spent();
    Ok(())
}

/// Makes a part of a batch again from all its statements. `request` is what the whole batch came as, which its entry in the log is made of.
///
/// # Errors
/// Values that cannot be keys, and descriptions that are of no part of it.
pub fn part_of_batch(
    statements: &[BatchStatement<'_>],
    options: Options,
    description: &[u8],
    request: &[u8],
    context: &Context,
) -> Result<Box<dyn Operation>, CqlError> {
    part_of_items(statements, options, description, request, context, Conditions::OfBatch)
}

fn part_of_items(
    statements: &[BatchStatement<'_>],
    mut options: Options,
    description: &[u8],
    request: &[u8],
    context: &Context,
    of: Conditions,
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
    let conditions = conditions(statements, of);
    let items = items(statements, &options, context)?.into_iter().filter(|item| described.numbers.contains(&item.number)).collect();
    Ok(Box::new(ModifyMany { items, timestamp: described.timestamp, options, conditions, logged: described.logged }))
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
    let (statements, of): (Vec<_>, _) = match &execution.prepared.statement {
        Statement::Modify(plan) => (vec![statement(plan)], Conditions::OfStatement),
        Statement::Batch(batch) => (batch.statements.iter().map(statement).collect(), Conditions::OfBatch),
        _ => return Err(CqlError::Server("not a statement that writes".to_owned())),
    };
    part_of_items(&statements, execution.options, description, request, context, of)
}
