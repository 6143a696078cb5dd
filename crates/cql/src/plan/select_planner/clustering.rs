//! Ranges of clustering keys, as far as the restrictions are contiguous, and filters of the rest.

use super::draft::{ClusteringRelation, Draft, Restrictions, TupleIn, key_filter, slice_filter};
use crate::CqlError;
use crate::plan::{Comparator, Filter, KeyTerm, SliceBound, Source, Subject, Term, TupleKeys};
use model::{Column, DataType, Table};

/// Makes ranges of the restrictions on the clustering key, as far as they are contiguous, and filters of the rest.
pub(super) fn clustering(table: &Table, draft: &mut Draft, allowed: bool, restrictions: &mut Restrictions) -> Result<(), CqlError> {
    if !allowed {
        check_unfiltered(table, draft)?;
    }
    let first = table.partition_key_len;
    let columns = table.clustering();
    let plan = &mut restrictions.clustering;
    let mut fixed = 0;
    while fixed < columns.len() {
        if let Some(key) = draft.keys[first + fixed].take() {
            plan.keys.push(key);
            fixed += 1;
            continue;
        }
        if let Some(tuple) = draft.tuple_in.take_if(|tuple| tuple.columns.start == fixed) {
            match whole_prefixes(&plan.keys, tuple.keys) {
                Ok(keys) => {
                    plan.keys.clear();
                    plan.tuples = Some(keys);
                    fixed = tuple.columns.end;
                }
                Err(keys) => draft.tuple_in = Some(TupleIn { keys, ..tuple }),
            }
        }
        break;
    }
    if let Some(column) = columns.get(fixed) {
        for is_lower in [true, false] {
            let side = if is_lower { &mut draft.lower } else { &mut draft.upper };
            let Some(bound) = side[first + fixed].take() else { continue };
            let run = &columns[fixed..fixed + bound.terms.len()];
            // Of columns with different orders only the first narrows the range.
            let uniform = run.iter().all(|other| other.order == column.order);
            let end = if uniform {
                bound
            } else {
                let end = SliceBound { terms: bound.terms[..1].to_vec(), inclusive: true };
                let subject = fixed..fixed + run.len();
                restrictions.filters.push(tuple_slice_filter(columns, subject, is_lower, bound));
                end
            };
            *(if is_lower { &mut plan.lower } else { &mut plan.upper }) = Some(end);
        }
    }
    clustering_filters(table, draft, fixed, restrictions)
}

/// Refuses what is no range of clustering keys. As in Cassandra, a gap before a range is told of first, then a CONTAINS, then any other gap.
pub(super) fn check_unfiltered(table: &Table, draft: &Draft) -> Result<(), CqlError> {
    if draft.lower.iter().chain(&draft.upper).any(Option::is_some) {
        clustering_gap(table, draft)?;
    }
    check_contains(draft)?;
    clustering_gap(table, draft)
}

/// Refuses CONTAINS on clustering columns.
fn check_contains(draft: &Draft) -> Result<(), CqlError> {
    if draft.clustering_filters.is_empty() {
        return Ok(());
    }
    Err(CqlError::invalid("Clustering columns can only be restricted with CONTAINS with a secondary index or filtering"))
}

/// `keys` and the columns of a tuple after them as one tuple; gives `tuple` back if that cannot be.
fn whole_prefixes(keys: &[KeyTerm], tuple: TupleKeys) -> Result<TupleKeys, TupleKeys> {
    if keys.is_empty() {
        return Ok(tuple);
    }
    let mut prefix = Vec::with_capacity(keys.len());
    for key in keys {
        let KeyTerm::Equal(term) = key else { return Err(tuple) };
        prefix.push(term.clone());
    }
    match tuple {
        TupleKeys::Terms(tuples) => Ok(TupleKeys::Terms(tuples.into_iter().map(|terms| [prefix.as_slice(), &terms].concat()).collect())),
        other => Err(other),
    }
}

/// Makes filters of all that is left of the restrictions on the clustering key, of which the first `fixed` columns are known.
///
/// # Errors
/// Several columns at once after a gap: Cassandra does not filter by these.
pub(super) fn clustering_filters(table: &Table, draft: &mut Draft, fixed: usize, restrictions: &mut Restrictions) -> Result<(), CqlError> {
    let columns = table.clustering();
    let slice_after_gap = || CqlError::invalid("Multi-column slice restrictions cannot be used for filtering.");
    for (index, column) in columns.iter().enumerate() {
        let position = table.partition_key_len + index;
        let source = Source::Clustering(index);
        restrictions.filters.extend(draft.keys[position].take().map(|key| key_filter(source, column, key)));
        for (is_lower, bound) in [(true, draft.lower[position].take()), (false, draft.upper[position].take())] {
            let Some(bound) = bound else { continue };
            if bound.terms.len() > 1 && index != fixed {
                return Err(slice_after_gap());
            }
            restrictions.filters.push(if bound.terms.len() == 1 {
                slice_filter(Subject::Source(source), column.data_type.clone(), is_lower, bound, &column.name)
            } else {
                tuple_slice_filter(columns, index..index + bound.terms.len(), is_lower, bound)
            });
        }
    }
    if let Some(tuple) = draft.tuple_in.take() {
        if tuple.columns.start != fixed {
            return Err(CqlError::invalid("Multicolumn IN filters are not supported"));
        }
        let (values, in_list) = match tuple.keys {
            TupleKeys::Terms(tuples) => (tuples.into_iter().map(Term::Fields).collect(), false),
            TupleKeys::Tuples(terms) => (terms, false),
            TupleKeys::List(term) => (vec![term], true),
        };
        let (subject, data_type) = (Subject::Clustering(tuple.columns), tuple.data_type);
        restrictions.filters.push(Filter {
            subject,
            data_type,
            operator: Comparator::In,
            values,
            in_list,
            analysis: None,
            name: "tuple".to_owned(),
        });
    }
    if draft.tuple_filters.iter().any(|(run, filter)| filter.operator != Comparator::Equal && run.start != fixed) {
        return Err(slice_after_gap());
    }
    restrictions.filters.extend(draft.tuple_filters.drain(..).map(|(_, filter)| filter));
    restrictions.filters.append(&mut draft.clustering_filters);
    Ok(())
}

fn tuple_slice_filter(columns: &[Column], run: std::ops::Range<usize>, is_lower: bool, bound: SliceBound) -> Filter {
    let data_type = DataType::Tuple(columns[run.clone()].iter().map(|column| column.data_type.frozen()).collect());
    let bound = SliceBound { terms: vec![Term::Fields(bound.terms)], inclusive: bound.inclusive };
    slice_filter(Subject::Clustering(run), data_type, is_lower, bound, "tuple")
}

/// Refuses restrictions on the clustering key that are not contiguous.
pub(super) fn clustering_gap(table: &Table, draft: &Draft) -> Result<(), CqlError> {
    let columns = table.clustering();
    let first = table.partition_key_len;
    // For each column whether it is restricted, and where a range begins that it is in.
    let mut restricted = vec![false; columns.len()];
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (index, restricted) in restricted.iter_mut().enumerate() {
        *restricted = draft.keys[first + index].is_some();
        let ends = draft.lower[first + index].iter().chain(&draft.upper[first + index]);
        if let Some(length) = ends.map(|bound| bound.terms.len()).max() {
            ranges.push((index, index + length));
        }
    }
    for (run, filter) in &draft.tuple_filters {
        if filter.operator == Comparator::Equal {
            restricted[run.clone()].fill(true);
        } else {
            ranges.push((run.start, run.end));
        }
    }
    if let Some(tuple) = &draft.tuple_in {
        restricted[tuple.columns.clone()].fill(true);
    }
    if let Some((kind, after, from)) = after_range(&draft.clustering_order) {
        return Err(non_contiguous(kind, &columns[after], &columns[from]));
    }
    ranges.sort_unstable();
    for (from, to) in &ranges {
        restricted[*from..*to].fill(true);
    }
    for filter in &draft.clustering_filters {
        if let Subject::Source(Source::Clustering(index)) = filter.subject {
            restricted[index] = true;
        }
    }
    if let Some((from, to)) = ranges.first() {
        if let Some((other, _)) = ranges.iter().find(|(other, _)| other > from && other < to) {
            return Err(CqlError::Invalid(format!(
                "Column \"{}\" cannot be restricted by two inequalities not starting with the same column",
                columns[*other].name
            )));
        }
        if let Some(after) = (*to..columns.len()).find(|index| restricted[*index]) {
            return Err(non_contiguous("Clustering", &columns[after], &columns[*from]));
        }
    }
    if let Some(gap) = restricted.iter().position(|restricted| !restricted)
        && let Some(after) = (gap..columns.len()).find(|index| restricted[*index])
    {
        return Err(CqlError::Invalid(format!(
            "PRIMARY KEY column \"{}\" cannot be restricted as preceding column \"{}\" is not restricted",
            columns[after].name, columns[gap].name
        )));
    }
    Ok(())
}

fn non_contiguous(kind: &str, column: &Column, preceding: &Column) -> CqlError {
    CqlError::Invalid(format!(
        "{kind} column \"{}\" cannot be restricted (preceding column \"{}\" is restricted by a non-EQ relation)",
        column.name, preceding.name
    ))
}

/// Which relation stands after a range, in Cassandra's words, and the column where that range starts: relations count in the statement's `order`, up to
/// one that is about a column that another one is about which starts elsewhere.
fn after_range(order: &[ClusteringRelation]) -> Option<(&'static str, usize, usize)> {
    for (count, relation) in order.iter().enumerate() {
        let (earlier, start) = (&order[..count], relation.columns.start);
        let is_entangled = |other: &ClusteringRelation| {
            other.columns.start != start && other.columns.start < relation.columns.end && start < other.columns.end
        };
        if earlier.iter().any(is_entangled) {
            return None;
        }
        let Some(last) = earlier.iter().max_by_key(|other| other.columns.start) else { continue };
        if last.is_range && start > last.columns.start {
            return Some(("Clustering", start, last.columns.start));
        }
        if relation.is_range && start < last.columns.start {
            let next = earlier.iter().map(|other| other.columns.start).filter(|other| *other > start).min()?;
            return Some(("PRIMARY KEY", next, start));
        }
    }
    None
}
