//! A stretch of a partition in which no row is single: a record of a row there is dead, whatever it says.
//!
//! Rows that moved to pages leave long stretches of dead records behind. Defragmentation asks the index for the second of them and knows
//! the others by comparing keys.
//!
//! Invariant: holds as long as no row is written.

use super::Index;
use crate::format::record::Record;
use crate::key::Key;
use base::{TableId, Token};

/// A stretch of clustering keys, exclusive at both ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    table: TableId,
    token: Token,
    partition: Box<[u8]>,
    low: Option<Box<[u8]>>,
    high: Option<Box<[u8]>>,
}

impl Gap {
    /// Whether the record is of a row in the stretch.
    #[inline]
    pub(crate) fn has(&self, record: &Record<'_>) -> bool {
        let key = record.key();
        key.token == self.token
            && key.table == self.table
            && !record.is_page()
            && *key.partition == *self.partition
            && self.low.as_deref().is_none_or(|low| low < key.clustering)
            && self.high.as_deref().is_none_or(|high| key.clustering < high)
    }
}

impl Index {
    /// The stretch without single rows around a key, if its partition has an ordered map and not this row.
    pub(crate) fn gap_around(&self, key: &Key<'_>) -> Option<Gap> {
        let rows = &self.partitions.get(self.partition_number(key)?).rows;
        let [low, high] = rows.gap_around(key.clustering)?;
        Some(Gap {
            table: key.table,
            token: key.token,
            partition: key.partition.into(),
            low: low.map(Box::from),
            high: high.map(Box::from),
        })
    }
}
