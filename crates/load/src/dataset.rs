//! Which rows of a dataset there are.

use crate::workload::Rows;
use serde::{Deserialize, Serialize};

/// One load machine's part of the rows that are inserted: those whose number leaves `index` when divided by `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Which, from 0.
    pub index: u64,
    /// How many there are.
    pub of: u64,
}

impl Share {
    /// All rows.
    pub const ALL: Self = Self { index: 0, of: 1 };
}

/// A dataset from the phase that fills it to the last one that reads it.
#[derive(Debug)]
pub struct Dataset {
    rows: Rows,
    share: Share,
}

impl Dataset {
    /// Without any row: a load inserts them.
    #[must_use]
    pub fn empty(rows: Rows, share: Share) -> Self {
        Self { rows, share }
    }

    /// Filled by an earlier run.
    #[must_use]
    pub fn filled(rows: Rows, share: Share) -> Self {
        Self { rows, share }
    }

    /// What rows look like.
    #[must_use]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Which part of it is this load machine's.
    #[must_use]
    pub fn share(&self) -> Share {
        self.share
    }
}
