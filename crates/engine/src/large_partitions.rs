//! Partitions that have become large: noted where rows move to pages, which looks at each stretch of a partition that grows.

use crate::index::Partition;
use base::TableId;
use std::collections::BTreeMap;

/// So many tables are told of at once.
const TABLES_MAX: usize = 64;

/// A partition beyond the size that was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargePartition {
    /// Its table.
    pub table: TableId,
    /// Its key.
    pub key: Box<[u8]>,
    /// The bytes of its rows without compression, about: as many as it has rows, each as large as those of the stretch that was looked at.
    pub bytes: u64,
}

/// The largest one of each table since the last call.
pub(crate) struct LargePartitions {
    pub(crate) bytes_max: u64,
    pub(crate) found: BTreeMap<TableId, LargePartition>,
}

impl Default for LargePartitions {
    fn default() -> Self {
        Self { bytes_max: u64::MAX, found: BTreeMap::new() }
    }
}

impl LargePartitions {
    /// A stretch of a partition has so many rows and bytes.
    pub(crate) fn note(&mut self, table: TableId, partition: &Partition, (count, bytes): (usize, usize)) {
        let bytes = (partition.rows.len() as u64).saturating_mul(bytes as u64) / count.max(1) as u64;
        if bytes <= self.bytes_max || self.found.get(&table).is_some_and(|found| found.bytes >= bytes) {
            return;
        }
        if self.found.len() < TABLES_MAX || self.found.contains_key(&table) {
            self.found.insert(table, LargePartition { table, key: (&*partition.key).into(), bytes });
        }
    }
}
