//! Which entries of the container's indexes have the rows that a statement needs: from comparisons of their columns that all hold.
//!
//! What is found this way has all of these rows, and may have others: the statement's condition is asked of each.

use super::expression::Comparison;
use super::geometries::meetings;
use super::range::{KeyRange, comparisons, successor};
use super::select::Select;
use super::value::Value;
use crate::container::{Container, ContainerIndex, IndexKind};
use crate::geometry::{Geometry, grid};
use crate::key::{encode_indexed, encode_indexed_start};
use crate::schema::ElementType;
use base::TableId;
use model::operation::INDEX_VALUE_BYTES_MAX;
use std::ops::Bound;

/// Entries of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRange {
    /// The table of the entries.
    pub entries: TableId,
    /// What the keys of the entries begin with, from one value to another, in their order. None overlaps with another one.
    pub values: Vec<KeyRange>,
    /// What all of them begin with if they are of one value: then they are in the order of the row keys.
    pub value: Option<Vec<u8>>,
    /// How many entries a row has at most.
    pub entries_a_row: usize,
}

/// Values of a TREE index, and the one if it is one.
struct Values {
    range: KeyRange,
    value: Option<Vec<u8>>,
}

/// A value as entries have it.
struct Encoded {
    /// The first key and the last one that values equal to it have.
    low: Vec<u8>,
    high: Vec<u8>,
    /// Whether all that is below it, or above it, is outside of these.
    is_exact: bool,
}

impl Encoded {
    fn exact(element: ElementType, cell: &[u8]) -> Self {
        Self::between(element, cell, cell, true)
    }

    fn between(element: ElementType, low: &[u8], high: &[u8], is_exact: bool) -> Self {
        let encode = |cell: &[u8]| {
            let mut key = Vec::new();
            encode_indexed(element, cell, &mut key);
            key
        };
        let (mut low, mut high) = (encode(low), encode(high));
        let is_exact = is_exact && low.len() <= INDEX_VALUE_BYTES_MAX;
        low.truncate(INDEX_VALUE_BYTES_MAX);
        high.truncate(INDEX_VALUE_BYTES_MAX);
        Self { low, high, is_exact }
    }

    /// A value that a column is compared with; none if it cannot be told in entries.
    fn of(element: ElementType, value: &Value<'_>) -> Option<Self> {
        Some(match (element, value) {
            (ElementType::String, Value::Text(text)) => Self::exact(element, text.as_bytes()),
            (ElementType::Bool, Value::Bool(value)) => Self::exact(element, &[u8::from(*value)]),
            (_, Value::Time(_) | Value::PreciseTime(..)) => {
                let (cell, is_exact) = value.time_cell(element)?;
                Self::between(element, &cell, &cell, is_exact)
            }
            (ElementType::Byte, Value::Long(value)) => Self::exact(element, &i8::try_from(*value).ok()?.to_be_bytes()),
            (ElementType::Short, Value::Long(value)) => Self::exact(element, &i16::try_from(*value).ok()?.to_be_bytes()),
            (ElementType::Integer, Value::Long(value)) => Self::exact(element, &i32::try_from(*value).ok()?.to_be_bytes()),
            (ElementType::Long, Value::Long(value)) => Self::exact(element, &value.to_be_bytes()),
            (ElementType::Float | ElementType::Double, Value::Long(value)) => {
                let double = *value as f64;
                // Only what no rounding has changed.
                return if double.abs() < 9e15 { Self::of(element, &Value::Double(double)) } else { None };
            }
            (ElementType::Double, Value::Double(value)) if !value.is_nan() => {
                let (low, high) = if *value == 0.0 { (-0.0, 0.0) } else { (*value, *value) };
                Self::between(element, &low.to_be_bytes(), &high.to_be_bytes(), true)
            }
            (ElementType::Float, Value::Double(value)) if !value.is_nan() => {
                let near = *value as f32;
                let is_exact = f64::from(near) == *value;
                let (low, high) = match (is_exact, near == 0.0) {
                    (true, true) => (-0.0, 0.0),
                    (true, false) => (near, near),
                    (false, _) => (near.next_down(), near.next_up()),
                };
                Self::between(element, &low.to_be_bytes(), &high.to_be_bytes(), is_exact)
            }
            _ => return None,
        })
    }
}

impl Values {
    fn restrict(&mut self, comparison: Comparison, encoded: Encoded) {
        let Encoded { low, high, is_exact } = encoded;
        match comparison {
            Comparison::Equal => {
                self.value = (low == high).then(|| low.clone());
                self.range.before(successor(&high));
                self.range.from(low);
            }
            Comparison::Less if is_exact => self.range.before(low),
            Comparison::Less | Comparison::LessEqual => self.range.before(successor(&high)),
            Comparison::Greater if is_exact => self.range.from(successor(&high)),
            Comparison::Greater | Comparison::GreaterEqual => self.range.from(low),
            Comparison::NotEqual => {}
        }
    }

    /// Whether a value may have an entry in it.
    fn has(&self, element: ElementType, cell: &[u8]) -> bool {
        let Encoded { low, high, .. } = Encoded::exact(element, cell);
        let is_below = matches!(&self.range.lower, Bound::Included(lower) if high < *lower);
        !is_below && !matches!(&self.range.upper, Bound::Excluded(upper) if low >= *upper)
    }
}

impl Select {
    /// Entries of indexes that have all rows that it needs, those of one value first. None where the row key tells which row it is.
    #[must_use]
    pub fn index_ranges(&self, container: &Container) -> Vec<IndexRange> {
        let (Some(filter), Some(_)) = (&self.filter, container.indexes().find(|index| index.entries.is_some())) else { return Vec::new() };
        let (mut found, mut met) = (Vec::new(), Vec::new());
        comparisons(filter, &mut found);
        meetings(filter, &mut met);
        let is_equal = |position: usize| found.iter().any(|(column, how, _)| *column == position && *how == Comparison::Equal);
        let key_len = container.definition.key_len;
        if key_len > 0 && (0..key_len).all(is_equal) {
            return Vec::new();
        }
        let ranges = container.indexes().filter_map(|index| {
            let position = *index.columns.first()?;
            match index.kind {
                IndexKind::Tree => tree_range(container, index, found.iter().filter(|(column, ..)| *column == position)),
                IndexKind::Spatial => spatial_range(index, met.iter().find(|(column, _)| *column == position)?.1),
            }
        });
        let mut ranges: Vec<IndexRange> = ranges.collect();
        ranges.sort_by_key(|range| range.value.is_none());
        ranges
    }
}

/// The entries of a TREE index that comparisons of its first column leave.
fn tree_range<'a>(
    container: &Container,
    index: &ContainerIndex,
    comparisons: impl Iterator<Item = &'a (usize, Comparison, &'a Value<'static>)>,
) -> Option<IndexRange> {
    let position = *index.columns.first()?;
    let column = &container.definition.columns[position];
    let mut values = Values { range: KeyRange::everything(), value: None };
    for (_, comparison, value) in comparisons {
        if let Some(encoded) = Encoded::of(column.element, value) {
            values.restrict(*comparison, encoded);
        }
    }
    let lacks_entries = container.may_lack_values(position) && values.has(column.element, column.zero_cell());
    let is_bounded = values.range != KeyRange::everything() && !lacks_entries;
    let entries = index.entries.filter(|_| is_bounded)?;
    Some(IndexRange { entries, values: vec![values.range], value: values.value, entries_a_row: 1 })
}

/// The entries of a SPATIAL index that geometries have which may meet this one: none if it is nowhere. Rows without a value meet nothing.
fn spatial_range(index: &ContainerIndex, geometry: &Geometry) -> Option<IndexRange> {
    let range = |(first, last): grid::EntryRange| KeyRange {
        lower: Bound::Included(encode_indexed_start(&first)),
        upper: Bound::Excluded(successor(&encode_indexed_start(&last))),
    };
    let values = geometry.bounds().map_or_else(Vec::new, |bounds| grid::ranges(bounds).into_iter().map(range).collect());
    Some(IndexRange { entries: index.entries?, values, value: None, entries_a_row: grid::ENTRIES_MAX })
}
