//! Which index answers a SELECT, whether one makes ALLOW FILTERING needless, and what LIKE and ANN OF need of one.

use super::clustering::clustering_gap;
use super::draft::{Draft, NEEDS_FILTERING};
use super::reads::Reads;
use crate::CqlError;
use crate::index::{Analysis, IndexClass, has_entries, indexed_type};
use crate::language::ast;
use crate::plan::columns::find_column;
use crate::plan::{Comparator, Filter, IndexUse, KeyTerm, Likes, Nearest, Planner, Source, Subject};
use crate::value::function::Similarity;
use model::{Column, ColumnKind, DataType, Index, IndexPart, Table};
use std::sync::Arc;

/// A restriction as an index sees it: the column's position, what of it is compared, and how.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Wanted {
    position: usize,
    is_element: bool,
    operator: Comparator,
}

const DESCENDING_ANN: &str = "Descending ANN ordering is not supported";

/// What of the restrictions beyond keys indexes answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    /// Everything: by Cassandra's first kind of index one restriction, by storage-attached ones any number.
    All,
    /// A part of it: the rest filters.
    Part,
    /// Nothing.
    Nothing,
}

/// What of the restrictions beyond keys indexes answer. Clustering columns of one partition count only if they do not narrow its rows to ranges.
pub(super) fn answer(table: &Table, draft: &Draft, reads: &Reads) -> Answered {
    if table.indexes.is_empty() {
        return Answered::Nothing;
    }
    let mut wanted: Vec<Wanted> = draft.regular_filters.iter().filter_map(|filter| wanted_by(filter, table, reads)).collect();
    let mut is_whole = wanted.len() == draft.regular_filters.len();
    let keys = table.partition_key_len + table.clustering_len;
    let has_partition = (0..table.partition_key_len).all(|position| draft.keys[position].is_some());
    let positions = match has_partition {
        false => 0..keys,
        true if clustering_gap(table, draft).is_err() || !draft.clustering_filters.is_empty() => table.partition_key_len..keys,
        true => 0..0,
    };
    if !positions.is_empty() && (draft.tuple_in.is_some() || !draft.tuple_filters.is_empty()) {
        is_whole = false;
    }
    let is_of_rows = !positions.is_empty();
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
    if is_of_rows {
        let of_keys = draft.partition_filters.iter().chain(&draft.clustering_filters);
        wanted.extend(of_keys.filter_map(|filter| wanted_by(filter, table, reads)));
    }
    let answering = |wanted: &Wanted| table.indexes.values().find(|index| answers(index, table, wanted));
    let indexes: Vec<_> = wanted.iter().filter_map(answering).collect();
    let together = wanted.len() <= 1 || indexes.iter().all(|index| IndexClass::of(index) != IndexClass::Legacy);
    match indexes.len() {
        answered if answered == wanted.len() && is_whole && together => Answered::All,
        0 => Answered::Nothing,
        _ => Answered::Part,
    }
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
        (DataType::Map(key, value, _), IndexPart::Entries) => vec![(**key).clone(), (**value).clone()],
        (ty, part) => vec![indexed_type(ty, part).clone()],
    };
    Some(IndexUse { index: Arc::clone(index), types, filters, of_partitions: column.kind == ColumnKind::Static })
}

/// Which patterns LIKE may have on a column: its index in the mode CONTAINS finds a text anywhere in values, but where parts of them begin if it takes
/// them apart; in any other mode where they begin.
///
/// # Errors
/// A column without an index that answers LIKE.
pub(super) fn likes(table: &Table, column: &Column, pattern: &ast::Term) -> Result<Likes, CqlError> {
    let is_of_text = matches!(column.data_type, DataType::Text | DataType::Ascii);
    let answers = |index: &&Arc<Index>| is_of_text && index.column == column.id && IndexClass::of(index) == IndexClass::Sasi;
    if let Some(index) = table.indexes.values().find(answers) {
        let contains = index.options.get("mode").is_some_and(|mode| mode.eq_ignore_ascii_case("CONTAINS"));
        return Ok(match (contains, Analysis::takes_apart(index, &column.data_type)) {
            (true, true) => Likes::AllButBeginnings,
            (true, false) => Likes::All,
            (false, _) => Likes::Beginnings,
        });
    }
    let name = &column.name;
    Err(CqlError::Invalid(format!("LIKE restriction is only supported on properly indexed columns. {name} LIKE {pattern} is not valid.")))
}

/// Why `expr(index, …)` is refused: indexes answer comparisons.
pub(super) fn no_expression(table: &Table, name: &ast::QualifiedName) -> CqlError {
    let index = name.name.as_str();
    CqlError::Invalid(match table.indexes.get(index).map(|index| IndexClass::of(index)) {
        None => format!("Invalid index expression, index {index} not found for {}.{}", table.keyspace, table.name),
        Some(IndexClass::Legacy) => format!("Only CUSTOM indexes may be used in custom index expressions, {index} is not valid"),
        Some(IndexClass::StorageAttached | IndexClass::Sasi) => format!("Index {index} does not support custom expressions"),
    })
}

/// What is missing where restrictions filter, and nobody has allowed that.
pub(super) fn needed(statement: &ast::Select, table: &Table, draft: &Draft, reads: &Reads) -> CqlError {
    if let Some(nearest) = statement.order_by.iter().find(|part| matches!(part.ordering, ast::Ordering::NearestTo(_))) {
        if nearest.direction == ast::OrderDirection::Descending {
            return CqlError::invalid(DESCENDING_ANN);
        }
        return CqlError::invalid("ANN ordering by vector requires all restricted column(s) to be indexed");
    }
    let is_of_vectors = |filter: &Filter| {
        let column = wanted_by(filter, table, reads).map(|wanted| table.columns[wanted.position].id);
        table.indexes.values().any(|index| Some(index.column) == column && !has_entries(table, index))
    };
    CqlError::invalid(if draft.regular_filters.iter().any(is_of_vectors) {
        "Vector indexes only support ANN queries"
    } else {
        NEEDS_FILTERING
    })
}

/// Lets filters compare texts as the indexes do that answer them.
pub(super) fn analyse(table: &Table, reads: &Reads, filters: &mut [Filter]) {
    if table.indexes.is_empty() {
        return;
    }
    for filter in filters {
        let Some(wanted) = wanted_by(filter, table, reads) else { continue };
        let answering = table.indexes.values().filter(|index| answers(index, table, &wanted));
        let data_type = |index: &Index| indexed_type(&table.columns[wanted.position].data_type, index.part);
        filter.analysis = answering.filter_map(|index| Analysis::of(index, data_type(index))).next();
    }
}

/// `ORDER BY … ANN OF`: the index that it needs, and what else must hold.
pub(super) fn nearest(
    planner: &mut Planner<'_>,
    statement: &ast::Select,
    table: &Table,
    reads: &mut Reads,
) -> Result<Option<Nearest>, CqlError> {
    let vector_of = |part: &ast::OrderBy| if let ast::Ordering::NearestTo(term) = &part.ordering { Some(term.clone()) } else { None };
    let Some((part, vector)) = statement.order_by.iter().find_map(|part| Some((part, vector_of(part)?))) else { return Ok(None) };
    let (position, column) = find_column(table, &part.column)?;
    let vector = planner.term(&vector, &column.data_type, &column.name)?;
    let is_of_floats = matches!(&column.data_type, DataType::Vector(element, _) if **element == DataType::Float);
    if !is_of_floats {
        return Err(CqlError::invalid("ANN ordering is only supported on float vector indexes"));
    }
    let index = table.indexes.values().find(|index| index.column == column.id && !has_entries(table, index));
    let index = index.ok_or_else(|| CqlError::invalid("ANN ordering by vector requires the column to be indexed"))?;
    if statement.order_by.len() > 1 {
        let is_other = |part: &ast::OrderBy| vector_of(part).is_none();
        let what = if statement.order_by.iter().any(is_other) {
            "ANN ordering does not support any other ordering"
        } else {
            "Cannot specify more than one ANN ordering"
        };
        return Err(CqlError::invalid(what));
    }
    if part.direction == ast::OrderDirection::Descending {
        return Err(CqlError::invalid(DESCENDING_ANN));
    }
    if statement.distinct {
        return Err(CqlError::invalid(
            "SELECT DISTINCT with WHERE clause only supports restriction by partition key and/or static columns.",
        ));
    }
    let (source, similarity) = (reads.column(position), Similarity::of(index));
    Ok(Some(Nearest { source, index: index.id, similarity, vector, name: column.name.clone() }))
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
        Source::WriteTime(_) | Source::TimeToLive(_) | Source::WriteTimes(_) | Source::TimesToLive(_) => return None,
    };
    Some(Wanted { position, is_element, operator: filter.operator })
}

fn is_range(operator: Comparator) -> bool {
    matches!(operator, Comparator::Like(_) | Comparator::Less | Comparator::LessOrEqual | Comparator::Greater | Comparator::GreaterOrEqual)
}

/// Whether an index has the entries that a restriction asks for.
fn answers(index: &Index, table: &Table, wanted: &Wanted) -> bool {
    let column = &table.columns[wanted.position];
    if index.column != column.id || !has_entries(table, index) {
        return false;
    }
    match (index.part, wanted.operator) {
        (IndexPart::Value, Comparator::Like(_)) => IndexClass::of(index) == IndexClass::Sasi,
        (IndexPart::Value, _) if Analysis::takes_apart(index, &column.data_type) => false,
        (IndexPart::Value, Comparator::Equal) => !wanted.is_element,
        (IndexPart::Value, operator) => is_range(operator) && IndexClass::of(index).has_ranges(&column.data_type),
        (IndexPart::Entries, Comparator::Equal) => wanted.is_element,
        (IndexPart::Keys, operator) => operator == Comparator::ContainsKey,
        (IndexPart::Values, operator) => operator == Comparator::Contains,
        (IndexPart::Entries, _) => false,
    }
}
