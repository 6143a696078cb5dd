//! Which row keys a statement needs: from comparisons of the first key columns that all hold.

use super::expression::{Comparison, Node};
use super::select::{Interpolation, Select, TimeOperator, What};
use super::value::Value;
use crate::container::Container;
use crate::key::encode_key;
use crate::schema::ElementType;
use std::ops::Bound;

/// Encoded row keys from one to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub lower: Bound<Vec<u8>>,
    /// Where it ends.
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    /// Whether no key is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        use Bound::{Excluded, Included};
        match (&self.lower, &self.upper) {
            (Included(lower), Included(upper)) => lower > upper,
            (Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => lower >= upper,
            _ => false,
        }
    }

    pub(super) fn everything() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// Leaves keys at or after one.
    pub(super) fn from(&mut self, key: Vec<u8>) {
        if !matches!(&self.lower, Bound::Included(lower) | Bound::Excluded(lower) if *lower >= key) {
            self.lower = Bound::Included(key);
        }
    }

    /// Leaves keys before one.
    pub(super) fn before(&mut self, key: Vec<u8>) {
        if !matches!(&self.upper, Bound::Included(upper) | Bound::Excluded(upper) if *upper <= key) {
            self.upper = Bound::Excluded(key);
        }
    }

    /// Leaves keys that begin with a value which compares so; false if not all rows of those that are left compare so.
    fn restrict(&mut self, prefix: &[u8], element: ElementType, comparison: Comparison, value: &Value<'_>) -> bool {
        let mut key = prefix.to_vec();
        let Some(is_exact) = encode(element, value, &mut key) else { return false };
        let comparison = match comparison {
            _ if is_exact => comparison,
            // The key is of the last value before this one.
            Comparison::Less | Comparison::LessEqual => Comparison::LessEqual,
            Comparison::Greater | Comparison::GreaterEqual => Comparison::Greater,
            // No key is of the value, and the fewest are of the last one before it.
            Comparison::Equal => {
                self.from(key.clone());
                self.before(successor(&key));
                return false;
            }
            Comparison::NotEqual => return false,
        };
        // A value's bytes never end in FF in all places: there is a key after all that begin with them.
        let after = successor(&key);
        match comparison {
            Comparison::Equal => {
                self.from(key);
                self.before(after);
            }
            Comparison::Less => self.before(key),
            Comparison::LessEqual => self.before(after),
            Comparison::Greater => self.from(after),
            Comparison::GreaterEqual => self.from(key),
            Comparison::NotEqual => return false,
        }
        true
    }
}

/// The least key above all that begin with this one, whose first byte is below FF.
pub(super) fn successor(key: &[u8]) -> Vec<u8> {
    let mut after = key.to_vec();
    while let Some(last) = after.last_mut() {
        if *last < 0xFF {
            *last += 1;
            break;
        }
        after.pop();
    }
    after
}

/// Appends a value to a key: whether it is the value itself, or the last one before it that a key can be of. None if there is no such.
fn encode(element: ElementType, value: &Value<'_>, key: &mut Vec<u8>) -> Option<bool> {
    let mut is_exact = true;
    let encoded = match (element, value) {
        (ElementType::String, Value::Text(text)) => encode_key(element, text.as_bytes(), key),
        (ElementType::Integer, Value::Long(value)) => match i32::try_from(*value) {
            Ok(value) => encode_key(element, &value.to_be_bytes(), key),
            Err(_) => return None,
        },
        (ElementType::Long, Value::Long(value)) => encode_key(element, &value.to_be_bytes(), key),
        _ => {
            let (cell, is_same) = value.time_cell(element)?;
            is_exact = is_same;
            encode_key(element, &cell, key)
        }
    };
    encoded.is_ok().then_some(is_exact)
}

/// Comparisons of columns with values that hold wherever the node does.
pub(super) fn comparisons<'a>(node: &'a Node, found: &mut Vec<(usize, Comparison, &'a Value<'static>)>) {
    match node {
        Node::And(nodes) => nodes.iter().for_each(|node| comparisons(node, found)),
        Node::Compare(comparison, left, right) => match (&**left, &**right) {
            (Node::Column(column), Node::Value(value)) => found.push((*column, *comparison, value)),
            (Node::Value(value), Node::Column(column)) => found.push((*column, comparison.turned(), value)),
            _ => {}
        },
        _ => {}
    }
}

impl Select {
    /// The keys whose rows are to be pushed.
    #[must_use]
    pub fn key_range(&self, container: &Container) -> KeyRange {
        let mut range = KeyRange::everything();
        let mut found = Vec::new();
        if let Some(filter) = &self.filter {
            comparisons(filter, &mut found);
        }
        let mut prefix = Vec::new();
        for (position, column) in container.key_columns().iter().enumerate() {
            let mut next = None;
            for (_, comparison, value) in found.iter().filter(|(column, ..)| *column == position) {
                let is_told = range.restrict(&prefix, column.element, *comparison, value);
                if is_told && *comparison == Comparison::Equal {
                    next = Some(value);
                }
            }
            let Some(value) = next else { break };
            encode(column.element, value, &mut prefix);
        }
        self.restrict_times(&mut range);
        range
    }

    /// Forgets a condition that holds for all rows in [`Select::key_range`], and says whether there was one.
    pub fn forget_told(&mut self, container: &Container) -> bool {
        let (What::Rows | What::Aggregate(..), Some(filter), [column, ..]) = (&self.what, &self.filter, container.key_columns()) else {
            return false;
        };
        let is_told = |node: &Node| {
            let mut found = Vec::new();
            comparisons(node, &mut found);
            let of_first = |(position, comparison, value): &(usize, Comparison, &Value<'_>)| {
                *position == 0 && KeyRange::everything().restrict(&[], column.element, *comparison, value)
            };
            matches!(node, Node::Compare(..)) && found.iter().any(of_first)
        };
        let all = match filter {
            Node::And(nodes) => nodes.iter().all(is_told),
            node => is_told(node),
        };
        if all {
            self.filter = None;
        }
        all
    }

    fn restrict_times(&self, range: &mut KeyRange) {
        let mut restrict = |comparison, time_ms| range.restrict(&[], ElementType::Timestamp, comparison, &Value::Time(time_ms));
        if let Some(start_ms) = self.times.0 {
            restrict(Comparison::GreaterEqual, start_ms);
        }
        if let Some(end_ms) = self.times.1 {
            restrict(Comparison::LessEqual, end_ms);
        }
        if let What::Nearest(operator, time_ms) = self.what {
            let comparison = match operator {
                TimeOperator::Previous => Comparison::LessEqual,
                TimeOperator::PreviousOnly => Comparison::Less,
                TimeOperator::Next => Comparison::GreaterEqual,
                TimeOperator::NextOnly => Comparison::Greater,
            };
            restrict(comparison, time_ms);
        }
    }

    /// Where a scan may begin, to be quick: the last row at or before this key is the first one that the answer needs. None where
    /// rows further back may be needed. A scan of the whole [`Select::key_range`] gives the same answer.
    #[must_use]
    pub fn row_before(&self) -> Option<Vec<u8>> {
        let (What::Sampling(sampling), None) = (&self.what, &self.filter) else { return None };
        if sampling.interpolation == Interpolation::Empty {
            return None;
        }
        let mut key = Vec::new();
        encode(ElementType::Timestamp, &Value::Time(sampling.start_ms), &mut key).map(|_| key)
    }
}
