//! DELETE against a table: columns, elements and fields, or rows, ranges and partitions.

use super::{are_about_rows, element_name};
use crate::CqlError;
use crate::language::ast;
use crate::plan::columns::{element_key_type, find_column, user_field};
use crate::plan::{Assignment, Conditions, Modify, ModifyKind, Planner, RowTarget, Term};
use model::{Column, ColumnKind, DataType, Frozen, Table};
use std::sync::Arc;

impl Planner<'_> {
    pub(in crate::plan) fn delete(&mut self, delete: &ast::Delete) -> Result<Modify, CqlError> {
        let mut draft = self.draft(&delete.table, ModifyKind::Delete, &delete.attributes)?;
        let table = Arc::clone(&draft.table);
        for deletion in &delete.deletions {
            let (position, assignment) = self.deletion(&table, deletion)?;
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

    /// What is deleted of which column.
    fn deletion(&mut self, table: &Table, deletion: &ast::Deletion) -> Result<(usize, Assignment), CqlError> {
        Ok(match deletion {
            ast::Deletion::Column(name) => (find_deleted_column(table, name)?.0, Assignment::Delete),
            ast::Deletion::Element { column, key } => {
                let (position, column) = find_deleted_column(table, column)?;
                let what = if column.data_type.is_collection() { "frozen" } else { "non" };
                let key_type = element_key_type(column)
                    .filter(|_| column.data_type.is_multi_cell())
                    .ok_or_else(|| CqlError::Invalid(format!("Invalid deletion operation for {what} collection column {}", column.name)))?;
                (position, Assignment::DeleteElement(self.term(key, &key_type, &element_name(column))?))
            }
            ast::Deletion::Field { column, field } => {
                let (position, column) = find_deleted_column(table, column)?;
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
        })
    }
}

/// A conditional DELETE of more than a row.
const CONDITIONAL_RANGE: &str =
    "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to delete non static columns";
/// A conditional DELETE of static columns, with a condition that is about a row.
const CONDITION_WITHOUT_ROW: &str =
    "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to use IF condition on non static columns";

/// The column that a DELETE names.
fn find_deleted_column<'t>(table: &'t Table, name: &ast::Identifier) -> Result<(usize, &'t Column), CqlError> {
    let (position, column) = find_column(table, name)?;
    if matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
        let message = format!("Invalid identifier {} for deletion (should not be a PRIMARY KEY part)", column.name);
        return Err(CqlError::Invalid(message));
    }
    Ok((position, column))
}
