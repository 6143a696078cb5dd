//! A statement written anew where SQLite's SQL is another than GridDB's, and what its columns hold.
//!
//! | what | becomes |
//! |---|---|
//! | `ORDER BY a`, `ORDER BY a DESC` | `… NULLS LAST`, `… NULLS FIRST`: NULL is the largest value. Not where a column is never null: a table's own order counts there |
//! | `CAST(x AS TYPE)` | functions of [`crate::functions`], which refuse what the type does not hold |
//! | `a / b`, `a % b` | a division by zero fails |
//! | a time or a truth where a text is wanted | its text |
//! | `PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x)`, `GROUP_CONCAT(DISTINCT x, y)` | functions |
//!
//! Words are read as SQLite reads them, by the strength of operators, and what is not known here stays as it is: SQLite says what is wrong. Types are those of tables' columns, of literals, of
//! functions and of what the statement calls by a name; of what has none, nothing is said.
//!
//! - `reader`: clauses, by their `keywords`; `operators`, `primaries`, `calls`: expressions; `names`, `sources`, [`kinds`]: what they are; `edits`: changes of the text.

mod calls;
mod edits;
mod keywords;
mod kinds;
mod names;
mod operators;
mod primaries;
mod reader;
mod sources;
#[cfg(test)]
mod tests;

use crate::syntax::{SyntaxError, Word, words};
use crate::tables::{Dialect, Table};
use names::Names;
use reader::Reader;
use std::sync::Arc;

pub(crate) use kinds::{Category, Kind};

/// How often a statement is read until nothing changes in what is known of its names. After the last time nothing is known of them.
const PASSES_MAX: usize = 4;

/// A statement that SQLite is to read.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub(crate) sql: String,
    /// What the columns of its first list hold; nothing if it selects `*`.
    pub(crate) kinds: Vec<Option<Kind>>,
    /// Parameters, from 1, and what they compare with.
    pub(crate) compared: Vec<(usize, Category)>,
}

/// Writes a statement anew. `views` are the texts of views that it names, which give names, too.
///
/// # Errors
/// It says what cannot be.
pub(crate) fn rewrite(sql: &str, tables: &[Arc<Table>], views: &[&str], dialect: Dialect) -> Result<Rewritten, SyntaxError> {
    let words = words(sql)?;
    let mut names = Names::of(&words, tables, !views.is_empty());
    define_names(views, tables, &mut names)?;
    // What a list calls something may be read before the list is, and be of what is called something only later.
    let mut read = Reader::new(sql, &words, names, dialect);
    read.read_all()?;
    for pass in 1..=PASSES_MAX {
        let mut names = read.names;
        names.take_changed();
        if pass == PASSES_MAX {
            names.forget_aliases();
        }
        read = Reader::new(sql, &words, names, dialect);
        read.checks = true;
        let done = read.read_all();
        if !read.names.take_changed() {
            done?;
            break;
        }
    }
    // Parameters with names are numbered otherwise.
    let is_named = |word: &Word<'_>| word.is_symbol(':') || word.text.starts_with(['$', '@']);
    let compared = if words.iter().any(is_named) { Vec::new() } else { read.compared };
    Ok(Rewritten { sql: read.edits.apply(sql), kinds: read.kinds.unwrap_or_default(), compared })
}

/// What an expression over a table gives.
pub(crate) fn kind_of(expression: &str, table: &Arc<Table>) -> Option<Kind> {
    let words = words(expression).ok()?;
    let names = Names::of(&words, std::slice::from_ref(table), false);
    let mut reader = Reader::new(expression, &words, names, Dialect::GridDb);
    let term = reader.expression(0).ok()??;
    (reader.at == words.len()).then_some(term.kind)?
}

/// How many of an item's words are its expression: what follows names it.
pub(crate) fn words_of_expression(sql: &str, item: &[Word<'_>]) -> usize {
    let mut reader = Reader::new(sql, item, Names::default(), Dialect::GridDb);
    let read = reader.expression(0);
    if read.is_ok_and(|term| term.is_some()) { reader.at } else { item.len() }
}

/// Notes what the lists of views call things. A view may be of another one.
fn define_names(views: &[&str], tables: &[Arc<Table>], names: &mut Names) -> Result<(), SyntaxError> {
    for pass in 1..=PASSES_MAX {
        for view in views {
            let words = words(view)?;
            let mut own = Names::of(&words, tables, true);
            own.define_all(names);
            let mut reader = Reader::new(view, &words, own, Dialect::GridDb);
            reader.read_all()?;
            names.define_all(&reader.names);
        }
        if !names.take_changed() && pass > 1 {
            return Ok(());
        }
    }
    names.forget_aliases();
    Ok(())
}
