//! What planners of all statements look up: columns by name, their parts, comparisons.

use super::Comparator;
use crate::CqlError;
use crate::language::ast::{self, CompareOperator, Comparison};
use crate::language::quote_identifier;
use model::{Column, ColumnKind, DataType, Table};

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
    table.column(name.as_str()).ok_or_else(|| {
        let (keyspace, of) = (quote_identifier(&table.keyspace), quote_identifier(&table.name));
        CqlError::Invalid(format!("Undefined column name {name} in table {keyspace}.{of}"))
    })
}

pub(super) fn find_value_column<'t>(table: &'t Table, name: &ast::Identifier) -> Result<(usize, &'t Column), CqlError> {
    let (position, column) = find_column(table, name)?;
    if matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
        return Err(CqlError::Invalid(format!("PRIMARY KEY part {} found in SET part", column.name)));
    }
    Ok((position, column))
}

/// The type of what stands between brackets after a collection column.
pub(super) fn element_key_type(column: &Column) -> Option<DataType> {
    match &column.data_type {
        DataType::List(..) => Some(DataType::Int),
        DataType::Set(element, _) => Some((**element).clone()),
        DataType::Map(key, _, _) => Some((**key).clone()),
        _ => None,
    }
}

/// The number and type of a field of a column whose type is a user type; `operation` is what messages tell of another one.
pub(super) fn user_field(column: &Column, field: &ast::Identifier, operation: &str) -> Result<(u16, DataType), CqlError> {
    let DataType::Udt(user, _) = &column.data_type else {
        return Err(CqlError::Invalid(format!("Invalid operation ({operation}) for non-UDT column {}", column.name)));
    };
    let number = user
        .fields
        .iter()
        .position(|(name, _)| name == field.as_str())
        .ok_or_else(|| CqlError::Invalid(format!("UDT column {} does not have a field named {}", column.name, field.as_str())))?;
    Ok((number as u16, user.fields[number].1.clone()))
}

/// The type of what a collection may contain: of its elements or values, or of a map's keys.
pub(super) fn contained_type(column: &Column, of_key: bool) -> Result<&DataType, CqlError> {
    match &column.data_type {
        DataType::List(element, _) | DataType::Set(element, _) if !of_key => Ok(element),
        DataType::Map(key, _, _) if of_key => Ok(key),
        DataType::Map(_, value, _) => Ok(value),
        _ if of_key => Err(CqlError::Invalid(format!("Cannot use CONTAINS KEY on non-map column {}", column.name))),
        _ => Err(CqlError::Invalid(format!("Cannot use CONTAINS on non-collection column {}", column.name))),
    }
}

/// What a type is that has no order because of a duration in it, as messages call it.
pub(super) fn kind_with_duration(data_type: &DataType) -> Option<&'static str> {
    let kind = match data_type {
        DataType::Duration => return Some("durations"),
        DataType::Tuple(_) => "tuples containing durations",
        DataType::Udt(..) => "UDTs containing durations",
        DataType::List(..) | DataType::Set(..) | DataType::Map(..) => "collections containing durations",
        _ => return None,
    };
    has_duration(data_type).then_some(kind)
}

fn has_duration(data_type: &DataType) -> bool {
    match data_type {
        DataType::Duration => true,
        DataType::List(element, _) | DataType::Set(element, _) => has_duration(element),
        DataType::Map(key, value, _) => has_duration(key) || has_duration(value),
        DataType::Tuple(fields) => fields.iter().any(has_duration),
        DataType::Udt(user, _) => user.fields.iter().any(|(_, field)| has_duration(field)),
        _ => false,
    }
}
