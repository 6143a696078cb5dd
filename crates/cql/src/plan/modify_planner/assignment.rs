//! SET of UPDATE: what each assignment does to its column.

use super::element_name;
use crate::CqlError;
use crate::language::ast;
use crate::plan::columns::{find_value_column, user_field};
use crate::plan::{Assignment, Planner};
use model::{Column, DataType, Frozen, Table};
use std::sync::Arc;

impl Planner<'_> {
    pub(super) fn assignment(&mut self, table: &Table, assignment: &ast::Assignment) -> Result<(usize, Assignment), CqlError> {
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
                (position, self.addition(column, value)?)
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
                    // As in Cassandra the message has a minus.
                    other => {
                        let what = if matches!(other, DataType::List(..)) { "frozen" } else { "non" };
                        let operation = format!("{0} = {value} - {0}", column.name);
                        return Err(CqlError::Invalid(format!("Invalid operation ({operation}) for {what} list column {}", column.name)));
                    }
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

    /// `column = column + value`
    fn addition(&mut self, column: &Column, value: &ast::Term) -> Result<Assignment, CqlError> {
        let term = |planner: &mut Self, receiver: &DataType| planner.term(value, receiver, &column.name);
        Ok(match &column.data_type {
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
        })
    }
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
