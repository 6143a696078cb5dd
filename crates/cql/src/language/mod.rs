//! The language of CQL: the text of one statement in, a typed tree out. No I/O, no schema, no clock.
//!
//! On the path: a QUERY or PREPARE message's text comes here; what comes out is checked against the schema and executed elsewhere.
//! The files, in the order that text passes through them: `lexer` (with `token`, `keyword`), `parser`, `ast`; `error` is what comes
//! out instead, `quote` is the way back for names.
//!
//! The grammar is that of Apache Cassandra 5.0.9 (CQL 3.4.7), which holds that of 4.1; `tests/language_*.rs` were held against its
//! parser. More is accepted:
//! - of ScyllaDB: `USING TIMEOUT`, `BYPASS CACHE`, `PRUNE MATERIALIZED VIEW`, `REDUCEFUNC`, local indexes, several columns in ALTER
//!   TABLE without brackets, `WITH INTERNALS AND PASSWORDS`, and service levels as [`Statement::Unsupported`];
//! - of later Cassandras: `NOT IN`, `NOT CONTAINS`, `BETWEEN`, `CREATE TABLE … LIKE`, `GENERATED PASSWORD`, `LIST SUPERUSERS`;
//! - `SCHEMA` for `KEYSPACE`; a comment that ends with the text; a word right behind a number; as names of users and languages and
//!   after DESCRIBE any unreserved word; `distinct` and `json` as columns with an alias.
//!
//! Less: `c = c 1`, which Cassandra takes for an addition. Left to whoever has a schema: what
//! custom types, functions and resources exist, which types can be frozen, which permissions a resource has, columns given twice.
//!
//! Invariants: any text gives a [`Parsed`] or a [`SyntaxError`], never a panic; time is linear in the text's length (names that are
//! looked at twice, a bounded number of times each); the stack is bounded by [`NESTING_MAX`]; nothing is allocated that the text
//! does not hold.

pub mod ast;
mod error;
pub mod keyword;
mod lexer;
mod limits;
mod parsed;
mod parser;
mod quote;
mod token;

pub use ast::Statement;
pub use error::{Expected, QUOTED_CHARACTERS_MAX, SyntaxError, SyntaxErrorKind};
pub use limits::{BIND_MARKERS_MAX, EXPRESSION_OPERATORS_MAX, NESTING_MAX};
pub use parsed::Parsed;
pub use quote::quote_identifier;
pub use token::TokenKind;

/// Whether a text has more tokens than `count`: what parsing and planning take in memory grows with them, not with long literals. Reads
/// no further than needed, and keeps nothing.
#[must_use]
pub fn has_more_tokens(text: &str, count: usize) -> bool {
    // Every token has at least one byte.
    if text.len() <= count {
        return false;
    }
    let mut lexer = lexer::Lexer::new(text);
    (0..=count).all(|_| lexer.next_token().is_ok_and(|token| token.kind != TokenKind::End))
}

/// The one statement that `text` is. Semicolons after it are ignored.
///
/// # Errors
/// Anything else: see [`SyntaxErrorKind`].
pub fn parse(text: &str) -> Result<Parsed, SyntaxError> {
    parser::parse(text).map_err(|fault| {
        let end = lexer::signed_end(text, fault.start, fault.end);
        error::Fault { end, ..fault }.into_error(text)
    })
}

/// The conditions of a WHERE clause, without its first word.
#[must_use]
pub fn parse_where(text: &str) -> Option<ast::WhereClause> {
    match parse(&format!("SELECT * FROM t WHERE {text}")).ok()?.statement {
        Statement::Select(select) => Some(select.where_clause),
        _ => None,
    }
}

/// The text with `?` for each literal: what may be shown of a statement to whoever may not see its values. What follows a fault of the text is left out.
#[must_use]
pub fn without_values(text: &str) -> String {
    use TokenKind::{Blob, DollarString, Duration, End, Float, Integer, QuotedString, Uuid};
    let mut shown = String::with_capacity(text.len());
    let mut lexer = lexer::Lexer::new(text);
    let mut end = 0;
    while let Ok(token) = lexer.next_token() {
        if token.kind == End {
            return shown;
        }
        if token.start > end && end > 0 {
            // Comments between may have values, too.
            shown.push(' ');
        }
        match token.kind {
            QuotedString | DollarString | Integer | Float | Duration | Uuid | Blob => shown.push('?'),
            _ => shown.push_str(&text[token.range()]),
        }
        end = token.end;
    }
    shown + " …"
}

#[cfg(test)]
mod tests {
    use super::without_values;

    #[test]
    fn statements_are_shown_without_values() {
        for (text, shown) in [
            ("SELECT * FROM ks.t WHERE k = 'it''s' AND v>=-1.5e3 LIMIT 10;", "SELECT * FROM ks.t WHERE k = ? AND v>=-? LIMIT ?;"),
            ("UPDATE \"T\" SET m = m + {1: $$a$$, 0xAB: 1h} WHERE k=?", "UPDATE \"T\" SET m = m + {?: ?, ?: ?} WHERE k=?"),
            ("select 1 -- it's 42\n  from t /* 'x' */ where k = 123e4567-e89b-12d3-a456-426614174000", "select ? from t where k = ?"),
            ("INSERT INTO t (k) VALUES ('no end", "INSERT INTO t (k) VALUES ( …"),
            ("  ", ""),
            ("é", " …"),
        ] {
            assert_eq!(without_values(text), shown);
        }
    }
}
