//! Whether terms fit where they stand, by their kinds alone: what Cassandra asks of the parts of a literal before it reads them.

use super::Planner;
use super::term_planner::{assignable, neutral};
use crate::language::ast::Term;
use crate::value::literal::Fit;
use crate::{CqlError, ddl};
use model::DataType;

impl Planner<'_> {
    /// Refuses parts of a `kind` literal for `name` that are not of type `wanted`.
    pub(super) fn check_parts(&self, kind: &str, parts: &[Term], wanted: &DataType, name: &str) -> Result<(), CqlError> {
        match parts.iter().find(|part| !self.may_be(part, wanted)) {
            Some(part) => Err(CqlError::Invalid(format!("Invalid {kind} literal for {name}: value {part} is not of type {wanted}"))),
            None => Ok(()),
        }
    }

    /// Whether a term may be of a type. Markers, calls and operators may: they say more when they are planned.
    pub(super) fn may_be(&self, term: &Term, wanted: &DataType) -> bool {
        let all = |parts: &[Term], wanted: &DataType| parts.iter().all(|part| self.may_be(part, wanted));
        match (term, wanted) {
            (Term::Literal(literal), _) => neutral(literal).is_none_or(|literal| literal.fit(wanted) != Fit::None),
            (Term::List(parts), DataType::List(element, _)) => all(parts, element),
            (Term::List(parts), DataType::Vector(element, dimension)) => parts.len() == *dimension as usize && all(parts, element),
            (Term::Set(parts), DataType::Set(element, _)) => all(parts, element),
            (Term::Set(parts), DataType::Map(..)) => parts.is_empty(),
            (Term::Map(entries), DataType::Map(key_type, value_type, _)) => {
                entries.iter().all(|(key, value)| self.may_be(key, key_type) && self.may_be(value, value_type))
            }
            (Term::UserType(fields), DataType::Udt(user, _)) => fields.iter().all(|(name, value)| {
                user.fields.iter().find(|(field, _)| field == name.as_str()).is_some_and(|(_, field_type)| self.may_be(value, field_type))
            }),
            (Term::Tuple(parts), DataType::Tuple(types)) => {
                parts.len() <= types.len() && parts.iter().zip(types.iter()).all(|(part, part_type)| self.may_be(part, part_type))
            }
            (Term::Tuple(parts), DataType::Udt(user, _)) => {
                parts.len() <= user.fields.len() && parts.iter().zip(&user.fields).all(|(part, (_, field))| self.may_be(part, field))
            }
            (Term::Tuple(parts), _) => matches!(parts.as_slice(), [single] if self.may_be(single, wanted)),
            (Term::List(_) | Term::Set(_) | Term::Map(_) | Term::UserType(_), _) => false,
            (Term::TypeHint { type_name, .. }, _) => {
                ddl::resolve_type(type_name, self.keyspace, self.schema).is_ok_and(|hinted| assignable(&hinted, wanted))
            }
            _ => true,
        }
    }
}
