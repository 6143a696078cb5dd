//! Conditions that the table is told, or that SQLite can look at in the groups.

use super::parts::{at_depth_0, column, column_at, may_precede_bracket};
use crate::syntax::{Word, WordKind};
use crate::tables::Table;

/// Whether all parts of a condition that AND joins are such; none if not.
pub(super) fn check(condition: &[Word<'_>], table: &Table, groups: &[usize]) -> Option<()> {
    // SQLite may look through the table once for each part of an OR, or row of an IN.
    if condition.iter().any(|word| word.is("OR") || word.is("LIKE") || word.is("GLOB") || word.is_symbol('|')) {
        return None;
    }
    let mut start = 0;
    loop {
        let mut end = next_and(condition, start);
        if condition[start..end].iter().any(|word| word.is("BETWEEN")) && end < condition.len() {
            end = next_and(condition, end + 1);
        }
        term(&condition[start..end], table, groups)?;
        if end == condition.len() {
            return Some(());
        }
        start = end + 1;
    }
}

fn next_and(condition: &[Word<'_>], start: usize) -> usize {
    at_depth_0(condition, start..condition.len(), |word| word.is("AND")).unwrap_or(condition.len())
}

/// Whether a part is a comparison of a column with what is no column, or is about columns of groups.
fn term(term: &[Word<'_>], table: &Table, groups: &[usize]) -> Option<()> {
    let is_known = |pair: &[Word<'_>]| !pair[1].is_symbol('(') || may_precede_bracket(&pair[0]);
    let columns: Vec<usize> = (0..term.len()).filter_map(|at| column_at(term, at, table)).collect();
    if columns.is_empty() || !term.windows(2).all(is_known) {
        return None;
    }
    let is_of_groups = columns.iter().all(|column| groups.contains(column));
    (is_of_groups || is_comparison(term, table) || is_between(term, table)).then_some(())
}

/// `a = …`, `… = a`.
fn is_comparison(term: &[Word<'_>], table: &Table) -> bool {
    let is_sign = |word: &Word<'_>| ['=', '<', '>'].iter().any(|sign| word.is_symbol(*sign));
    let Some(first) = at_depth_0(term, 0..term.len(), is_sign) else { return false };
    let signs = term[first..].iter().take_while(|word| is_sign(word)).count();
    let operator: String = term[first..first + signs].iter().map(|word| word.text).collect();
    let (before, after) = (&term[..first], &term[first + signs..]);
    ["=", "==", "<", "<=", ">", ">="].contains(&operator.as_str())
        && ((is_column(before, table) && is_constant(after, table)) || (is_constant(before, table) && is_column(after, table)))
}

/// `a BETWEEN … AND …`
fn is_between(term: &[Word<'_>], table: &Table) -> bool {
    let Some(between) = at_depth_0(term, 0..term.len(), |word| word.is("BETWEEN")) else { return false };
    let and = next_and(term, between);
    and < term.len()
        && is_column(&term[..between], table)
        && is_constant(&term[between + 1..and], table)
        && is_constant(&term[and + 1..], table)
}

fn is_column(words: &[Word<'_>], table: &Table) -> bool {
    match words {
        [name] => column(name, table).is_some(),
        [_, point, name] => point.is_symbol('.') && column(name, table).is_some(),
        _ => false,
    }
}

/// Whether some words have no column in them, and nothing that may have one.
fn is_constant(words: &[Word<'_>], table: &Table) -> bool {
    let is_part = |at: usize| match words[at].kind {
        WordKind::Text | WordKind::Number => true,
        WordKind::Quoted => false,
        WordKind::Symbol => !['=', '<', '>', '!'].iter().any(|sign| words[at].is_symbol(*sign)),
        WordKind::Plain => column_at(words, at, table).is_none(),
    };
    !words.is_empty() && (0..words.len()).all(is_part)
}
