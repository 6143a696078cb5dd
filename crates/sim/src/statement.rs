//! Statements with everything that goes with them.

use cql::wire::{BatchKind, Consistency};

/// A value, or null.
pub type Bound = Option<Vec<u8>>;

/// An `int`.
#[must_use]
pub fn int(number: i32) -> Bound {
    Some(number.to_be_bytes().to_vec())
}

/// A `text`.
#[must_use]
pub fn text(text: &str) -> Bound {
    Some(text.as_bytes().to_vec())
}

/// A `bigint`.
#[must_use]
pub fn bigint(number: i64) -> Bound {
    Some(number.to_be_bytes().to_vec())
}

/// A statement with everything that goes with it.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(crate) text: String,
    pub(crate) id: Option<Vec<u8>>,
    pub(crate) values: Vec<Bound>,
    pub(crate) page_size: Option<u32>,
    pub(crate) paging_state: Option<Vec<u8>>,
    pub(crate) timestamp: Option<i64>,
    pub(crate) batch: Option<(BatchKind, Vec<Statement>)>,
    pub(crate) consistency: Consistency,
}

impl Default for Statement {
    fn default() -> Self {
        Self {
            text: String::new(),
            id: None,
            values: Vec::new(),
            page_size: None,
            paging_state: None,
            timestamp: None,
            batch: None,
            consistency: Consistency::LocalOne,
        }
    }
}

impl Statement {
    /// A text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A prepared statement by its id.
    #[must_use]
    pub fn prepared(id: &[u8]) -> Self {
        Self { id: Some(id.to_vec()), ..Self::default() }
    }

    /// Several statements as one.
    #[must_use]
    pub fn batch(kind: BatchKind, statements: Vec<Self>) -> Self {
        Self { batch: Some((kind, statements)), ..Self::default() }
    }

    /// The same with more values.
    #[must_use]
    pub fn bind(mut self, values: impl IntoIterator<Item = Bound>) -> Self {
        self.values.extend(values);
        self
    }

    /// The same with a write timestamp.
    #[must_use]
    pub fn at(mut self, timestamp: i64) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// The same at another consistency level.
    #[must_use]
    pub fn with(mut self, consistency: Consistency) -> Self {
        self.consistency = consistency;
        self
    }

    /// The same, a page of so many rows from a position.
    #[must_use]
    pub fn page(mut self, size: u32, state: Option<Vec<u8>>) -> Self {
        (self.page_size, self.paging_state) = (Some(size), state);
        self
    }
}
