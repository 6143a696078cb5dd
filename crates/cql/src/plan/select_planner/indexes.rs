//! Which index answers a SELECT, and whether one makes ALLOW FILTERING needless.

use super::draft::Draft;
use super::reads::Reads;
use crate::ddl::IndexClass;
use crate::plan::{Comparator, Filter, IndexUse, KeyTerm, Source, Subject};
use model::{ColumnKind, DataType, Index, IndexPart, Table};
use std::sync::Arc;

/// A restriction as an index sees it: the column's position, what of it is compared, and how.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Wanted {
    position: usize,
    is_element: bool,
    operator: Comparator,
}

/// Whether indexes answer all that the restrictions ask for beyond keys: by Cassandra's first kind of index one restriction, by storage-attached ones any
/// number.
pub(super) fn answer(table: &Table, draft: &Draft, reads: &Reads) -> bool {
    if table.indexes.is_empty() {
        return false;
    }
    let mut wanted: Vec<Wanted> = draft.regular_filters.iter().filter_map(|filter| wanted_by(filter, table, reads)).collect();
    if wanted.len() < draft.regular_filters.len() {
        return false;
    }
    let key_columns = 0..table.partition_key_len;
    let has_partition = key_columns.clone().all(|position| draft.keys[position].is_some());
    let positions = if has_partition { 0..0 } else { 0..table.partition_key_len + table.clustering_len };
    if !has_partition && (draft.tuple_in.is_some() || !draft.tuple_filters.is_empty()) {
        return false;
    }
    for position in positions {
        let mut want = |operator| wanted.push(Wanted { position, is_element: false, operator });
        match &draft.keys[position] {
            Some(KeyTerm::Equal(_)) => want(Comparator::Equal),
            Some(KeyTerm::In(_) | KeyTerm::InList(_)) => want(Comparator::In),
            None => {}
        }
        if draft.lower[position].is_some() {
            want(Comparator::GreaterOrEqual);
        }
        if draft.upper[position].is_some() {
            want(Comparator::LessOrEqual);
        }
    }
    if !has_partition {
        let of_keys = draft.partition_filters.iter().chain(&draft.clustering_filters);
        wanted.extend(of_keys.filter_map(|filter| wanted_by(filter, table, reads)));
    }
    let answering = |wanted: &Wanted| table.indexes.values().find(|index| answers(index, table, wanted));
    let Some(indexes) = wanted.iter().map(answering).collect::<Option<Vec<_>>>() else { return false };
    wanted.len() == 1 || indexes.iter().all(|index| IndexClass::of(index) == IndexClass::StorageAttached)
}

/// The index to read, and the filters that it answers: equality before ranges, then in the order of WHERE.
pub(super) fn choose(table: &Table, reads: &Reads, filters: &[Filter]) -> Option<IndexUse> {
    let wanted: Vec<Option<Wanted>> = filters.iter().map(|filter| wanted_by(filter, table, reads)).collect();
    let candidates = table.indexes.values().filter_map(|index| {
        let answered: Vec<usize> =
            (0..filters.len()).filter(|at| wanted[*at].is_some_and(|wanted| answers(index, table, &wanted))).collect();
        let is_range = |at: &&usize| wanted[**at].is_some_and(|wanted| is_range(wanted.operator));
        let first = answered.iter().find(|at| !is_range(at));
        let used = first.map_or_else(|| answered.clone(), |first| vec![*first]);
        Some((first.is_none(), *used.first()?, used, index))
    });
    let (_, _, filters, index) = candidates.min_by_key(|(is_range, first, ..)| (*is_range, *first))?;
    let (_, column) = table.column_of_id(index.column)?;
    let types = match (&column.data_type, index.part) {
        (DataType::List(ty, _) | DataType::Set(ty, _), IndexPart::Values) => vec![(**ty).clone()],
        (DataType::Map(ty, _, _), IndexPart::Keys) | (DataType::Map(_, ty, _), IndexPart::Values) => vec![(**ty).clone()],
        (DataType::Map(key, value, _), IndexPart::Entries) => vec![(**key).clone(), (**value).clone()],
        (ty, _) => vec![ty.clone()],
    };
    Some(IndexUse { index: Arc::clone(index), types, filters, of_partitions: column.kind == ColumnKind::Static })
}

fn wanted_by(filter: &Filter, table: &Table, reads: &Reads) -> Option<Wanted> {
    let (source, is_element) = match &filter.subject {
        Subject::Source(source) => (source, false),
        Subject::Element(source, ..) => (source, true),
        Subject::Clustering(_) => return None,
    };
    let position = match *source {
        Source::Partition(index) => index,
        Source::Clustering(index) => table.partition_key_len + index,
        Source::Cell(cell) => reads.cells[cell].position,
        Source::WriteTime(_) | Source::TimeToLive(_) => return None,
    };
    Some(Wanted { position, is_element, operator: filter.operator })
}

fn is_range(operator: Comparator) -> bool {
    matches!(operator, Comparator::Less | Comparator::LessOrEqual | Comparator::Greater | Comparator::GreaterOrEqual)
}

/// Whether an index has the entries that a restriction asks for.
fn answers(index: &Index, table: &Table, wanted: &Wanted) -> bool {
    let column = &table.columns[wanted.position];
    if index.column != column.id {
        return false;
    }
    match (index.part, wanted.operator) {
        (IndexPart::Value, Comparator::Equal) => !wanted.is_element,
        (IndexPart::Value, operator) => is_range(operator) && IndexClass::of(index).has_ranges(&column.data_type),
        (IndexPart::Entries, Comparator::Equal) => wanted.is_element,
        (IndexPart::Keys, operator) => operator == Comparator::ContainsKey,
        (IndexPart::Values, operator) => operator == Comparator::Contains,
        (IndexPart::Entries, _) => false,
    }
}
