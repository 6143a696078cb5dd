//! Conditional writes: INSERT IF NOT EXISTS, UPDATE and DELETE IF …
//!
//! The partition's owner decides alone, so a condition costs a read of the row in memory and no extra round. A conditional write gets a
//! timestamp larger than any in the row it changes: it must not lose to a write that came before it with a clock ahead of ours.

pub(super) mod outcome;

use super::writer::{TableOrder, Writer, after_all};
use super::{Bound, Failure, element, keys};
use crate::CqlError;
use crate::plan::{Comparator, Condition, ConditionTarget, Conditions, Modify, RowTarget};
use crate::value::{self, layout};
use model::operation::PartitionKey;
use model::row::{Content, Deletion, RowView};
use model::{ColumnKind, DataType, Table};
use std::borrow::Cow;
use std::cmp::Ordering;

/// The rows a conditional statement looks at.
pub(super) struct Existing {
    clustering: Vec<u8>,
    static_row: Option<Vec<u8>>,
    row: Option<Vec<u8>>,
    /// What hides older writes to the row.
    hidden_by: Option<Deletion>,
}

/// The timestamp of a conditional write over these rows.
pub(super) fn next_timestamp(writer: &Writer<'_>, existing: &[Existing]) -> i64 {
    let now = writer.environment.context.timestamp_us;
    existing.iter().fold(now, |now, rows| {
        let now = after_all(now, rows.static_row.as_deref().map(RowView::new), None);
        after_all(now, rows.row.as_deref().map(RowView::new), rows.hidden_by)
    })
}

/// Reads the rows that a statement's conditions are about.
pub(super) fn existing(writer: &Writer<'_>, plan: &Modify, partition: &PartitionKey<'_>) -> Result<Existing, Failure> {
    let table = &*plan.table;
    let own_row = writer.store.get(partition, &[])?.map(<[u8]>::to_vec);
    if table.clustering_len == 0 {
        return Ok(Existing { clustering: Vec::new(), static_row: None, row: own_row, hidden_by: None });
    }
    if plan.target == RowTarget::Static {
        return Ok(Existing { clustering: Vec::new(), static_row: own_row, row: None, hidden_by: None });
    }
    if plan.clustering.tuples.is_some() || plan.clustering.keys.iter().any(crate::plan::KeyTerm::is_in) {
        let what = plan.kind.conditional();
        return Err(CqlError::Invalid(format!("IN on the clustering key columns is not supported with conditional {what}")).into());
    }
    let mut clustering = Vec::new();
    keys::written_clustering_key(table, &plan.clustering.keys, writer.environment, &mut clustering)?;
    let hidden = writer.deletions(partition)?.covering(&clustering);
    let row = writer.store.get(partition, &clustering)?.map(|row| visible(writer, table, row, hidden));
    Ok(Existing { clustering, static_row: own_row, row, hidden_by: hidden })
}

/// What a deletion of the partition or of a range leaves of a row.
fn visible(writer: &Writer<'_>, table: &Table, row: &[u8], hidden_by: Option<Deletion>) -> Vec<u8> {
    let Some(hidden_by) = hidden_by else { return row.to_vec() };
    let (mut visible, view) = (Vec::new(), RowView::new(row));
    let gc_grace_s = table.options.gc_grace_seconds;
    model::row::merge(view, view, Some(hidden_by), &TableOrder(table), writer.now_s, gc_grace_s, &mut visible);
    visible
}

impl Existing {
    fn exists(&self, plan: &Modify, now_s: u32) -> bool {
        let row = if plan.target == RowTarget::Static { &self.static_row } else { &self.row };
        row.as_ref().is_some_and(|row| RowView::new(row).is_live(now_s))
    }

    /// The value of the column at `position` as a read at `now_s` sees it.
    fn value(&self, plan: &Modify, partition_key: &[u8], position: usize, now_s: u32) -> Option<Vec<u8>> {
        let table = &*plan.table;
        let column = &table.columns[position];
        let row = match column.kind {
            ColumnKind::PartitionKey => {
                return value::PartitionKey::new(partition_key, table.partition_key_len).nth(position).map(<[u8]>::to_vec);
            }
            ColumnKind::Clustering => {
                if self.clustering.is_empty() {
                    return None;
                }
                let mut rest = self.clustering.as_slice();
                let mut bytes = Vec::new();
                for column in &table.clustering()[..=position - table.partition_key_len] {
                    bytes.clear();
                    let reversed = column.order == model::Order::Descending;
                    value::comparable::decode(&column.data_type, reversed, &mut rest, &mut bytes).ok()?;
                }
                return Some(bytes);
            }
            ColumnKind::Static => self.static_row.as_ref()?,
            ColumnKind::Regular => self.row.as_ref()?,
        };
        let cell = RowView::new(row).cells().find(|cell| cell.column == column.id)?;
        match cell.content {
            Content::Complex(complex) => {
                let mut bytes = Vec::new();
                element::assemble(&column.data_type, &complex, now_s, &mut bytes).then_some(bytes)
            }
            _ => cell.live_value(now_s).map(<[u8]>::to_vec),
        }
    }
}

/// Whether a statement's conditions hold.
pub(super) fn holds(writer: &Writer<'_>, plan: &Modify, existing: &Existing) -> Result<bool, Failure> {
    let now_s = writer.now_s;
    Ok(match &plan.conditions {
        Conditions::None => true,
        Conditions::NotExists => !existing.exists(plan, now_s),
        Conditions::Exists => existing.exists(plan, now_s),
        Conditions::Columns(conditions) => {
            for condition in conditions {
                if !condition_holds(writer, plan, existing, condition)? {
                    return Ok(false);
                }
            }
            true
        }
    })
}

fn condition_holds(writer: &Writer<'_>, plan: &Modify, existing: &Existing, condition: &Condition) -> Result<bool, CqlError> {
    let column = &plan.table.columns[condition.column.position];
    // Conditions are about value columns: no partition key is needed.
    let whole = existing.value(plan, &[], condition.column.position, writer.now_s);
    let (actual, data_type) = match &condition.target {
        ConditionTarget::Column => (whole, column.data_type.clone()),
        ConditionTarget::Field(number) => {
            let DataType::Udt(user, _) = &column.data_type else { return Ok(false) };
            let field = whole.as_deref().and_then(|bytes| layout::fields(bytes).nth(usize::from(*number)).flatten().map(<[u8]>::to_vec));
            (field, user.fields[usize::from(*number)].1.clone())
        }
        ConditionTarget::Element(key) => {
            let key = key.evaluate(writer.environment)?.require(|| {
                let what = if matches!(column.data_type, DataType::List(..)) { "list" } else { "map" };
                CqlError::Invalid(format!("Invalid null value for {what} element access"))
            })?;
            element_of(&column.data_type, whole.as_deref(), &key)?
        }
    };
    if let Comparator::Contains | Comparator::ContainsKey = condition.operator {
        let Some(term) = condition.values.first() else { return Ok(false) };
        let is_of_keys = condition.operator == Comparator::ContainsKey;
        let wanted = term.evaluate(writer.environment)?.require(|| null_comparison(condition.operator))?;
        let is_wanted = |ty: &DataType, candidate: &[u8]| value::compare(ty, candidate, &wanted).is_eq();
        return Ok(actual.is_some_and(|whole| element::contains(&data_type, &whole, is_of_keys, is_wanted)));
    }
    let mut expected: Vec<Option<Cow<'_, [u8]>>> = Vec::with_capacity(condition.values.len());
    for term in &condition.values {
        match term.evaluate(writer.environment)? {
            Bound::Bytes(bytes) if condition.in_list => {
                expected.extend(layout::nullable_elements(&bytes).map(|element| element.map(|bytes| Cow::Owned(bytes.to_vec()))));
            }
            Bound::Bytes(bytes) => expected.push(Some(element::normalized(&data_type, bytes))),
            Bound::Null if condition.in_list => return Err(CqlError::invalid("Invalid null list in IN condition")),
            Bound::Null => expected.push(None),
            // Of several values one may be left out.
            Bound::Unset if condition.operator == Comparator::In && !condition.in_list => {}
            Bound::Unset => return Err(CqlError::invalid("Invalid 'unset' value in condition")),
        }
    }
    compare(condition.operator, &data_type, actual.as_deref(), &expected)
}

fn null_comparison(operator: Comparator) -> CqlError {
    CqlError::Invalid(format!("Invalid comparison with null for operator \"{}\"", operator.sign()))
}

/// `collection[key]` and its type.
fn element_of(data_type: &DataType, whole: Option<&[u8]>, key: &[u8]) -> Result<(Option<Vec<u8>>, DataType), CqlError> {
    Ok(match data_type {
        DataType::List(element, _) => {
            let index = <[u8; 4]>::try_from(key).map_or(-1, i32::from_be_bytes);
            let index = usize::try_from(index).map_err(|_| CqlError::Invalid(format!("Invalid negative list index {index}")))?;
            (whole.and_then(|bytes| layout::elements(bytes).nth(index).map(<[u8]>::to_vec)), (**element).clone())
        }
        DataType::Map(key_type, element, _) => {
            let found = whole.and_then(|bytes| {
                layout::entries(bytes)
                    .find(|(candidate, _)| value::compare(key_type, candidate, key).is_eq())
                    .map(|(_, value)| value.to_vec())
            });
            (found, (**element).clone())
        }
        other => (None, other.clone()),
    })
}

fn compare(
    operator: Comparator,
    data_type: &DataType,
    actual: Option<&[u8]>,
    expected: &[Option<Cow<'_, [u8]>>],
) -> Result<bool, CqlError> {
    let equal = |expected: &Option<Cow<'_, [u8]>>| match (actual, expected) {
        (None, None) => true,
        // An empty collection is one that is not there.
        (None, Some(bytes)) => data_type.is_multi_cell() && data_type.is_collection() && layout::count(bytes) == 0,
        (Some(_), None) => false,
        (Some(actual), Some(expected)) => value::compare(data_type, actual, expected).is_eq(),
    };
    let Some(first) = expected.first() else { return Ok(operator == Comparator::NotIn) };
    let ordering = || -> Result<Option<Ordering>, CqlError> {
        let Some(expected) = first else {
            return Err(null_comparison(operator));
        };
        Ok(actual.map(|actual| value::compare(data_type, actual, expected)))
    };
    Ok(match operator {
        Comparator::Equal => equal(first),
        Comparator::NotEqual => !equal(first),
        Comparator::In => expected.iter().any(equal),
        Comparator::NotIn => !expected.iter().any(equal),
        Comparator::Less => ordering()?.is_some_and(Ordering::is_lt),
        Comparator::LessOrEqual => ordering()?.is_some_and(Ordering::is_le),
        Comparator::Greater => ordering()?.is_some_and(Ordering::is_gt),
        Comparator::GreaterOrEqual => ordering()?.is_some_and(Ordering::is_ge),
        _ => return Err(CqlError::invalid("This operator is not supported in IF conditions")),
    })
}
