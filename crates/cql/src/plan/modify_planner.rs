//! INSERT, UPDATE and DELETE against a table.

mod assignment;
mod conditions;
mod delete;
mod insert;
mod keys;

use super::{Assignment, ColumnRef, Condition, Conditions, KeyTerm, Modify, ModifyKind, Planner, RowTarget, Term, ViewPlan, view_plans};
use crate::CqlError;
use crate::language::ast;
use crate::system::{is_system_keyspace, is_virtual_keyspace};
use keys::{KeyRestrictions, missing_clustering};
use model::{Column, ColumnKind, DataType, Table};
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
            return Err(if is_virtual_keyspace(&table.keyspace) {
                CqlError::Invalid(format!("Modification is not supported by table {}.{}", table.keyspace, table.name))
            } else {
                CqlError::Unauthorized(format!("{} keyspace is not user-modifiable.", table.keyspace))
            });
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
}

/// Whether conditions are about columns of a row.
fn are_about_rows(table: &Table, conditions: &Conditions) -> bool {
    let is_static = |condition: &Condition| table.columns[condition.column.position].kind == ColumnKind::Static;
    matches!(conditions, Conditions::Columns(conditions) if !conditions.iter().all(is_static))
}

/// What the marker of an element's key or index is called.
fn element_name(column: &Column) -> String {
    format!("{}({})", if matches!(column.data_type, DataType::List(..)) { "idx" } else { "key" }, column.name)
}
