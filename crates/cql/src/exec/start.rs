//! How a statement runs: where, and as what.

use super::batch::{self, BatchCoordinator};
use super::bindings::{Environment, OwnedValues};
use super::execution::{Execution, Options};
use super::failure::Failure;
use super::writer::Writer;
use super::{condition, fetch, keys, level, modify, select};
use crate::CqlError;
use crate::plan::{KeyTerm, Modify, Prepared, Statement};
use crate::reply::{write_error, write_void};
use base::Token;
use model::operation::{Context, Coordinator, Operation, PartitionKey, RowStore, Stop, WriteSet};
use std::cell::Cell;
use std::sync::Arc;

/// What must happen for a statement.
pub enum Work {
    /// The [`Execution`] runs as an operation on the core that owns this token; its reply is a whole frame.
    Partition(Token),
    /// Several steps.
    Coordinate(Box<dyn Coordinator<Error = CqlError>>),
    /// As [`Work::Coordinate`]; it may have to be logged first.
    Batch(Box<BatchCoordinator>),
    /// A statement that is not about rows: the caller looks at [`Prepared::statement`].
    Other,
}

/// Decides how a statement runs. `context` serves functions in keys, such as `now()`.
///
/// # Errors
/// Values that cannot be keys, statements that cannot be combined.
#[inline]
pub fn start(execution: &Execution<'_>, context: &Context) -> Result<Work, CqlError> {
    level::check(&execution.prepared.statement, execution.options.consistency)?;
    let context = &execution.options.fix(context, 0);
    let environment = Environment { bindings: &execution.bindings, context };
    let single = |table, terms: &[KeyTerm]| -> Result<Token, CqlError> {
        let mut scratch = Vec::new();
        let token = keys::token(table, keys::single_partition_key(table, terms, &environment, &mut scratch)?);
        execution.token.set(Some(token));
        Ok(token)
    };
    match &execution.prepared.statement {
        Statement::Select(plan) if select::is_single(plan) => Ok(Work::Partition(single(&plan.table, &plan.partition)?)),
        Statement::Select(_) => Ok(Work::Coordinate(select::coordinate(execution, context)?)),
        Statement::Modify(plan) if plan.views.is_empty() && !plan.partition.iter().any(KeyTerm::is_in) => {
            Ok(Work::Partition(single(&plan.table, &plan.partition)?))
        }
        Statement::Modify(_) | Statement::Batch(_) => batch::start(execution, context).map(Work::Batch),
        _ => Ok(Work::Other),
    }
}

impl Execution<'_> {
    /// A copy that owns its bytes, to be sent to another core or kept while a row is read.
    #[must_use]
    pub fn to_operation(&self) -> Box<dyn Operation> {
        Box::new(OwnedExecution {
            prepared: Arc::clone(self.prepared),
            values: self.bindings.to_owned_values(),
            options: self.options,
            paging_state: self.paging_state.map(Box::from),
            token: self.token.get(),
        })
    }
}

impl Operation for Execution<'_> {
    #[inline]
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let start = reply.len();
        let context = &self.options.fix(context, 0);
        let outcome = match &self.prepared.statement {
            Statement::Select(plan) => fetch::single::run(self, plan, context, store, reply),
            Statement::Modify(plan) => run_modification(self, plan, context, store, writes, reply),
            _ => Err(Failure::Error(CqlError::Server("only rows are read and written on a shard".to_owned()))),
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(Failure::Stop(stop)) => {
                reply.truncate(start);
                Err(stop)
            }
            Err(Failure::Error(error)) => {
                reply.truncate(start);
                writes.clear();
                write_error(reply, self.options.version, self.options.stream, &error);
                Ok(())
            }
        }
    }
}

/// Runs a statement on its only partition and appends the reply frame.
fn run_modification(
    execution: &Execution<'_>,
    plan: &Modify,
    context: &Context,
    store: &dyn RowStore,
    writes: &mut WriteSet,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let environment = Environment { bindings: &execution.bindings, context };
    let options = &execution.options;
    let mut scratch = Vec::new();
    let key = keys::single_partition_key(&plan.table, &plan.partition, &environment, &mut scratch)?;
    let partition = PartitionKey { table: plan.table.id, token: execution.token_of(&plan.table, key), bytes: key };
    let mut writer = Writer { environment: &environment, store, writes, now_s: options.now_s(context), list_sequence: 0, least: None };
    if plan.is_conditional() {
        return condition::outcome::run_single(&mut writer, plan, &partition, options, out);
    }
    let given = modify::timestamp(plan.timestamp.as_ref(), &environment)?.or(options.timestamp);
    let timestamp = given.unwrap_or(context.timestamp_us);
    writer.least = given.is_none().then_some(i64::MIN);
    writer.apply(plan, &partition, timestamp)?;
    if let Some(least) = writer.least.take().filter(|least| *least > timestamp) {
        // The clock was set back, or the row was written by a member whose clock is ahead: what is acknowledged must be seen all the same.
        writer.writes.clear();
        writer.list_sequence = 0;
        writer.apply(plan, &partition, least)?;
    }
    write_void(out, options.version, options.stream);
    Ok(())
}

/// An [`Execution`] that owns what it needs.
struct OwnedExecution {
    prepared: Arc<Prepared>,
    values: OwnedValues,
    options: Options,
    paging_state: Option<Box<[u8]>>,
    token: Option<Token>,
}

impl Operation for OwnedExecution {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let execution = Execution {
            prepared: &self.prepared,
            bindings: self.values.bindings(),
            options: self.options,
            paging_state: self.paging_state.as_deref(),
            token: Cell::new(self.token),
        };
        execution.run(context, store, writes, reply)
    }
}
