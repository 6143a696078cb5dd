//! What rows must match besides their keys, with values known.

use super::super::rows::RowValues;
use super::super::{Bound, Environment, element, keys};
use super::pattern::Pattern;
use crate::CqlError;
use crate::index::Analysis;
use crate::plan::{Comparator, Filter, Source, Subject};
use crate::value::{self, layout};
use model::{Column, DataType};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A [`Filter`] with its values.
pub(in crate::exec) struct BoundFilter {
    subject: BoundSubject,
    data_type: DataType,
    operator: Comparator,
    values: Vec<Vec<u8>>,
    /// What LIKE looks for, in place of its value.
    pattern: Option<Pattern>,
    analysis: Option<Analysis>,
}

enum BoundSubject {
    Source(Source),
    Element { map: Source, key_type: DataType, key: Vec<u8> },
    Clustering(std::ops::Range<usize>),
}

impl BoundFilter {
    /// Evaluates the terms of `filter`, which may be about some of the `clustering` columns at once.
    ///
    /// # Errors
    /// Null and unset values.
    pub(in crate::exec) fn new(filter: &Filter, clustering: &[Column], environment: &Environment<'_>) -> Result<Self, CqlError> {
        let what = if matches!(filter.subject, Subject::Element(..)) { "map value" } else { "value" };
        let value_of = |bound: Bound<'_>| match bound {
            Bound::Bytes(bytes) => Ok(bytes.into_owned()),
            Bound::Null => Err(CqlError::Invalid(format!("Unsupported null {what} for column {}", filter.name))),
            Bound::Unset => Err(CqlError::Invalid(format!("Unsupported unset {what} for column {}", filter.name))),
        };
        let subject = match &filter.subject {
            Subject::Source(source) => BoundSubject::Source(*source),
            Subject::Element(map, map_type, key) => {
                let key = match key.evaluate(environment)? {
                    Bound::Bytes(bytes) => bytes.into_owned(),
                    Bound::Null => return Err(CqlError::Invalid(format!("Unsupported null map key for column {}", filter.name))),
                    Bound::Unset => return Err(CqlError::Invalid(format!("Unsupported unset map key for column {}", filter.name))),
                };
                let DataType::Map(key_type, _, _) = map_type else {
                    return Err(CqlError::Invalid(format!("Column {} cannot be used as a map", filter.name)));
                };
                BoundSubject::Element { map: *map, key_type: (**key_type).clone(), key }
            }
            Subject::Clustering(range) => BoundSubject::Clustering(range.clone()),
        };
        let mut values = Vec::with_capacity(filter.values.len());
        for term in &filter.values {
            let bytes = value_of(term.evaluate(environment)?)?;
            if filter.in_list {
                values.extend(layout::elements(&bytes).map(<[u8]>::to_vec));
            } else {
                values.push(bytes);
            }
        }
        let whole = !matches!(
            filter.operator,
            Comparator::Contains | Comparator::ContainsKey | Comparator::NotContains | Comparator::NotContainsKey
        );
        if whole {
            for value in &mut values {
                *value = element::normalized(&filter.data_type, std::mem::take(value).into()).into_owned();
            }
        }
        let mut pattern = None;
        if let (Comparator::Like(likes), [value]) = (filter.operator, values.as_slice()) {
            pattern = Some(Pattern::new(value, likes, &filter.name, filter.analysis)?);
        } else if let Some(analysis) = &filter.analysis {
            for value in &mut values {
                *value = analysis.apply(value).into_owned();
            }
        }
        if let Some(columns) = tuple_columns(filter, clustering) {
            values.iter().try_for_each(|tuple| check_tuple(filter.operator, columns, tuple))?;
        }
        Ok(Self { subject, data_type: filter.data_type.clone(), operator: filter.operator, values, pattern, analysis: filter.analysis })
    }

    /// How it compares, with which values; of a map's element the key before them.
    pub(in crate::exec) fn comparison(&self) -> (Comparator, Option<&[u8]>, &[Vec<u8>]) {
        let key = if let BoundSubject::Element { key, .. } = &self.subject { Some(key.as_slice()) } else { None };
        (self.operator, key, &self.values)
    }

    /// What LIKE looks for.
    pub(super) fn pattern(&self) -> Option<&Pattern> {
        self.pattern.as_ref()
    }

    /// Whether a row matches. What is null matches nothing.
    pub(in crate::exec) fn matches(&self, row: &RowValues<'_>, scratch: &mut Vec<u8>) -> bool {
        let actual = match &self.subject {
            BoundSubject::Source(source) => row.value(*source, scratch),
            BoundSubject::Element { map, key_type, key } => row.value(*map, scratch).and_then(|bytes| {
                layout::entries(bytes).find(|(candidate, _)| value::compare(key_type, candidate, key).is_eq()).map(|(_, value)| value)
            }),
            BoundSubject::Clustering(range) => {
                scratch.clear();
                row.clustering_tuple(range, scratch);
                Some(scratch.as_slice())
            }
        };
        actual.is_some_and(|actual| self.holds(actual))
    }

    /// Whether a value matches that is compared whole.
    pub(in crate::exec) fn holds(&self, actual: &[u8]) -> bool {
        let actual = match self.operator {
            // Elements of collections are analysed one by one, and patterns analyse what they are compared with.
            Comparator::Contains | Comparator::NotContains | Comparator::ContainsKey | Comparator::NotContainsKey | Comparator::Like(_) => {
                Cow::Borrowed(actual)
            }
            _ => self.analysed(actual),
        };
        let actual = &*actual;
        let compare = |expected: &Vec<u8>| value::compare(&self.data_type, actual, expected);
        let first = |test: fn(Ordering) -> bool| self.values.first().is_some_and(|expected| test(compare(expected)));
        match self.operator {
            Comparator::Equal => first(Ordering::is_eq),
            Comparator::NotEqual => first(Ordering::is_ne),
            Comparator::Less => first(Ordering::is_lt),
            Comparator::LessOrEqual => first(Ordering::is_le),
            Comparator::Greater => first(Ordering::is_gt),
            Comparator::GreaterOrEqual => first(Ordering::is_ge),
            Comparator::In => self.values.iter().any(|expected| compare(expected).is_eq()),
            Comparator::NotIn => !self.values.iter().any(|expected| compare(expected).is_eq()),
            Comparator::Contains => self.contains(actual, false),
            Comparator::NotContains => !self.contains(actual, false),
            Comparator::ContainsKey => self.contains(actual, true),
            Comparator::NotContainsKey => !self.contains(actual, true),
            Comparator::Like(_) => self.pattern.as_ref().is_some_and(|pattern| pattern.matches(actual)),
            Comparator::IsNotNull => true,
        }
    }

    fn analysed<'a>(&self, value: &'a [u8]) -> Cow<'a, [u8]> {
        self.analysis.as_ref().map_or(Cow::Borrowed(value), |analysis| analysis.apply(value))
    }

    fn contains(&self, actual: &[u8], is_of_keys: bool) -> bool {
        let Some(expected) = self.values.first() else { return false };
        element::contains(&self.data_type, actual, is_of_keys, |ty, candidate| {
            value::compare(ty, &self.analysed(candidate), expected).is_eq()
        })
    }
}

/// The columns that a filter compares with tuples.
fn tuple_columns<'c>(filter: &Filter, clustering: &'c [Column]) -> Option<&'c [Column]> {
    match &filter.subject {
        Subject::Clustering(range) => clustering.get(range.clone()),
        _ => None,
    }
}

/// Refuses nulls in a tuple: no key has one.
fn check_tuple(operator: Comparator, columns: &[Column], tuple: &[u8]) -> Result<(), CqlError> {
    match layout::fields(tuple).zip(columns).find(|(field, _)| field.is_none()) {
        None => Ok(()),
        Some(_) if operator == Comparator::In => Err(keys::null_in_tuple(columns)),
        Some((_, column)) => Err(keys::null_key(column)),
    }
}
