//! A statement about rows as an operation, whose reply is the whole reply.

use super::failure::Failure;
use super::request::Request;
use super::{by_key, many, query};
use crate::container::{Catalog, Container};
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
    Query(query::Query<'a>),
    Queries(Vec<query::Query<'a>>),
    One(query::One<'a>),
}

/// A statement about rows: runs on the core that owns its partition, and appends the whole reply.
pub struct Execution<'a> {
    request: Request<'a>,
    reply: ReplyHeader,
    partition: u32,
    table: Option<TableId>,
    plan: Plan<'a>,
}

impl<'a> Execution<'a> {
    /// Decodes a statement.
    ///
    /// # Errors
    /// It cannot be read, or cannot be done.
    pub(super) fn new(request: Request<'a>, statement: &Statement<'a>) -> Result<Self, GridError> {
        let arguments = statement.arguments;
        let plan = match statement.number() {
            statement::PUT_ROW => Plan::Put(by_key::Put::read(&request, arguments)?),
            statement::APPEND_TIME_SERIES_ROW => Plan::Append(by_key::Put::read(&request, arguments)?),
            statement::PUT_MULTIPLE_ROWS => Plan::PutMany(by_key::PutMany::read(&request, arguments)?),
            statement::GET_ROW => Plan::Get(by_key::Key::read(&request, arguments)?),
            statement::DELETE_ROW => Plan::Delete(by_key::Key::read(&request, arguments)?),
            statement::PUT_MULTIPLE_CONTAINER_ROWS => Plan::PutContainers(many::PutContainers::read(&request, arguments)?),
            statement::GET_MULTIPLE_CONTAINER_ROWS => Plan::GetContainers(many::GetContainers::read(&request, arguments)?),
            statement::EXECUTE_MULTIPLE_QUERIES => Plan::Queries(query::Query::read_many(&request, arguments)?),
            number if query::One::STATEMENTS.contains(&number) => Plan::One(query::One::read(number, &request, arguments)?),
            number if query::Query::STATEMENTS.contains(&number) => Plan::Query(query::Query::read(number, &request, arguments)?),
            number => return Err(GridError::unsupported(format!("statement {number} is not supported yet"))),
        };
        let container = plan.container()?;
        let partition = container.map_or(0, |container| container.definition.partition);
        let table = container.map(|container| container.table.id);
        let reply = ReplyHeader { is_repeatable: plan.is_repeatable(), ..statement.reply };
        Ok(Self { request, reply, partition, table, plan })
    }

    /// How its reply begins.
    #[must_use]
    pub fn reply(&self) -> ReplyHeader {
        self.reply
    }

    /// Where it runs.
    #[must_use]
    pub fn token(&self) -> Token {
        token_of_partition(self.partition)
    }

    /// The first container's table; none if it is about no container, so that it may run anywhere.
    #[must_use]
    pub fn table(&self) -> Option<TableId> {
        self.table
    }

    /// Whether it changes rows.
    #[must_use]
    pub fn is_write(&self) -> bool {
        matches!(self.plan, Plan::Put(_) | Plan::PutMany(_) | Plan::Delete(_) | Plan::Append(_) | Plan::PutContainers(_))
    }

    /// A copy that owns its bytes, to be sent to another core or kept while a row is read.
    #[must_use]
    pub fn to_operation(&self) -> Box<dyn Operation> {
        let Request { catalog, schema, database, body, is_ipv6 } = self.request;
        let (catalog, schema) = (Arc::clone(catalog), Arc::clone(schema));
        Box::new(OwnedExecution { catalog, schema, database: database.into(), body: body.into(), is_ipv6 })
    }
}

impl<'a> Plan<'a> {
    /// A container that it is about, if there is one: all are in its partition.
    #[inline]
    fn container(&self) -> Result<Option<&'a Arc<Container>>, GridError> {
        match self {
            Self::Put(put) | Self::Append(put) => Ok(Some(put.container)),
            Self::PutMany(put) => Ok(Some(put.container)),
            Self::Get(key) | Self::Delete(key) => Ok(Some(key.container)),
            Self::Query(query) => Ok(Some(query.container)),
            Self::One(one) => Ok(Some(one.container)),
            Self::PutContainers(put) => first_of_one_partition(put.containers()),
            Self::GetContainers(get) => first_of_one_partition(get.containers()),
            Self::Queries(queries) => first_of_one_partition(queries.iter().map(|query| query.container)),
        }
    }

    /// Whether doing it twice leaves what doing it once does: not so for a row that gets its key here.
    fn is_repeatable(&self) -> bool {
        let has_key = |container: &Container| container.definition.key_len > 0;
        match self {
            Self::Put(put) => has_key(put.container),
            Self::PutMany(put) => has_key(put.container),
            Self::PutContainers(put) => put.containers().all(|container| has_key(container)),
            Self::Append(_) => false,
            Self::Get(_) | Self::Delete(_) | Self::Query(_) | Self::One(_) | Self::GetContainers(_) | Self::Queries(_) => true,
        }
    }

    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Failure> {
        match self {
            Self::Put(put) => put.run(context, store, writes, out),
            Self::PutMany(put) => put.run(context, store, writes, out),
            Self::Get(key) => key.get(store, out),
            Self::Delete(key) => key.delete(context, store, writes, out),
            Self::Append(put) => put.append(context, store, writes, out),
            Self::PutContainers(put) => put.run(context, store, writes),
            Self::GetContainers(get) => get.run(store, out),
            Self::Query(query) => query.run(context, store, out),
            Self::Queries(queries) => query::Query::run_many(queries, context, store, out),
            Self::One(one) => one.run(store, out),
        }
    }
}

fn first_of_one_partition<'a>(mut containers: impl Iterator<Item = &'a Arc<Container>>) -> Result<Option<&'a Arc<Container>>, GridError> {
    let first = containers.next();
    if containers.any(|other| first.is_some_and(|first| first.definition.partition != other.definition.partition)) {
        return Err(GridError::new(ErrorCode::TXN_PARTITION_ID_INVALID, "a statement is about containers of several partitions"));
    }
    Ok(first)
}

impl Operation for Execution<'_> {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Stop> {
        let start = out.len();
        let reply = self.reply.begin(Status::Success, out);
        match self.plan.run(context, store, writes, out) {
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
    is_ipv6: bool,
}

impl Operation for OwnedExecution {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Stop> {
        let Self { catalog, schema, database, body, is_ipv6 } = self;
        let request = Request { catalog, schema, database, body, is_ipv6: *is_ipv6 };
        let statement = Statement::read(body, *is_ipv6).expect("the same bytes were decoded before");
        let execution = Execution::new(request, &statement).expect("the same bytes were decoded before");
        execution.run(context, store, writes, out)
    }
}
