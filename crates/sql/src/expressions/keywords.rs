//! Keywords: where expressions begin and end.

use crate::syntax::Word;

/// Keywords between which expressions are, and that no expression begins with.
const KEYWORDS: [&str; 25] = [
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "LIMIT",
    "ON",
    "USING",
    "UNION",
    "ALL",
    "EXCEPT",
    "INTERSECT",
    "JOIN",
    "NATURAL",
    "DISTINCT",
    "VALUES",
    "BETWEEN",
    "AND",
    "OR",
    "ORDER",
    "SELECT",
    "AS",
    "SET",
    "INNER",
    "CROSS",
    "OUTER",
];
/// Others, which may be names of columns, too.
const SOFT: [&str; 27] = [
    "BY",
    "OFFSET",
    "LEFT",
    "RIGHT",
    "FULL",
    "WINDOW",
    "EXPLAIN",
    "QUERY",
    "PLAN",
    "INDEXED",
    "PARTITION",
    "ROWS",
    "RANGE",
    "GROUPS",
    "PRECEDING",
    "FOLLOWING",
    "UNBOUNDED",
    "CURRENT",
    "ROW",
    "EXCLUDE",
    "TIES",
    "OTHERS",
    "WITH",
    "ASC",
    "DESC",
    "NULLS",
    "NO",
];
/// Keywords that no alias is, and that end an expression.
const OPERATORS: [&str; 24] = [
    "IS",
    "IN",
    "LIKE",
    "GLOB",
    "MATCH",
    "REGEXP",
    "ISNULL",
    "NOTNULL",
    "NOT",
    "ESCAPE",
    "COLLATE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CASE",
    "CAST",
    "EXISTS",
    "FILTER",
    "OVER",
    "WITHIN",
    "RETURNING",
    "MATERIALIZED",
    "RECURSIVE",
];

/// Whether a word is a keyword of clauses wherever it is.
pub(super) fn is_keyword(word: &Word<'_>) -> bool {
    KEYWORDS.iter().any(|keyword| word.is(keyword))
}

/// Whether a word ends what is after FROM.
pub(super) fn ends_from(word: &Word<'_>) -> bool {
    ["WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT"].iter().any(|keyword| word.is(keyword))
}

/// Whether a word is a keyword in some places alone.
pub(super) fn is_soft_keyword(word: &Word<'_>) -> bool {
    SOFT.iter().any(|keyword| word.is(keyword))
}

/// Whether a word is one of an expression.
pub(super) fn is_operator(word: &Word<'_>) -> bool {
    OPERATORS.iter().any(|operator| word.is(operator))
}
