//! Rows into groups, and aggregates over them. Rows come sorted by what groups them, so one group is open at a time.

use super::aggregate::Accumulator;
use super::evaluate::{self, Row, Surroundings};
use super::paging::NO_LIMIT;
use crate::CqlError;
use crate::exec::fetch::{Cursor, Place};
use crate::exec::keys;
use crate::plan::{Aggregate, Select};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The group that is open, and where it is.
pub(super) struct Groups {
    accumulators: Vec<Accumulator>,
    /// The first row of the open group, encoded; outputs that do not aggregate are computed from it.
    first: Option<Vec<u8>>,
    /// What the open group's rows have in common.
    key: Vec<Option<Vec<u8>>>,
    /// What the function of GROUP BY makes of the row that was looked at last, and of the open group's.
    looked_at: Option<Vec<u8>>,
    function_value: Option<Vec<u8>>,
    /// The partition and clustering key of the open group's last row.
    partition: Vec<u8>,
    clustering: Vec<u8>,
    /// How many groups of this partition were opened.
    opened: u32,
    per_partition: u32,
    counts_only: bool,
}

/// Where a row belongs.
pub(super) enum Membership {
    /// To the group that is open.
    Open,
    /// It is the first of another group.
    Another,
    /// To a group after the last one that its partition may give.
    BeyondLimit,
}

impl Groups {
    /// No group yet. `cursor` is where the page starts, if it is not the first.
    pub(super) fn new(plan: &Select, per_partition: u32, cursor: Option<Cursor>) -> Self {
        let counts_only = plan.group_by.is_none()
            && plan.sources.is_empty()
            && plan.aggregates.iter().all(|aggregate| matches!(aggregate, Aggregate::CountRows));
        let (partition, opened) = cursor.map(|cursor| (cursor.partition, cursor.given)).unwrap_or_default();
        Self {
            accumulators: plan.aggregates.iter().map(Accumulator::new).collect(),
            first: None,
            key: Vec::new(),
            looked_at: None,
            function_value: None,
            partition,
            clustering: Vec::new(),
            opened,
            per_partition,
            counts_only,
        }
    }

    /// Counts rows without a look at them, if that is all that is wanted.
    pub(super) fn count_only(&mut self, rows: u32) -> bool {
        if self.counts_only {
            self.accumulators.iter_mut().for_each(|accumulator| accumulator.count(u64::from(rows)));
        }
        self.counts_only
    }

    /// Whether a group is open.
    pub(super) fn is_open(&self) -> bool {
        self.first.is_some()
    }

    /// Where `row` belongs.
    pub(super) fn membership(&mut self, plan: &Select, row: &Row<'_>, surroundings: Surroundings<'_>) -> Result<Membership, CqlError> {
        let Some(group_by) = &plan.group_by else {
            return Ok(if self.is_open() { Membership::Open } else { Membership::Another });
        };
        if let Some(function) = &group_by.function {
            self.looked_at = evaluate::evaluate(function, row, surroundings)?.map(Cow::into_owned);
        }
        let is_open = self.is_open()
            && self.partition == row.partition
            && group_by.sources.iter().zip(&self.key).all(|(source, key)| row.values.get(*source).copied().flatten() == key.as_deref())
            && self.looked_at == self.function_value;
        Ok(match is_open {
            true => Membership::Open,
            false if self.is_beyond_limit(row) => Membership::BeyondLimit,
            false => Membership::Another,
        })
    }

    /// Whether a row belongs to a group after the last one that its partition may give.
    fn is_beyond_limit(&self, row: &Row<'_>) -> bool {
        self.per_partition != NO_LIMIT && self.opened >= self.per_partition && self.partition == row.partition
    }

    /// Opens the group of `row`, which was looked at last.
    pub(super) fn open(&mut self, plan: &Select, row: &Row<'_>) {
        self.accumulators = plan.aggregates.iter().map(Accumulator::new).collect();
        self.first = Some(row.bytes.to_vec());
        let sources = plan.group_by.as_ref().map(|group_by| group_by.sources.as_slice()).unwrap_or_default();
        self.key = sources.iter().map(|source| row.values.get(*source).copied().flatten().map(<[u8]>::to_vec)).collect();
        self.function_value = self.looked_at.take();
        if self.partition != row.partition {
            self.partition = row.partition.to_vec();
            self.opened = 0;
        }
        self.opened = self.opened.saturating_add(1);
    }

    /// Adds a row to the open group.
    pub(super) fn add(&mut self, plan: &Select, row: &Row<'_>, surroundings: Surroundings<'_>) -> Result<(), CqlError> {
        if plan.group_by.is_some() {
            self.clustering.clear();
            self.clustering.extend_from_slice(row.clustering);
        }
        for (accumulator, aggregate) in self.accumulators.iter_mut().zip(&plan.aggregates) {
            match aggregate {
                Aggregate::CountRows => accumulator.count(1),
                Aggregate::Of(_, arguments) => {
                    let values = arguments.iter().map(|argument| evaluate::evaluate(argument, row, surroundings));
                    let values: SmallVec<[Option<Cow<'_, [u8]>>; 4]> = values.collect::<Result<_, _>>()?;
                    let values: SmallVec<[Option<&[u8]>; 4]> = values.iter().map(Option::as_deref).collect();
                    accumulator.add(&values, surroundings.meter())?;
                }
            }
        }
        Ok(())
    }

    /// Appends the open group's row, or that of no rows at all.
    pub(super) fn write(&mut self, plan: &Select, surroundings: Surroundings<'_>, out: &mut Vec<u8>) -> Result<(), CqlError> {
        let values =
            self.accumulators.drain(..).map(|accumulator| accumulator.finish(surroundings.meter())).collect::<Result<Vec<_>, _>>()?;
        let row = self.first.as_deref().map(|bytes| Row::parse(plan, bytes)).transpose()?;
        evaluate::write_row(plan, row.as_ref(), &values, surroundings, out)
    }

    /// What the open group is sorted by.
    pub(super) fn sort_keys(&self, plan: &Select) -> Result<Vec<Option<Vec<u8>>>, CqlError> {
        let Some(first) = &self.first else { return Ok(vec![None; plan.sort.len()]) };
        let row = Row::parse(plan, first)?;
        Ok(plan.sort.iter().map(|key| row.values.get(key.source).copied().flatten().map(<[u8]>::to_vec)).collect())
    }

    /// Closes the open group.
    pub(super) fn close(&mut self) {
        self.first = None;
    }

    /// Behind the open group's last row; of a DISTINCT behind its partition, which gives no further row.
    pub(super) fn cursor(&self, plan: &Select) -> Cursor {
        let place = if plan.distinct || self.clustering.is_empty() { Place::End } else { Place::After(self.clustering.clone()) };
        Cursor { token: keys::token(&plan.table, &self.partition), partition: self.partition.clone(), place, given: self.opened }
    }
}
