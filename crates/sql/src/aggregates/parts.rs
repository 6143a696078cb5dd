//! Words of a statement, and what they are of a table.

use crate::syntax::{Word, WordKind};
use crate::tables::Table;
use std::ops::Range;

/// What may stand before a bracket: keywords, and functions of a row's values.
const BEFORE_BRACKETS: [&str; 52] = [
    "SELECT",
    "DISTINCT",
    "ALL",
    "WHERE",
    "AND",
    "NOT",
    "IN",
    "HAVING",
    "BY",
    "LIMIT",
    "OFFSET",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "BETWEEN",
    "LIKE",
    "IS",
    "CAST",
    "ABS",
    "ROUND",
    "COALESCE",
    "IFNULL",
    "NULLIF",
    "IIF",
    "LENGTH",
    "CHAR_LENGTH",
    "UPPER",
    "LOWER",
    "SUBSTR",
    "SUBSTRING",
    "TRIM",
    "TYPEOF",
    "PRINTF",
    "FORMAT",
    "NOW",
    "TIMESTAMP",
    "TIMESTAMP_MS",
    "TO_TIMESTAMP_MS",
    "TIMESTAMP_ADD",
    "TIMESTAMPADD",
    "TIMESTAMP_TRUNC",
    "TO_EPOCH_MS",
    "EXTRACT",
    "NONZERO",
    "TYPE_NAME",
    "CAST_STRING",
    "CAST_INTEGER",
    "CAST_REAL",
    "CAST_BOOL",
    "CAST_BLOB",
    "CAST_TIMESTAMP",
];

/// Whether a bracket after this word is known. In quotes it may be a function of any name.
pub(super) fn may_precede_bracket(word: &Word<'_>) -> bool {
    word.kind == WordKind::Symbol || BEFORE_BRACKETS.iter().any(|known| word.is(known))
}

/// The column that a word names.
pub(super) fn column(word: &Word<'_>, table: &Table) -> Option<usize> {
    let name = word.name()?;
    table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(&name))
}

/// The column that one of some words names: in `X'01'` the first one is no name.
pub(super) fn column_at(words: &[Word<'_>], at: usize, table: &Table) -> Option<usize> {
    let is_of_bytes = |next: &Word<'_>| words[at].is("X") && next.kind == WordKind::Text && next.start == words[at].end();
    if words.get(at + 1).is_some_and(is_of_bytes) { None } else { column(&words[at], table) }
}

/// The column that some words name and nothing else: its name, or the table's or another before it.
pub(super) fn only_column(words: &[Word<'_>], table: &Table) -> Option<usize> {
    match words {
        [name] => column(name, table),
        [qualifier, point, name] if point.is_symbol('.') && qualifier.name().is_some() => column(name, table),
        _ => None,
    }
}

/// The first word of some for which something holds, in no bracket.
pub(super) fn at_depth_0(words: &[Word<'_>], within: Range<usize>, holds: impl Fn(&Word<'_>) -> bool) -> Option<usize> {
    let mut depth = 0_usize;
    for at in within {
        match &words[at] {
            word if word.is_symbol('(') => depth += 1,
            word if word.is_symbol(')') => depth = depth.saturating_sub(1),
            word if depth == 0 && holds(word) => return Some(at),
            _ => {}
        }
    }
    None
}

/// The bracket that closes the one at a word.
pub(super) fn closing(words: &[Word<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    words.iter().enumerate().skip(open).find_map(|(at, word)| {
        depth = if word.is_symbol('(') { depth + 1 } else { depth - usize::from(word.is_symbol(')')) };
        (depth == 0).then_some(at)
    })
}
