//! How many parts of coordinated requests are out, and how large their results may be.

use base::TableId;
use std::collections::HashMap;

/// The assumed size of a table's first results: what a part of a SELECT visits at most, except for its last row.
const PART_BYTES_FIRST: usize = 1 << 20;

/// Parts of coordinated requests that are not back, and how large results are.
pub(crate) struct PartSizes {
    out: usize,
    /// As large as results of late: decays.
    bytes: usize,
    /// The same of each table whose parts this core has asked for.
    bytes_of: HashMap<TableId, usize>,
}

impl Default for PartSizes {
    fn default() -> Self {
        Self { out: 0, bytes: PART_BYTES_FIRST, bytes_of: HashMap::new() }
    }
}

impl PartSizes {
    /// What the results of the parts that are out may take, and the rows that they are made of; none if no part is out.
    pub(crate) fn expected_bytes(&self) -> Option<usize> {
        (self.out > 0).then_some(self.out * 2 * self.bytes)
    }

    /// Parts go out.
    pub(crate) fn sent(&mut self, parts: usize) {
        self.out += parts;
    }

    /// Expects results as large as the table's last ones, however small those of other tables are.
    pub(crate) fn expect(&mut self, table: TableId) {
        self.bytes = self.bytes.max(*self.bytes_of.entry(table).or_insert(PART_BYTES_FIRST));
    }

    /// A part has come back with so many bytes.
    pub(crate) fn returned(&mut self, table: Option<TableId>, bytes: usize) {
        self.out -= 1;
        let decayed = |expected: usize| bytes.max(expected - expected / 16);
        self.bytes = decayed(self.bytes);
        if let Some(expected) = table.and_then(|table| self.bytes_of.get_mut(&table)) {
            *expected = decayed(*expected);
        }
    }

    /// A table is gone.
    pub(crate) fn forget(&mut self, table: TableId) {
        self.bytes_of.remove(&table);
    }
}
