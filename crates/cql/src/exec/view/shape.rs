//! The row of a view that a row of its base table makes.

use super::super::bindings::{Bindings, Environment};
use super::super::fetch::BoundFilter;
use crate::plan::ViewPlan;
use crate::value::{self, comparable};
use base::{Now, TableId, Token};
use model::operation::{Context, purge_after_s};
use model::row::{Cell, Content, Deletion, Element, ElementContent, RowView, RowWriter, Stamp};
use model::{ColumnId, ColumnKind, Order, Table};
use std::sync::Arc;

/// The cell of a view's row that has its version; no column has this id.
const VERSION: ColumnId = ColumnId(u16::MAX);

/// A deleted or expired row of a view is remembered for so long: until then late updates may come.
const REMEMBERED_S: u32 = 3600;

/// The views of a table.
pub(in crate::exec) struct Shapes {
    pub(super) base: Arc<Table>,
    pub(super) views: Vec<Shape>,
}

/// How a view's rows are made.
pub(super) struct Shape {
    view: Arc<Table>,
    /// Where the values of its key come from, in its order.
    keys: Vec<Source>,
    conditions: Vec<(Source, Option<BoundFilter>)>,
}

/// Where in a row of the base table a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Partition(usize),
    Clustering(usize),
    Cell(ColumnId),
}

/// A row of the base table.
pub(super) struct BaseRow<'a> {
    partition: &'a [u8],
    partition_columns: usize,
    /// The values of the clustering key.
    clustering: Vec<Vec<u8>>,
    row: RowView<'a>,
    /// What a deletion of a range or of the partition hides in it.
    hidden_until: i64,
}

/// Where a view has a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ViewKey {
    pub(super) view: TableId,
    pub(super) partition: Vec<u8>,
    pub(super) clustering: Vec<u8>,
}

impl Shapes {
    /// Of the views of `base`.
    pub(in crate::exec) fn new(base: &Arc<Table>, plans: &[ViewPlan]) -> Self {
        Self { base: Arc::clone(base), views: plans.iter().filter_map(|plan| Shape::new(base, plan)).collect() }
    }

    /// Where views have a row, whether it lives or not.
    pub(super) fn keys(&self, row: &BaseRow<'_>) -> impl Iterator<Item = ViewKey> {
        self.views.iter().filter_map(|shape| shape.key(row, None).map(|(key, _)| key))
    }
}

impl Shape {
    /// None if a condition has no value, which a declared view's has.
    fn new(base: &Table, plan: &ViewPlan) -> Option<Self> {
        let view = Arc::clone(&plan.table);
        let key_len = view.partition_key_len + view.clustering_len;
        let keys = view.columns.iter().take(key_len).map(|column| source(base, column.id)).collect::<Option<Vec<_>>>()?;
        let bindings = Bindings::default();
        let context = Context { now: Now { wall_us: 0, monotonic_us: 0 }, timestamp_us: 0, nonce: 0 };
        let environment = Environment { bindings: &bindings, context: &context };
        let mut conditions = Vec::with_capacity(plan.conditions.len());
        for condition in &plan.conditions {
            let filter =
                condition.filter.as_ref().map(|filter| BoundFilter::new(filter, view.clustering(), &environment)).transpose().ok()?;
            conditions.push((source(base, base.columns.get(condition.position)?.id)?, filter));
        }
        Some(Self { view, keys, conditions })
    }

    pub(super) fn view(&self) -> &Arc<Table> {
        &self.view
    }

    /// Where the view has the row, and the stamp of the key's column that is none of the base's key. At `now_s` only of a row that lives and matches.
    pub(super) fn key(&self, row: &BaseRow<'_>, now_s: Option<u32>) -> Option<(ViewKey, Option<Stamp>)> {
        if now_s.is_some_and(|now_s| !self.matches(row, now_s)) {
            return None;
        }
        let mut stamp = None;
        let mut values: Vec<&[u8]> = Vec::with_capacity(self.keys.len());
        for source in &self.keys {
            values.push(match *source {
                Source::Cell(column) => {
                    let (value, of_value) = row.cell(column, now_s)?;
                    stamp = Some(of_value);
                    value
                }
                source => row.key_value(source)?,
            });
        }
        let (of_partition, of_clustering) = values.split_at(self.view.partition_key_len);
        let mut key = ViewKey { view: self.view.id, partition: Vec::new(), clustering: Vec::new() };
        value::partition_key(of_partition.iter().copied(), &mut key.partition).ok()?;
        for (column, value) in self.view.clustering().iter().zip(of_clustering) {
            comparable::encode(&column.data_type, value, column.order == Order::Descending, &mut key.clustering);
        }
        (key.clustering.len() <= usize::from(u16::MAX)).then_some((key, stamp))
    }

    fn matches(&self, row: &BaseRow<'_>, now_s: u32) -> bool {
        self.conditions.iter().all(|(source, filter)| match (*source, filter) {
            (Source::Cell(column), None) => row.has(column, now_s),
            (Source::Cell(column), Some(filter)) => row.cell(column, Some(now_s)).is_some_and(|(value, _)| filter.holds(value)),
            (source, filter) => row.key_value(source).is_some_and(|value| filter.as_ref().is_none_or(|filter| filter.holds(value))),
        })
    }

    /// Appends the view's row for a row that lives at `now_s`. Gives from when on it may be forgotten; nothing if it does not live.
    pub(super) fn write(
        &self,
        row: &BaseRow<'_>,
        of_key: Option<Stamp>,
        version: i64,
        now_s: u32,
        out: &mut Vec<u8>,
    ) -> Option<Option<u32>> {
        let lasting = row.lasting_stamp(now_s)?;
        let shared = of_key.unwrap_or(lasting);
        let mut writer = RowWriter::new(out, shared, true, None);
        for cell in row.row.cells().filter(|cell| self.shows(cell.column)) {
            match cell.content {
                Content::Value(value) if row.shows(cell.stamp, now_s) => writer.value(cell.column, capped(cell.stamp, of_key), value),
                Content::Complex(complex) if row.has(cell.column, now_s) => {
                    let mut column = writer.complex(cell.column, None);
                    for element in complex.elements().filter(|element| row.shows(element.stamp, now_s)) {
                        if let ElementContent::Value(value) = element.content {
                            column.value(element.path, capped(element.stamp, of_key), value);
                        }
                    }
                    column.finish();
                }
                _ => {}
            }
        }
        writer.value(VERSION, shared, &version.to_be_bytes());
        Some(purge_after_s(writer.finish(), REMEMBERED_S))
    }

    fn shows(&self, column: ColumnId) -> bool {
        self.view.value_columns().iter().any(|shown| shown.id == column)
    }
}

/// Appends the row of a view that is no more. Gives from when on it may be forgotten.
pub(super) fn write_deleted(version: i64, now_s: u32, out: &mut Vec<u8>) -> Option<u32> {
    let deletion = Deletion { timestamp: version, deleted_at_s: now_s };
    purge_after_s(RowWriter::new(out, Stamp::at(i64::MIN), false, Some(deletion)).finish(), REMEMBERED_S)
}

/// The version of a view's row.
pub(super) fn version_of(row: RowView<'_>) -> i64 {
    let versions = row.cells().filter(|cell| cell.column == VERSION).filter_map(|cell| match cell.content {
        Content::Value(value) => value.try_into().ok().map(i64::from_be_bytes),
        _ => None,
    });
    versions.last().or(row.deletion().map(|deletion| deletion.timestamp)).unwrap_or(i64::MIN)
}

fn source(base: &Table, column: ColumnId) -> Option<Source> {
    let (position, column) = base.column_of_id(column)?;
    Some(match column.kind {
        ColumnKind::PartitionKey => Source::Partition(position),
        ColumnKind::Clustering => Source::Clustering(position - base.partition_key_len),
        ColumnKind::Static | ColumnKind::Regular => Source::Cell(column.id),
    })
}

/// A stamp of what is gone when the key's column is.
fn capped(stamp: Stamp, of_key: Option<Stamp>) -> Stamp {
    match of_key {
        Some(key) if key.ttl_s != 0 && (stamp.ttl_s == 0 || stamp.expires_at_s > key.expires_at_s) => {
            Stamp { ttl_s: key.ttl_s, expires_at_s: key.expires_at_s, ..stamp }
        }
        _ => stamp,
    }
}

impl<'a> BaseRow<'a> {
    /// The row `bytes` of `base`; `hidden_until` is the timestamp of the deletion of a range or partition that covers it.
    ///
    /// # Panics
    /// When the key is not one of `base`'s: it comes from this node's own writes.
    pub(super) fn new(base: &Table, partition: &'a [u8], mut clustering: &[u8], bytes: &'a [u8], hidden_until: i64) -> Self {
        let mut values = Vec::with_capacity(base.clustering_len);
        for column in base.clustering() {
            let mut value = Vec::new();
            comparable::decode(&column.data_type, column.order == Order::Descending, &mut clustering, &mut value)
                .expect("a stored key was encoded with its table's types");
            values.push(value);
        }
        Self { partition, partition_columns: base.partition_key_len, clustering: values, row: RowView::new(bytes), hidden_until }
    }

    fn key_value(&self, source: Source) -> Option<&[u8]> {
        match source {
            Source::Partition(index) => value::PartitionKey::new(self.partition, self.partition_columns).nth(index),
            Source::Clustering(index) => self.clustering.get(index).map(Vec::as_slice),
            Source::Cell(_) => None,
        }
    }

    /// The value of a column of one cell and its stamp; at a time only if it lives then.
    fn cell(&self, column: ColumnId, now_s: Option<u32>) -> Option<(&'a [u8], Stamp)> {
        let Cell { stamp, content, .. } = self.row.cells().find(|cell| cell.column == column)?;
        let Content::Value(value) = content else { return None };
        now_s.is_none_or(|now_s| self.shows(stamp, now_s)).then_some((value, stamp))
    }

    /// Whether a column has a value, of several cells any.
    fn has(&self, column: ColumnId, now_s: u32) -> bool {
        let is_seen = |element: &Element<'_>| matches!(element.content, ElementContent::Value(_)) && self.shows(element.stamp, now_s);
        self.row.cells().filter(|cell| cell.column == column).any(|cell| match cell.content {
            Content::Value(_) => self.shows(cell.stamp, now_s),
            Content::Tombstone(_) => false,
            Content::Complex(complex) => complex.elements().any(|element| is_seen(&element)),
        })
    }

    fn shows(&self, stamp: Stamp, now_s: u32) -> bool {
        stamp.timestamp > self.hidden_until && stamp.is_live(now_s)
    }

    /// The stamp of what lives longest in the row, with the latest timestamp of all that lives; nothing if nothing does.
    fn lasting_stamp(&self, now_s: u32) -> Option<Stamp> {
        let mut lasting: Option<Stamp> = None;
        let mut add = |stamp: Stamp, is_value: bool| {
            if !is_value || !self.shows(stamp, now_s) {
                return;
            }
            let ends_at_s = |stamp: Stamp| if stamp.ttl_s == 0 { u32::MAX } else { stamp.expires_at_s };
            let latest = lasting.map_or(stamp.timestamp, |before| before.timestamp.max(stamp.timestamp));
            let longest = lasting.filter(|before| ends_at_s(*before) >= ends_at_s(stamp)).unwrap_or(stamp);
            lasting = Some(Stamp { timestamp: latest, ..longest });
        };
        if let Some(stamp) = self.row.liveness() {
            add(stamp, true);
        }
        for cell in self.row.cells() {
            match cell.content {
                Content::Value(_) => add(cell.stamp, true),
                Content::Tombstone(_) => {}
                Content::Complex(complex) => {
                    complex.elements().for_each(|element| add(element.stamp, matches!(element.content, ElementContent::Value(_))));
                }
            }
        }
        lasting
    }
}

impl ViewKey {
    pub(super) fn token(&self) -> Token {
        value::token(&self.partition)
    }
}
