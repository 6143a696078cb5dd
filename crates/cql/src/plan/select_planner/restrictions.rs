//! WHERE: which partitions, which ranges of clustering keys, and what must be filtered.
//!
//! Restrictions on the partition key's columns are keys when all columns have one, else filters. Of the clustering key, equalities on the
//! first columns and one range after them are read directly; what comes later filters. What filters needs ALLOW FILTERING, except where
//! the filter only narrows what a contiguous range of keys gives anyway (slices over columns with mixed orders, IN in the middle).

use super::beside::{check_beside, check_beside_key, check_key_beside, equal_and_unequal};
use super::clustering::{check_unfiltered, clustering, clustering_filters, clustering_gap};
use super::draft::{Draft, NEEDS_FILTERING, Restrictions, column_filter, key_filter, slice_filter};
use super::indexes;
use super::reads::Reads;
use crate::CqlError;
use crate::language::ast::{self, CompareOperator, Comparison, InValues, RelationTarget};
use crate::plan::columns::{comparator, contained_type, find_column, kind_with_duration, slice_ends};
use crate::plan::{Comparator, Filter, KeyTerm, Likes, Planner, SliceBound, Source, Subject, Term};
use model::{Column, DataType, Frozen, Table};
use std::sync::Arc;

impl Planner<'_> {
    /// Plans the WHERE of a SELECT.
    pub(super) fn restrictions(
        &mut self,
        statement: &ast::Select,
        table: &Arc<Table>,
        reads: &mut Reads,
    ) -> Result<Restrictions, CqlError> {
        let mut draft = Draft::new(table);
        let mut restrictions = Restrictions::default();
        self.relations(statement, table, reads, &mut draft, &mut restrictions)?;
        restrictions.equal = draft.equal(table);
        let restricts_clustering = draft.restricts_clustering(table);
        let restricts_regular = draft.regular_filters.iter().any(|filter| match filter.subject {
            Subject::Source(Source::Cell(cell)) | Subject::Element(Source::Cell(cell), ..) => !reads.cells[cell].is_static,
            _ => false,
        });
        restrictions.restricts_clustering = restricts_clustering;
        restrictions.about_rows = restricts_clustering || restricts_regular;
        let answered = indexes::answer(table, &draft, reads);
        let allowed = statement.allow_filtering || answered == indexes::Answered::All;
        partition(table, &mut draft, allowed, &mut restrictions)?;
        if restrictions.partition.is_empty() && restricts_clustering {
            if !allowed {
                if answered == indexes::Answered::Nothing {
                    check_unfiltered(table, &draft)?;
                }
                clustering_gap(table, &draft)?;
                return Err(indexes::needed(statement, table, &draft, reads));
            }
            let fixed = draft.keys[table.partition_key_len..].iter().take_while(|key| key.is_some()).count();
            clustering_filters(table, &mut draft, fixed, &mut restrictions)?;
        } else if restricts_clustering {
            let filters = clustering_gap(table, &draft).is_err() || !draft.clustering_filters.is_empty();
            if filters && !allowed && answered == indexes::Answered::Part {
                return Err(indexes::needed(statement, table, &draft, reads));
            }
            clustering(table, &mut draft, allowed, &mut restrictions)?;
        }
        if !draft.regular_filters.is_empty() && !allowed {
            return Err(indexes::needed(statement, table, &draft, reads));
        }
        restrictions.filters.append(&mut draft.regular_filters);
        Ok(restrictions)
    }

    /// Reads the relations one after the other.
    fn relations(
        &mut self,
        statement: &ast::Select,
        table: &Arc<Table>,
        reads: &mut Reads,
        draft: &mut Draft,
        restrictions: &mut Restrictions,
    ) -> Result<(), CqlError> {
        for expression in &statement.where_clause {
            let relation = match expression {
                ast::WhereExpression::Relation(relation) => relation,
                ast::WhereExpression::CustomIndex { index, .. } => return Err(indexes::no_expression(table, index)),
            };
            match &relation.target {
                RelationTarget::Column(name) => {
                    let (position, column) = find_column(table, name)?;
                    draft.note_order(table, position, 1, &relation.comparison);
                    if position < table.partition_key_len + table.clustering_len {
                        self.key_relation(table, position, &relation.comparison, draft)?;
                    } else {
                        self.value_relation(position, column, &relation.comparison, reads, draft)?;
                    }
                    if let Comparison::Like(pattern) = &relation.comparison {
                        draft.set_like(&column.name, indexes::likes(table, column, pattern)?);
                    }
                }
                RelationTarget::Element { column: name, key } => {
                    let (position, column) = find_column(table, name)?;
                    draft.regular_filters.push(self.element_filter(position, column, key, &relation.comparison, reads)?);
                }
                RelationTarget::Field { column, .. } => {
                    return Err(CqlError::Invalid(format!("Fields of {} cannot be restricted", column.as_str())));
                }
                RelationTarget::Tuple(names) => {
                    self.tuple_relation_of_select(table, names, &relation.comparison, draft)?;
                    if let Some(first) = names.first() {
                        draft.note_order(table, find_column(table, first)?.0, names.len(), &relation.comparison);
                    }
                }
                RelationTarget::Token(names) => self.token_relation(table, names, &relation.comparison, restrictions)?,
            }
        }
        Ok(())
    }

    /// A comparison of a column that is no part of the primary key.
    fn value_relation(
        &mut self,
        position: usize,
        column: &Column,
        comparison: &Comparison,
        reads: &mut Reads,
        draft: &mut Draft,
    ) -> Result<(), CqlError> {
        let parts = match comparison {
            Comparison::Between(low, high) => vec![
                Comparison::Compare(CompareOperator::GreaterOrEqual, low.clone()),
                Comparison::Compare(CompareOperator::LessOrEqual, high.clone()),
            ],
            // As in Cassandra, IN with one value is an equality: an index answers it.
            Comparison::In(InValues::List(terms)) if terms.len() == 1 && !column.data_type.is_multi_cell() => {
                terms.iter().map(|term| Comparison::Compare(CompareOperator::Equal, term.clone())).collect()
            }
            other => vec![other.clone()],
        };
        for comparison in &parts {
            let filter = self.column_filter(position, column, comparison, reads)?;
            draft.regular_filters.iter().try_for_each(|earlier| check_beside(earlier, &filter))?;
            draft.regular_filters.push(filter);
        }
        Ok(())
    }

    /// A comparison of a column of the primary key.
    fn key_relation(&mut self, table: &Table, position: usize, comparison: &Comparison, draft: &mut Draft) -> Result<(), CqlError> {
        let column = &table.columns[position];
        check_relation(column, comparison)?;
        check_key_beside(table, position, comparison, draft)?;
        if let Some(key) = self.key_term(column, comparison)? {
            let key = match key {
                // As in Cassandra, IN with one value is an equality.
                KeyTerm::In(mut terms) if terms.len() == 1 => terms.pop().map_or(KeyTerm::In(Vec::new()), KeyTerm::Equal),
                key => key,
            };
            check_beside_key(draft, position, &column.name)?;
            if draft.lower[position].is_some() || draft.upper[position].is_some() {
                return Err(equal_and_unequal(&column.name));
            }
            draft.keys[position] = Some(key);
            return Ok(());
        }
        if let Some(ends) = slice_ends(comparison) {
            if column.data_type == DataType::Duration {
                return Err(CqlError::invalid("Slice restrictions are not supported on duration columns"));
            }
            check_beside_key(draft, position, &column.name)?;
            for (is_lower, inclusive, term) in ends {
                let terms = vec![self.term(term, &column.data_type, &column.name)?];
                set_slice(draft, position, is_lower, SliceBound { terms, inclusive }, &column.name)?;
            }
            return Ok(());
        }
        check_beside_key(draft, position, &column.name)?;
        if position < table.partition_key_len {
            draft.partition_filters.push(self.filter(Source::Partition(position), column, comparison)?);
        } else {
            let source = Source::Clustering(position - table.partition_key_len);
            draft.clustering_filters.push(self.filter(source, column, comparison)?);
        }
        Ok(())
    }

    /// A comparison of a static or regular column.
    fn column_filter(&mut self, position: usize, column: &Column, comparison: &Comparison, reads: &mut Reads) -> Result<Filter, CqlError> {
        check_relation(column, comparison)?;
        let source = reads.column(position);
        self.filter(source, column, comparison)
    }

    fn filter(&mut self, source: Source, column: &Column, comparison: &Comparison) -> Result<Filter, CqlError> {
        Ok(column_filter(source, column, self.comparison(column, &column.data_type, &column.name, comparison)?))
    }

    /// The operator and values of a comparison with something of type `data_type`.
    pub(super) fn comparison(
        &mut self,
        column: &Column,
        data_type: &DataType,
        name: &str,
        comparison: &Comparison,
    ) -> Result<(Comparator, Vec<Term>, bool), CqlError> {
        let unsupported = |what: &str| CqlError::Invalid(format!("Unsupported restriction: {} {what}", column.name));
        let contained = |planner: &mut Self, term: &ast::Term, of_key: bool| {
            let part = contained_type(column, of_key)?;
            let name = if of_key { format!("key({})", column.name) } else { format!("value({})", column.name) };
            Ok::<_, CqlError>(vec![planner.term(term, part, &name)?])
        };
        let list = |values: &InValues, operator: Comparator, planner: &mut Self| -> Result<(Comparator, Vec<Term>, bool), CqlError> {
            match values {
                InValues::List(terms) => {
                    let terms = terms.iter().map(|term| planner.term(term, data_type, name)).collect::<Result<Vec<_>, _>>()?;
                    Ok((operator, terms, false))
                }
                InValues::Marker(marker) => {
                    let list = DataType::List(Arc::new(data_type.frozen()), Frozen::Yes);
                    Ok((operator, vec![planner.mark(marker.index, &format!("in({name})"), &list)], true))
                }
            }
        };
        Ok(match comparison {
            Comparison::Compare(operator, _)
                if !matches!(operator, CompareOperator::Equal | CompareOperator::NotEqual)
                    && let Some(kind) = kind_with_duration(data_type) =>
            {
                let kind = if kind == "durations" { "duration columns" } else { kind };
                return Err(CqlError::Invalid(format!("Slice restrictions are not supported on {kind}")));
            }
            Comparison::Compare(operator, term) => (comparator(*operator), vec![self.term(term, data_type, name)?], false),
            Comparison::In(values) => list(values, Comparator::In, self)?,
            Comparison::NotIn(values) => list(values, Comparator::NotIn, self)?,
            Comparison::Contains(term) => (Comparator::Contains, contained(self, term, false)?, false),
            Comparison::ContainsKey(term) => (Comparator::ContainsKey, contained(self, term, true)?, false),
            Comparison::NotContains(term) => (Comparator::NotContains, contained(self, term, false)?, false),
            Comparison::NotContainsKey(term) => (Comparator::NotContainsKey, contained(self, term, true)?, false),
            Comparison::Like(term) => (Comparator::Like(Likes::Beginnings), vec![self.term(term, data_type, name)?], false),
            Comparison::Between(..) => return Err(unsupported("BETWEEN")),
            Comparison::IsNotNull => return Err(unsupported("IS NOT NULL")),
        })
    }

    /// `m[k] = v`
    fn element_filter(
        &mut self,
        position: usize,
        column: &Column,
        key: &ast::Term,
        comparison: &Comparison,
        reads: &mut Reads,
    ) -> Result<Filter, CqlError> {
        let name = &column.name;
        let (key_type, value_type) = match &column.data_type {
            DataType::Map(key, value, Frozen::No) => (key, value),
            DataType::Map(..) => {
                return Err(CqlError::Invalid(format!("Map-entry equality predicates on frozen map column {name} are not supported")));
            }
            DataType::List(..) => {
                return Err(CqlError::Invalid(format!("Indexes on list entries ({name}[index] = value) are not currently supported.")));
            }
            _ => return Err(CqlError::Invalid(format!("Column {name} cannot be used as a map"))),
        };
        let Comparison::Compare(CompareOperator::Equal, value) = comparison else {
            return Err(CqlError::invalid("Only EQ relations are supported on map entries"));
        };
        let key = self.term(key, key_type, &format!("key({name})"))?;
        let value = self.term(value, value_type, &format!("value({name})"))?;
        Ok(Filter {
            subject: Subject::Element(reads.column(position), column.data_type.clone(), key),
            data_type: (**value_type).clone(),
            operator: Comparator::Equal,
            values: vec![value],
            in_list: false,
            analysis: None,
            name: name.clone(),
        })
    }
}

pub(super) fn set_slice(draft: &mut Draft, position: usize, is_lower: bool, bound: SliceBound, name: &str) -> Result<(), CqlError> {
    let side = if is_lower { &mut draft.lower } else { &mut draft.upper };
    if side[position].replace(bound).is_some() {
        let end = if is_lower { "start" } else { "end" };
        return Err(CqlError::Invalid(format!("More than one restriction was found for the {end} bound on {name}")));
    }
    Ok(())
}

/// Refuses comparisons that a column of this type does not have at all.
fn check_relation(column: &Column, comparison: &Comparison) -> Result<(), CqlError> {
    if !column.data_type.is_multi_cell() {
        return Ok(());
    }
    if let Comparison::Compare(CompareOperator::NotEqual, term) = comparison {
        return Err(CqlError::Invalid(format!("Unsupported \"!=\" relation: {} != {term}", column.name)));
    }
    if !column.data_type.is_collection() {
        check_relation_of_user_type(column, comparison)?;
        return Err(CqlError::Invalid(format!(
            "Non-frozen UDT column '{}' ({}) cannot be restricted by any relation",
            column.name, column.data_type
        )));
    }
    let operator = match comparison {
        Comparison::Contains(_) | Comparison::ContainsKey(_) | Comparison::NotContains(_) | Comparison::NotContainsKey(_) => return Ok(()),
        Comparison::Compare(operator, _) => operator.sign(),
        Comparison::In(_) => "IN",
        Comparison::NotIn(_) => "NOT IN",
        Comparison::Between(..) => "BETWEEN",
        Comparison::Like(_) => "LIKE",
        Comparison::IsNotNull => "IS NOT",
    };
    Err(CqlError::Invalid(format!(
        "Collection column '{}' ({}) cannot be restricted by a '{operator}' relation",
        column.name, column.data_type
    )))
}

/// What Cassandra says before that no relation may be about a user type.
fn check_relation_of_user_type(column: &Column, comparison: &Comparison) -> Result<(), CqlError> {
    match comparison {
        Comparison::IsNotNull => Err(CqlError::Invalid(format!("Unsupported restriction: {} IS NOT NULL", column.name))),
        Comparison::Contains(_) => contained_type(column, false).map(|_| ()),
        Comparison::ContainsKey(_) => contained_type(column, true).map(|_| ()),
        Comparison::Compare(operator, _) if *operator != CompareOperator::Equal => match kind_with_duration(&column.data_type) {
            Some(kind) => Err(CqlError::Invalid(format!("Slice restrictions are not supported on {kind}"))),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Makes keys of the restrictions on the partition key, or filters.
fn partition(table: &Table, draft: &mut Draft, allowed: bool, restrictions: &mut Restrictions) -> Result<(), CqlError> {
    let columns = 0..table.partition_key_len;
    let sliced = columns.clone().any(|position| draft.lower[position].is_some() || draft.upper[position].is_some());
    let filtered = !draft.partition_filters.is_empty();
    if !sliced && !filtered && draft.keys[columns.clone()].iter().all(Option::is_some) {
        restrictions.partition = draft.keys[columns].iter_mut().filter_map(Option::take).collect();
        return Ok(());
    }
    if !sliced && !filtered && draft.keys[columns.clone()].iter().all(Option::is_none) {
        return Ok(());
    }
    if !allowed {
        return Err(CqlError::invalid(NEEDS_FILTERING));
    }
    for position in columns {
        let column = &table.columns[position];
        let source = Source::Partition(position);
        restrictions.filters.extend(draft.keys[position].take().map(|key| key_filter(source, column, key)));
        let ends = [(true, draft.lower[position].take()), (false, draft.upper[position].take())];
        for (is_lower, bound) in ends {
            let single = |bound: SliceBound| slice_filter(Subject::Source(source), column.data_type.clone(), is_lower, bound, &column.name);
            restrictions.filters.extend(bound.map(single));
        }
    }
    restrictions.filters.append(&mut draft.partition_filters);
    Ok(())
}
