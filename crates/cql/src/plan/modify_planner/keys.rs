//! WHERE of INSERT, UPDATE and DELETE: which partitions and clustering keys.

use super::super::columns::{find_column, slice_ends};
use crate::CqlError;
use crate::language::ast::{self, CompareOperator, Comparison, InValues, RelationTarget};
use crate::plan::{ClusteringPlan, KeyTerm, Planner, SliceBound, Term, TupleKeys};
use model::{Column, ColumnKind, DataType, Frozen, Table};
use std::sync::Arc;

/// A bound and the first clustering column that it is about.
type PlacedBound = Option<(usize, SliceBound)>;

/// The primary key parts of a WHERE clause.
pub(super) struct KeyRestrictions {
    pub(super) partition: Vec<KeyTerm>,
    pub(super) clustering: ClusteringPlan,
    /// How many clustering columns, from the first, have values.
    pub(super) fixed: usize,
}

/// What the relations read so far say.
struct KeyDraft {
    partition: Vec<Option<KeyTerm>>,
    clustering: Vec<Option<KeyTerm>>,
    tuples: Option<TupleKeys>,
    /// How many columns the last relation of several has.
    tuple_columns: usize,
    lower: PlacedBound,
    upper: PlacedBound,
}

impl KeyDraft {
    fn new(table: &Table) -> Self {
        Self {
            partition: vec![None; table.partition_key_len],
            clustering: vec![None; table.clustering_len],
            tuples: None,
            tuple_columns: 0,
            lower: None,
            upper: None,
        }
    }

    fn side(&mut self, is_lower: bool) -> &mut PlacedBound {
        if is_lower { &mut self.lower } else { &mut self.upper }
    }

    /// All relations are read: no key column is missing before one that is restricted.
    fn finish(self, table: &Table) -> Result<KeyRestrictions, CqlError> {
        let terms = self.partition.iter().zip(table.partition_key());
        let missing: Vec<&str> = terms.filter(|(term, _)| term.is_none()).map(|(_, column)| column.name.as_str()).collect();
        if !missing.is_empty() {
            return Err(CqlError::Invalid(format!("Some partition key parts are missing: {}", missing.join(", "))));
        }
        let fixed = self.clustering.iter().take_while(|term| term.is_some()).count();
        let restricted_after = |table: &Table, after: usize| {
            let is_sliced = self.lower.iter().chain(&self.upper).any(|(start, _)| *start == fixed);
            let missing = fixed.min(table.clustering_len - 1);
            if is_sliced { after_range(table, after, missing) } else { not_restricted_before(table, after, missing) }
        };
        if let Some(gap) = self.clustering.iter().skip(fixed).position(Option::is_some) {
            return Err(restricted_after(table, fixed + gap));
        }
        for (position, _) in self.lower.iter().chain(&self.upper) {
            if *position != fixed {
                return Err(restricted_after(table, *position));
            }
        }
        Ok(KeyRestrictions {
            fixed: if self.tuples.is_some() { self.tuple_columns } else { fixed },
            partition: self.partition.into_iter().flatten().collect(),
            clustering: ClusteringPlan {
                keys: self.clustering.into_iter().flatten().collect(),
                tuples: self.tuples,
                lower: self.lower.map(|(_, bound)| bound),
                upper: self.upper.map(|(_, bound)| bound),
            },
        })
    }
}

impl Planner<'_> {
    pub(super) fn key_restrictions(
        &mut self,
        table: &Table,
        clause: &ast::WhereClause,
        statement: &str,
    ) -> Result<KeyRestrictions, CqlError> {
        let mut draft = KeyDraft::new(table);
        for expression in clause {
            let ast::WhereExpression::Relation(relation) = expression else {
                return Err(CqlError::invalid("Custom index expressions cannot be used in WHERE clauses for UPDATE or DELETE statements"));
            };
            let unusable = match &relation.comparison {
                Comparison::Contains(_) => Some("CONTAINS"),
                Comparison::ContainsKey(_) => Some("CONTAINS KEY"),
                _ => None,
            };
            if let Some(operator) = unusable {
                return Err(CqlError::Invalid(format!("Cannot use {statement} with {operator}")));
            }
            match &relation.target {
                RelationTarget::Column(name) => self.column_relation(table, name, &relation.comparison, statement, &mut draft)?,
                RelationTarget::Tuple(names) => self.tuple_relation(table, names, &relation.comparison, &mut draft)?,
                RelationTarget::Token(_) => {
                    return Err(CqlError::Invalid(format!(
                        "The token function cannot be used in WHERE clauses for {statement} statements"
                    )));
                }
                RelationTarget::Element { column, .. } | RelationTarget::Field { column, .. } => {
                    return Err(no_key_column(column.as_str()));
                }
            }
        }
        draft.finish(table)
    }

    /// `column = …`, `column IN …`, `column > …`
    fn column_relation(
        &mut self,
        table: &Table,
        name: &ast::Identifier,
        comparison: &Comparison,
        statement: &str,
        draft: &mut KeyDraft,
    ) -> Result<(), CqlError> {
        let (position, column) = find_column(table, name)?;
        let terms = match column.kind {
            ColumnKind::PartitionKey => &mut draft.partition[position],
            ColumnKind::Clustering => &mut draft.clustering[position - table.partition_key_len],
            _ => return Err(no_key_column(&column.name)),
        };
        if column.kind == ColumnKind::PartitionKey && terms.is_some() {
            return Err(more_than_one(&column.name));
        }
        if let Some(term) = self.key_term(column, comparison)?.map(alone) {
            if terms.replace(term).is_some() {
                return Err(more_than_one(&column.name));
            }
            return Ok(());
        }
        if column.kind == ColumnKind::PartitionKey {
            return Err(CqlError::Invalid(format!(
                "Only EQ and IN relation are supported on the partition key (unless you use the token() function) for {statement} statements"
            )));
        }
        let ends = slice_ends(comparison)
            .ok_or_else(|| CqlError::Invalid(format!("Unsupported restriction on clustering column {}", column.name)))?;
        for (is_lower, inclusive, term) in ends {
            let terms = vec![self.term(term, &column.data_type, &column.name)?];
            let bound = (position - table.partition_key_len, SliceBound { terms, inclusive });
            if draft.side(is_lower).replace(bound).is_some() {
                let side = if is_lower { "start" } else { "end" };
                return Err(CqlError::Invalid(format!("More than one restriction was found for the {side} bound on {}", column.name)));
            }
        }
        Ok(())
    }

    /// `(a, b) = …`, `(a, b) IN …`, `(a, b) > …`
    fn tuple_relation(
        &mut self,
        table: &Table,
        names: &[ast::Identifier],
        comparison: &Comparison,
        draft: &mut KeyDraft,
    ) -> Result<(), CqlError> {
        draft.tuple_columns = names.len();
        let columns = table.clustering();
        let first = names
            .first()
            .and_then(|name| columns.iter().position(|column| column.name == name.as_str()))
            .ok_or_else(|| CqlError::invalid("Multi-column relations can only be applied to clustering columns"))?;
        let run = columns
            .get(first..first + names.len())
            .filter(|run| run.iter().zip(names).all(|(column, name)| column.name == name.as_str()))
            .ok_or_else(|| CqlError::invalid("Clustering columns must appear in the PRIMARY KEY order in multi-column relations"))?;
        let tuple_type = DataType::Tuple(run.iter().map(|column| column.data_type.frozen()).collect());
        let marker_name = format!("({})", run.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(","));
        let fields = |planner: &mut Self, term: &ast::Term| -> Result<Vec<Term>, CqlError> {
            if let ast::Term::Tuple(_) = term {
                return planner.tuple_fields(term, run, &marker_name);
            }
            match planner.term(term, &tuple_type, &marker_name)? {
                Term::Fields(fields) if fields.len() == run.len() => Ok(fields),
                marker @ Term::Bind(_) => Ok((0..run.len()).map(|number| Term::Field(Box::new(marker.clone()), number as u16)).collect()),
                Term::Constant(bytes) => Ok(crate::value::layout::fields(&bytes)
                    .map(|field| field.map_or(Term::Null, |bytes| Term::Constant(bytes.into())))
                    .collect()),
                _ => Err(CqlError::invalid("Expected a tuple with a value for each column of the multi-column relation")),
            }
        };
        match comparison {
            Comparison::Compare(CompareOperator::Equal, term) => {
                for (offset, field) in fields(self, term)?.into_iter().enumerate() {
                    draft.clustering[first + offset] = Some(KeyTerm::Equal(field));
                }
            }
            Comparison::In(InValues::List(terms)) if run.len() == 1 => {
                let planned = terms.iter().map(|term| fields(self, term)).collect::<Result<Vec<_>, _>>()?;
                draft.clustering[first] = Some(alone(KeyTerm::In(planned.into_iter().flatten().collect())));
            }
            Comparison::In(InValues::List(terms)) if first == 0 => {
                let planned = terms.iter().map(|term| fields(self, term)).collect::<Result<Vec<_>, _>>()?;
                draft.tuples = Some(TupleKeys::Terms(planned));
            }
            Comparison::In(InValues::Marker(marker)) if first == 0 => {
                let list = DataType::List(Arc::new(tuple_type.clone()), Frozen::Yes);
                draft.tuples = Some(TupleKeys::List(self.mark(marker.index, &format!("in{marker_name}"), &list)));
            }
            other => {
                let ends = slice_ends(other).ok_or_else(|| CqlError::invalid("Unsupported multi-column relation"))?;
                for (is_lower, inclusive, term) in ends {
                    let terms = fields(self, term)?;
                    *draft.side(is_lower) = Some((first, SliceBound { terms, inclusive }));
                }
            }
        }
        Ok(())
    }

    /// `=` or IN on one key column; `None` for anything else.
    pub(in crate::plan) fn key_term(&mut self, column: &Column, comparison: &Comparison) -> Result<Option<KeyTerm>, CqlError> {
        Ok(Some(match comparison {
            Comparison::Compare(CompareOperator::Equal, term) => KeyTerm::Equal(self.term(term, &column.data_type, &column.name)?),
            Comparison::In(InValues::List(terms)) => {
                KeyTerm::In(terms.iter().map(|term| self.term(term, &column.data_type, &column.name)).collect::<Result<Vec<_>, _>>()?)
            }
            Comparison::In(InValues::Marker(marker)) => {
                let list = DataType::List(Arc::new(column.data_type.frozen()), Frozen::Yes);
                KeyTerm::InList(self.mark(marker.index, &format!("in({})", column.name), &list))
            }
            _ => return Ok(None),
        }))
    }
}

/// IN with one value is `=`, also where IN is refused.
fn alone(term: KeyTerm) -> KeyTerm {
    match term {
        KeyTerm::In(mut terms) if terms.len() == 1 => terms.pop().map_or(KeyTerm::In(terms), KeyTerm::Equal),
        other => other,
    }
}

fn no_key_column(name: &str) -> CqlError {
    CqlError::Invalid(format!("Non PRIMARY KEY columns found in where clause: {name} "))
}

pub(super) fn not_restricted_before(table: &Table, position: usize, missing: usize) -> CqlError {
    let (column, missing) = (&table.clustering()[position].name, &table.clustering()[missing].name);
    CqlError::Invalid(format!("PRIMARY KEY column \"{column}\" cannot be restricted as preceding column \"{missing}\" is not restricted"))
}

/// A restriction of the clustering column at `position`, behind a range that begins at `range`.
fn after_range(table: &Table, position: usize, range: usize) -> CqlError {
    let (column, preceding) = (&table.clustering()[position].name, &table.clustering()[range].name);
    CqlError::Invalid(format!(
        "Clustering column \"{column}\" cannot be restricted (preceding column \"{preceding}\" is restricted by a non-EQ relation)"
    ))
}

fn more_than_one(name: &str) -> CqlError {
    CqlError::Invalid(format!("{name} cannot be restricted by more than one relation if it includes an Equal"))
}

pub(super) fn missing_clustering(table: &Table, fixed: usize) -> CqlError {
    let missing: Vec<&str> = table.clustering()[fixed..].iter().map(|column| column.name.as_str()).collect();
    CqlError::Invalid(format!("Some clustering keys are missing: {}", missing.join(", ")))
}
