//! WHERE: which partitions, which ranges of clustering keys, and what must be filtered.
//!
//! Restrictions on the partition key's columns are keys when all columns have one, else filters. Of the clustering key, equalities on the
//! first columns and one range after them are read directly; what comes later filters. What filters needs ALLOW FILTERING, except where
//! the filter only narrows what a contiguous range of keys gives anyway (slices over columns with mixed orders, IN in the middle).

use super::NEEDS_FILTERING;
use super::reads::Reads;
use crate::CqlError;
use crate::language::ast::{self, CompareOperator, Comparison, InValues, RelationTarget};
use crate::plan::modify_planner::{comparator, find_column, slice_ends};
use crate::plan::{
    ClusteringPlan, Comparator, Filter, KeyTerm, Planner, SliceBound, Source, Subject, Term, TokenBound, TokenTerm, TupleKeys,
};
use model::{Column, ColumnKind, DataType, Frozen, Table};
use std::sync::Arc;

/// What WHERE says.
#[derive(Default)]
pub(super) struct Restrictions {
    /// Whole partition keys; empty for a scan.
    pub(super) partition: Vec<KeyTerm>,
    pub(super) token_lower: Option<TokenBound>,
    pub(super) token_upper: Option<TokenBound>,
    pub(super) clustering: ClusteringPlan,
    pub(super) filters: Vec<Filter>,
    /// For each column of the primary key whether it is restricted to one value.
    pub(super) equal: Vec<bool>,
    /// Whether it restricts clustering or regular columns: then it is about rows, and static columns alone are none.
    pub(super) about_rows: bool,
}

/// What WHERE says of the primary key's columns, before it is known what is a key and what filters.
struct Draft {
    keys: Vec<Option<KeyTerm>>,
    /// Ends of ranges by the column they start at.
    lower: Vec<Option<SliceBound>>,
    upper: Vec<Option<SliceBound>>,
    tuple_in: Option<TupleIn>,
    /// `(a, b) > ?`, where the tuple is not known in parts: with the columns it is about.
    tuple_filters: Vec<(std::ops::Range<usize>, Filter)>,
    /// Filters on columns of the partition key and the clustering key that cannot be keys.
    partition_filters: Vec<Filter>,
    clustering_filters: Vec<Filter>,
    regular_filters: Vec<Filter>,
}

/// `(a, b) IN …`
struct TupleIn {
    /// The columns, by position in the clustering key.
    columns: std::ops::Range<usize>,
    data_type: DataType,
    keys: TupleKeys,
}

fn more_than_one(name: &str, what: &str) -> CqlError {
    CqlError::Invalid(format!("{name} cannot be restricted by more than one relation if it includes {what}"))
}

impl Planner<'_> {
    /// Plans the WHERE of a SELECT.
    pub(super) fn restrictions(
        &mut self,
        statement: &ast::Select,
        table: &Arc<Table>,
        reads: &mut Reads,
    ) -> Result<Restrictions, CqlError> {
        let keys = table.partition_key_len + table.clustering_len;
        let mut draft = Draft {
            keys: vec![None; keys],
            lower: vec![None; keys],
            upper: vec![None; keys],
            tuple_in: None,
            tuple_filters: Vec::new(),
            partition_filters: Vec::new(),
            clustering_filters: Vec::new(),
            regular_filters: Vec::new(),
        };
        let mut restrictions = Restrictions::default();
        for expression in &statement.where_clause {
            let ast::WhereExpression::Relation(relation) = expression else {
                return Err(CqlError::invalid("Custom index expressions are not supported by TarnDB yet"));
            };
            match &relation.target {
                RelationTarget::Column(name) => {
                    let (position, column) = find_column(table, name)?;
                    if position < keys {
                        self.key_relation(table, position, &relation.comparison, &mut draft)?;
                    } else {
                        let filter = self.column_filter(position, column, &relation.comparison, reads)?;
                        draft.regular_filters.push(filter);
                    }
                }
                RelationTarget::Element { column: name, key } => {
                    let (position, column) = find_column(table, name)?;
                    draft.regular_filters.push(self.element_filter(position, column, key, &relation.comparison, reads)?);
                }
                RelationTarget::Field { column, .. } => {
                    return Err(CqlError::Invalid(format!("Fields of {} cannot be restricted", column.as_str())));
                }
                RelationTarget::Tuple(names) => self.tuple_relation_of_select(table, names, &relation.comparison, &mut draft)?,
                RelationTarget::Token(names) => self.token_relation(table, names, &relation.comparison, &mut restrictions)?,
            }
        }
        restrictions.equal = draft.keys.iter().map(|key| key.as_ref().is_some_and(|key| !key.is_in())).collect();
        let restricts_clustering = (table.partition_key_len..keys)
            .any(|position| draft.keys[position].is_some() || draft.lower[position].is_some() || draft.upper[position].is_some())
            || draft.tuple_in.is_some()
            || !draft.tuple_filters.is_empty()
            || !draft.clustering_filters.is_empty();
        let restricts_regular = draft.regular_filters.iter().any(|filter| match filter.subject {
            Subject::Source(Source::Cell(cell)) | Subject::Element(Source::Cell(cell), ..) => !reads.cells[cell].is_static,
            _ => false,
        });
        restrictions.about_rows = restricts_clustering || restricts_regular;
        let allowed = statement.allow_filtering;
        partition(table, &mut draft, allowed, &mut restrictions)?;
        if restrictions.partition.is_empty() && restricts_clustering {
            if !allowed {
                clustering_gap(table, &draft)?;
                return Err(CqlError::invalid(NEEDS_FILTERING));
            }
            clustering_filters(table, &mut draft, &mut restrictions);
        } else if restricts_clustering {
            clustering(table, &mut draft, allowed, &mut restrictions)?;
        }
        if !draft.regular_filters.is_empty() && !allowed {
            return Err(CqlError::invalid(NEEDS_FILTERING));
        }
        restrictions.filters.append(&mut draft.regular_filters);
        Ok(restrictions)
    }

    /// A comparison of a column of the primary key.
    fn key_relation(&mut self, table: &Table, position: usize, comparison: &Comparison, draft: &mut Draft) -> Result<(), CqlError> {
        let column = &table.columns[position];
        check_relation(column, comparison)?;
        if let Some(key) = self.key_term(column, comparison)? {
            let key = match key {
                // As in Cassandra, IN with one value is an equality.
                KeyTerm::In(mut terms) if terms.len() == 1 => terms.pop().map_or(KeyTerm::In(Vec::new()), KeyTerm::Equal),
                key => key,
            };
            let what = if key.is_in() { "a IN" } else { "an Equal" };
            if draft.keys[position].is_some() || draft.lower[position].is_some() || draft.upper[position].is_some() {
                return Err(more_than_one(&column.name, what));
            }
            draft.keys[position] = Some(key);
            return Ok(());
        }
        if let Some(ends) = slice_ends(comparison) {
            if column.data_type == DataType::Duration {
                return Err(CqlError::invalid("Slice restrictions are not supported on duration columns"));
            }
            if let Some(key) = &draft.keys[position] {
                return Err(more_than_one(&column.name, if key.is_in() { "a IN" } else { "an Equal" }));
            }
            for (is_lower, inclusive, term) in ends {
                let terms = vec![self.term(term, &column.data_type, &column.name)?];
                set_slice(draft, position, is_lower, SliceBound { terms, inclusive }, &column.name)?;
            }
            return Ok(());
        }
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
        let (operator, values, in_list) = self.comparison(column, &column.data_type, &column.name, comparison)?;
        Ok(Filter {
            subject: Subject::Source(source),
            data_type: column.data_type.clone(),
            operator,
            values,
            in_list,
            name: column.name.clone(),
        })
    }

    /// The operator and values of a comparison with something of type `data_type`.
    fn comparison(
        &mut self,
        column: &Column,
        data_type: &DataType,
        name: &str,
        comparison: &Comparison,
    ) -> Result<(Comparator, Vec<Term>, bool), CqlError> {
        let unsupported = |what: &str| CqlError::Invalid(format!("Unsupported restriction: {} {what}", column.name));
        let contained = |planner: &mut Self, term: &ast::Term, of_key: bool| {
            let part = match &column.data_type {
                DataType::List(element, _) | DataType::Set(element, _) if !of_key => element,
                DataType::Map(key, _, _) if of_key => key,
                DataType::Map(_, value, _) => value,
                _ if of_key => return Err(CqlError::Invalid(format!("Cannot use CONTAINS KEY on non-map column {}", column.name))),
                _ => return Err(CqlError::Invalid(format!("Cannot use CONTAINS on non-collection column {}", column.name))),
            };
            let name = if of_key { format!("key({})", column.name) } else { format!("value({})", column.name) };
            Ok(vec![planner.term(term, part, &name)?])
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
            Comparison::Compare(operator, term) => (comparator(*operator), vec![self.term(term, data_type, name)?], false),
            Comparison::In(values) => list(values, Comparator::In, self)?,
            Comparison::NotIn(values) => list(values, Comparator::NotIn, self)?,
            Comparison::Contains(term) => (Comparator::Contains, contained(self, term, false)?, false),
            Comparison::ContainsKey(term) => (Comparator::ContainsKey, contained(self, term, true)?, false),
            Comparison::NotContains(term) => (Comparator::NotContains, contained(self, term, false)?, false),
            Comparison::NotContainsKey(term) => (Comparator::NotContainsKey, contained(self, term, true)?, false),
            Comparison::Like(_) => {
                return Err(CqlError::Invalid(format!(
                    "LIKE restriction is only supported on properly indexed columns. {} is not valid: TarnDB has no indexes yet",
                    column.name
                )));
            }
            Comparison::Between(..) => return Err(unsupported("BETWEEN: write it as >= and <=")),
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
                return Err(CqlError::Invalid(format!("Indexes on list entries ({name}[index] = value) are not supported.")));
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
            name: name.clone(),
        })
    }

    /// A comparison of several columns of the clustering key.
    fn tuple_relation_of_select(
        &mut self,
        table: &Table,
        names: &[ast::Identifier],
        comparison: &Comparison,
        draft: &mut Draft,
    ) -> Result<(), CqlError> {
        let columns = tuple_columns(table, names)?;
        let run = &table.clustering()[columns.clone()];
        let listed = || run.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
        let data_type = DataType::Tuple(run.iter().map(|column| column.data_type.frozen()).collect());
        let marker_name = || format!("({})", run.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(","));
        let first = table.partition_key_len + columns.start;
        let bind = |planner: &mut Self, marker: &ast::BindMarker| planner.mark(marker.index, &marker_name(), &data_type);
        match comparison {
            Comparison::Compare(operator, ast::Term::Marker(marker)) => {
                let filter = Filter {
                    subject: Subject::Clustering(columns.clone()),
                    data_type: data_type.clone(),
                    operator: comparator(*operator),
                    values: vec![bind(self, marker)],
                    in_list: false,
                    name: marker_name(),
                };
                draft.tuple_filters.push((columns, filter));
            }
            Comparison::Compare(CompareOperator::Equal, term) => {
                for (offset, field) in self.tuple_fields(term, run, &marker_name())?.into_iter().enumerate() {
                    let key = &mut draft.keys[first + offset];
                    if key.replace(KeyTerm::Equal(field)).is_some() {
                        return Err(more_than_one(&run[offset].name, "an Equal"));
                    }
                }
            }
            Comparison::In(values) => {
                if draft.tuple_in.is_some() || (first..first + run.len()).any(|position| draft.keys[position].is_some()) {
                    return Err(more_than_one(&listed(), "a IN"));
                }
                let keys = match values {
                    InValues::List(terms) if terms.iter().any(|term| matches!(term, ast::Term::Marker(_))) => TupleKeys::Tuples(
                        terms.iter().map(|term| self.term(term, &data_type, &marker_name())).collect::<Result<Vec<_>, _>>()?,
                    ),
                    InValues::List(terms) => TupleKeys::Terms(
                        terms.iter().map(|term| self.tuple_fields(term, run, &marker_name())).collect::<Result<Vec<_>, _>>()?,
                    ),
                    InValues::Marker(marker) => {
                        let list = DataType::List(Arc::new(data_type.clone()), Frozen::Yes);
                        TupleKeys::List(self.mark(marker.index, &format!("in{}", marker_name()), &list))
                    }
                };
                draft.tuple_in = Some(TupleIn { columns, data_type, keys });
            }
            other => {
                let unsupported = || CqlError::Invalid(format!("Unsupported restriction on the columns ({})", listed()));
                for (is_lower, inclusive, term) in slice_ends(other).ok_or_else(unsupported)? {
                    let terms = self.tuple_fields(term, run, &marker_name())?;
                    if draft.keys[first].is_some() {
                        return Err(more_than_one(&run[0].name, "an Equal"));
                    }
                    set_slice(draft, first, is_lower, SliceBound { terms, inclusive }, &listed())?;
                }
            }
        }
        Ok(())
    }

    /// The terms of a tuple that is compared with the columns of `run`.
    fn tuple_fields(&mut self, term: &ast::Term, run: &[Column], marker_name: &str) -> Result<Vec<Term>, CqlError> {
        match term {
            ast::Term::Tuple(terms) => {
                if terms.len() != run.len() {
                    return Err(CqlError::Invalid(format!(
                        "Expected {} elements in value for tuple {marker_name}, but got {}: {term}",
                        run.len(),
                        terms.len()
                    )));
                }
                terms.iter().zip(run).map(|(term, column)| self.term(term, &column.data_type, &column.name)).collect()
            }
            _ => Err(CqlError::Invalid(format!("Expected a tuple of {} values for {marker_name}, but got {term}", run.len()))),
        }
    }

    /// `token(…) > …`
    fn token_relation(
        &mut self,
        table: &Table,
        names: &[ast::Identifier],
        comparison: &Comparison,
        restrictions: &mut Restrictions,
    ) -> Result<(), CqlError> {
        let mut positions = Vec::with_capacity(names.len());
        for name in names {
            let (position, column) = find_column(table, name)?;
            if column.kind != ColumnKind::PartitionKey {
                return Err(CqlError::Invalid(format!(
                    "The token() function must be applied to all partition key components or none of them, and not to {}",
                    column.name
                )));
            }
            positions.push(position);
        }
        if positions.len() < table.partition_key_len {
            return Err(CqlError::invalid("The token() function must be applied to all partition key components or none of them"));
        }
        if !positions.iter().copied().eq(0..table.partition_key_len) {
            let order = table.partition_key().iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(CqlError::Invalid(format!("The token function arguments must be in the partition key order: {order}")));
        }
        let ends = match comparison {
            Comparison::Compare(CompareOperator::Equal, term) => vec![(true, true, term), (false, true, term)],
            other => slice_ends(other)
                .ok_or_else(|| CqlError::invalid("Only =, <, <=, > and >= relations are supported on the token function"))?,
        };
        for (is_lower, inclusive, term) in ends {
            let token = match term {
                ast::Term::Function { name, arguments } if name.name == "token" => {
                    if arguments.len() != table.partition_key_len {
                        return Err(CqlError::Invalid(format!(
                            "Invalid number of arguments in call to function system.token: {} required but {} provided",
                            table.partition_key_len,
                            arguments.len()
                        )));
                    }
                    let mut terms = Vec::with_capacity(arguments.len());
                    for (number, (argument, column)) in arguments.iter().zip(table.partition_key()).enumerate() {
                        terms.push(self.term(argument, &column.data_type, &format!("arg{number}(system.token)"))?);
                    }
                    TokenTerm::Of(terms)
                }
                term => TokenTerm::Value(self.term(term, &DataType::BigInt, "partition key token")?),
            };
            let side = if is_lower { &mut restrictions.token_lower } else { &mut restrictions.token_upper };
            if side.replace(TokenBound { token, inclusive }).is_some() {
                let columns = table.partition_key().iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
                let end = if is_lower { "start" } else { "end" };
                return Err(CqlError::Invalid(format!("More than one restriction was found for the {end} bound on {columns}")));
            }
        }
        Ok(())
    }
}

/// The columns that a tuple relation names, by position in the clustering key.
fn tuple_columns(table: &Table, names: &[ast::Identifier]) -> Result<std::ops::Range<usize>, CqlError> {
    let written = || names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let mut first = None;
    for (offset, name) in names.iter().enumerate() {
        let (position, column) = find_column(table, name)?;
        if column.kind != ColumnKind::Clustering {
            return Err(CqlError::Invalid(format!(
                "Multi-column relations can only be applied to clustering columns but was applied to: {}",
                column.name
            )));
        }
        if names[..offset].contains(name) {
            return Err(CqlError::Invalid(format!("Column \"{}\" appeared twice in a relation: ({})", column.name, written())));
        }
        let position = position - table.partition_key_len;
        if position != *first.get_or_insert(position) + offset {
            return Err(CqlError::Invalid(format!(
                "Clustering columns must appear in the PRIMARY KEY order in multi-column relations: ({})",
                written()
            )));
        }
    }
    let first = first.unwrap_or(0);
    Ok(first..first + names.len())
}

fn set_slice(draft: &mut Draft, position: usize, is_lower: bool, bound: SliceBound, name: &str) -> Result<(), CqlError> {
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
    if !column.data_type.is_collection() {
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

/// Makes ranges of the restrictions on the clustering key, as far as they are contiguous, and filters of the rest.
fn clustering(table: &Table, draft: &mut Draft, allowed: bool, restrictions: &mut Restrictions) -> Result<(), CqlError> {
    if !allowed {
        clustering_gap(table, draft)?;
        if !draft.clustering_filters.is_empty() {
            return Err(CqlError::invalid("Clustering columns can only be restricted with CONTAINS with a secondary index or filtering"));
        }
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
    clustering_filters(table, draft, restrictions);
    Ok(())
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

/// Makes filters of all that is left of the restrictions on the clustering key.
fn clustering_filters(table: &Table, draft: &mut Draft, restrictions: &mut Restrictions) {
    let columns = table.clustering();
    for (index, column) in columns.iter().enumerate() {
        let position = table.partition_key_len + index;
        let source = Source::Clustering(index);
        restrictions.filters.extend(draft.keys[position].take().map(|key| key_filter(source, column, key)));
        for (is_lower, bound) in [(true, draft.lower[position].take()), (false, draft.upper[position].take())] {
            let Some(bound) = bound else { continue };
            restrictions.filters.push(if bound.terms.len() == 1 {
                slice_filter(Subject::Source(source), column.data_type.clone(), is_lower, bound, &column.name)
            } else {
                tuple_slice_filter(columns, index..index + bound.terms.len(), is_lower, bound)
            });
        }
    }
    if let Some(tuple) = draft.tuple_in.take() {
        let (values, in_list) = match tuple.keys {
            TupleKeys::Terms(tuples) => (tuples.into_iter().map(Term::Fields).collect(), false),
            TupleKeys::Tuples(terms) => (terms, false),
            TupleKeys::List(term) => (vec![term], true),
        };
        let (subject, data_type) = (Subject::Clustering(tuple.columns), tuple.data_type);
        restrictions.filters.push(Filter { subject, data_type, operator: Comparator::In, values, in_list, name: "tuple".to_owned() });
    }
    restrictions.filters.extend(draft.tuple_filters.drain(..).map(|(_, filter)| filter));
    restrictions.filters.append(&mut draft.clustering_filters);
}

fn key_filter(source: Source, column: &Column, key: KeyTerm) -> Filter {
    let (operator, values, in_list) = match key {
        KeyTerm::Equal(term) => (Comparator::Equal, vec![term], false),
        KeyTerm::In(terms) => (Comparator::In, terms, false),
        KeyTerm::InList(term) => (Comparator::In, vec![term], true),
    };
    Filter { subject: Subject::Source(source), data_type: column.data_type.clone(), operator, values, in_list, name: column.name.clone() }
}

fn slice_filter(subject: Subject, data_type: DataType, is_lower: bool, bound: SliceBound, name: &str) -> Filter {
    let operator = match (is_lower, bound.inclusive) {
        (true, true) => Comparator::GreaterOrEqual,
        (true, false) => Comparator::Greater,
        (false, true) => Comparator::LessOrEqual,
        (false, false) => Comparator::Less,
    };
    Filter { subject, data_type, operator, values: bound.terms, in_list: false, name: name.to_owned() }
}

fn tuple_slice_filter(columns: &[Column], run: std::ops::Range<usize>, is_lower: bool, bound: SliceBound) -> Filter {
    let data_type = DataType::Tuple(columns[run.clone()].iter().map(|column| column.data_type.frozen()).collect());
    let bound = SliceBound { terms: vec![Term::Fields(bound.terms)], inclusive: bound.inclusive };
    slice_filter(Subject::Clustering(run), data_type, is_lower, bound, "tuple")
}

/// Refuses restrictions on the clustering key that are not contiguous.
fn clustering_gap(table: &Table, draft: &Draft) -> Result<(), CqlError> {
    let columns = table.clustering();
    let first = table.partition_key_len;
    // For each column whether it is restricted, and where a range begins that it is in.
    let mut restricted = vec![false; columns.len()];
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for index in 0..columns.len() {
        restricted[index] |= draft.keys[first + index].is_some();
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
            return Err(CqlError::Invalid(format!(
                "Clustering column \"{}\" cannot be restricted (preceding column \"{}\" is restricted by a non-EQ relation)",
                columns[after].name, columns[*from].name
            )));
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
