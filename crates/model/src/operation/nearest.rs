//! Rows by their vectors: what an index on vectors knows of a row, and what it is asked.

use base::{Slot, TableId, Token};

/// How near vectors are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorMetric {
    /// By the angle between them.
    Cosine,
    /// By the distance between their ends.
    Euclidean,
    /// By their product.
    DotProduct,
}

/// The column of an index on vectors, as a shard sees it that keeps a graph of them.
pub trait VectorColumn: Send + Sync {
    /// The measure.
    fn metric(&self) -> VectorMetric;

    /// Numbers of a vector.
    fn dimensions(&self) -> usize;

    /// What a stored row says of vectors. A pure function.
    fn of_row<'a>(&self, clustering: &'a [u8], row: &'a [u8]) -> RowVector<'a>;
}

/// What a stored row says of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowVector<'a> {
    /// It has this vector.
    Vector {
        /// The numbers: big-endian floats of four bytes.
        bytes: &'a [u8],
        /// When it was written.
        timestamp: i64,
        /// The second from which on it is gone; 0 is never.
        expires_at_s: u32,
    },
    /// It has none, or no more.
    Without,
    /// It deletes rows of its partition.
    Deletion {
        /// The first clustering key that is covered.
        from: &'a [u8],
        /// The first after it that is not; `None` to the partition's end.
        to: Option<&'a [u8]>,
        /// What was written later stays.
        timestamp: i64,
    },
}

/// Which rows are looked for.
#[derive(Clone, Copy, Debug)]
pub struct NearestQuery<'a> {
    /// Of this table.
    pub table: TableId,
    /// By this index.
    pub index: TableId,
    /// Those near to this vector: big-endian floats.
    pub vector: &'a [u8],
    /// About so many.
    pub count: usize,
    /// With a token from this one on.
    pub first: Token,
    /// To this one.
    pub last: Token,
    /// Instead, of all slots whose primary this member is.
    pub of_all_served: bool,
    /// That live at this second.
    pub now_s: u32,
}

/// A row that may be one of the nearest: whoever asks reads it and compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearRow {
    /// Its token.
    pub token: Token,
    /// Its partition key.
    pub partition: Vec<u8>,
    /// Its clustering key.
    pub clustering: Vec<u8>,
}

/// What a graph gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NearRows {
    /// Rows that may be among the nearest, most likely first.
    pub rows: Vec<NearRow>,
    /// Of a query of all slots that are served: these.
    pub slots: Vec<Slot>,
}
