//! How many requests of clients were about each table, and how long they took, on one core.
//!
//! A request that is answered at once costs a comparison and an addition: those of a turn are counted by table in a few places, and added to the table's
//! figures when the turn ends.

use crate::latencies::Latencies;
use base::TableId;
use model::Schema;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// So many tables, those of the system included, have figures on a core; of others nothing is told.
const TABLES_MAX: usize = 1_000;
/// Rates are of about the last minute.
const RATE_US: f64 = 60e6;
/// A rate below this is none.
const RATE_MIN: f64 = 0.001;

/// What a request does with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableRequest {
    /// It reads rows of partitions that it names.
    Read,
    /// It reads rows wherever they are.
    Scan,
    /// It writes rows.
    Write,
}

impl TableRequest {
    /// All.
    pub const ALL: [Self; 3] = [Self::Read, Self::Scan, Self::Write];

    /// Its name in figures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Scan => "scan",
            Self::Write => "write",
        }
    }
}

/// A table, and what a request does with it: one word, so that most requests cost one comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableUse(u64);

impl TableUse {
    /// A request that is about no table, or about several.
    pub(crate) const NONE: Self = Self(0);

    #[inline]
    pub(crate) fn new(table: TableId, request: TableRequest) -> Self {
        Self(u64::from(table.0) << 2 | (request as u64 + 1))
    }

    /// A request for rows that it names.
    pub(crate) fn of(table: TableId, is_write: bool) -> Self {
        Self::new(table, if is_write { TableRequest::Write } else { TableRequest::Read })
    }

    fn table(self) -> TableId {
        TableId((self.0 >> 2) as u32)
    }

    /// Its place among [`TableFigures`]; none of no table.
    fn request(self) -> Option<usize> {
        (self.0 as usize & 3).checked_sub(1)
    }
}

/// Requests of one kind that were about one table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TableLatencies {
    /// How long they took.
    pub latencies: Latencies,
    /// How long the longest took.
    pub max_us: u64,
    /// How many there were each second, of late.
    pub per_second: f64,
    /// How many there had been when that was computed.
    counted: u64,
}

impl TableLatencies {
    fn add(&mut self, us: u64, requests: u64) {
        self.latencies.add(us, requests);
        self.max_us = self.max_us.max(us);
    }

    /// Adds those of another core.
    pub fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        self.max_us = self.max_us.max(other.max_us);
        self.per_second += other.per_second;
    }

    /// How long so large a part of them took at most, nearly.
    #[must_use]
    pub fn percentile_us(&self, part: f64) -> f64 {
        self.latencies.percentile_us(part).min(self.max_us as f64)
    }

    fn is_at_rest(&self) -> bool {
        self.per_second == 0.0 && self.counted == self.latencies.count()
    }

    fn set_rate(&mut self, elapsed_us: f64) {
        let (count, weight) = (self.latencies.count(), 1.0 - (-elapsed_us / RATE_US).exp());
        let now = (count - self.counted) as f64 * 1e6 / elapsed_us;
        self.per_second += (now - self.per_second) * weight;
        if self.per_second < RATE_MIN {
            self.per_second = 0.0;
        }
        self.counted = count;
    }
}

/// The figures of a table, in the order of [`TableRequest::ALL`].
pub type TableFigures = [TableLatencies; TableRequest::ALL.len()];

/// Requests of a kind by table, on all cores together.
#[must_use]
pub fn by_table<'a>(
    cores: impl Iterator<Item = &'a Vec<(TableId, Arc<TableFigures>)>>,
    request: TableRequest,
) -> BTreeMap<TableId, TableLatencies> {
    let mut sums: BTreeMap<TableId, TableLatencies> = BTreeMap::new();
    for (table, figures) in cores.flatten() {
        sums.entry(*table).or_default().merge(&figures[request as usize]);
    }
    sums
}

/// Measures the requests of a core by table.
#[derive(Debug, Default)]
pub(crate) struct TableMeter {
    /// Requests of this turn that were answered at once, by some uses of tables.
    at_once: [(TableUse, u64); 8],
    /// Those whose place in `at_once` another use has taken.
    displaced: Vec<(TableUse, u64)>,
    /// In the order of their ids. Shared with whoever looks: a table that has no requests is not copied.
    figures: Vec<(TableId, Arc<TableFigures>)>,
    rated_us: u64,
    /// The schema that has the tables.
    schema_version: u128,
}

impl TableMeter {
    pub(crate) fn figures(&self) -> &[(TableId, Arc<TableFigures>)] {
        &self.figures
    }

    /// A request has been answered in the turn in which it came.
    #[inline]
    pub(crate) fn answered_at_once(&mut self, of: TableUse) {
        // Neighbouring words are the uses of one table.
        let place = &mut self.at_once[(of.0 % 8) as usize];
        if place.0 == of {
            place.1 += 1;
        } else {
            self.displaced.push(std::mem::replace(place, (of, 1)));
        }
    }

    /// Those that were answered at once have taken so long.
    pub(crate) fn end_turn(&mut self, us: u64) {
        for place in 0..self.at_once.len() {
            // The use keeps its place: the next turn has requests of the same tables.
            let (of, count) = self.at_once[place];
            if count > 0 {
                self.at_once[place].1 = 0;
                self.add(of, us, count);
            }
        }
        while let Some((of, count)) = self.displaced.pop() {
            self.add(of, us, count);
        }
    }

    /// So many requests took so long.
    pub(crate) fn add(&mut self, of: TableUse, us: u64, requests: u64) {
        let (table, Some(request)) = (of.table(), of.request().filter(|_| requests > 0)) else { return };
        let place = match self.figures.binary_search_by_key(&table, |(table, _)| *table) {
            Ok(place) => place,
            Err(_) if self.figures.len() >= TABLES_MAX => return,
            Err(place) => {
                self.figures.insert(place, (table, Arc::default()));
                place
            }
        };
        Arc::make_mut(&mut self.figures[place].1)[request].add(us, requests);
    }

    /// Computes rates, and forgets tables that are not there any more.
    pub(crate) fn rate(&mut self, now_us: u64, schema: &Schema) {
        let elapsed_us = now_us.saturating_sub(std::mem::replace(&mut self.rated_us, now_us)) as f64;
        if elapsed_us == 0.0 {
            return;
        }
        if std::mem::replace(&mut self.schema_version, schema.version) != schema.version {
            let known: HashSet<TableId> = schema.tables().map(|table| table.id).collect();
            self.figures.retain(|(table, _)| known.contains(table));
        }
        for (_, figures) in &mut self.figures {
            if figures.iter().any(|of| !of.is_at_rest()) {
                Arc::make_mut(figures).iter_mut().for_each(|of| of.set_rate(elapsed_us));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(table: u32, request: TableRequest) -> TableUse {
        TableUse::new(TableId(table), request)
    }

    #[test]
    fn requests_count_for_their_tables_however_they_alternate() {
        let mut meter = TableMeter::default();
        // 1 and 9 have the same place.
        meter.answered_at_once(TableUse::NONE);
        for table in [1, 9, 1, 1, 9, 2] {
            meter.answered_at_once(of(table, TableRequest::Read));
        }
        meter.answered_at_once(of(2, TableRequest::Write));
        meter.end_turn(40);
        meter.add(of(1, TableRequest::Read), 7_000, 1);
        meter.end_turn(90_000);
        let counts: Vec<_> = meter.figures().iter().map(|(table, of)| (table.0, of.map(|of| of.latencies.count()))).collect();
        assert_eq!(counts, [(1, [4, 0, 0]), (2, [1, 0, 1]), (9, [2, 0, 0])]);
        let read = &meter.figures()[0].1[0];
        assert_eq!((read.max_us, read.latencies.sum_us), (7_000, 3 * 40 + 7_000));
    }

    #[test]
    fn rates_follow_what_is_asked_and_dropped_tables_go() {
        let mut schema = Schema::empty();
        let mut meter = TableMeter { schema_version: schema.version, ..TableMeter::default() };
        let mut now_us = 1;
        meter.rate(now_us, &schema);
        for _ in 0..600 {
            (0..100).for_each(|_| meter.answered_at_once(of(1, TableRequest::Scan)));
            meter.end_turn(10);
            now_us += 1_000_000;
            meter.rate(now_us, &schema);
        }
        let rate = |meter: &TableMeter| meter.figures()[0].1[TableRequest::Scan as usize].per_second;
        assert!((rate(&meter) - 100.0).abs() < 0.1, "{}", rate(&meter));
        let seen = Arc::clone(&meter.figures()[0].1);
        (0..3_600).for_each(|_| {
            now_us += 1_000_000;
            meter.rate(now_us, &schema);
        });
        assert_eq!(rate(&meter), 0.0);
        assert!(seen[TableRequest::Scan as usize].per_second > 99.0, "who looked keeps what it saw");
        schema.version += 1;
        meter.rate(now_us + 1, &schema);
        assert!(meter.figures().is_empty());
    }

    #[test]
    fn tables_are_bounded() {
        let mut meter = TableMeter::default();
        (0..2_000).for_each(|table| meter.add(of(table, TableRequest::Read), 1, 1));
        assert_eq!(meter.figures().len(), TABLES_MAX);
    }
}
