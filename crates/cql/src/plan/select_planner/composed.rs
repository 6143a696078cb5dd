//! Collections, tuples and user types written out in a selection, with selectors in them.

use super::reads::Reads;
use super::selection::{Operand, cannot_infer};
use crate::CqlError;
use crate::language::ast::Selector;
use crate::plan::term_planner::assignable;
use crate::plan::{Aggregate, Expression, Planner, Term};
use model::{DataType, Frozen};
use std::sync::Arc;

impl Planner<'_> {
    /// The type of a collection or tuple literal whose elements say theirs.
    pub(super) fn natural_type(&mut self, selector: &Selector, reads: &mut Reads) -> Result<DataType, CqlError> {
        let mut of_first = |planner: &mut Self, parts: &mut dyn Iterator<Item = &Selector>| {
            // What is read to find the type is read again for the value: sources are found, not added twice.
            for part in parts {
                match planner.operand(part, reads, &mut Vec::new())? {
                    Operand::Planned(_, data_type) => return Ok(data_type.frozen()),
                    Operand::Literal(_) => {}
                    Operand::Untyped if matches!(part, Selector::Marker(_)) => {}
                    Operand::Untyped => return planner.natural_type(part, reads),
                }
            }
            Err(cannot_infer(selector))
        };
        Ok(match selector {
            Selector::List(parts) => DataType::List(Arc::new(of_first(self, &mut parts.iter())?), Frozen::Yes),
            Selector::Set(parts) => DataType::Set(Arc::new(of_first(self, &mut parts.iter())?), Frozen::Yes),
            Selector::Map(entries) => {
                let key = of_first(self, &mut entries.iter().map(|(key, _)| key))?;
                let value = of_first(self, &mut entries.iter().map(|(_, value)| value))?;
                DataType::Map(Arc::new(key), Arc::new(value), Frozen::Yes)
            }
            Selector::Tuple(parts) => {
                let types = parts.iter().map(|part| of_first(self, &mut std::iter::once(part))).collect::<Result<Vec<_>, _>>()?;
                DataType::Tuple(types.into())
            }
            other => of_first(self, &mut std::iter::once(other))?,
        })
    }

    /// A collection, tuple or user type literal as a value of type `whole`.
    pub(super) fn composed(
        &mut self,
        selector: &Selector,
        whole: &DataType,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<Expression, CqlError> {
        let mismatch = || CqlError::Invalid(format!("Invalid literal {selector} for a value of type {whole}"));
        let mut part = |planner: &mut Self, selector: &Selector, wanted: &DataType| {
            let (expression, own) = planner.selector(selector, Some(wanted), reads, aggregates)?;
            if assignable(&own, wanted) { Ok(expression) } else { Err(mismatch()) }
        };
        Ok(match (selector, whole) {
            (Selector::List(parts), DataType::List(element, _)) => {
                Expression::List(parts.iter().map(|selector| part(self, selector, element)).collect::<Result<Vec<_>, _>>()?)
            }
            (Selector::List(parts), DataType::Vector(element, dimension)) => {
                if parts.len() != *dimension as usize {
                    let given = parts.len();
                    return Err(CqlError::Invalid(format!(
                        "Invalid vector literal for {selector} of type {whole}; expected {dimension} elements, but given {given}"
                    )));
                }
                let parts = parts.iter().map(|selector| part(self, selector, element)).collect::<Result<Vec<_>, _>>()?;
                Expression::Vector((**element).clone(), parts)
            }
            (Selector::Set(parts), DataType::Set(element, _)) => {
                let parts = parts.iter().map(|selector| part(self, selector, element)).collect::<Result<Vec<_>, _>>()?;
                Expression::Set((**element).clone(), parts)
            }
            (Selector::Set(parts), DataType::Map(key, _, _)) if parts.is_empty() => Expression::Map((**key).clone(), Vec::new()),
            (Selector::Map(entries), DataType::Map(key_type, value_type, _)) => {
                let mut planned = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    planned.push((part(self, key, key_type)?, part(self, value, value_type)?));
                }
                Expression::Map((**key_type).clone(), planned)
            }
            (Selector::Map(entries), DataType::Udt(user, _)) => {
                let mut fields = Vec::with_capacity(user.fields.len());
                for (name, field_type) in &user.fields {
                    let given = entries.iter().find(|(field, _)| matches!(field, Selector::Column(field) if field == name.as_str()));
                    fields.push(match given {
                        Some((_, value)) => part(self, value, field_type)?,
                        None => Expression::Term(Term::Null),
                    });
                }
                Expression::Fields(fields)
            }
            (Selector::Tuple(parts), DataType::Tuple(types)) if parts.len() <= types.len() => {
                let parts = parts.iter().zip(types.iter()).map(|(selector, wanted)| part(self, selector, wanted));
                Expression::Fields(parts.collect::<Result<Vec<_>, _>>()?)
            }
            _ => return Err(mismatch()),
        })
    }
}
