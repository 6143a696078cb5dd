//! Both sides, compared range by range: by digests, and row by row where those differ.
//!
//! A digest is of values, of timestamps, and of whether there is a time to live: what is left of one differs from one moment to the next. Of lists the
//! timestamps are not compared, for those are the newest element's at the target.

use super::super::differences::Differences;
use super::super::error::ImportError;
use super::super::jobs::Jobs;
use super::connection::Connection;
use super::copy::borders;
use super::plan::{Cells, Plan};
use super::ranges::{Piece, Range};
use super::row::Row;
use crate::endpoint::Endpoint;
use crate::throttle::Throttle;
use cql::value::{build, layout, text};
use cql::wire::{Consistency, Rows};
use load::cql::client::ClientError;
use model::DataType;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Rows that are compared one by one: a range with more is halved.
const ROWS_MAX: usize = 50_000;

/// What all jobs share.
pub(super) struct Verify<'a> {
    pub(super) plans: &'a [Plan],
    pub(super) jobs: &'a Jobs<'a>,
    pub(super) throttle: Throttle,
    pub(super) consistency: Consistency,
    pub(super) page_rows: u32,
    /// Rows that are not the same.
    pub(super) differences: Differences<'a>,
}

/// One job.
pub(super) struct Verifier<'a> {
    verify: &'a Verify<'a>,
    source: Side<'a>,
    target: Side<'a>,
}

/// Who is read, and how.
struct Side<'a> {
    connection: Connection<'a>,
    consistency: Consistency,
    failed: fn(ClientError) -> ImportError,
    /// The source is spared.
    throttle: Option<&'a Throttle>,
}

/// Rows of a range.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Digest {
    rows: u64,
    sum: u64,
}

/// Digests of a row at the source and at the target, by its key.
type Compared = BTreeMap<Vec<u8>, [Option<u64>; 2]>;

impl<'a> Verifier<'a> {
    pub(super) fn new(verify: &'a Verify<'a>, (from, to): (&'a Endpoint, &'a Endpoint), number: usize) -> Self {
        let (source, target) = (Connection::new(from, number), Connection::new(to, number));
        let throttle = Some(&verify.throttle);
        Self {
            verify,
            source: Side { connection: source, consistency: verify.consistency, failed: ImportError::at_source, throttle },
            target: Side { connection: target, consistency: Consistency::Quorum, failed: ImportError::at_target, throttle: None },
        }
    }

    /// Compares a range.
    pub(super) fn range(&mut self, piece: &Piece) -> Result<(), ImportError> {
        let plan = &self.verify.plans[piece.plan];
        self.compare_range(plan, piece.range).map_err(|error| error.of(&plan.keyspace, &plan.table))
    }

    fn compare_range(&mut self, plan: &Plan, range: Range) -> Result<(), ImportError> {
        let mut digests = [Digest::default(); 2];
        for (side, sum) in [&mut self.source, &mut self.target].into_iter().zip(&mut digests) {
            side.scan(self.verify, plan, range, |rows| {
                each(plan, rows, |row| *sum = Digest { rows: sum.rows + 1, sum: sum.sum.wrapping_add(digest(plan, row)) });
            })?;
        }
        self.verify.jobs.meter.add(digests[0].rows as usize);
        if digests[0] == digests[1] { Ok(()) } else { self.compare(plan, range) }
    }

    /// Compares the rows of a range in which something differs.
    fn compare(&mut self, plan: &Plan, range: Range) -> Result<(), ImportError> {
        let (mut compared, mut types, mut is_over) = (Compared::new(), Vec::<DataType>::new(), false);
        for (number, side) in [&mut self.source, &mut self.target].into_iter().enumerate() {
            side.scan(self.verify, plan, range, |rows| {
                if let Some(columns) = rows.metadata.columns.filter(|_| types.is_empty()) {
                    types = columns.iter().take(plan.key_len()).map(|column| column.data_type.to_data_type()).collect();
                }
                each(plan, rows, |row| {
                    is_over |= compared.len() >= ROWS_MAX;
                    if !is_over {
                        compared.entry(key(plan, row)).or_default()[number] = Some(digest(plan, row));
                    }
                });
            })?;
        }
        if is_over {
            drop(compared);
            return match range.halves() {
                Some(halves) => halves.into_iter().try_for_each(|half| self.compare(plan, half)),
                None => {
                    self.tell(plan, &format!("partitions of token {} differ, and have more than {ROWS_MAX} rows", range.last));
                    Ok(())
                }
            };
        }
        for (key, [source, target]) in compared.iter().filter(|(_, [source, target])| source != target) {
            let how = match (source, target) {
                (Some(_), None) => "missing at the target",
                (None, Some(_)) => "only at the target",
                _ => "not the same",
            };
            self.tell(plan, &format!("{how}: {}", key_text(plan, &types, key)));
        }
        Ok(())
    }

    fn tell(&self, plan: &Plan, text: &str) {
        self.verify.differences.add(&format!("{}.{}", plan.keyspace, plan.table), text);
    }
}

impl Side<'_> {
    /// Reads all pages of a range.
    fn scan(&mut self, verify: &Verify<'_>, plan: &Plan, range: Range, mut read: impl FnMut(&Rows<'_>)) -> Result<(), ImportError> {
        let (values, failed, mut next) = (borders(range), self.failed, None::<Vec<u8>>);
        loop {
            let (count, following) = verify.jobs.patiently(|| {
                self.connection.with(std::slice::from_ref(&plan.select), failed, |open| {
                    let page = open.page(&values, self.consistency, (verify.page_rows, next.as_deref()), |rows| {
                        read(rows);
                        (rows.len(), rows.metadata.paging_state.map(<[u8]>::to_vec))
                    });
                    page.map_err(failed)
                })
            })?;
            self.throttle.into_iter().for_each(|throttle| throttle.pass(count));
            next = following;
            if next.is_none() {
                return Ok(());
            }
        }
    }
}

fn each<'r>(plan: &Plan, rows: &Rows<'r>, mut work: impl FnMut(&Row<'r>)) {
    let (mut cells, mut row) = (rows.cells(), Vec::with_capacity(plan.width));
    for _ in 0..rows.len() {
        row.clear();
        row.extend(cells.by_ref().take(rows.metadata.column_count as usize));
        work(&row);
    }
}

/// Of key, values and times.
fn digest(plan: &Plan, row: &Row<'_>) -> u64 {
    let (mut hasher, cell) = (DefaultHasher::new(), |at: usize| row.get(at).copied().flatten());
    row.iter().take(plan.key_len()).for_each(|key| key.hash(&mut hasher));
    for part in &plan.parts {
        cell(part.at).hash(&mut hasher);
        if !part.has_times {
            continue;
        }
        let (times, ttls) = (cell(part.at + 1), cell(part.at + 2));
        match part.cells {
            Cells::One | Cells::Field => (times, ttls.is_some()).hash(&mut hasher),
            Cells::Set | Cells::Map => {
                times.hash(&mut hasher);
                let lives = ttls.map(|ttls| layout::nullable_elements(ttls).map(|ttl| ttl.is_some()).collect::<Vec<_>>());
                // All elements live for ever, or there is nothing: databases say it in two ways.
                lives.filter(|lives| lives.contains(&true)).hash(&mut hasher);
            }
            Cells::List | Cells::Fields => {}
        }
    }
    hasher.finish()
}

fn key(plan: &Plan, row: &Row<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    row.iter().take(plan.key_len()).for_each(|cell| build::field(*cell, &mut key));
    key
}

/// The key as conditions of a statement.
fn key_text(plan: &Plan, types: &[DataType], key: &[u8]) -> String {
    let names = plan.partition.iter().chain(&plan.clustering);
    let cells = names.zip(types).zip(layout::fields(key)).filter(|(_, cell)| cell.is_some());
    let relations = cells.map(|((name, data_type), cell)| format!("{} = {}", crate::feed::quoted(name), text::to_literal(data_type, cell)));
    relations.collect::<Vec<_>>().join(" AND ")
}
