//! How many requests of clients a core has answered, and how long they took, by protocol and kind.
//!
//! A request that waits has the time at which it began. One that is answered at once costs an addition: it is counted with the others of its
//! turn when the turn ends, and has taken as long as that.

use crate::latencies::Latencies;
use crate::table_figures::{TableFigures, TableMeter, TableUse};
use base::TableId;
use std::sync::Arc;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// It reads rows.
    Read,
    /// It writes rows.
    Write,
    /// The schema, roles, log-ins, information.
    Other,
}

impl RequestKind {
    /// All.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Other];

    /// The kind of a request about rows.
    pub(crate) fn of(is_write: bool) -> Self {
        if is_write { Self::Write } else { Self::Read }
    }

    /// Its name in figures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Other => "other",
        }
    }
}

/// The protocols that have figures, by name.
pub const MEASURED_PROTOCOLS: [&str; 3] = ["cql", "aerospike", "griddb"];

/// The figures, by protocol and kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestFigures {
    /// In the order of [`MEASURED_PROTOCOLS`] and [`RequestKind::ALL`].
    pub latencies: [[Latencies; RequestKind::ALL.len()]; MEASURED_PROTOCOLS.len()],
    /// Requests that were answered with an error, by protocol and the number that it has there.
    pub errors: [ErrorCounts; MEASURED_PROTOCOLS.len()],
    /// Requests about one table, by table.
    pub tables: Vec<(TableId, Arc<TableFigures>)>,
}

/// So many numbers of errors of a protocol are counted each by itself.
const ERROR_CODES_MAX: usize = 64;

/// How many errors there were, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    /// By number, in the order in which they came first.
    pub by_code: Vec<(i32, u64)>,
    /// Those with other numbers.
    pub others: u64,
}

impl ErrorCounts {
    fn add(&mut self, code: i32) {
        if let Some((_, count)) = self.by_code.iter_mut().find(|(known, _)| *known == code) {
            *count += 1;
        } else if self.by_code.len() < ERROR_CODES_MAX {
            self.by_code.push((code, 1));
        } else {
            self.others += 1;
        }
    }

    /// All together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.by_code.iter().map(|(_, count)| count).sum::<u64>() + self.others
    }
}

/// Which figures a request counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    protocol: usize,
    kind: RequestKind,
}

impl Class {
    pub(crate) const CQL: Self = Self { protocol: 0, kind: RequestKind::Other };
    pub(crate) const AEROSPIKE: Self = Self { protocol: 1, kind: RequestKind::Other };
    pub(crate) const GRIDDB: Self = Self { protocol: 2, kind: RequestKind::Other };

    /// The name of its protocol, and its kind.
    pub(crate) fn names(self) -> (&'static str, RequestKind) {
        (MEASURED_PROTOCOLS[self.protocol], self.kind)
    }

    pub(crate) fn is_about_rows_of_cql(self) -> bool {
        self.protocol == Self::CQL.protocol && self.kind != RequestKind::Other
    }

    #[cfg(test)]
    pub(crate) fn with(self, kind: RequestKind) -> Self {
        Self { kind, ..self }
    }
}

/// A request that waits, or has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// Which figures it counts in.
    pub(crate) class: Class,
    /// What it does with a table.
    pub(crate) table_use: TableUse,
    pub(crate) began_us: u64,
}

/// Measures the requests of a core.
#[derive(Debug)]
pub(crate) struct RequestMeter {
    figures: RequestFigures,
    /// By table.
    pub(crate) tables: TableMeter,
    /// The request that is being started.
    class: Class,
    table_use: TableUse,
    now_us: u64,
    /// Requests of this turn that were answered at once.
    at_once: [[u32; RequestKind::ALL.len()]; MEASURED_PROTOCOLS.len()],
    has_at_once: bool,
}

impl Default for RequestMeter {
    fn default() -> Self {
        Self {
            figures: RequestFigures::default(),
            tables: TableMeter::default(),
            class: Class::CQL,
            table_use: TableUse::NONE,
            now_us: 0,
            at_once: Default::default(),
            has_at_once: false,
        }
    }
}

impl RequestMeter {
    pub(crate) fn figures(&self) -> RequestFigures {
        RequestFigures { tables: self.tables.figures().to_vec(), ..self.figures.clone() }
    }

    /// The time by which requests begin and end until it is set again.
    pub(crate) fn set_now(&mut self, now_us: u64) {
        self.now_us = now_us;
    }

    /// A request is being started.
    #[inline]
    pub(crate) fn start(&mut self, class: Class) {
        self.class = class;
        self.table_use = TableUse::NONE;
    }

    /// It is of this kind, as has turned out.
    #[inline]
    pub(crate) fn set_kind(&mut self, kind: RequestKind) {
        self.class.kind = kind;
    }

    /// It is about a table, as has turned out.
    #[inline]
    pub(crate) fn set_table_use(&mut self, table_use: TableUse) {
        self.table_use = table_use;
    }

    /// It has been answered.
    #[inline]
    pub(crate) fn answered_at_once(&mut self) {
        self.tables.answered_at_once(self.table_use);
        self.at_once[self.class.protocol][self.class.kind as usize] += 1;
        self.has_at_once = true;
    }

    /// It has been answered, by an error with this number if there is one.
    #[inline]
    pub(crate) fn answered_at_once_with(&mut self, error: Option<i32>) {
        if let Some(code) = error {
            self.failed(self.class, code);
        }
        self.answered_at_once();
    }

    /// It waits: what [`RequestMeter::ended`] needs to know.
    pub(crate) fn waits(&self) -> Measured {
        Measured { class: self.class, table_use: self.table_use, began_us: self.now_us }
    }

    /// One that waited has been answered.
    pub(crate) fn ended(&mut self, Measured { class, table_use, began_us }: Measured) {
        let us = self.now_us.saturating_sub(began_us);
        self.tables.add(table_use, us, 1);
        self.figures.latencies[class.protocol][class.kind as usize].add(us, 1);
    }

    /// One of this protocol is answered with the error of this number.
    #[cold]
    pub(crate) fn failed(&mut self, class: Class, code: i32) {
        self.figures.errors[class.protocol].add(code);
    }

    /// The time of this turn.
    pub(crate) fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Whether requests of this turn were answered at once.
    #[inline]
    pub(crate) fn has_at_once(&self) -> bool {
        self.has_at_once
    }

    /// A turn that began at [`RequestMeter::set_now`] ends now.
    pub(crate) fn end_turn(&mut self, now_us: u64) {
        let us = now_us.saturating_sub(self.now_us);
        for (counted, all) in self.at_once.iter_mut().flatten().zip(self.figures.latencies.iter_mut().flatten()) {
            if *counted > 0 {
                all.add(us, u64::from(std::mem::take(counted)));
            }
        }
        self.tables.end_turn(us);
        self.has_at_once = false;
    }

    /// How many requests this turn has answered at once, with the class of one.
    #[cold]
    pub(crate) fn at_once(&self) -> Option<(Class, u64)> {
        let requests = self.at_once.iter().flatten().map(|counted| u64::from(*counted)).sum();
        let of = |protocol: usize| RequestKind::ALL.into_iter().map(move |kind| Class { protocol, kind });
        let answered = (0..MEASURED_PROTOCOLS.len()).flat_map(of).find(|class| self.at_once[class.protocol][class.kind as usize] > 0);
        answered.map(|class| (class, requests))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latencies::LATENCY_BOUNDS_US;
    use crate::table_figures::TableRequest;

    #[test]
    fn requests_are_in_the_bucket_of_how_long_they_took() {
        let mut meter = RequestMeter::default();
        meter.set_now(1_000);
        meter.start(Class::CQL);
        meter.set_kind(RequestKind::Read);
        meter.answered_at_once();
        meter.answered_at_once();
        meter.set_kind(RequestKind::Write);
        meter.set_table_use(TableUse::new(TableId(7), TableRequest::Write));
        let waiting = meter.waits();
        meter.start(Class::AEROSPIKE);
        meter.answered_at_once_with(Some(4));
        assert!(meter.has_at_once());
        assert_eq!(meter.at_once(), Some((Class::CQL.with(RequestKind::Read), 3)));
        meter.end_turn(1_026);
        assert!(!meter.has_at_once() && meter.at_once().is_none());
        meter.set_now(21_000_000);
        meter.failed(waiting.class, 0x1000);
        meter.failed(waiting.class, 0x1000);
        meter.ended(waiting);
        let figures = meter.figures();
        let [cql, aerospike, griddb] = &figures.latencies;
        let [read, write, other] = RequestKind::ALL.map(|kind| kind as usize);
        assert_eq!((cql[read].buckets[1], cql[read].sum_us), (2, 52));
        assert_eq!((*cql[write].buckets.last().expect("buckets"), cql[write].sum_us), (1, 20_999_000));
        assert_eq!((aerospike[other].buckets[1], griddb), (1, &Default::default()));
        let [of_cql, of_aerospike, of_griddb] = &figures.errors;
        assert_eq!((of_cql.by_code.as_slice(), of_aerospike.by_code.as_slice()), (&[(0x1000, 2)][..], &[(4, 1)][..]));
        assert_eq!(of_griddb.sum(), 0);
        assert!(LATENCY_BOUNDS_US.is_sorted());
        // What another request did with a table is nothing to the one that was answered after it.
        let of_tables: Vec<_> = figures.tables.iter().map(|(table, of)| (table.0, of.map(|of| of.latencies.count()))).collect();
        assert_eq!(of_tables, [(7, [0, 0, 1])]);
    }

    #[test]
    fn numbers_of_errors_are_bounded() {
        let mut errors = ErrorCounts::default();
        (0..100).for_each(|code| errors.add(code % 70));
        assert_eq!((errors.by_code.len(), errors.sum()), (ERROR_CODES_MAX, 100));
        assert_eq!((errors.by_code[0], errors.others), ((0, 2), 6));
    }
}
