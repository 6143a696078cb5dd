//! Where pages may be worth making.

use base::{TableId, Token};

/// A place in a partition where pages may be worth making. May be out of date by the time it is looked at.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) table: TableId,
    pub(crate) token: Token,
    /// The partition's number.
    pub(crate) number: u32,
    pub(crate) key: Box<[u8]>,
    /// Whether the page is to be made again however few rows lie over it.
    pub(crate) purge: bool,
}

impl Candidate {
    /// What one takes, about.
    pub(crate) const BYTES: usize = size_of::<Self>() + 32;
}
