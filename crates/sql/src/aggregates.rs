//! A statement that aggregates one table is prepared a second time, over a table that has aggregated its rows itself.
//!
//! ```text
//! SELECT kind, SUM(x) FROM t WHERE x > 1 GROUP BY kind HAVING COUNT(*) > 2 ORDER BY 2
//! SELECT kind, +"#0" FROM "#groups" AS "t" WHERE (x > 1) AND (+"#1" > 2) ORDER BY 2
//! ```
//!
//! - [`shape`]: which statements; [`terms`]: which conditions; [`writing`]: how one is written anew; [`parts`]: words.
//! - [`table`]: the table, whose rows are groups.
//!
//! The statement as it was written is prepared as ever: it says what is wrong, and what the columns are called and hold. It is run if the source of tables cannot aggregate, if there are
//! too many groups, or if SQLite wants something of rows that are not there.
//!
//! Invariants:
//! - SQLite does not look at a condition again that the table was told; the table has to obey it. All others may name groups' columns alone, and are SQLite's.
//! - A column that makes no group is never read: [`table`] refuses, and the statement is run as it was written.

mod parts;
mod shape;
mod table;
mod terms;
#[cfg(test)]
mod tests;
mod writing;

use crate::opening::open;
use crate::statement::{OwnedStatement, Prepared};
use crate::syntax::words;
use crate::tables::Table;
use crate::virtual_table::Shared;
use shape::Shape;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The statement over a table of groups; none if it is no such statement.
pub(crate) fn prepare(sql: &str, tables: &[Arc<Table>], shared: &Arc<Shared>, is_over: &Arc<AtomicBool>) -> Option<OwnedStatement> {
    let [table] = tables else { return None };
    let words = words(sql).ok()?;
    let shape = Shape::of(&words, table)?;
    let written = writing::write(sql, &words, &shape);
    let connection = open(is_over, &shared.form).ok()?;
    let groups = table::Groups {
        table: Arc::clone(table),
        shared: Arc::clone(shared),
        is_over: Arc::clone(is_over),
        groups: shape.groups,
        folds: shape.folds,
    };
    connection.create_module(shape::TABLE, table::MODULE, Some(groups)).ok()?;
    match OwnedStatement::prepare(connection, &written) {
        (Prepared::Statement(statement), _) => Some(statement),
        _ => None,
    }
}

/// Whether the statement is to be run as it was written, after its first step has said whether there is a row, or failed: a table was asked for aggregates that it cannot
/// give, or was not asked at all, because SQLite sees that no row fulfils the conditions. Without groups no row makes one, too.
pub(crate) fn has_refused(shared: &Shared, has_row: Option<&bool>) -> bool {
    shared.refuses_aggregates.load(Ordering::Relaxed) || (has_row == Some(&false) && !shared.gives_aggregates.load(Ordering::Relaxed))
}
