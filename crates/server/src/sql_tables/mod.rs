//! SQL over the tables that CQL shows: those of CQL, containers of GridDB, sets of Aerospike, the system's own. For `POST /sql` and the console.
//!
//! ```text
//! a statement ─► sql::Query (SQLite, on this thread) ─► CqlTables: which table, which conditions ─► own CQL port, QUORUM, pages ─► cells as values of SQLite
//! ```
//!
//! - [`table`]: a table and its columns as queries see them.
//! - [`cell`]: values of CQL as SQLite has them.
//! - [`bound`], [`restriction`]: what a scan is told, as conditions of CQL.
//! - [`port`], [`scan`]: rows, a page at a time; [`aggregate`]: what the node makes of them; [`count`]: how many there are.
//! - [`names`], [`source`]: which table a name means.
//! - [`error`], [`statement`]: why one fails, and one that is ready; [`watch`]: what stops it.
//!
//! Invariants:
//! - A scan gives at least the rows that fulfil what it is told: SQLite looks at each again. So a condition is told to the node only if no row is lost by it.
//! - Rows come as the role that asks may see them. What is compared with a column that is masked for it is never told.

mod aggregate;
mod bound;
mod cell;
mod count;
mod error;
mod names;
mod port;
mod restriction;
mod scan;
mod source;
mod statement;
mod table;
mod watch;

#[cfg(test)]
mod test_schema;

pub(crate) use source::CqlTables;
pub(crate) use statement::{SqlError, StatementText, prepare};
pub(crate) use watch::{Stopped, Watch};
