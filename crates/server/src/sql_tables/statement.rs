//! A statement, ready to be stepped, and why one fails.

use super::error::TablesError;
use super::source::CqlTables;
use load::cql::client::ClientError;
use sql::syntax::{SyntaxError, Word, with_units_quoted, words};
use sql::{Query, QueryError, Tables, Value};
use std::sync::Arc;
use std::time::Duration;

/// What statements may begin with.
const READS: [&str; 4] = ["SELECT", "VALUES", "WITH", "EXPLAIN"];
/// CQL's codes.
const UNAUTHORIZED: i32 = 0x2100;
const BAD_CREDENTIALS: i32 = 0x0100;

/// What is to be run.
pub(crate) struct StatementText<'a> {
    pub(crate) text: &'a str,
    /// The values of its `?`.
    pub(crate) parameters: &'a [Value],
}

/// Why a statement fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SqlError {
    /// It does something else than to read.
    #[error("SQL only reads here: SELECT, VALUES, WITH and EXPLAIN QUERY PLAN. To write there is CQL, or SQL over GridDB's port")]
    Writes,
    /// It does not read as SQL.
    #[error("{0}")]
    Syntax(SyntaxError),
    /// SQLite's words, or what has become of its rows.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// Its tables.
    #[error(transparent)]
    Tables(#[from] TablesError),
    /// A column's type is told already, and a value is of another.
    #[error(
        "the column {column} is {kind} by the rows before, and now has {value} that is none: write CAST({column} AS TEXT), or another type that holds all of its values"
    )]
    Mixed {
        /// Its name.
        column: String,
        /// Its type, as it was told.
        kind: &'static str,
        /// What has come.
        value: &'static str,
    },
    /// It has taken too long.
    #[error("the statement has not ended in {} s: narrow it down, or give it more time (`timeout_ms`)", time.as_secs_f64())]
    TooLong {
        /// How long it might take.
        time: Duration,
    },
}

impl SqlError {
    /// The status of HTTP that says so.
    pub(crate) fn status(&self) -> &'static str {
        match self {
            Self::Writes => "403 Forbidden",
            Self::Tables(error) => status_of(error),
            Self::Query(QueryError::Source(error)) => error.downcast_ref().map_or("503 Service Unavailable", status_of),
            Self::Query(QueryError::Memory | QueryError::Spill(_)) => "507 Insufficient Storage",
            Self::TooLong { .. } => "408 Request Timeout",
            Self::Syntax(_) | Self::Query(_) | Self::Mixed { .. } => "400 Bad Request",
        }
    }
}

fn status_of(error: &TablesError) -> &'static str {
    match error {
        TablesError::Client(ClientError::Refused { code: UNAUTHORIZED | BAD_CREDENTIALS, .. }) => "403 Forbidden",
        TablesError::Client(_) => "503 Service Unavailable",
        _ => "400 Bad Request",
    }
}

/// A statement that has not begun.
pub(crate) fn prepare(tables: CqlTables, statement: &StatementText<'_>) -> Result<Query, SqlError> {
    check(statement.text)?;
    let tables: Arc<dyn Tables> = Arc::new(tables);
    let mut query = Query::prepare(&tables, &with_units_quoted(statement.text).map_err(SqlError::Syntax)?)?;
    query.bind(statement.parameters)?;
    Ok(query)
}

/// Refuses what begins as nothing does that reads: SQLite would say that a table is missing.
fn check(text: &str) -> Result<(), SqlError> {
    let words = words(text).map_err(SqlError::Syntax)?;
    let reads = |word: &Word<'_>| READS.iter().any(|keyword| word.is(keyword));
    const WRITES: [&str; 14] = [
        "INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "ATTACH", "DETACH", "PRAGMA", "BEGIN", "COMMIT", "VACUUM",
        "TRUNCATE",
    ];
    let writes = |word: &Word<'_>| WRITES.iter().any(|keyword| word.is(keyword));
    match &words[..] {
        [first, ..] if writes(first) => Err(SqlError::Writes),
        [first, rest @ ..] if first.is("EXPLAIN") => {
            let planned = rest.iter().find(|word| !word.is("QUERY") && !word.is("PLAN"));
            if planned.is_some_and(reads) { Ok(()) } else { Err(SqlError::Writes) }
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_writes_is_told_so() {
        for reads in
            ["SELECT 1", " -- x\n values (1)", "WITH x AS (SELECT 1) SELECT * FROM x", "EXPLAIN QUERY PLAN SELECT 1", "SELEC 1", ""]
        {
            assert!(check(reads).is_ok(), "{reads}");
        }
        for writes in
            ["INSERT INTO t VALUES (1)", "drop table t", "EXPLAIN DELETE FROM t", "EXPLAIN QUERY PLAN UPDATE t SET a = 1", "PRAGMA x"]
        {
            assert_eq!(check(writes).err().map(|error| error.status()), Some("403 Forbidden"), "{writes}");
        }
        assert_eq!(check("SELECT 'x").err().map(|error| error.status()), Some("400 Bad Request"));
    }
}
