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
//! Less: `c = c 1`, which Cassandra takes for an addition; a negative dimension of a vector. Left to whoever has a schema: what
//! custom types, functions and resources exist, which types can be frozen, which permissions a resource has, columns given twice.
//!
//! Invariants: any text gives a [`Parsed`] or a [`SyntaxError`], never a panic; time is linear in the text's length (names that are
//! looked at twice, a bounded number of times each); the stack is bounded by [`NESTING_MAX`]; nothing is allocated that the text
//! does not hold.

pub mod ast;
mod error;
pub mod keyword;
mod lexer;
mod parser;
mod quote;
mod token;

pub use ast::Statement;
pub use error::{Expected, QUOTED_CHARACTERS_MAX, SyntaxError, SyntaxErrorKind};
pub use quote::quote_identifier;
pub use token::TokenKind;

use ast::Identifier;

/// How deep brackets, types, casts and signs may nest.
pub const NESTING_MAX: usize = 64;
/// How many operators one expression may have: they nest too, in the tree.
pub const EXPRESSION_OPERATORS_MAX: usize = 256;
/// How many bind markers a statement may have: the protocol counts them in 16 bits.
pub const BIND_MARKERS_MAX: usize = 65_535;

/// A statement and the values it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The statement.
    pub statement: Statement,
    /// The bind markers, left to right, with the name of those written `:name`; at most [`BIND_MARKERS_MAX`].
    pub markers: Vec<Option<Identifier>>,
}

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
    parser::parse(text).map_err(|fault| fault.into_error(text))
}
