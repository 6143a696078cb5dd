//! INSERT, UPDATE and DELETE against a table.

use super::{
    Assignment, ClusteringPlan, ColumnRef, Comparator, Condition, ConditionTarget, Conditions, JsonTerm, KeyTerm, Missing, Modify,
    ModifyKind, Planner, RowTarget, SliceBound, Term, TupleKeys,
};
use crate::language::ast::{self, CompareOperator, Comparison, InValues, RelationTarget};
use crate::{CqlError, system};
use model::{Column, ColumnKind, DataType, Frozen, Table};
use std::sync::Arc;

/// A bound and the first clustering column that it is about.
type PlacedBound = Option<(usize, SliceBound)>;

/// The parts of a statement, collected before they are put together.
struct Draft {
    table: Arc<Table>,
    kind: ModifyKind,
    timestamp: Option<Term>,
    ttl: Option<Term>,
    static_assignments: Vec<(ColumnRef, Assignment)>,
    assignments: Vec<(ColumnRef, Assignment)>,
}

/// The primary key parts of a WHERE clause.
struct KeyRestrictions {
    partition: Vec<KeyTerm>,
    clustering: ClusteringPlan,
}

impl Draft {
    fn assign(&mut self, position: usize, assignment: Assignment) {
        let column = &self.table.columns[position];
        let target = if column.kind == ColumnKind::Static { &mut self.static_assignments } else { &mut self.assignments };
        target.push((ColumnRef { position, id: column.id }, assignment));
    }

    fn finish(mut self, keys: KeyRestrictions, target: RowTarget, conditions: Conditions) -> Result<Modify, CqlError> {
        // Several assignments to elements of one column keep their order: the sort is stable.
        self.static_assignments.sort_by_key(|(column, _)| column.id);
        self.assignments.sort_by_key(|(column, _)| column.id);
        let conditional = !matches!(conditions, Conditions::None);
        if conditional && self.timestamp.is_some() {
            return Err(CqlError::invalid("Cannot provide custom timestamp for conditional updates"));
        }
        if conditional && keys.partition.iter().any(KeyTerm::is_in) {
            return Err(CqlError::invalid("IN on the partition key is not supported with conditional updates"));
        }
        let table = &self.table;
        let all_set = self.static_assignments.is_empty()
            && self.assignments.iter().all(|(column, assignment)| {
                matches!(assignment, Assignment::Set(_)) && !table.columns[column.position].data_type.is_multi_cell()
            });
        let simple = all_set
            && !conditional
            && self.kind != ModifyKind::Delete
            && target == RowTarget::Rows
            && !keys.partition.iter().chain(&keys.clustering.keys).any(KeyTerm::is_in)
            && keys.clustering.tuples.is_none();
        Ok(Modify {
            kind: self.kind,
            partition: keys.partition,
            target,
            clustering: keys.clustering,
            timestamp: self.timestamp,
            ttl: self.ttl,
            static_assignments: self.static_assignments,
            assignments: self.assignments,
            conditions,
            simple,
            table: self.table,
        })
    }
}

impl Planner<'_> {
    fn draft(&mut self, name: &ast::QualifiedName, kind: ModifyKind, attributes: &ast::Attributes) -> Result<Draft, CqlError> {
        let table = self.table(name)?;
        if system::is_system_keyspace(&table.keyspace) {
            return Err(CqlError::Unauthorized(format!("{} keyspace is not user-modifiable.", table.keyspace)));
        }
        super::planner::check_writable(&table)?;
        if table.is_counter() && (attributes.timestamp.is_some() || attributes.time_to_live.is_some()) {
            let what = if attributes.timestamp.is_some() { "timestamp" } else { "TTL" };
            return Err(CqlError::Invalid(format!("Cannot provide custom {what} for counter updates")));
        }
        let timestamp = attributes.timestamp.as_ref().map(|term| self.term(term, &DataType::BigInt, "[timestamp]")).transpose()?;
        let ttl = attributes.time_to_live.as_ref().map(|term| self.term(term, &DataType::Int, "[ttl]")).transpose()?;
        Ok(Draft { table, kind, timestamp, ttl, static_assignments: Vec::new(), assignments: Vec::new() })
    }

    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Result<Modify, CqlError> {
        // Markers in USING come after those of VALUES in the text; their index is fixed by the parser, so the order here does not matter.
        let mut draft = self.draft(&insert.table, ModifyKind::Insert, &insert.attributes)?;
        if draft.table.is_counter() {
            return Err(CqlError::invalid("INSERT statements are not allowed on counter tables, use UPDATE instead"));
        }
        let table = Arc::clone(&draft.table);
        let values: Vec<(usize, Term)> = match &insert.source {
            ast::InsertSource::Values { columns, values } => {
                if columns.len() != values.len() {
                    return Err(CqlError::invalid("Unmatched column names/values"));
                }
                let mut planned: Vec<(usize, Term)> = Vec::with_capacity(columns.len());
                for (name, term) in columns.iter().zip(values) {
                    let (position, column) = find_column(&table, name)?;
                    if planned.iter().any(|(other, _)| *other == position) {
                        return Err(CqlError::Invalid(format!("The column names contains duplicates: {}", column.name)));
                    }
                    planned.push((position, self.term(term, &column.data_type, &column.name)?));
                }
                planned
            }
            ast::InsertSource::Json { value, default } => self.insert_json(&table, value, *default)?,
        };
        let mut keys: Vec<Option<Term>> = vec![None; table.partition_key_len + table.clustering_len];
        for (position, term) in values {
            if position < keys.len() {
                keys[position] = Some(term);
            } else {
                draft.assign(position, Assignment::Set(term));
            }
        }
        let clustering = keys.split_off(table.partition_key_len);
        let missing = |terms: &[Option<Term>], columns: &[Column]| -> Vec<String> {
            terms.iter().zip(columns).filter(|(term, _)| term.is_none()).map(|(_, column)| column.name.clone()).collect()
        };
        let missing_partition = missing(&keys, table.partition_key());
        if !missing_partition.is_empty() {
            return Err(CqlError::Invalid(format!("Some partition key parts are missing: {}", missing_partition.join(", "))));
        }
        let missing_clustering = missing(&clustering, table.clustering());
        let target = if missing_clustering.is_empty() {
            RowTarget::Rows
        } else if missing_clustering.len() == table.clustering_len && draft.assignments.is_empty() && !draft.static_assignments.is_empty() {
            RowTarget::Static
        } else {
            return Err(CqlError::Invalid(format!("Some clustering keys are missing: {}", missing_clustering.join(", "))));
        };
        let equal = |terms: Vec<Option<Term>>| terms.into_iter().flatten().map(KeyTerm::Equal).collect();
        let keys =
            KeyRestrictions { partition: equal(keys), clustering: ClusteringPlan { keys: equal(clustering), ..ClusteringPlan::default() } };
        let conditions = if insert.if_not_exists { Conditions::NotExists } else { Conditions::None };
        draft.finish(keys, target, conditions)
    }

    pub(super) fn update(&mut self, update: &ast::Update) -> Result<Modify, CqlError> {
        let mut draft = self.draft(&update.table, ModifyKind::Update, &update.attributes)?;
        let table = Arc::clone(&draft.table);
        for assignment in &update.assignments {
            let (position, planned) = self.assignment(&table, assignment)?;
            draft.assign(position, planned);
        }
        let keys = self.key_restrictions(&table, &update.where_clause)?;
        let complete = keys.clustering.keys.len() == table.clustering_len || keys.clustering.tuples.is_some();
        let target = if draft.assignments.is_empty() && keys.clustering.is_empty() && table.clustering_len > 0 {
            RowTarget::Static
        } else if keys.clustering.lower.is_some() || keys.clustering.upper.is_some() {
            return Err(CqlError::invalid("Slice restrictions are not supported on the clustering columns in UPDATE statements"));
        } else if complete {
            RowTarget::Rows
        } else {
            return Err(missing_clustering(&table, keys.clustering.keys.len()));
        };
        let conditions = self.conditions(&table, &update.condition)?;
        draft.finish(keys, target, conditions)
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Result<Modify, CqlError> {
        let mut draft = self.draft(&delete.table, ModifyKind::Delete, &delete.attributes)?;
        let table = Arc::clone(&draft.table);
        for deletion in &delete.deletions {
            let (position, assignment) = match deletion {
                ast::Deletion::Column(name) => (find_value_column(&table, name)?.0, Assignment::Delete),
                ast::Deletion::Element { column, key } => {
                    let (position, column) = find_value_column(&table, column)?;
                    let key_type = element_key_type(column).ok_or_else(|| {
                        CqlError::Invalid(format!("Invalid deletion operation for non collection column {}", column.name))
                    })?;
                    (position, Assignment::DeleteElement(self.term(key, &key_type, &format!("idx({})", column.name))?))
                }
                ast::Deletion::Field { column, field } => {
                    let (position, column) = find_value_column(&table, column)?;
                    (position, Assignment::SetField(user_field(column, field)?.0, Term::Null))
                }
            };
            draft.assign(position, assignment);
        }
        let keys = self.key_restrictions(&table, &delete.where_clause)?;
        let complete = keys.clustering.keys.len() == table.clustering_len || keys.clustering.tuples.is_some();
        let sliced = keys.clustering.lower.is_some() || keys.clustering.upper.is_some();
        let only_static = !draft.static_assignments.is_empty() && draft.assignments.is_empty();
        let target = if only_static && keys.clustering.is_empty() && table.clustering_len > 0 {
            RowTarget::Static
        } else if complete && !sliced {
            RowTarget::Rows
        } else if !draft.assignments.is_empty() || !draft.static_assignments.is_empty() {
            if sliced {
                return Err(CqlError::invalid("Range deletions are not supported for specific columns"));
            }
            return Err(missing_clustering(&table, keys.clustering.keys.len()));
        } else if keys.clustering.is_empty() {
            RowTarget::Partition
        } else {
            RowTarget::Range
        };
        let conditions = self.conditions(&table, &delete.condition)?;
        if !matches!(conditions, Conditions::None) && matches!(target, RowTarget::Range | RowTarget::Partition) {
            return Err(CqlError::invalid(
                "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to delete non static columns",
            ));
        }
        draft.finish(keys, target, conditions)
    }

    /// The values of all columns, taken from a JSON object when the statement runs.
    fn insert_json(&mut self, table: &Table, value: &ast::JsonValue, default: ast::JsonDefault) -> Result<Vec<(usize, Term)>, CqlError> {
        let object = match value {
            ast::JsonValue::Text(text) => Term::Constant(text.as_bytes().into()),
            ast::JsonValue::Marker(marker) => self.mark(marker.index, "[json]", &DataType::Text),
        };
        let missing = match default {
            ast::JsonDefault::Null => Missing::Null,
            ast::JsonDefault::Unset => Missing::Unset,
        };
        let value_of = |column: &Column| {
            let object = object.clone();
            Term::Json(Box::new(JsonTerm { object, column: column.name.clone(), data_type: column.data_type.clone(), missing }))
        };
        Ok(table.columns.iter().enumerate().map(|(position, column)| (position, value_of(column))).collect())
    }

    fn assignment(&mut self, table: &Table, assignment: &ast::Assignment) -> Result<(usize, Assignment), CqlError> {
        Ok(match assignment {
            ast::Assignment::Set { column, value } => {
                let (position, column) = find_value_column(table, column)?;
                if column.data_type == DataType::Counter {
                    return Err(CqlError::Invalid(format!(
                        "Cannot set the value of counter column {} (counters can only be incremented/decremented, not set)",
                        column.name
                    )));
                }
                (position, Assignment::Set(self.term(value, &column.data_type, &column.name)?))
            }
            ast::Assignment::Add { column, value } => {
                let (position, column) = find_value_column(table, column)?;
                let term = |planner: &mut Self, receiver: &DataType| planner.term(value, receiver, &column.name);
                let planned = match &column.data_type {
                    DataType::Counter => Assignment::Count { by: term(self, &DataType::Counter)?, negative: false },
                    multi @ (DataType::List(_, Frozen::No) | DataType::Set(_, Frozen::No) | DataType::Map(_, _, Frozen::No)) => {
                        Assignment::Append(term(self, multi)?)
                    }
                    _ => return Err(invalid_operation(&format!("{0} = {0} + {value}", column.name), column)),
                };
                (position, planned)
            }
            ast::Assignment::Subtract { column, value } => {
                let (position, column) = find_value_column(table, column)?;
                let planned = match &column.data_type {
                    DataType::Counter => Assignment::Count { by: self.term(value, &DataType::Counter, &column.name)?, negative: true },
                    multi @ (DataType::List(_, Frozen::No) | DataType::Set(_, Frozen::No)) => {
                        Assignment::Remove(self.term(value, multi, &column.name)?)
                    }
                    DataType::Map(key, _, Frozen::No) => {
                        Assignment::Remove(self.term(value, &DataType::Set(Arc::clone(key), Frozen::No), &column.name)?)
                    }
                    _ => return Err(invalid_operation(&format!("{0} = {0} - {value}", column.name), column)),
                };
                (position, planned)
            }
            ast::Assignment::Prepend { column, value } => {
                let (position, column) = find_value_column(table, column)?;
                match &column.data_type {
                    list @ DataType::List(_, Frozen::No) => (position, Assignment::Prepend(self.term(value, list, &column.name)?)),
                    _ => return Err(invalid_operation(&format!("{0} = {value} + {0}", column.name), column)),
                }
            }
            ast::Assignment::SetElement { column, key, value } => {
                let (position, column) = find_value_column(table, column)?;
                let (key_type, value_type) = match &column.data_type {
                    DataType::List(element, Frozen::No) => (DataType::Int, (**element).clone()),
                    DataType::Map(key, value, Frozen::No) => ((**key).clone(), (**value).clone()),
                    _ => return Err(invalid_operation(&format!("{}[{key}] = {value}", column.name), column)),
                };
                let key = self.term(key, &key_type, &format!("key({})", column.name))?;
                let value = self.term(value, &value_type, &format!("value({})", column.name))?;
                (position, Assignment::SetElement(key, value))
            }
            ast::Assignment::SetField { column, field, value } => {
                let (position, column) = find_value_column(table, column)?;
                let (number, field_type) = user_field(column, field)?;
                let value = self.term(value, &field_type, &format!("{}.{}", column.name, field.as_str()))?;
                (position, Assignment::SetField(number, value))
            }
        })
    }

    fn conditions(&mut self, table: &Table, clause: &ast::ConditionClause) -> Result<Conditions, CqlError> {
        Ok(match clause {
            ast::ConditionClause::None => Conditions::None,
            ast::ConditionClause::Exists => Conditions::Exists,
            ast::ConditionClause::Relations(relations) => {
                Conditions::Columns(relations.iter().map(|relation| self.condition(table, relation)).collect::<Result<Vec<_>, _>>()?)
            }
        })
    }

    fn condition(&mut self, table: &Table, relation: &ast::Relation) -> Result<Condition, CqlError> {
        let (name, target_of) = match &relation.target {
            RelationTarget::Column(name) => (name, None),
            RelationTarget::Element { column, .. } | RelationTarget::Field { column, .. } => (column, Some(&relation.target)),
            RelationTarget::Tuple(_) | RelationTarget::Token(_) => {
                return Err(CqlError::invalid("Only columns, their elements and fields can be used in IF conditions"));
            }
        };
        let (position, column) = find_column(table, name)?;
        if matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
            return Err(CqlError::Invalid(format!("PRIMARY KEY column '{}' cannot have IF conditions", column.name)));
        }
        if column.data_type == DataType::Counter {
            return Err(CqlError::invalid("Conditions on counters are not supported"));
        }
        let (target, data_type) = match target_of {
            Some(RelationTarget::Element { key, .. }) => {
                let key_type = element_key_type(column)
                    .ok_or_else(|| CqlError::Invalid(format!("Invalid element access syntax for non-collection column {}", column.name)))?;
                let value_type = match &column.data_type {
                    DataType::List(element, _) => (**element).clone(),
                    DataType::Map(_, value, _) => (**value).clone(),
                    _ => return Err(CqlError::Invalid(format!("Invalid element access syntax for set column {}", column.name))),
                };
                (ConditionTarget::Element(self.term(key, &key_type, &format!("key({})", column.name))?), value_type)
            }
            Some(RelationTarget::Field { field, .. }) => {
                let (number, field_type) = user_field(column, field)?;
                (ConditionTarget::Field(number), field_type)
            }
            _ => (ConditionTarget::Column, column.data_type.clone()),
        };
        let mut in_list = false;
        let (operator, values) = match &relation.comparison {
            Comparison::Compare(operator, term) => (comparator(*operator), vec![self.term(term, &data_type, &column.name)?]),
            Comparison::In(InValues::List(terms)) => {
                (Comparator::In, terms.iter().map(|term| self.term(term, &data_type, &column.name)).collect::<Result<Vec<_>, _>>()?)
            }
            Comparison::In(InValues::Marker(marker)) => {
                in_list = true;
                let list = DataType::List(Arc::new(data_type.frozen()), Frozen::Yes);
                (Comparator::In, vec![self.mark(marker.index, &format!("in({})", column.name), &list)])
            }
            _ => return Err(CqlError::invalid("Only =, !=, <, <=, >, >= and IN are supported in IF conditions")),
        };
        Ok(Condition { column: ColumnRef { position, id: column.id }, target, operator, values, in_list })
    }

    fn key_restrictions(&mut self, table: &Table, clause: &ast::WhereClause) -> Result<KeyRestrictions, CqlError> {
        let mut partition: Vec<Option<KeyTerm>> = vec![None; table.partition_key_len];
        let mut clustering: Vec<Option<KeyTerm>> = vec![None; table.clustering_len];
        let (mut lower, mut upper): (PlacedBound, PlacedBound) = (None, None);
        let mut tuples = None;
        for expression in clause {
            let ast::WhereExpression::Relation(relation) = expression else {
                return Err(CqlError::invalid("Custom index expressions cannot be used in UPDATE or DELETE"));
            };
            match &relation.target {
                RelationTarget::Column(name) => {
                    let (position, column) = find_column(table, name)?;
                    let position = match column.kind {
                        ColumnKind::PartitionKey => {
                            if partition[position].is_some() {
                                return Err(more_than_one(&column.name));
                            }
                            partition[position] = Some(self.key_term(column, &relation.comparison)?.ok_or_else(|| {
                                CqlError::invalid(
                                    "Only EQ and IN relation are supported on the partition key (unless you use the token() function)",
                                )
                            })?);
                            continue;
                        }
                        ColumnKind::Clustering => position - table.partition_key_len,
                        _ => {
                            return Err(CqlError::Invalid(format!("Non PRIMARY KEY columns found in where clause: {} ", column.name)));
                        }
                    };
                    if let Some(term) = self.key_term(column, &relation.comparison)? {
                        if clustering[position].is_some() {
                            return Err(more_than_one(&column.name));
                        }
                        clustering[position] = Some(term);
                        continue;
                    }
                    for (is_lower, inclusive, term) in slice_ends(&relation.comparison)
                        .ok_or_else(|| CqlError::Invalid(format!("Unsupported restriction on clustering column {}", column.name)))?
                    {
                        let terms = vec![self.term(term, &column.data_type, &column.name)?];
                        let side = if is_lower { &mut lower } else { &mut upper };
                        if side.replace((position, SliceBound { terms, inclusive })).is_some() {
                            return Err(CqlError::Invalid(format!(
                                "More than one restriction was found for the {} bound on {}",
                                if is_lower { "start" } else { "end" },
                                column.name
                            )));
                        }
                    }
                }
                RelationTarget::Tuple(names) => {
                    self.tuple_relation(table, names, &relation.comparison, &mut tuples, &mut clustering, &mut lower, &mut upper)?;
                }
                RelationTarget::Token(_) => {
                    return Err(CqlError::invalid("The token function cannot be used in WHERE clauses for UPDATE and DELETE statements"));
                }
                RelationTarget::Element { column, .. } | RelationTarget::Field { column, .. } => {
                    return Err(CqlError::Invalid(format!("Non PRIMARY KEY columns found in where clause: {} ", column.as_str())));
                }
            }
        }
        let missing: Vec<&str> = partition
            .iter()
            .zip(table.partition_key())
            .filter(|(term, _)| term.is_none())
            .map(|(_, column)| column.name.as_str())
            .collect();
        if !missing.is_empty() {
            return Err(CqlError::Invalid(format!("Some partition key parts are missing: {}", missing.join(", "))));
        }
        let fixed = clustering.iter().take_while(|term| term.is_some()).count();
        if let Some(gap) = clustering.iter().skip(fixed).position(Option::is_some) {
            return Err(CqlError::Invalid(format!(
                "PRIMARY KEY column \"{}\" cannot be restricted as preceding column \"{}\" is not restricted",
                table.clustering()[fixed + gap].name,
                table.clustering()[fixed].name
            )));
        }
        for (position, _) in lower.iter().chain(&upper) {
            if *position != fixed {
                return Err(CqlError::Invalid(format!(
                    "PRIMARY KEY column \"{}\" cannot be restricted as preceding column \"{}\" is not restricted",
                    table.clustering()[*position].name,
                    table.clustering()[fixed.min(table.clustering_len - 1)].name
                )));
            }
        }
        Ok(KeyRestrictions {
            partition: partition.into_iter().flatten().collect(),
            clustering: ClusteringPlan {
                keys: clustering.into_iter().flatten().collect(),
                tuples,
                lower: lower.map(|(_, bound)| bound),
                upper: upper.map(|(_, bound)| bound),
            },
        })
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one restriction set, which only this function and its caller fill")]
    fn tuple_relation(
        &mut self,
        table: &Table,
        names: &[ast::Identifier],
        comparison: &Comparison,
        tuples: &mut Option<TupleKeys>,
        clustering: &mut [Option<KeyTerm>],
        lower: &mut PlacedBound,
        upper: &mut PlacedBound,
    ) -> Result<(), CqlError> {
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
        let fields = |planner: &mut Self, term: &ast::Term| -> Result<Vec<Term>, CqlError> {
            match planner.term(term, &tuple_type, "tuple")? {
                Term::Fields(fields) if fields.len() == run.len() => Ok(fields),
                Term::Constant(bytes) => Ok(crate::value::layout::fields(&bytes)
                    .map(|field| field.map_or(Term::Null, |bytes| Term::Constant(bytes.into())))
                    .collect()),
                _ => Err(CqlError::invalid("Expected a tuple with a value for each column of the multi-column relation")),
            }
        };
        match comparison {
            Comparison::Compare(CompareOperator::Equal, term) => {
                for (offset, field) in fields(self, term)?.into_iter().enumerate() {
                    clustering[first + offset] = Some(KeyTerm::Equal(field));
                }
            }
            Comparison::In(InValues::List(terms)) if first == 0 => {
                let planned = terms.iter().map(|term| fields(self, term)).collect::<Result<Vec<_>, _>>()?;
                *tuples = Some(TupleKeys::Terms(planned));
            }
            Comparison::In(InValues::Marker(marker)) if first == 0 => {
                let list = DataType::List(Arc::new(tuple_type.clone()), Frozen::Yes);
                let names: Vec<&str> = run.iter().map(|column| column.name.as_str()).collect();
                *tuples = Some(TupleKeys::List(self.mark(marker.index, &format!("in({})", names.join(",")), &list)));
            }
            other => {
                let ends = slice_ends(other).ok_or_else(|| CqlError::invalid("Unsupported multi-column relation"))?;
                for (is_lower, inclusive, term) in ends {
                    let terms = fields(self, term)?;
                    let side = if is_lower { &mut *lower } else { &mut *upper };
                    *side = Some((first, SliceBound { terms, inclusive }));
                }
                if run.iter().any(|column| column.order != run[0].order) {
                    return Err(CqlError::invalid(
                        "Multi-column slices over columns with different clustering orders are not supported here yet",
                    ));
                }
            }
        }
        Ok(())
    }

    /// `=` or IN on one key column; `None` for anything else.
    pub(super) fn key_term(&mut self, column: &Column, comparison: &Comparison) -> Result<Option<KeyTerm>, CqlError> {
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

/// The ends of a range comparison as (is lower, is inclusive, term); `None` when it is not one.
pub(super) fn slice_ends(comparison: &Comparison) -> Option<Vec<(bool, bool, &ast::Term)>> {
    Some(match comparison {
        Comparison::Compare(CompareOperator::Greater, term) => vec![(true, false, term)],
        Comparison::Compare(CompareOperator::GreaterOrEqual, term) => vec![(true, true, term)],
        Comparison::Compare(CompareOperator::Less, term) => vec![(false, false, term)],
        Comparison::Compare(CompareOperator::LessOrEqual, term) => vec![(false, true, term)],
        Comparison::Between(from, to) => vec![(true, true, from), (false, true, to)],
        _ => return None,
    })
}

pub(super) fn comparator(operator: CompareOperator) -> Comparator {
    match operator {
        CompareOperator::Equal => Comparator::Equal,
        CompareOperator::NotEqual => Comparator::NotEqual,
        CompareOperator::Less => Comparator::Less,
        CompareOperator::LessOrEqual => Comparator::LessOrEqual,
        CompareOperator::Greater => Comparator::Greater,
        CompareOperator::GreaterOrEqual => Comparator::GreaterOrEqual,
    }
}

/// The column of this name.
pub(super) fn find_column<'t>(table: &'t Table, name: &ast::Identifier) -> Result<(usize, &'t Column), CqlError> {
    table
        .column(name.as_str())
        .ok_or_else(|| CqlError::Invalid(format!("Undefined column name {} in table {}.{}", name.as_str(), table.keyspace, table.name)))
}

fn find_value_column<'t>(table: &'t Table, name: &ast::Identifier) -> Result<(usize, &'t Column), CqlError> {
    let (position, column) = find_column(table, name)?;
    if matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
        return Err(CqlError::Invalid(format!("PRIMARY KEY part {} found in SET part", column.name)));
    }
    Ok((position, column))
}

/// The type of what stands between brackets after a collection column.
fn element_key_type(column: &Column) -> Option<DataType> {
    match &column.data_type {
        DataType::List(..) => Some(DataType::Int),
        DataType::Set(element, _) => Some((**element).clone()),
        DataType::Map(key, _, _) => Some((**key).clone()),
        _ => None,
    }
}

fn user_field(column: &Column, field: &ast::Identifier) -> Result<(u16, DataType), CqlError> {
    let DataType::Udt(user, frozen) = &column.data_type else {
        return Err(CqlError::Invalid(format!(
            "Invalid operation ({}.{} = ...) for non-UDT column {}",
            column.name,
            field.as_str(),
            column.name
        )));
    };
    if *frozen == Frozen::Yes {
        return Err(CqlError::Invalid(format!("Invalid operation ({0}.{1} = ...) for frozen UDT column {0}", column.name, field.as_str())));
    }
    let number = user
        .fields
        .iter()
        .position(|(name, _)| name == field.as_str())
        .ok_or_else(|| CqlError::Invalid(format!("UDT column {} does not have a field named {}", column.name, field.as_str())))?;
    Ok((number as u16, user.fields[number].1.clone()))
}

fn invalid_operation(operation: &str, column: &Column) -> CqlError {
    CqlError::Invalid(if column.data_type.is_collection() {
        format!("Invalid operation ({operation}) for frozen collection column {}", column.name)
    } else {
        format!("Invalid operation ({operation}) for non counter column {}", column.name)
    })
}

fn more_than_one(name: &str) -> CqlError {
    CqlError::Invalid(format!("{name} cannot be restricted by more than one relation if it includes an Equal"))
}

fn missing_clustering(table: &Table, fixed: usize) -> CqlError {
    let missing: Vec<&str> = table.clustering()[fixed..].iter().map(|column| column.name.as_str()).collect();
    CqlError::Invalid(format!("Some clustering keys are missing: {}", missing.join(", ")))
}
