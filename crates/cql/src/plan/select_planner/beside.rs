//! Which relations on one column may stand beside each other.

use super::draft::Draft;
use crate::CqlError;
use crate::language::ast::Comparison;
use crate::plan::{Comparator, Filter, Source, Subject};
use model::Table;

pub(super) fn more_than_one(name: &str, what: &str) -> CqlError {
    CqlError::Invalid(format!("{name} cannot be restricted by more than one relation if it includes {what}"))
}

/// Refuses a relation on a column of the primary key beside an earlier `=` or IN.
pub(super) fn check_beside_key(draft: &Draft, position: usize, name: &str) -> Result<(), CqlError> {
    match &draft.keys[position] {
        None => Ok(()),
        Some(key) => Err(more_than_one(name, if key.is_in() { "a IN" } else { "an Equal" })),
    }
}

/// Refuses a relation on a column of the primary key beside an earlier one that Cassandra does not take with it: of CONTAINS or LIKE and another.
pub(super) fn check_key_beside(table: &Table, position: usize, comparison: &Comparison, draft: &Draft) -> Result<(), CqlError> {
    let source = match position.checked_sub(table.partition_key_len) {
        None => Source::Partition(position),
        Some(index) => Source::Clustering(index),
    };
    let name = &table.columns[position].name;
    let earlier = draft.partition_filters.iter().chain(&draft.clustering_filters);
    let has = |is_one: fn(Comparator) -> bool| {
        earlier.clone().any(|filter| is_one(filter.operator) && matches!(&filter.subject, Subject::Source(of) if *of == source))
    };
    let has_contains = has(|operator| matches!(operator, Comparator::Contains | Comparator::ContainsKey));
    if has(|operator| matches!(operator, Comparator::Like(_))) {
        return Err(more_than_one(name, "a LIKE"));
    }
    match comparison {
        Comparison::NotContains(_) | Comparison::NotContainsKey(_) => Ok(()),
        Comparison::Contains(_) | Comparison::ContainsKey(_) | Comparison::Like(_) => {
            let is_sliced = draft.lower[position].is_some() || draft.upper[position].is_some();
            if is_sliced { Err(equal_and_unequal(name)) } else { Ok(()) }
        }
        _ if has_contains => Err(only_by_contains(name)),
        _ => Ok(()),
    }
}

/// Refuses a filter beside an earlier one on the same column that Cassandra does not take with it.
pub(super) fn check_beside(earlier: &Filter, filter: &Filter) -> Result<(), CqlError> {
    use Comparator as C;
    let (Subject::Source(one), Subject::Source(other)) = (&earlier.subject, &filter.subject) else { return Ok(()) };
    if one != other {
        return Ok(());
    }
    let name = &filter.name;
    let bound_twice = |end: &str| CqlError::Invalid(format!("More than one restriction was found for the {end} bound on {name}"));
    match (earlier.operator, filter.operator) {
        (C::Equal, _) => Err(more_than_one(name, "an Equal")),
        (C::In, _) => Err(more_than_one(name, "a IN")),
        (C::Like(_), _) => Err(more_than_one(name, "a LIKE")),
        (C::Contains | C::ContainsKey, later) if !later.is_of_elements() => Err(only_by_contains(name)),
        (C::Less | C::LessOrEqual | C::Greater | C::GreaterOrEqual, C::Equal | C::In | C::Contains | C::ContainsKey | C::Like(_)) => {
            Err(equal_and_unequal(name))
        }
        (_, C::Equal) => Err(more_than_one(name, "an Equal")),
        (_, C::In) => Err(more_than_one(name, "a IN")),
        (C::Greater | C::GreaterOrEqual, C::Greater | C::GreaterOrEqual) => Err(bound_twice("start")),
        (C::Less | C::LessOrEqual, C::Less | C::LessOrEqual) => Err(bound_twice("end")),
        _ => Ok(()),
    }
}

fn only_by_contains(name: &str) -> CqlError {
    CqlError::Invalid(format!("Collection column {name} can only be restricted by CONTAINS, CONTAINS KEY, or map-entry equality"))
}

pub(super) fn equal_and_unequal(name: &str) -> CqlError {
    CqlError::Invalid(format!("Column \"{name}\" cannot be restricted by both an equality and an inequality relation"))
}
