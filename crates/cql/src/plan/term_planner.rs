//! Terms against the type of what receives them.

use super::{Planner, Term};
use crate::exec::{Bindings, Bound, Environment};
use crate::language::ast;
use crate::value::literal::{Literal, literal};
use crate::{CqlError, ddl};
use base::Now;
use model::operation::Context;
use model::{DataType, UserType};
use std::sync::Arc;

impl Planner<'_> {
    /// Plans `term` for a column, argument or element `name` of type `receiver`.
    ///
    /// # Errors
    /// A term that is not of the type, in Cassandra's words.
    pub(super) fn term(&mut self, term: &ast::Term, receiver: &DataType, name: &str) -> Result<Term, CqlError> {
        let planned = match term {
            ast::Term::Literal(literal) => return constant(literal, receiver, name),
            ast::Term::Marker(marker) => return Ok(self.mark(marker.index, name, receiver)),
            ast::Term::List(elements) => self.list(elements, receiver, name)?,
            ast::Term::Set(elements) => self.set(elements, receiver, name)?,
            ast::Term::Map(entries) => self.map(entries, receiver, name)?,
            ast::Term::UserType(fields) => self.user_type(fields, receiver, name)?,
            ast::Term::Tuple(elements) => match (receiver, elements.as_slice()) {
                (DataType::Tuple(types), _) => Term::Fields(self.tuple(elements, types, receiver, name)?),
                (DataType::Udt(user, _), _) => {
                    let types: Vec<DataType> = user.fields.iter().map(|(_, field)| field.clone()).collect();
                    let mut fields = self.tuple(elements, &types, receiver, name)?;
                    fields.resize(types.len(), Term::Null);
                    Term::UserType(Arc::clone(user), fields)
                }
                // Parentheses around one term only group it.
                (_, [single]) => return self.term(single, receiver, name),
                _ => return Err(literal_error("tuple type", name, receiver)),
            },
            ast::Term::TypeHint { type_name, value } => {
                let hinted = ddl::resolve_type(type_name, self.type_keyspace(), self.schema)?;
                if !assignable(&hinted, receiver) {
                    return Err(CqlError::Invalid(format!("Cannot assign value {term} to {name} of type {receiver}")));
                }
                return self.term(value, &hinted, name);
            }
            ast::Term::Function { name: function, arguments } => self.function(function, arguments, receiver, name)?,
            ast::Term::Arithmetic { operator, left, right } => self.arithmetic(*operator, left, right, receiver)?,
            ast::Term::Negation(value) => self.negation(value, receiver, name)?,
            ast::Term::Cast { value, type_name } => self.cast_term(value, &ddl::native_type(*type_name), receiver, name)?,
        };
        fold(planned)
    }

    fn list(&mut self, elements: &[ast::Term], receiver: &DataType, name: &str) -> Result<Term, CqlError> {
        let element_name = format!("value({name})");
        match receiver {
            DataType::List(element, _) => {
                self.check_parts("list", elements, element, name)?;
                Ok(Term::List(self.terms(elements, element, &element_name)?))
            }
            DataType::Vector(element, dimension) => {
                if elements.len() != *dimension as usize {
                    return Err(CqlError::Invalid(format!(
                        "Invalid vector literal for {name} of type {receiver}; expected {dimension} elements, but given {}",
                        elements.len()
                    )));
                }
                self.check_parts("vector", elements, element, name)?;
                Ok(Term::Vector((**element).clone(), self.terms(elements, element, &element_name)?))
            }
            _ => Err(CqlError::Invalid(format!("Unexpected receiver type '{receiver}'; only list and vector are expected"))),
        }
    }

    fn set(&mut self, elements: &[ast::Term], receiver: &DataType, name: &str) -> Result<Term, CqlError> {
        match receiver {
            DataType::Set(element, _) => {
                self.check_parts("set", elements, element, name)?;
                Ok(Term::Set((**element).clone(), self.terms(elements, element, &format!("value({name})"))?))
            }
            DataType::Map(key, _, _) if elements.is_empty() => Ok(Term::Map((**key).clone(), Vec::new())),
            _ => Err(literal_error("set", name, receiver)),
        }
    }

    fn map(&mut self, entries: &[(ast::Term, ast::Term)], receiver: &DataType, name: &str) -> Result<Term, CqlError> {
        let DataType::Map(key_type, value_type, _) = receiver else {
            return Err(literal_error("map", name, receiver));
        };
        let (key_name, value_name) = (format!("key({name})"), format!("value({name})"));
        let mut planned = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            for (what, part, part_type) in [("key", key, key_type), ("value", value, value_type)] {
                if !self.may_be(part, part_type) {
                    return Err(CqlError::Invalid(format!("Invalid map literal for {name}: {what} {part} is not of type {part_type}")));
                }
            }
            planned.push((self.term(key, key_type, &key_name)?, self.term(value, value_type, &value_name)?));
        }
        Ok(Term::Map((**key_type).clone(), planned))
    }

    fn user_type(&mut self, given: &[(ast::Identifier, ast::Term)], receiver: &DataType, name: &str) -> Result<Term, CqlError> {
        let DataType::Udt(user, _) = receiver else {
            return Err(literal_error("user type", name, receiver));
        };
        let user: Arc<UserType> = Arc::clone(user);
        if let Some((unknown, _)) = given.iter().find(|(field, _)| !user.fields.iter().any(|(known, _)| known == field.as_str())) {
            return Err(CqlError::Invalid(format!("Unknown field '{}' in value of user defined type {}", unknown.as_str(), user.name)));
        }
        let mut fields = Vec::with_capacity(user.fields.len());
        for (field, field_type) in &user.fields {
            fields.push(match given.iter().find(|(name, _)| name == field.as_str()) {
                Some((_, term)) if !self.may_be(term, field_type) => {
                    let mistake = format!("Invalid user type literal for {name}: field {field} is not of type {field_type}");
                    return Err(CqlError::Invalid(mistake));
                }
                Some((_, term)) => self.term(term, field_type, &format!("{name}.{field}"))?,
                None => Term::Null,
            });
        }
        Ok(Term::UserType(user, fields))
    }

    fn tuple(&mut self, elements: &[ast::Term], types: &[DataType], receiver: &DataType, name: &str) -> Result<Vec<Term>, CqlError> {
        if elements.len() > types.len() {
            return Err(CqlError::Invalid(format!(
                "Invalid tuple literal for {name}: too many elements. Type {receiver} expects {} but got {}",
                types.len(),
                elements.len()
            )));
        }
        let mut fields = Vec::with_capacity(types.len());
        for (position, (element, element_type)) in elements.iter().zip(types).enumerate() {
            if !self.may_be(element, element_type) {
                let mistake = format!("Invalid tuple literal for {name}: component {position} is not of type {element_type}");
                return Err(CqlError::Invalid(mistake));
            }
            fields.push(self.term(element, element_type, &format!("{name}[{position}]"))?);
        }
        Ok(fields)
    }

    fn terms(&mut self, terms: &[ast::Term], receiver: &DataType, name: &str) -> Result<Vec<Term>, CqlError> {
        terms.iter().map(|term| self.term(term, receiver, name)).collect()
    }
}

fn constant(given: &ast::Literal, receiver: &DataType, name: &str) -> Result<Term, CqlError> {
    let Some(given) = neutral(given) else {
        if *receiver == DataType::Counter {
            return Err(CqlError::invalid("Invalid null value for counter increment/decrement"));
        }
        return Ok(Term::Null);
    };
    let mut bytes = Vec::new();
    literal(given, receiver, name, &mut bytes).map_err(|error| CqlError::Invalid(error.to_string()))?;
    Ok(Term::Constant(bytes.into()))
}

/// The literal in the form that [`crate::value`] takes; `None` is null.
pub(super) fn neutral(literal: &ast::Literal) -> Option<Literal<'_>> {
    Some(match literal {
        ast::Literal::Null => return None,
        ast::Literal::Boolean(value) => Literal::Boolean(*value),
        ast::Literal::Integer(text) => Literal::Integer(text),
        ast::Literal::Float(text) => Literal::Float(text),
        ast::Literal::String(text) => Literal::String(text),
        ast::Literal::Uuid(text) => Literal::Uuid(text),
        ast::Literal::Blob(digits) => Literal::Blob(digits),
        ast::Literal::Duration(text) => Literal::Duration(text),
    })
}

fn literal_error(kind: &str, name: &str, receiver: &DataType) -> CqlError {
    CqlError::Invalid(format!("Invalid {kind} literal for {name} of type {receiver}"))
}

/// Whether a value of `given` may stand where `wanted` is expected without a conversion.
pub(super) fn assignable(given: &DataType, wanted: &DataType) -> bool {
    let (given, wanted) = (given.frozen(), wanted.frozen());
    given == wanted
        || matches!(
            (&given, &wanted),
            (DataType::Ascii, DataType::Text)
                | (DataType::TimeUuid, DataType::Uuid)
                | (DataType::BigInt, DataType::Counter)
                | (DataType::Counter | DataType::Timestamp, DataType::BigInt)
                | (DataType::BigInt, DataType::Timestamp)
                | (DataType::Int | DataType::BigInt | DataType::Timestamp, DataType::Varint)
                | (_, DataType::Blob)
        )
}

/// A composed term whose parts are all constant is computed now.
fn fold(term: Term) -> Result<Term, CqlError> {
    let is_constant = |term: &Term| matches!(term, Term::Constant(_) | Term::Null);
    let foldable = match &term {
        Term::List(terms) | Term::Set(_, terms) | Term::Fields(terms) | Term::UserType(_, terms) | Term::Vector(_, terms) => {
            terms.iter().all(is_constant)
        }
        Term::Map(_, entries) => entries.iter().all(|(key, value)| is_constant(key) && is_constant(value)),
        _ => false,
    };
    if !foldable {
        return Ok(term);
    }
    let context = Context { now: Now { monotonic_us: 0, wall_us: 0 }, timestamp_us: 0, nonce: 0 };
    match term.evaluate(&Environment { bindings: &Bindings::default(), context: &context })? {
        Bound::Bytes(bytes) => Ok(Term::Constant(bytes.into_owned().into())),
        Bound::Null | Bound::Unset => Ok(Term::Null),
    }
}
