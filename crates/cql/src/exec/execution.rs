//! One statement with its values, ready to run.

use super::{BatchCoordinator, Bindings, Environment, Failure, OwnedValues, batch, fetch, keys, modify, select};
use crate::CqlError;
use crate::plan::{KeyTerm, Prepared, Statement};
use crate::wire::{Consistency, ProtocolVersion, StreamId};
use base::{Now, Token};
use model::operation::{Context, Coordinator, Operation, RowStore, Stop, WriteSet};
use std::sync::Arc;

/// What a request says besides its statement and values.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The connection's protocol version.
    pub version: ProtocolVersion,
    /// The request's stream.
    pub stream: StreamId,
    /// The level it asked for.
    pub consistency: Consistency,
    /// Rows a page; `None` is all.
    pub page_size: Option<u32>,
    /// The default write timestamp that the driver sent.
    pub timestamp: Option<i64>,
    /// Whether the client knows the result's columns.
    pub skip_metadata: bool,
    /// The driver's idea of now, in seconds (v5).
    pub now_s: Option<u32>,
    /// When the request was taken, which is "now" for its functions and expiries however often it runs.
    pub started: Now,
    /// What makes this request's `uuid()` and `now()` different from any other's, however often it runs.
    pub nonce: u64,
    /// Statements about many partitions make a part for each core. In a cluster, where each slot may be served by another member, this
    /// is [`base::SLOT_COUNT`].
    pub cores: u16,
    /// A result without pages may have this many bytes.
    pub result_bytes_max: u32,
}

/// A statement, its values and the request's options. It is itself the operation when one partition is enough.
#[derive(Debug)]
pub struct Execution<'a> {
    /// The statement.
    pub prepared: &'a Arc<Prepared>,
    /// Its values.
    pub bindings: Bindings<'a>,
    /// The request's options.
    pub options: Options,
    /// Where the page before ended.
    pub paging_state: Option<&'a [u8]>,
}

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

impl Options {
    /// The time an operation goes by: the client's if it sent one.
    #[must_use]
    pub fn now_s(&self, context: &Context) -> u32 {
        self.now_s.unwrap_or_else(|| context.now_s())
    }

    /// The context of a run, with what must not change from one run to the next as it was at first; `item` numbers the statements of a
    /// batch.
    #[must_use]
    pub(super) fn fix(&self, context: &Context, item: usize) -> Context {
        Context { now: self.started, nonce: self.nonce.wrapping_add((item as u64) << 24), ..*context }
    }
}

/// Decides how a statement runs. `context` serves functions in keys, such as `now()`.
///
/// # Errors
/// Values that cannot be keys, statements that cannot be combined.
#[inline]
pub fn start(execution: &Execution<'_>, context: &Context) -> Result<Work, CqlError> {
    let context = &execution.options.fix(context, 0);
    let environment = Environment { bindings: &execution.bindings, context };
    let single = |table, terms: &[KeyTerm]| -> Result<Token, CqlError> {
        let mut scratch = Vec::new();
        Ok(keys::token(table, keys::single_partition_key(table, terms, &environment, &mut scratch)?))
    };
    match &execution.prepared.statement {
        Statement::Select(plan) if select::is_single(plan) => Ok(Work::Partition(single(&plan.table, &plan.partition)?)),
        Statement::Select(_) => Ok(Work::Coordinate(select::coordinate(execution, context)?)),
        Statement::Modify(plan) if !plan.partition.iter().any(KeyTerm::is_in) => Ok(Work::Partition(single(&plan.table, &plan.partition)?)),
        Statement::Modify(_) | Statement::Batch(_) => batch::start(execution, context),
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
        })
    }
}

impl Operation for Execution<'_> {
    #[inline]
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let start = reply.len();
        let context = &self.options.fix(context, 0);
        let outcome = match &self.prepared.statement {
            Statement::Select(plan) => fetch::run_single(self, plan, context, store, reply),
            Statement::Modify(plan) => modify::run_single(self, plan, context, store, writes, reply),
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
                crate::reply::write_error(reply, self.options.version, self.options.stream, &error);
                Ok(())
            }
        }
    }
}

/// An [`Execution`] that owns what it needs.
struct OwnedExecution {
    prepared: Arc<Prepared>,
    values: OwnedValues,
    options: Options,
    paging_state: Option<Box<[u8]>>,
}

impl Operation for OwnedExecution {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let execution = Execution {
            prepared: &self.prepared,
            bindings: self.values.bindings(),
            options: self.options,
            paging_state: self.paging_state.as_deref(),
        };
        execution.run(context, store, writes, reply)
    }
}
