//! Partition and clustering keys from terms.

use super::{Bound, Environment};
use crate::CqlError;
use crate::plan::{ClusteringPlan, KeyTerm, SliceBound, Term, TupleKeys};
use crate::value::{self, comparable, layout};
use crate::wire::Value;
use base::Token;
use model::operation::FIRST_ROW_BYTE;
use model::{Column, DataType, Order, Table, record_set};
use std::borrow::Cow;

/// No more keys than this come of the INs of one statement.
const KEYS_MAX: usize = 65_535;

/// Appended to a whole component's encoding, it sorts after everything that starts with it.
const AFTER: u8 = 0xFF;

/// Clustering keys with `from <= key < to`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRange {
    /// The first key.
    pub from: Vec<u8>,
    /// The end, without it; `None` is the end of the partition.
    pub to: Option<Vec<u8>>,
    /// Whether `from` is the whole clustering key of one row, so that a lookup will do.
    pub single: bool,
}

impl KeyRange {
    /// What is in both.
    fn both(&self, other: &Self) -> Option<Self> {
        let to = match (&self.to, &other.to) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.as_ref().or(other.as_ref()),
        };
        let from = (&self.from).max(&other.from);
        to.is_none_or(|to| from < to).then(|| Self { from: from.clone(), to: to.cloned(), single: false })
    }
}

/// The partition key when every column has one value, built in `scratch` unless it is bound as it is stored.
///
/// # Errors
/// Null, unset or too long values.
#[inline]
pub fn single_partition_key<'s>(
    table: &Table,
    terms: &'s [KeyTerm],
    environment: &Environment<'s>,
    scratch: &'s mut Vec<u8>,
) -> Result<&'s [u8], CqlError> {
    if let [KeyTerm::Equal(term)] = terms {
        if let Term::Bind(index) = term
            && let Value::Bytes(bytes) = environment.bindings.get(*index)
            && !has_several_forms(&table.columns[0].data_type)
        {
            return check_key(bytes);
        }
        return match key_value(term, &table.columns[0], environment)? {
            Cow::Borrowed(bytes) => check_key(bytes),
            Cow::Owned(bytes) => {
                *scratch = bytes;
                check_key(scratch)
            }
        };
    }
    let mut values = smallvec::SmallVec::<[Cow<'_, [u8]>; 4]>::new();
    for (term, column) in terms.iter().zip(table.partition_key()) {
        let KeyTerm::Equal(term) = term else { return Err(CqlError::Server("a key with IN is not single".to_owned())) };
        values.push(key_value(term, column, environment)?);
    }
    scratch.clear();
    value::partition_key(values.iter().map(|bytes| &**bytes), scratch).map_err(|error| CqlError::Invalid(error.to_string()))?;
    Ok(scratch)
}

/// The token of a partition key: of a record set's by its digest.
#[inline]
pub(super) fn token(table: &Table, key: &[u8]) -> Token {
    if table.records.is_some() { record_set::token(key) } else { value::token(key) }
}

#[inline]
fn check_key(bytes: &[u8]) -> Result<&[u8], CqlError> {
    if bytes.is_empty() {
        return Err(CqlError::invalid("Key may not be empty"));
    }
    if bytes.len() > usize::from(u16::MAX) {
        return Err(CqlError::Invalid(format!("Key length of {} is longer than maximum of 65535", bytes.len())));
    }
    Ok(bytes)
}

/// The partition keys of a statement, each once, in the order of their values.
///
/// # Errors
/// Null, unset or too long values, or more keys than a statement may have.
pub fn partition_keys(table: &Table, terms: &[KeyTerm], environment: &Environment<'_>) -> Result<Vec<Vec<u8>>, CqlError> {
    let mut choices = Vec::with_capacity(terms.len());
    let mut total = 1usize;
    for (term, column) in terms.iter().zip(table.partition_key()) {
        let values = column_values(term, column, environment)?;
        total = total.saturating_mul(values.len());
        if total > KEYS_MAX {
            return Err(CqlError::Invalid(format!("the IN restrictions give more than {KEYS_MAX} partitions")));
        }
        choices.push(values);
    }
    let mut keys = Vec::with_capacity(total);
    for mut index in 0..total {
        let mut parts: Vec<&[u8]> = vec![&[]; choices.len()];
        for (position, values) in choices.iter().enumerate().rev() {
            parts[position] = &values[index % values.len()];
            index /= values.len();
        }
        let mut key = Vec::new();
        value::partition_key(parts.iter().copied(), &mut key).map_err(|error| CqlError::Invalid(error.to_string()))?;
        check_key(&key)?;
        keys.push(key);
    }
    Ok(keys)
}

pub(super) fn null_key(column: &Column) -> CqlError {
    CqlError::Invalid(format!("Invalid null value in condition for column {}", column.name))
}

/// Of `(column, …) IN (…)`.
pub(super) fn null_in_tuple(columns: &[Column]) -> CqlError {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    CqlError::Invalid(format!("Invalid null value in condition for columns: [{}]", names.join(", ")))
}

fn key_value<'a>(term: &'a Term, column: &Column, environment: &Environment<'a>) -> Result<Cow<'a, [u8]>, CqlError> {
    key_value_or(term, column, environment, || null_key(column))
}

/// As [`key_value`], with the error for null.
fn key_value_or<'a>(
    term: &'a Term,
    column: &Column,
    environment: &Environment<'a>,
    null: impl FnOnce() -> CqlError,
) -> Result<Cow<'a, [u8]>, CqlError> {
    match term.evaluate(environment)? {
        Bound::Bytes(bytes) => Ok(normal(&column.data_type, bytes)),
        Bound::Null => Err(null()),
        Bound::Unset => Err(CqlError::Invalid(format!("Invalid unset value for column {}", column.name))),
    }
}

/// Whether a value may come as bytes that are not those that it is stored as: frozen sets and maps are stored sorted.
#[inline]
fn has_several_forms(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Set(..) | DataType::Map(..) | DataType::List(..) | DataType::Tuple(_) | DataType::Udt(..) | DataType::Vector(..)
    )
}

fn normal<'a>(data_type: &DataType, bytes: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
    if has_several_forms(data_type)
        && let Ok(Cow::Owned(sorted)) = value::normalize(data_type, &bytes)
    {
        return Cow::Owned(sorted);
    }
    bytes
}

/// The values of `=` or `IN` on a column, sorted in the column's order, each once.
fn column_values<'a>(term: &'a KeyTerm, column: &Column, environment: &Environment<'a>) -> Result<Vec<Cow<'a, [u8]>>, CqlError> {
    let mut values = match term {
        KeyTerm::Equal(term) => return Ok(vec![key_value(term, column, environment)?]),
        KeyTerm::In(terms) => terms.iter().map(|term| key_value(term, column, environment)).collect::<Result<Vec<_>, _>>()?,
        KeyTerm::InList(term) => {
            let list = match term.evaluate(environment)? {
                Bound::Bytes(list) => list,
                Bound::Null => return Err(CqlError::Invalid(format!("Invalid null value for column {}", column.name))),
                Bound::Unset => return Err(CqlError::Invalid(format!("Invalid unset value for column {}", column.name))),
            };
            layout::elements(&list).map(|bytes| Cow::Owned(bytes.to_vec())).collect()
        }
    };
    values.sort_by(|one, other| value::compare(&column.data_type, one, other));
    values.dedup();
    Ok(values)
}

fn encode(column: &Column, bytes: &[u8], out: &mut Vec<u8>) {
    comparable::encode(&column.data_type, bytes, column.order == Order::Descending, out);
}

/// Appends the clustering key when every column has one value.
///
/// # Errors
/// Null or unset values.
pub(super) fn clustering_key(table: &Table, terms: &[KeyTerm], environment: &Environment<'_>, out: &mut Vec<u8>) -> Result<(), CqlError> {
    for (term, column) in terms.iter().zip(table.clustering()) {
        let KeyTerm::Equal(term) = term else { return Err(CqlError::Server("a key with IN is not single".to_owned())) };
        encode(column, &key_value(term, column, environment)?, out);
    }
    Ok(())
}

/// As [`clustering_key`], of a row that is written.
///
/// # Errors
/// Null or unset values, or a key that no row can have.
pub(super) fn written_clustering_key(
    table: &Table,
    terms: &[KeyTerm],
    environment: &Environment<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CqlError> {
    clustering_key(table, terms, environment, out)?;
    check_clustering(out)
}

/// Whether a row can have this clustering key.
pub(super) fn may_be_stored(key: &[u8]) -> bool {
    key.len() <= usize::from(u16::MAX)
}

/// Refuses an empty value as the whole clustering key of a compact table: Cassandra stores it as the cell's name.
///
/// # Errors
/// There is one.
pub(super) fn check_compact(table: &Table, plan: &ClusteringPlan, environment: &Environment<'_>) -> Result<(), CqlError> {
    if let ([term], [column]) = (plan.keys.as_slice(), table.clustering())
        && column_values(term, column, environment)?.iter().any(|value| value.is_empty())
    {
        return Err(CqlError::Invalid(format!("Invalid empty or null value for column {}", column.name)));
    }
    Ok(())
}

fn check_clustering(key: &[u8]) -> Result<(), CqlError> {
    if !may_be_stored(key) {
        return Err(CqlError::Invalid(format!("Key length of {} is longer than maximum of 65535", key.len())));
    }
    Ok(())
}

/// The ranges of clustering keys a statement is about, in stored order and not overlapping.
///
/// # Errors
/// Null or unset values, more keys than a statement may have, or a key that no row can have, unless the statement only `reads`: then nothing matches it.
pub fn clustering_ranges(
    table: &Table,
    plan: &ClusteringPlan,
    environment: &Environment<'_>,
    reads: bool,
) -> Result<Vec<KeyRange>, CqlError> {
    let columns = table.clustering();
    let (prefixes, fixed) = match &plan.tuples {
        Some(tuples) => tuple_prefixes(columns, tuples, environment)?,
        None => (column_prefixes(columns, &plan.keys, environment)?, plan.keys.len()),
    };
    let mut ranges = Vec::with_capacity(prefixes.len());
    for prefix in prefixes {
        if !may_be_stored(&prefix) && (reads || fixed < columns.len()) {
            continue;
        }
        check_clustering(&prefix)?;
        if fixed == columns.len() {
            ranges.push(KeyRange { to: Some(with(&prefix, 0)), from: prefix, single: true });
        } else {
            let bounds = Bounds { lower: plan.lower.as_ref(), upper: plan.upper.as_ref() };
            let rest = &columns[fixed..];
            if bounds.is_contiguous(rest) {
                ranges.push(slice(rest, prefix, &bounds, environment)?);
            } else {
                ranges.append(&mut pieces(rest, &prefix, &bounds, environment)?);
            }
        }
    }
    ranges.sort();
    ranges.dedup();
    Ok(ranges)
}

fn with(prefix: &[u8], byte: u8) -> Vec<u8> {
    let mut key = Vec::with_capacity(prefix.len() + 1);
    key.extend_from_slice(prefix);
    key.push(byte);
    key
}

fn column_prefixes(columns: &[Column], keys: &[KeyTerm], environment: &Environment<'_>) -> Result<Vec<Vec<u8>>, CqlError> {
    let mut prefixes = vec![Vec::new()];
    for (term, column) in keys.iter().zip(columns) {
        let values = column_values(term, column, environment)?;
        if prefixes.len().saturating_mul(values.len()) > KEYS_MAX {
            return Err(CqlError::Invalid(format!("the IN restrictions give more than {KEYS_MAX} rows")));
        }
        let mut longer = Vec::with_capacity(prefixes.len() * values.len());
        for prefix in &prefixes {
            for bytes in &values {
                let mut key = prefix.clone();
                encode(column, bytes, &mut key);
                longer.push(key);
            }
        }
        prefixes = longer;
    }
    Ok(prefixes)
}

fn tuple_prefixes(columns: &[Column], tuples: &TupleKeys, environment: &Environment<'_>) -> Result<(Vec<Vec<u8>>, usize), CqlError> {
    let from_tuple = |tuple: &[u8]| -> Result<(Vec<u8>, usize), CqlError> {
        let mut key = Vec::new();
        let mut count = 0;
        for (field, column) in layout::fields(tuple).zip(columns) {
            let null = || null_in_tuple(&columns[..layout::fields(tuple).count().min(columns.len())]);
            encode(column, field.ok_or_else(null)?, &mut key);
            count += 1;
        }
        Ok((key, count))
    };
    let invalid = || CqlError::invalid("Invalid null value in condition on a tuple of clustering columns");
    let mut fixed = 0;
    let mut prefixes = Vec::new();
    match tuples {
        TupleKeys::Terms(tuples) => {
            for terms in tuples {
                let mut key = Vec::new();
                let null = || null_in_tuple(&columns[..terms.len().min(columns.len())]);
                for (term, column) in terms.iter().zip(columns) {
                    encode(column, &key_value_or(term, column, environment, null)?, &mut key);
                }
                fixed = terms.len();
                prefixes.push(key);
            }
        }
        TupleKeys::Tuples(terms) => {
            for term in terms {
                let (key, count) = from_tuple(&term.evaluate(environment)?.require(invalid)?)?;
                fixed = count;
                prefixes.push(key);
            }
        }
        TupleKeys::List(term) => {
            let list = term.evaluate(environment)?.require(invalid)?;
            for tuple in layout::elements(&list) {
                let (key, count) = from_tuple(tuple)?;
                fixed = count;
                prefixes.push(key);
            }
        }
    }
    Ok((prefixes, fixed))
}

/// The bounds of a slice, in the columns' own order.
#[derive(Clone, Copy, Default)]
struct Bounds<'a> {
    lower: Option<&'a SliceBound>,
    upper: Option<&'a SliceBound>,
}

impl Bounds<'_> {
    /// Whether the rows between them lie side by side: no bound is about columns with different orders.
    fn is_contiguous(&self, columns: &[Column]) -> bool {
        let mut bounds = self.lower.iter().chain(&self.upper);
        bounds.all(|bound| columns.iter().take(bound.terms.len()).all(|column| column.order == columns[0].order))
    }
}

/// A range on the columns after `prefix`; a descending column turns the bounds around.
fn slice(columns: &[Column], prefix: Vec<u8>, bounds: &Bounds<'_>, environment: &Environment<'_>) -> Result<KeyRange, CqlError> {
    let descending = columns.first().is_some_and(|column| column.order == Order::Descending);
    let (first, last) = if descending { (bounds.upper, bounds.lower) } else { (bounds.lower, bounds.upper) };
    let bound = |bound: &SliceBound| -> Result<Vec<u8>, CqlError> {
        let mut key = prefix.clone();
        for (term, column) in bound.terms.iter().zip(columns) {
            encode(column, &key_value(term, column, environment)?, &mut key);
        }
        check_clustering(&key)?;
        Ok(key)
    };
    let from = match first {
        Some(slice) if slice.inclusive => bound(slice)?,
        Some(slice) => with(&bound(slice)?, AFTER),
        None if prefix.is_empty() => vec![FIRST_ROW_BYTE],
        None => prefix.clone(),
    };
    let to = match last {
        Some(slice) if slice.inclusive => Some(with(&bound(slice)?, AFTER)),
        Some(slice) => Some(bound(slice)?),
        None if prefix.is_empty() => None,
        None => Some(with(&prefix, AFTER)),
    };
    Ok(KeyRange { from, to, single: false })
}

/// The ranges of a slice over columns with different orders, which is not contiguous: `(a, b) > (1, 2)` is `a > 1`, and `a = 1 AND b > 2`.
fn pieces(columns: &[Column], prefix: &[u8], bounds: &Bounds<'_>, environment: &Environment<'_>) -> Result<Vec<KeyRange>, CqlError> {
    let mut ranges = vec![slice(columns, prefix.to_vec(), &Bounds::default(), environment)?];
    for (bound, is_lower) in [(bounds.lower, true), (bounds.upper, false)] {
        let Some(bound) = bound else { continue };
        let (mut of_bound, mut key) = (Vec::with_capacity(bound.terms.len()), prefix.to_vec());
        for (at, (term, column)) in bound.terms.iter().zip(columns).enumerate() {
            let end = SliceBound { terms: vec![term.clone()], inclusive: bound.inclusive && at + 1 == bound.terms.len() };
            let end = if is_lower { Bounds { lower: Some(&end), upper: None } } else { Bounds { lower: None, upper: Some(&end) } };
            of_bound.push(slice(&columns[at..], key.clone(), &end, environment)?);
            encode(column, &key_value(term, column, environment)?, &mut key);
        }
        ranges = ranges.iter().flat_map(|one| of_bound.iter().filter_map(|other| one.both(other))).collect();
    }
    Ok(ranges)
}
