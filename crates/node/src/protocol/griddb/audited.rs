//! What the audit log tells of GridDB: each statement, its database and its container. Row keys, rows and queries are data, and not told.

use crate::audit::{Category, Event, Failure, Operation, RequestTag};
use griddb::wire::{Options, Statement, error_of, statement};
use griddb::{Catalog, ContainerName, ErrorCode, GridError};

/// A connection has one statement at a time.
pub(super) const TAG: RequestTag = RequestTag(0);

/// As lines name it.
pub(super) const PROTOCOL: &str = "griddb";

/// A statement about containers or rows; none of those that are about the connection, or about sessions without anything done in them.
pub(super) fn event(statement: &Statement<'_>, database: &str, catalog: &Catalog) -> Option<Event> {
    let (category, kind) = kind(statement.number())?;
    let object = container(statement, catalog);
    Some(Event { category, kind, keyspace: Some(database.into()), object, operation: Operation::None })
}

fn kind(number: i32) -> Option<(Category, &'static str)> {
    use Category::{Ddl, Dml, Other, Query};
    Some(match number {
        statement::GET_CONTAINER => (Query, "GET_CONTAINER"),
        statement::PUT_CONTAINER => (Ddl, "PUT_CONTAINER"),
        statement::DROP_CONTAINER => (Ddl, "DROP_CONTAINER"),
        statement::CREATE_INDEX => (Ddl, "CREATE_INDEX"),
        statement::DROP_INDEX => (Ddl, "DROP_INDEX"),
        statement::GET_CONTAINER_PROPERTIES => (Query, "GET_CONTAINER_PROPERTIES"),
        statement::GET_PARTITION_CONTAINER_NAMES => (Query, "GET_PARTITION_CONTAINER_NAMES"),
        statement::COMMIT_TRANSACTION => (Other, "COMMIT_TRANSACTION"),
        statement::ABORT_TRANSACTION => (Other, "ABORT_TRANSACTION"),
        statement::GET_ROW => (Query, "GET_ROW"),
        statement::QUERY_TQL => (Query, "QUERY_TQL"),
        statement::QUERY_COLLECTION_GEOMETRY_RELATED => (Query, "QUERY_COLLECTION_GEOMETRY_RELATED"),
        statement::QUERY_COLLECTION_GEOMETRY_WITH_EXCLUSION => (Query, "QUERY_COLLECTION_GEOMETRY_WITH_EXCLUSION"),
        statement::PUT_ROW => (Dml, "PUT_ROW"),
        statement::PUT_MULTIPLE_ROWS => (Dml, "PUT_MULTIPLE_ROWS"),
        statement::UPDATE_ROW_BY_ID => (Dml, "UPDATE_ROW_BY_ID"),
        statement::DELETE_ROW => (Dml, "DELETE_ROW"),
        statement::DELETE_ROW_BY_ID => (Dml, "DELETE_ROW_BY_ID"),
        statement::APPEND_TIME_SERIES_ROW => (Dml, "APPEND_TIME_SERIES_ROW"),
        statement::GET_TIME_SERIES_ROW_RELATED => (Query, "GET_TIME_SERIES_ROW_RELATED"),
        statement::INTERPOLATE_TIME_SERIES_ROW => (Query, "INTERPOLATE_TIME_SERIES_ROW"),
        statement::AGGREGATE_TIME_SERIES => (Query, "AGGREGATE_TIME_SERIES"),
        statement::QUERY_TIME_SERIES_RANGE => (Query, "QUERY_TIME_SERIES_RANGE"),
        statement::QUERY_TIME_SERIES_SAMPLING => (Query, "QUERY_TIME_SERIES_SAMPLING"),
        statement::EXECUTE_MULTIPLE_QUERIES => (Query, "EXECUTE_MULTIPLE_QUERIES"),
        statement::FETCH_ROW_SET => (Query, "FETCH_ROW_SET"),
        statement::GET_MULTIPLE_CONTAINER_ROWS => (Query, "GET_MULTIPLE_CONTAINER_ROWS"),
        statement::PUT_MULTIPLE_CONTAINER_ROWS => (Dml, "PUT_MULTIPLE_CONTAINER_ROWS"),
        _ => return None,
    })
}

/// The name of the container, of a statement that is about one.
fn container(statement: &Statement<'_>, catalog: &Catalog) -> Option<Box<str>> {
    let mut reader = statement.arguments;
    match statement.number() {
        statement::GET_CONTAINER | statement::PUT_CONTAINER | statement::DROP_CONTAINER | statement::GET_CONTAINER_PROPERTIES => {
            Options::read(&mut reader).ok()?;
            Some(ContainerName::read(&mut reader).ok()?.to_string().into())
        }
        statement::GET_PARTITION_CONTAINER_NAMES
        | statement::EXECUTE_MULTIPLE_QUERIES
        | statement::GET_MULTIPLE_CONTAINER_ROWS
        | statement::PUT_MULTIPLE_CONTAINER_ROWS => None,
        _ => Some(catalog.by_id(reader.i64().ok()?).ok()?.definition.name.to_string().into()),
    }
}

/// The number of the error that a reply tells of, if it is one.
#[inline]
pub(super) fn number_of_error(reply: &[u8], is_ipv6: bool) -> Option<i32> {
    error_of(reply, is_ipv6).map(|error| error.code.0)
}

/// Why a statement failed, if its reply says so.
pub(super) fn failure_of(reply: &[u8], is_ipv6: bool) -> Option<Failure> {
    error_of(reply, is_ipv6).map(|error| failure_of_error(&error))
}

fn failure_of_error(error: &GridError) -> Failure {
    let text = error.to_string();
    match error.code {
        ErrorCode::TXN_AUTH_FAILED | ErrorCode::TXN_AUTH_REQUIRED | ErrorCode::TXN_OPERATION_NOT_ALLOWED => Failure::Unauthorized(text),
        _ => Failure::Other(text),
    }
}
