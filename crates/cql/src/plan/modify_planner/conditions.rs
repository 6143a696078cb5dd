//! IF of INSERT, UPDATE and DELETE.

use super::super::columns::{comparator, contained_type, element_key_type, find_column, kind_with_duration, user_field};
use crate::CqlError;
use crate::language::ast::{self, Comparison, InValues, RelationTarget};
use crate::plan::{ColumnRef, Comparator, Condition, ConditionTarget, Conditions, Planner};
use model::{Column, ColumnKind, DataType, Frozen, Table};
use std::sync::Arc;

impl Planner<'_> {
    pub(super) fn conditions(&mut self, table: &Table, clause: &ast::ConditionClause) -> Result<Conditions, CqlError> {
        Ok(match clause {
            ast::ConditionClause::None => Conditions::None,
            ast::ConditionClause::Exists if table.is_counter() => {
                return Err(CqlError::invalid("Conditional updates are not supported on counter tables"));
            }
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
        let (target, data_type, called) = self.condition_target(column, target_of)?;
        if let Comparison::Compare(operator, _) = &relation.comparison {
            check_slice_of_durations(*operator, &data_type)?;
        }
        let mut in_list = false;
        let (operator, values) = match &relation.comparison {
            Comparison::Compare(operator, term) => (comparator(*operator), vec![self.term(term, &data_type, &called)?]),
            Comparison::In(InValues::List(terms)) => {
                (Comparator::In, terms.iter().map(|term| self.term(term, &data_type, &called)).collect::<Result<Vec<_>, _>>()?)
            }
            Comparison::In(InValues::Marker(marker)) => {
                in_list = true;
                let list = DataType::List(Arc::new(data_type.frozen()), Frozen::Yes);
                (Comparator::In, vec![self.mark_with(marker.index, &format!("in({called})"), &list, true)])
            }
            Comparison::Contains(term) if matches!(target, ConditionTarget::Column) => {
                let name = format!("value({})", column.name);
                (Comparator::Contains, vec![self.term(term, contained_type(column, false)?, &name)?])
            }
            Comparison::Contains(_) | Comparison::ContainsKey(_) if !matches!(target, ConditionTarget::Column) => {
                return Err(CqlError::Syntax(format!("no viable alternative at input 'CONTAINS' (behind a part of {})", column.name)));
            }
            Comparison::ContainsKey(term) if matches!(target, ConditionTarget::Column) => {
                let name = format!("key({})", column.name);
                (Comparator::ContainsKey, vec![self.term(term, contained_type(column, true)?, &name)?])
            }
            _ => return Err(CqlError::invalid("Only =, !=, <, <=, >, >=, IN, CONTAINS and CONTAINS KEY are supported in IF conditions")),
        };
        Ok(Condition { column: ColumnRef { position, id: column.id }, target, operator, values, in_list })
    }

    /// What a condition compares, of which type, and what markers for it are called.
    fn condition_target(
        &mut self,
        column: &Column,
        target: Option<&RelationTarget>,
    ) -> Result<(ConditionTarget, DataType, String), CqlError> {
        Ok(match target {
            Some(RelationTarget::Element { key, .. }) => {
                let key_type = element_key_type(column)
                    .ok_or_else(|| CqlError::Invalid(format!("Invalid element access syntax for non-collection column {}", column.name)))?;
                let value_type = match &column.data_type {
                    DataType::List(element, _) => (**element).clone(),
                    DataType::Map(_, value, _) => (**value).clone(),
                    _ => return Err(CqlError::Invalid(format!("Invalid element access syntax for set column {}", column.name))),
                };
                let part = if matches!(column.data_type, DataType::List(..)) { "idx" } else { "key" };
                let key = self.term(key, &key_type, &format!("{part}({})", column.name))?;
                (ConditionTarget::Element(key), value_type, format!("value({})", column.name))
            }
            Some(RelationTarget::Field { field, .. }) => {
                let name = field.as_str();
                if matches!(&column.data_type, DataType::Udt(user, _) if !user.fields.iter().any(|(known, _)| known == name)) {
                    return Err(CqlError::Invalid(format!("Unknown field {name} for column {}", column.name)));
                }
                let (number, field_type) = user_field(column, field, &format!("{}.{name}", column.name))?;
                (ConditionTarget::Field(number), field_type, format!("{}.{name}", column.name))
            }
            _ => (ConditionTarget::Column, column.data_type.clone(), column.name.clone()),
        })
    }
}

/// Durations have no order.
fn check_slice_of_durations(operator: ast::CompareOperator, data_type: &DataType) -> Result<(), CqlError> {
    use ast::CompareOperator as Operator;
    if matches!(operator, Operator::Equal | Operator::NotEqual) {
        return Ok(());
    }
    match kind_with_duration(data_type) {
        None => Ok(()),
        Some("durations") => Err(CqlError::Invalid(format!("Slice conditions ( {} ) are not supported on durations", operator.sign()))),
        Some(kind) => Err(CqlError::Invalid(format!("Slice conditions are not supported on {kind}"))),
    }
}
