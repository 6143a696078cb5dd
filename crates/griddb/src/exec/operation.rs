//! A statement about rows as an operation, whose reply is the whole reply.

use super::by_id::ById;
use super::ending::Ending;
use super::head::Head;
use super::request::{READ, Request, WRITE};
use super::rows::RowLock;
use super::unexpired::{Expired, Unexpired};
use super::{by_key, fetch, many, many_queries, one, query};
use crate::container::{Catalog, Container};
use crate::failure::Failure;
use crate::transaction::{Change, Overlay, Reference, Scope, Transaction, check_unlocked};
use crate::wire::{ReplyHeader, Statement, Status, statement};
use crate::{ErrorCode, GridError, token_of_partition};
use base::{TableId, Token};
use model::Schema;
use model::operation::{Context, Operation, RowStore, Stop, WriteSet};
use std::sync::Arc;

/// A decoded statement about rows of one partition.
enum Plan<'a> {
    Put(by_key::Put<'a>),
    PutMany(by_key::PutMany<'a>),
    Get(by_key::Key<'a>),
    Delete(by_key::Key<'a>),
    Append(by_key::Put<'a>),
    PutContainers(many::PutContainers<'a>),
    GetContainers(many::GetContainers<'a>),
    ById(ById<'a>),
    Query(query::Query<'a>),
    Queries(Vec<query::Query<'a>>),
    Fetch(Box<fetch::Fetch<'a>>),
    One(one::One<'a>),
    Ending(Ending<'a>),
}

/// A statement about rows: runs on the core that owns its partition, and appends the whole reply.
pub struct Execution<'a> {
    request: Request<'a>,
    reply: ReplyHeader,
    token: Token,
    table: Option<TableId>,
    plan: Plan<'a>,
}

impl<'a> Execution<'a> {
    /// Decodes a statement.
    ///
    /// # Errors
    /// It cannot be read, or cannot be done.
    pub(super) fn new(request: Request<'a>, statement: &Statement<'a>) -> Result<Self, GridError> {
        let plan = Plan::read(&request, statement)?;
        let container = plan.container()?;
        let token = container.map_or_else(|| token_of_partition(0), |container| container.partition().token);
        let table = container.map(|container| container.table.id);
        let reply = ReplyHeader { is_repeatable: plan.is_repeatable(), ..statement.reply };
        Ok(Self { request, reply, token, table, plan })
    }

    /// How its reply begins.
    #[must_use]
    pub fn reply(&self) -> ReplyHeader {
        self.reply
    }

    /// Where it runs.
    #[must_use]
    pub fn token(&self) -> Token {
        self.token
    }

    /// The first container's table; none if it is about no container, so that it may run anywhere.
    #[must_use]
    pub fn table(&self) -> Option<TableId> {
        self.table
    }

    /// Whether it changes rows, or transactions and their locks.
    #[must_use]
    pub fn is_write(&self) -> bool {
        match &self.plan {
            Plan::Get(_) | Plan::Query(_) | Plan::Fetch(_) | Plan::One(_) => self.plan.head().is_some_and(|head| head.writes()),
            Plan::Queries(queries) => queries.iter().any(|query| query.head.writes()),
            Plan::GetContainers(_) => false,
            _ => true,
        }
    }

    /// Whether it may run once more when nobody knows whether it has: an end of a transaction does nothing the second time, and says the same.
    #[must_use]
    pub fn may_run_again(&self) -> bool {
        matches!(self.plan, Plan::Ending(_))
    }

    /// A copy that owns its bytes, to be sent to another core or kept while a row is read.
    #[must_use]
    pub fn to_operation(&self) -> Box<dyn Operation> {
        let Request { catalog, schema, database, body, transaction_timeout_s, received_us, is_ipv6, .. } = self.request;
        let (catalog, schema) = (Arc::clone(catalog), Arc::clone(schema));
        let (database, body) = (database.into(), body.into());
        Box::new(OwnedExecution { catalog, schema, database, body, transaction_timeout_s, received_us, is_ipv6 })
    }
}

impl<'a> Plan<'a> {
    /// Decodes a statement.
    #[inline]
    fn read(request: &Request<'a>, statement: &Statement<'a>) -> Result<Self, GridError> {
        let (arguments, id) = (statement.arguments, statement.reply.id);
        Ok(match statement.number() {
            statement::PUT_ROW => Self::Put(by_key::Put::read(request, id, arguments)?),
            statement::APPEND_TIME_SERIES_ROW => Self::Append(by_key::Put::read_appended(request, id, arguments)?),
            statement::PUT_MULTIPLE_ROWS => Self::PutMany(by_key::PutMany::read(request, id, arguments)?),
            statement::GET_ROW => Self::Get(by_key::Key::read(request, id, arguments, READ)?),
            statement::DELETE_ROW => Self::Delete(by_key::Key::read(request, id, arguments, WRITE)?),
            statement::PUT_MULTIPLE_CONTAINER_ROWS => Self::PutContainers(many::PutContainers::read(request, arguments)?),
            statement::GET_MULTIPLE_CONTAINER_ROWS => Self::GetContainers(many::GetContainers::read(request, arguments)?),
            statement::EXECUTE_MULTIPLE_QUERIES => Self::Queries(query::Query::read_many(request, arguments)?),
            statement::FETCH_ROW_SET => Self::Fetch(Box::new(fetch::Fetch::read(request, id, arguments)?)),
            number if one::One::STATEMENTS.contains(&number) => Self::One(one::One::read(number, request, id, arguments)?),
            number if query::Query::STATEMENTS.contains(&number) => Self::Query(query::Query::read(number, request, id, arguments)?),
            number if ById::STATEMENTS.contains(&number) => Self::ById(ById::read(number, request, id, arguments)?),
            number if Ending::STATEMENTS.contains(&number) => Self::Ending(Ending::read(number, request, id, arguments)?),
            number => return Err(GridError::unsupported(format!("statement {number} is not supported yet"))),
        })
    }

    /// What it begins with, if it is about one container.
    fn head(&self) -> Option<&Head<'a>> {
        match self {
            Self::Put(put) | Self::Append(put) => Some(&put.head),
            Self::PutMany(put) => Some(&put.head),
            Self::Get(key) | Self::Delete(key) => Some(&key.head),
            Self::ById(by_id) => Some(&by_id.head),
            Self::Query(query) => Some(&query.head),
            Self::Fetch(fetch) => Some(fetch.head()),
            Self::One(one) => Some(&one.head),
            Self::PutContainers(_) | Self::GetContainers(_) | Self::Queries(_) | Self::Ending(_) => None,
        }
    }

    /// A container that it is about, if there is one: all are in its partition.
    #[inline]
    fn container(&self) -> Result<Option<&'a Arc<Container>>, GridError> {
        match self {
            Self::PutContainers(put) => first_of_one_partition(put.containers()),
            Self::GetContainers(get) => first_of_one_partition(get.containers()),
            Self::Queries(queries) => first_of_one_partition(queries.iter().map(|query| query.head.container)),
            Self::Ending(ending) => first_of_one_partition(ending.containers()),
            _ => Ok(self.head().map(|head| head.container)),
        }
    }

    /// The rows without those that have expired, if any have: data partitions expire as a whole.
    fn unexpired<'s>(&self, context: &Context, store: &'s dyn RowStore) -> Option<Unexpired<'s>> {
        let now_s = context.now_s();
        let expired = |container: &Container| container.is_expired(now_s).then(|| Expired::of(container));
        let expired: Vec<Expired> = match self {
            Self::PutContainers(put) => put.containers().filter_map(|container| expired(container)).collect(),
            Self::GetContainers(get) => get.containers().filter_map(|container| expired(container)).collect(),
            Self::Queries(queries) => queries.iter().filter_map(|query| expired(query.head.container)).collect(),
            Self::Ending(_) => return None,
            _ => return self.head().and_then(|head| expired(head.container)).map(|expired| Unexpired::new(store, vec![expired])),
        };
        (!expired.is_empty()).then(|| Unexpired::new(store, expired))
    }

    /// Whether doing it twice leaves what doing it once does: not so for a row that gets its key here.
    fn is_repeatable(&self) -> bool {
        let has_key = |container: &Container| container.definition.key_len > 0;
        match self {
            Self::Put(put) => has_key(put.head.container),
            Self::PutMany(put) => has_key(put.head.container),
            Self::PutContainers(put) => put.containers().all(|container| has_key(container)),
            Self::Append(_) | Self::ById(_) => false,
            Self::Get(_)
            | Self::Delete(_)
            | Self::Query(_)
            | Self::Fetch(_)
            | Self::One(_)
            | Self::GetContainers(_)
            | Self::Queries(_)
            | Self::Ending(_) => true,
        }
    }

    fn run(&self, scope: &mut Scope<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        match self {
            Self::Ending(ending) => ending.run(scope),
            Self::Queries(queries) => many_queries::run(queries, scope, out),
            Self::PutContainers(put) => {
                put.run(scope.context, scope.store, scope.writes)?;
                put.containers().try_for_each(|container| check_unlocked(container, scope))
            }
            Self::GetContainers(get) => get.run(scope.store, out),
            _ => match self.head() {
                Some(Head { container, transaction: Some(reference), locks_rows, .. }) => {
                    self.run_in(container, reference, *locks_rows, scope, out)
                }
                Some(head) => {
                    self.run_rows(scope.context, scope.store, scope.writes, None, out)?;
                    if scope.writes.is_empty() { Ok(()) } else { check_unlocked(head.container, scope) }
                }
                None => Ok(()),
            },
        }
    }

    /// Runs for a transaction: what it would write is noted, and its rows are locked.
    fn run_in(
        &self,
        container: &Container,
        reference: &Reference,
        locks_rows: bool,
        scope: &mut Scope<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let mut transaction = Transaction::open(container, reference, scope)?;
        let (context, overlay) = (scope.context, Overlay::new(container, transaction.number(), scope.store));
        let mut changes = WriteSet::default();
        if let Self::ById(by_id) = self {
            by_id.run(context, &overlay, &mut changes, out)?;
        } else {
            let mut lock = |key: &[u8]| Ok(transaction.lock(key, Change::Locked, scope)? + 1);
            let lock: Option<RowLock<'_>> = if locks_rows { Some(&mut lock) } else { None };
            self.run_rows(context, &overlay, &mut changes, lock, out)?;
        }
        for row in changes.rows() {
            transaction.lock(row.clustering, Change::of_staged(row.row), scope)?;
        }
        transaction.stage(scope);
        Ok(())
    }

    /// Runs against rows as they are, or as a transaction sees them.
    fn run_rows(
        &self,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        lock: Option<RowLock<'_>>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        match self {
            Self::Put(put) => put.run(context, store, writes, out),
            Self::PutMany(put) => put.run(context, store, writes, out),
            Self::Get(key) => key.get(store, lock, out),
            Self::Delete(key) => key.delete(context, store, writes, out),
            Self::Append(put) => put.append(context, store, writes, out),
            Self::Query(query) => query.run(context, store, lock, out),
            Self::Fetch(fetch) => fetch.run(store, out),
            Self::One(one) => one.run(store, out),
            Self::ById(_) | Self::PutContainers(_) | Self::GetContainers(_) | Self::Queries(_) | Self::Ending(_) => {
                unreachable!("they have their own way")
            }
        }
    }
}

fn first_of_one_partition<'a>(mut containers: impl Iterator<Item = &'a Arc<Container>>) -> Result<Option<&'a Arc<Container>>, GridError> {
    let first = containers.next();
    if containers.any(|other| first.is_some_and(|first| first.partition().bytes != other.partition().bytes)) {
        return Err(GridError::new(ErrorCode::TXN_PARTITION_ID_INVALID, "a statement is about containers of several partitions"));
    }
    Ok(first)
}

impl Operation for Execution<'_> {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Stop> {
        let start = out.len();
        let reply = self.reply.begin(Status::Success, out);
        let Request { transaction_timeout_s: timeout_s, received_us, .. } = self.request;
        let unexpired = self.plan.unexpired(context, store);
        let store = unexpired.as_ref().map_or(store, |unexpired| unexpired);
        match self.plan.run(&mut Scope { context, store, writes, timeout_s, received_us }, out) {
            Ok(()) => reply.end(out),
            Err(failure) => {
                writes.clear();
                out.truncate(start);
                match failure {
                    Failure::Refused(error) => self.reply.write_error(Status::StatementError, &error, out),
                    Failure::Stop(stop) => return Err(stop),
                }
            }
        }
        Ok(())
    }
}

/// An [`Execution`] that owns what it needs.
struct OwnedExecution {
    catalog: Arc<Catalog>,
    schema: Arc<Schema>,
    database: Box<str>,
    body: Box<[u8]>,
    transaction_timeout_s: u32,
    received_us: u64,
    is_ipv6: bool,
}

impl Operation for OwnedExecution {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Stop> {
        let Self { catalog, schema, database, body, transaction_timeout_s, received_us, is_ipv6 } = self;
        let (transaction_timeout_s, received_us, is_ipv6) = (*transaction_timeout_s, *received_us, *is_ipv6);
        // What it may do was checked before it became one.
        let received_s = context.now_s();
        let request = Request { catalog, schema, database, body, transaction_timeout_s, received_us, received_s, is_ipv6, access: None };
        let statement = Statement::read(body, is_ipv6).expect("the same bytes were decoded before");
        let execution = Execution::new(request, &statement).expect("the same bytes were decoded before");
        execution.run(context, store, writes, out)
    }
}
