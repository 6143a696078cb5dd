//! INSERT, UPDATE and DELETE against a table.

mod conditions;
mod keys;

use super::columns::{element_key_type, find_column, find_value_column, user_field};
use super::{
    Assignment, ClusteringPlan, ColumnRef, Condition, Conditions, JsonTerm, KeyTerm, Missing, Modify, ModifyKind, Planner, RowTarget, Term,
    ViewPlan, view_plans,
};
use crate::CqlError;
use crate::language::ast;
use crate::system::is_system_keyspace;
use keys::{KeyRestrictions, missing_clustering, not_restricted_before};
use model::{Column, ColumnKind, DataType, Frozen, Table};
use std::sync::Arc;

/// The parts of a statement, collected before they are put together.
struct Draft {
    table: Arc<Table>,
    kind: ModifyKind,
    timestamp: Option<Term>,
    ttl: Option<Term>,
    static_assignments: Vec<(ColumnRef, Assignment)>,
    assignments: Vec<(ColumnRef, Assignment)>,
    views: Arc<[ViewPlan]>,
}

impl Draft {
    fn assign(&mut self, position: usize, assignment: Assignment) -> Result<(), CqlError> {
        let column = &self.table.columns[position];
        let target = if column.kind == ColumnKind::Static { &mut self.static_assignments } else { &mut self.assignments };
        let is_set = |assignment: &Assignment| matches!(assignment, Assignment::Set(_));
        if target.iter().any(|(other, before)| other.id == column.id && (is_set(before) || is_set(&assignment))) {
            return Err(CqlError::Syntax(format!("Multiple incompatible setting of column {}", column.name)));
        }
        target.push((ColumnRef { position, id: column.id }, assignment));
        Ok(())
    }

    /// Refuses clustering keys for a statement that is about static columns only.
    fn check_static(&self, keys: &KeyRestrictions, conditions: &Conditions, statement: &str) -> Result<(), CqlError> {
        let is_static = |condition: &Condition| self.table.columns[condition.column.position].kind == ColumnKind::Static;
        let about_rows = match conditions {
            Conditions::None => false,
            Conditions::NotExists | Conditions::Exists => true,
            Conditions::Columns(conditions) => !conditions.iter().all(is_static),
        };
        if keys.clustering.is_empty() || !self.assignments.is_empty() || self.static_assignments.is_empty() || about_rows {
            return Ok(());
        }
        Err(CqlError::Invalid(format!(
            "Invalid restrictions on clustering columns since the {statement} statement modifies only static columns"
        )))
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
            let what = self.kind.conditional();
            return Err(CqlError::Invalid(format!("IN on the partition key is not supported with conditional {what}")));
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
            user_calls: Vec::new(),
            masks: Arc::default(),
            views: self.views,
            simple,
            table: self.table,
        })
    }
}

impl Planner<'_> {
    fn draft(&mut self, name: &ast::QualifiedName, kind: ModifyKind, attributes: &ast::Attributes) -> Result<Draft, CqlError> {
        let table = self.table(name)?;
        if is_system_keyspace(&table.keyspace) {
            return Err(CqlError::Unauthorized(format!("{} keyspace is not user-modifiable.", table.keyspace)));
        }
        super::planner::check_writable(&table)?;
        if table.is_cdc_log() {
            return Err(CqlError::Invalid(format!(
                "Cannot modify CDC log table {}.{}: writes of its base table fill it",
                table.keyspace, table.name
            )));
        }
        if table.is_counter() && (attributes.timestamp.is_some() || attributes.time_to_live.is_some()) {
            let what = if attributes.timestamp.is_some() { "timestamp" } else { "TTL" };
            return Err(CqlError::Invalid(format!("Cannot provide custom {what} for counter updates")));
        }
        let timestamp = attributes.timestamp.as_ref().map(|term| self.term(term, &DataType::BigInt, "[timestamp]")).transpose()?;
        let ttl = attributes.time_to_live.as_ref().map(|term| self.term(term, &DataType::Int, "[ttl]")).transpose()?;
        let views = view_plans(self.schema, &table);
        Ok(Draft { table, kind, timestamp, ttl, static_assignments: Vec::new(), assignments: Vec::new(), views })
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
                draft.assign(position, Assignment::Set(term))?;
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
        if !table.has_row_markers() && draft.assignments.is_empty() {
            return Err(match table.value_columns() {
                [value] if table.clustering_len > 0 => {
                    CqlError::Invalid(format!("Column {} is mandatory for this COMPACT STORAGE table", value.name))
                }
                // What Cassandra's hidden clustering column is called.
                _ => CqlError::invalid("Some clustering keys are missing: column1"),
            });
        }
        let missing_clustering = missing(&clustering, table.clustering());
        let target = if missing_clustering.is_empty() || is_partial(&table, &clustering) {
            RowTarget::Rows
        } else if missing_clustering.len() == table.clustering_len && draft.assignments.is_empty() && !draft.static_assignments.is_empty() {
            RowTarget::Static
        } else {
            let gap = clustering.iter().position(Option::is_none).unwrap_or(0);
            return Err(match clustering.iter().skip(gap).position(Option::is_some) {
                Some(after) if table.compact => not_restricted_before(&table, gap + after, gap),
                _ => CqlError::Invalid(format!("Some clustering keys are missing: {}", missing_clustering.join(", "))),
            });
        };
        let equal = |terms: Vec<Option<Term>>| terms.into_iter().flatten().map(KeyTerm::Equal).collect();
        let keys = KeyRestrictions {
            fixed: table.clustering_len,
            partition: equal(keys),
            clustering: ClusteringPlan { keys: equal(clustering), ..ClusteringPlan::default() },
        };
        let conditions = if insert.if_not_exists { Conditions::NotExists } else { Conditions::None };
        draft.finish(keys, target, conditions)
    }

    pub(super) fn update(&mut self, update: &ast::Update) -> Result<Modify, CqlError> {
        let mut draft = self.draft(&update.table, ModifyKind::Update, &update.attributes)?;
        let table = Arc::clone(&draft.table);
        for assignment in &update.assignments {
            let (position, planned) = self.assignment(&table, assignment)?;
            draft.assign(position, planned)?;
        }
        let keys = self.key_restrictions(&table, &update.where_clause, "UPDATE")?;
        let complete = keys.fixed == table.clustering_len || (table.compact && keys.fixed > 0);
        let target = if draft.assignments.is_empty() && keys.clustering.is_empty() && table.clustering_len > 0 {
            RowTarget::Static
        } else if keys.clustering.lower.is_some() || keys.clustering.upper.is_some() {
            return Err(CqlError::invalid("Slice restrictions are not supported on the clustering columns in UPDATE statements"));
        } else if complete {
            RowTarget::Rows
        } else {
            return Err(missing_clustering(&table, keys.fixed));
        };
        let conditions = self.conditions(&table, &update.condition)?;
        draft.check_static(&keys, &conditions, "UPDATE")?;
        if target == RowTarget::Static && are_about_rows(&table, &conditions) {
            return Err(missing_clustering(&table, keys.fixed));
        }
        draft.finish(keys, target, conditions)
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Result<Modify, CqlError> {
        let mut draft = self.draft(&delete.table, ModifyKind::Delete, &delete.attributes)?;
        let table = Arc::clone(&draft.table);
        for deletion in &delete.deletions {
            let (position, assignment) = match deletion {
                ast::Deletion::Column(name) => (find_deleted_column(&table, name)?.0, Assignment::Delete),
                ast::Deletion::Element { column, key } => {
                    let (position, column) = find_deleted_column(&table, column)?;
                    let what = if column.data_type.is_collection() { "frozen" } else { "non" };
                    let key_type = element_key_type(column).filter(|_| column.data_type.is_multi_cell()).ok_or_else(|| {
                        CqlError::Invalid(format!("Invalid deletion operation for {what} collection column {}", column.name))
                    })?;
                    (position, Assignment::DeleteElement(self.term(key, &key_type, &element_name(column))?))
                }
                ast::Deletion::Field { column, field } => {
                    let (position, column) = find_deleted_column(&table, column)?;
                    match &column.data_type {
                        DataType::Udt(_, Frozen::Yes) => {
                            return Err(CqlError::Invalid(format!("Frozen UDT column {} does not support field deletions", column.name)));
                        }
                        DataType::Udt(..) => {}
                        _ => {
                            let message = format!("Invalid field deletion operation for non-UDT column {}", column.name);
                            return Err(CqlError::Invalid(message));
                        }
                    }
                    let operation = format!("{}.{}", column.name, field.as_str());
                    (position, Assignment::SetField(user_field(column, field, &operation)?.0, Term::Null))
                }
            };
            draft.assign(position, assignment)?;
        }
        let keys = self.key_restrictions(&table, &delete.where_clause, "DELETE")?;
        let complete = keys.fixed == table.clustering_len;
        let sliced = keys.clustering.lower.is_some() || keys.clustering.upper.is_some();
        let only_static = !draft.static_assignments.is_empty() && draft.assignments.is_empty();
        let target = if only_static && keys.clustering.is_empty() && table.clustering_len > 0 {
            RowTarget::Static
        } else if complete && !sliced {
            RowTarget::Rows
        } else if !draft.assignments.is_empty() || only_static {
            let conditions = self.conditions(&table, &delete.condition)?;
            draft.check_static(&keys, &conditions, "DELETE")?;
            return Err(match conditions {
                Conditions::None => CqlError::invalid("Range deletions are not supported for specific columns"),
                _ => CqlError::invalid(CONDITIONAL_RANGE),
            });
        } else if keys.clustering.is_empty() {
            RowTarget::Partition
        } else {
            RowTarget::Range
        };
        let conditions = self.conditions(&table, &delete.condition)?;
        draft.check_static(&keys, &conditions, "DELETE")?;
        if !matches!(conditions, Conditions::None) && matches!(target, RowTarget::Range | RowTarget::Partition) {
            return Err(CqlError::invalid(CONDITIONAL_RANGE));
        }
        if target == RowTarget::Static && are_about_rows(&table, &conditions) {
            return Err(CqlError::invalid(CONDITION_WITHOUT_ROW));
        }
        draft.finish(keys, target, conditions)
    }

    /// The values of all columns, taken from a JSON object when the statement runs.
    fn insert_json(
        &mut self,
        table: &Arc<Table>,
        value: &ast::JsonValue,
        default: ast::JsonDefault,
    ) -> Result<Vec<(usize, Term)>, CqlError> {
        let object = match value {
            ast::JsonValue::Text(text) => Term::Constant(text.as_bytes().into()),
            ast::JsonValue::Marker(marker) => self.mark(marker.index, "[json]", &DataType::Text),
        };
        let missing = match default {
            ast::JsonDefault::Null => Missing::Null,
            ast::JsonDefault::Unset => Missing::Unset,
        };
        let value_of = |(position, column): (usize, &Column)| {
            let (object, table) = (object.clone(), (position == 0).then(|| Arc::clone(table)));
            (
                position,
                Term::Json(Box::new(JsonTerm { object, column: column.name.clone(), data_type: column.data_type.clone(), missing, table })),
            )
        };
        Ok(table.columns.iter().enumerate().map(value_of).collect())
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
                    DataType::Map(_, _, Frozen::No) if is_no_map(value) => {
                        return Err(CqlError::Invalid(format!("Value for a map addition has to be a map, but was: '{value}'")));
                    }
                    multi @ (DataType::List(_, Frozen::No) | DataType::Set(_, Frozen::No) | DataType::Map(_, _, Frozen::No)) => {
                        Assignment::Append(term(self, multi)?)
                    }
                    DataType::Tuple(_) => {
                        let operation = format!("{0} = {0} + {value}", column.name);
                        return Err(CqlError::Invalid(format!("Invalid operation ({operation}) for tuple column {}", column.name)));
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
                    _ => return Err(invalid_element(&format!("{}[{key}] = {value}", column.name), column)),
                };
                let key = self.term(key, &key_type, &element_name(column))?;
                let value = self.term(value, &value_type, &format!("value({})", column.name))?;
                (position, Assignment::SetElement(key, value))
            }
            ast::Assignment::SetField { column, field, value } => {
                let (position, column) = find_value_column(table, column)?;
                let operation = format!("{}.{} = {value}", column.name, field.as_str());
                if matches!(column.data_type, DataType::Udt(_, Frozen::Yes)) {
                    return Err(CqlError::Invalid(format!("Invalid operation ({operation}) for frozen UDT column {}", column.name)));
                }
                let (number, field_type) = user_field(column, field, &operation)?;
                let value = self.term(value, &field_type, &format!("{}.{}", column.name, field.as_str()))?;
                (position, Assignment::SetField(number, value))
            }
        })
    }
}

/// A conditional DELETE of more than a row.
const CONDITIONAL_RANGE: &str =
    "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to delete non static columns";
/// A conditional DELETE of static columns, with a condition that is about a row.
const CONDITION_WITHOUT_ROW: &str =
    "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to use IF condition on non static columns";

/// Whether conditions are about columns of a row.
fn are_about_rows(table: &Table, conditions: &Conditions) -> bool {
    let is_static = |condition: &Condition| table.columns[condition.column.position].kind == ColumnKind::Static;
    matches!(conditions, Conditions::Columns(conditions) if !conditions.iter().all(is_static))
}

/// Whether a row of a compact table lacks only its last clustering columns, which are null then.
fn is_partial(table: &Table, clustering: &[Option<Term>]) -> bool {
    let given = clustering.iter().take_while(|term| term.is_some()).count();
    table.compact && given > 0 && clustering[given..].iter().all(Option::is_none)
}

/// The column that a DELETE names.
fn find_deleted_column<'t>(table: &'t Table, name: &ast::Identifier) -> Result<(usize, &'t Column), CqlError> {
    let (position, column) = find_column(table, name)?;
    if matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
        let message = format!("Invalid identifier {} for deletion (should not be a PRIMARY KEY part)", column.name);
        return Err(CqlError::Invalid(message));
    }
    Ok((position, column))
}

/// Whether a term is a literal of a list, or of a set that is not an empty map.
fn is_no_map(term: &ast::Term) -> bool {
    matches!(term, ast::Term::List(_)) || matches!(term, ast::Term::Set(elements) if !elements.is_empty())
}

fn invalid_operation(operation: &str, column: &Column) -> CqlError {
    CqlError::Invalid(if column.data_type.is_collection() && !column.data_type.is_multi_cell() {
        format!("Invalid operation ({operation}) for frozen collection column {}", column.name)
    } else {
        format!("Invalid operation ({operation}) for non counter column {}", column.name)
    })
}

/// Of `column[key] = value`.
fn invalid_element(operation: &str, column: &Column) -> CqlError {
    let what = match &column.data_type {
        DataType::Set(_, Frozen::No) => "set",
        other if other.is_collection() => "frozen collection",
        _ => "non collection",
    };
    CqlError::Invalid(format!("Invalid operation ({operation}) for {what} column {}", column.name))
}

/// What the marker of an element's key or index is called.
fn element_name(column: &Column) -> String {
    format!("{}({})", if matches!(column.data_type, DataType::List(..)) { "idx" } else { "key" }, column.name)
}
