//! What parsing gives.

use super::ast::{Identifier, Statement};

/// A statement and the values it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The statement.
    pub statement: Statement,
    /// The bind markers, left to right, with the name of those written `:name`; at most [`super::BIND_MARKERS_MAX`].
    pub markers: Vec<Option<Identifier>>,
}
