//! What a core remembers of its figures from one report to the next.

use base::TableId;
use engine::TableSizes;
use std::collections::BTreeMap;

/// So many tables are looked at each time.
const TABLES_AT_ONCE: usize = 8;

/// When a core reports, and what it has told.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// When figures are written next.
    pub(crate) report_due_us: u64,
    /// Whether the log says that there is no room for writes.
    pub(crate) told_full: bool,
    /// How many reports in a row have found room for writes.
    pub(crate) looks_with_room: u32,
    pub(crate) tables: TableFigures,
    /// Clients that were cut before they had done the handshake of TLS or had logged in.
    pub(crate) clients_cut: u64,
    /// How long operations of its device took, when they were reported last.
    pub(crate) disk: io::DiskLatencies,
}

/// How large the tables of a core are, as far as it has looked: some of them each time, so that many tables take no longer than few.
/// Each size is as it was when the table was looked at last.
#[derive(Debug, Default)]
pub(crate) struct TableFigures {
    sizes: BTreeMap<TableId, TableSizes>,
    /// The last table that was looked at.
    last: Option<TableId>,
}

impl TableFigures {
    pub(crate) fn sizes(&self) -> &BTreeMap<TableId, TableSizes> {
        &self.sizes
    }

    /// Looks at the next few of these tables, and forgets those that are gone.
    pub(crate) fn measure(&mut self, tables: impl Iterator<Item = TableId>, measure: impl Fn(TableId) -> TableSizes) {
        let mut tables: Vec<TableId> = tables.collect();
        tables.sort_unstable();
        self.sizes.retain(|table, _| tables.binary_search(table).is_ok());
        let first = self.last.map_or(0, |last| tables.partition_point(|table| *table <= last));
        if first < tables.len() {
            tables.rotate_left(first);
        }
        for table in tables.into_iter().take(TABLES_AT_ONCE) {
            self.sizes.insert(table, measure(table));
            self.last = Some(table);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_gets_its_turn_and_dropped_ones_are_forgotten() {
        let mut figures = TableFigures::default();
        let sizes = |table: TableId| TableSizes { partitions: u64::from(table.0), ..TableSizes::default() };
        let ids = |range: std::ops::Range<u32>| range.map(TableId);
        for _ in 0..3 {
            figures.measure(ids(1..21), sizes);
        }
        assert!(ids(1..21).all(|table| figures.sizes().get(&table) == Some(&sizes(table))));
        figures.measure(ids(15..40), sizes);
        assert_eq!(figures.sizes().keys().next(), Some(&TableId(15)));
        (0..4).for_each(|_| figures.measure(ids(15..40), sizes));
        assert_eq!(figures.sizes().len(), 25);
        figures.measure(ids(0..0), sizes);
        assert!(figures.sizes().is_empty());
    }
}
