//! What stands before FROM: selectors become expressions over sources.

mod calls;
mod cell_attributes;
mod names;

use super::reads::Reads;
use crate::language::ast::{self, Selection, Selector};
use crate::plan::columns::find_column;
use crate::plan::term_planner::{assignable, neutral};
use crate::plan::{Aggregate, Expression, Output, Planner};
use crate::value::function::{self, FunctionError};
use crate::{CqlError, ddl};
use model::DataType;
use std::sync::Arc;

/// The outputs of a SELECT.
#[derive(Default)]
pub(super) struct Selected {
    pub(super) outputs: Vec<Output>,
    pub(super) aggregates: Vec<Aggregate>,
}

/// A selector as far as it could be planned by itself.
pub(super) enum Operand<'s> {
    Planned(Expression, DataType),
    Literal(&'s ast::Literal),
    /// A marker or a collection: its type comes from what takes it.
    Untyped,
}

fn invalid(error: FunctionError) -> CqlError {
    CqlError::Invalid(error.to_string())
}

impl Planner<'_> {
    /// Plans the outputs of `statement`.
    pub(super) fn selection(&mut self, statement: &ast::Select, reads: &mut Reads) -> Result<Selected, CqlError> {
        let mut selected = Selected::default();
        match &statement.selection {
            Selection::Wildcard => {
                let table = Arc::clone(&reads.table);
                for (position, column) in table.columns.iter().enumerate() {
                    let source = reads.column(position);
                    let expression = Expression::Source(reads.source(source));
                    selected.outputs.push(Output { name: column.name.clone(), data_type: column.data_type.clone(), expression });
                }
            }
            Selection::Selectors(items) => {
                for item in items {
                    let (expression, data_type) = self.selector(&item.selector, None, reads, &mut selected.aggregates)?;
                    let name = match (&item.alias, &item.selector) {
                        (Some(alias), _) => alias.as_str().to_owned(),
                        (None, Selector::Cast { value, .. }) if self.has_type(value, &data_type, reads)? => self.result_name(value),
                        (None, selector) => self.result_name(selector),
                    };
                    selected.outputs.push(Output { name, data_type, expression });
                }
            }
        }
        Ok(selected)
    }

    /// Whether a selector is of this type by itself.
    fn has_type(&mut self, selector: &Selector, data_type: &DataType, reads: &mut Reads) -> Result<bool, CqlError> {
        Ok(matches!(self.operand(selector, reads, &mut Vec::new())?, Operand::Planned(_, own) if own == *data_type))
    }

    /// Plans one selector; `receiver` is the type that what it stands in wants.
    pub(super) fn selector(
        &mut self,
        selector: &Selector,
        receiver: Option<&DataType>,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<(Expression, DataType), CqlError> {
        match selector {
            Selector::Column(name) => column(name, reads),
            Selector::Literal(literal) => {
                let receiver = receiver.ok_or_else(|| cannot_infer(selector))?;
                let term = self.term(&ast::Term::Literal(literal.clone()), receiver, "[selection]")?;
                Ok((Expression::Term(term), receiver.clone()))
            }
            Selector::Marker(marker) => {
                let receiver = receiver.ok_or_else(|| cannot_infer(selector))?;
                Ok((Expression::Term(self.mark(marker.index, "[selection]", receiver)), receiver.clone()))
            }
            Selector::CountRows => {
                aggregates.push(Aggregate::CountRows);
                Ok((Expression::Aggregate(aggregates.len() - 1), DataType::BigInt))
            }
            Selector::Function { name, arguments } => self.function_selector(name, arguments, receiver, reads, aggregates),
            Selector::CellAttribute { attribute, of } => self.cell_attribute(*attribute, of, reads),
            Selector::Cast { value, type_name } => self.cast(value, ddl::native_type(*type_name), reads, aggregates),
            Selector::TypeHint { type_name, value } => {
                let hinted = ddl::resolve_type(type_name, self.type_keyspace(), self.schema)?;
                let (expression, own) = self.selector(value, Some(&hinted), reads, aggregates)?;
                if !assignable(&own, &hinted) {
                    return Err(CqlError::Invalid(format!("Cannot assign value {value} to {selector} of type {hinted}")));
                }
                Ok((expression, hinted))
            }
            Selector::Field { of, field } => self.field_selector(of, field, reads, aggregates),
            Selector::Element { of, key } => {
                let (expression, whole) = self.selector(of, None, reads, aggregates)?;
                let (key_type, element) = element_types(of, &whole, "element")?;
                let term = self.term(key, &key_type, &part_name(of, &whole))?;
                Ok((Expression::Element(Box::new(expression), whole, term), element))
            }
            Selector::Slice { of, from, to } => {
                let (expression, whole) = self.selector(of, None, reads, aggregates)?;
                let (key_type, _) = element_types(of, &whole, "slice")?;
                let mut end =
                    |term: &Option<ast::Term>| term.as_ref().map(|term| self.term(term, &key_type, &part_name(of, &whole))).transpose();
                let (from, to) = (end(from)?, end(to)?);
                Ok((Expression::Slice(Box::new(expression), whole.clone(), from, to), whole.frozen()))
            }
            Selector::Arithmetic { operator, left, right } => {
                self.arithmetic_selector(*operator, (left, right), receiver, reads, aggregates)
            }
            Selector::Negation(value) => self.negation_selector(value, receiver, reads, aggregates),
            Selector::Tuple(parts) if parts.len() == 1 && !matches!(receiver, Some(DataType::Tuple(_))) => {
                self.selector(&parts[0], receiver, reads, aggregates)
            }
            Selector::List(_) | Selector::Set(_) | Selector::Map(_) | Selector::Tuple(_) => {
                let whole = match receiver {
                    Some(receiver) => receiver.clone(),
                    None => self.natural_type(selector, reads)?,
                };
                let expression = self.composed(selector, &whole, reads, aggregates)?;
                Ok((expression, whole))
            }
        }
    }

    /// `of.field`
    fn field_selector(
        &mut self,
        of: &Selector,
        field: &ast::Identifier,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<(Expression, DataType), CqlError> {
        let (expression, whole) = self.selector(of, None, reads, aggregates)?;
        let DataType::Udt(user, _) = &whole else {
            return Err(CqlError::Invalid(format!("Invalid field selection: {of} of type {whole} is not a user type")));
        };
        let number = user.fields.iter().position(|(name, _)| name == field.as_str());
        let number = number.ok_or_else(|| CqlError::Invalid(format!("{of} of type {whole} has no field {field}")))?;
        let field_type = user.fields[number].1.clone();
        Ok((Expression::Field(Box::new(expression), number), field_type))
    }

    /// `CAST(value AS to)`
    fn cast(
        &mut self,
        value: &Selector,
        to: DataType,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<(Expression, DataType), CqlError> {
        let (expression, from) = match self.operand(value, reads, aggregates)? {
            Operand::Planned(expression, from) => (expression, from),
            Operand::Literal(literal) => {
                let from = neutral(literal).map(|literal| literal.natural_type()).ok_or_else(|| cannot_infer(value))?;
                self.selector(value, Some(&from), reads, aggregates)?
            }
            Operand::Untyped => return Err(cannot_infer(value)),
        };
        if from == to {
            return Ok((expression, to));
        }
        let cast = function::cast(&from, &to).map_err(|_| CqlError::Invalid(format!("{value} cannot be cast to {to}")))?;
        Ok((Expression::Call(cast, vec![expression]), to))
    }

    /// Plans what a function, cast or operator is applied to, if it says its type itself.
    pub(super) fn operand<'s>(
        &mut self,
        selector: &'s Selector,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<Operand<'s>, CqlError> {
        Ok(match selector {
            Selector::Literal(literal) => Operand::Literal(literal),
            Selector::Marker(_) | Selector::List(_) | Selector::Set(_) | Selector::Map(_) => Operand::Untyped,
            Selector::Tuple(parts) if parts.len() == 1 => return self.operand(&parts[0], reads, aggregates),
            Selector::Tuple(_) => Operand::Untyped,
            other => {
                let (expression, data_type) = self.selector(other, None, reads, aggregates)?;
                Operand::Planned(expression, data_type)
            }
        })
    }
}

fn column(name: &ast::Identifier, reads: &mut Reads) -> Result<(Expression, DataType), CqlError> {
    let table = Arc::clone(&reads.table);
    let (position, column) = find_column(&table, name)?;
    let source = reads.column(position);
    Ok((Expression::Source(reads.source(source)), column.data_type.clone()))
}

pub(super) fn cannot_infer(selector: &Selector) -> CqlError {
    CqlError::Invalid(format!("Cannot infer type for term {selector} in selection clause (try using a cast to force a type)"))
}

/// What messages and markers call a part of a set or map.
fn part_name(of: &Selector, whole: &DataType) -> String {
    if matches!(whole, DataType::Set(..)) { format!("value({of})") } else { format!("key({of})") }
}

/// The types of key and element of a set or map.
fn element_types(of: &Selector, whole: &DataType, what: &str) -> Result<(DataType, DataType), CqlError> {
    match whole {
        DataType::Map(key, value, _) => Ok(((**key).clone(), (**value).clone())),
        DataType::Set(element, _) => Ok(((**element).clone(), (**element).clone())),
        DataType::List(..) => {
            let capital = if what == "slice" { "Slice" } else { "Element" };
            Err(CqlError::Invalid(format!("{capital} selection is only allowed on sets and maps, but {of} is a list")))
        }
        other => Err(CqlError::Invalid(format!("Invalid {what} selection: {of} is of type {other} is not a collection"))),
    }
}
