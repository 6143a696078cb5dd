//! What of a result's columns is known by the statement's words alone.

use crate::syntax::{Word, words};

/// Whether a statement puts results together: SQLite tells the types of the first of them.
pub(crate) fn has_union(sql: &str) -> bool {
    words(sql).is_ok_and(|words| words.iter().any(|word| word.is("UNION")))
}

/// Whether a statement makes times more precise than a millisecond.
pub(crate) fn tells_precise_times(sql: &str) -> bool {
    // Columns may be called so, too.
    let is_call = |two: &[Word<'_>]| (two[0].is("TIMESTAMP_US") || two[0].is("TIMESTAMP_NS")) && two[1].is_symbol('(');
    let is_cast = |four: &[Word<'_>]| {
        four[0].is("AS") && four[1].is("TIMESTAMP") && four[2].is_symbol('(') && (four[3].text == "6" || four[3].text == "9")
    };
    words(sql).is_ok_and(|words| words.windows(2).any(is_call) || words.windows(4).any(is_cast))
}
