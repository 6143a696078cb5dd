//! Relations on several columns at once: `(a, b) > (1, 2)` and `token(a, b) > 1`.

use super::beside::more_than_one;
use super::draft::{Draft, Restrictions, TupleIn};
use super::restrictions::set_slice;
use crate::CqlError;
use crate::language::ast::{self, CompareOperator, Comparison, InValues};
use crate::plan::columns::{comparator, find_column, slice_ends};
use crate::plan::{Filter, KeyTerm, Planner, SliceBound, Subject, Term, TokenBound, TokenTerm, TupleKeys};
use model::{Column, ColumnKind, DataType, Frozen, Table};
use std::ops::Range;
use std::sync::Arc;

/// The columns of the clustering key that a relation is about.
struct TupleRelation<'t> {
    /// Their positions in the clustering key.
    columns: Range<usize>,
    /// The position of the first in the primary key.
    first: usize,
    run: &'t [Column],
    data_type: DataType,
}

impl<'t> TupleRelation<'t> {
    fn new(table: &'t Table, columns: Range<usize>) -> Self {
        let run = &table.clustering()[columns.clone()];
        let data_type = DataType::Tuple(run.iter().map(|column| column.data_type.frozen()).collect());
        Self { first: table.partition_key_len + columns.start, columns, run, data_type }
    }

    /// As messages list the columns.
    fn listed(&self) -> String {
        self.names().join(", ")
    }

    fn marker_name(&self) -> String {
        format!("({})", self.names().join(","))
    }

    fn names(&self) -> Vec<&str> {
        self.run.iter().map(|column| column.name.as_str()).collect()
    }
}

impl Planner<'_> {
    /// A comparison of several columns of the clustering key.
    pub(super) fn tuple_relation_of_select(
        &mut self,
        table: &Table,
        names: &[ast::Identifier],
        comparison: &Comparison,
        draft: &mut Draft,
    ) -> Result<(), CqlError> {
        if let Comparison::Compare(CompareOperator::NotEqual, term) = comparison {
            let names = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(CqlError::Invalid(format!("Unsupported \"!=\" relation: ({names}) != {term}")));
        }
        let relation = &TupleRelation::new(table, tuple_columns(table, names, comparison)?);
        let TupleRelation { run, first, .. } = *relation;
        match comparison {
            Comparison::Compare(operator, ast::Term::Marker(marker)) => {
                let name = relation.marker_name();
                let filter = Filter {
                    subject: Subject::Clustering(relation.columns.clone()),
                    data_type: relation.data_type.clone(),
                    operator: comparator(*operator),
                    values: vec![self.mark(marker.index, &name, &relation.data_type)],
                    in_list: false,
                    analysis: None,
                    name,
                };
                draft.tuple_filters.push((relation.columns.clone(), filter));
            }
            Comparison::Compare(CompareOperator::Equal, term) => {
                for (offset, field) in self.tuple_fields(term, run, &relation.marker_name())?.into_iter().enumerate() {
                    let key = &mut draft.keys[first + offset];
                    if key.replace(KeyTerm::Equal(field)).is_some() {
                        return Err(more_than_one(&run[offset].name, "an Equal"));
                    }
                }
            }
            Comparison::In(values) => self.tuple_in_of_select(relation, values, draft)?,
            other => {
                let unsupported = || CqlError::Invalid(format!("Unsupported restriction on the columns ({})", relation.listed()));
                for (is_lower, inclusive, term) in slice_ends(other).ok_or_else(unsupported)? {
                    let terms = self.tuple_fields(term, run, &relation.marker_name())?;
                    if draft.keys[first].is_some() {
                        return Err(more_than_one(&run[0].name, "an Equal"));
                    }
                    set_slice(draft, first, is_lower, SliceBound { terms, inclusive }, &relation.listed())?;
                }
            }
        }
        Ok(())
    }

    /// `(a, b) IN …`; of one column it is as `a IN …`, where the values are known.
    fn tuple_in_of_select(&mut self, relation: &TupleRelation<'_>, values: &InValues, draft: &mut Draft) -> Result<(), CqlError> {
        let TupleRelation { run, first, ref columns, ref data_type } = *relation;
        let marker_name = relation.marker_name();
        let keys = match values {
            InValues::List(terms)
                if run.len() == 1 && draft.keys[first].is_none() && terms.iter().all(|term| matches!(term, ast::Term::Tuple(_))) =>
            {
                let mut fields = Vec::with_capacity(terms.len());
                for term in terms {
                    fields.append(&mut self.tuple_fields(term, run, &marker_name)?);
                }
                draft.keys[first] = Some(KeyTerm::In(fields));
                return Ok(());
            }
            _ if draft.tuple_in.is_some() || (first..first + run.len()).any(|position| draft.keys[position].is_some()) => {
                return Err(more_than_one(&relation.listed(), "a IN"));
            }
            InValues::List(terms) if terms.iter().any(|term| matches!(term, ast::Term::Marker(_))) => {
                TupleKeys::Tuples(terms.iter().map(|term| self.term(term, data_type, &marker_name)).collect::<Result<Vec<_>, _>>()?)
            }
            InValues::List(terms) => {
                TupleKeys::Terms(terms.iter().map(|term| self.tuple_fields(term, run, &marker_name)).collect::<Result<Vec<_>, _>>()?)
            }
            InValues::Marker(marker) => {
                let list = DataType::List(Arc::new(data_type.clone()), Frozen::Yes);
                TupleKeys::List(self.mark(marker.index, &format!("in{marker_name}"), &list))
            }
        };
        draft.tuple_in = Some(TupleIn { columns: columns.clone(), data_type: data_type.clone(), keys });
        Ok(())
    }

    /// The terms of a tuple that is compared with the columns of `run`.
    pub(in crate::plan) fn tuple_fields(&mut self, term: &ast::Term, run: &[Column], marker_name: &str) -> Result<Vec<Term>, CqlError> {
        match term {
            ast::Term::Tuple(terms) => {
                if terms.len() != run.len() {
                    return Err(CqlError::Invalid(format!(
                        "Expected {} elements in value tuple, but got {}: {term}",
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
    pub(super) fn token_relation(
        &mut self,
        table: &Table,
        names: &[ast::Identifier],
        comparison: &Comparison,
        restrictions: &mut Restrictions,
    ) -> Result<(), CqlError> {
        check_token_columns(table, names)?;
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

/// Refuses a token of anything but the partition key.
fn check_token_columns(table: &Table, names: &[ast::Identifier]) -> Result<(), CqlError> {
    let mut positions = Vec::with_capacity(names.len());
    for name in names {
        let (position, _) = find_column(table, name)?;
        if positions.contains(&position) {
            return Err(CqlError::invalid("The token() function contains duplicate partition key components"));
        }
        positions.push(position);
    }
    let mut key = 0..table.partition_key_len;
    if !key.clone().all(|position| positions.contains(&position)) {
        return Err(CqlError::invalid("The token() function must be applied to all partition key components or none of them"));
    }
    if positions.len() > key.len() {
        return Err(CqlError::invalid("The token() function must contains only partition key components"));
    }
    if !positions.iter().copied().eq(&mut key) {
        let order = table.partition_key().iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(CqlError::Invalid(format!("The token function arguments must be in the partition key order: {order}")));
    }
    Ok(())
}

/// The columns that a tuple relation names, by position in the clustering key.
fn tuple_columns(table: &Table, names: &[ast::Identifier], comparison: &Comparison) -> Result<Range<usize>, CqlError> {
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
                "Clustering columns must appear in the PRIMARY KEY order in multi-column relations: ({}) {comparison}",
                written()
            )));
        }
    }
    let first = first.unwrap_or(0);
    Ok(first..first + names.len())
}
