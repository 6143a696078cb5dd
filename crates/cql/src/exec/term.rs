//! The evaluation of terms.

use super::bindings::{Bound, Environment};
use super::function;
use crate::CqlError;
use crate::plan::{Call, JsonTerm, Missing, Term};
use crate::value;
use crate::wire::Value;
use std::borrow::Cow;

impl Term {
    /// The term's value.
    ///
    /// # Errors
    /// A function that fails, or null where a collection must not have it.
    #[inline]
    pub fn evaluate<'a>(&'a self, environment: &Environment<'a>) -> Result<Bound<'a>, CqlError> {
        Ok(match self {
            Self::Bind(index) => match environment.bindings.get(*index) {
                Value::Bytes(bytes) => Bound::Bytes(Cow::Borrowed(bytes)),
                Value::Null => Bound::Null,
                Value::Unset => Bound::Unset,
            },
            Self::Constant(bytes) => Bound::Bytes(Cow::Borrowed(bytes)),
            Self::Null => Bound::Null,
            composed => composed.evaluate_composed(environment)?,
        })
    }

    fn evaluate_composed<'a>(&'a self, environment: &Environment<'a>) -> Result<Bound<'a>, CqlError> {
        let mut out = Vec::new();
        let part = |term: &'a Term, whole: &str| -> Result<Cow<'a, [u8]>, CqlError> {
            match term.evaluate(environment)? {
                Bound::Bytes(bytes) => Ok(bytes),
                Bound::Null => Err(CqlError::Invalid(format!("null is not supported inside {whole}"))),
                Bound::Unset => Err(CqlError::Invalid(format!("unset value is not supported inside {whole}"))),
            }
        };
        let element = |term: &'a Term| part(term, "collections");
        match self {
            Self::List(terms) => {
                let elements = terms.iter().map(element).collect::<Result<Vec<_>, _>>()?;
                value::build::list(elements.iter().map(|bytes| &**bytes), &mut out);
            }
            Self::Set(element_type, terms) => {
                let elements = terms.iter().map(element).collect::<Result<Vec<_>, _>>()?;
                value::build::set(element_type, elements.iter().map(|bytes| &**bytes).collect(), &mut out);
            }
            Self::Map(key_type, entries) => {
                let entries =
                    entries.iter().map(|(key, value)| Ok((element(key)?, element(value)?))).collect::<Result<Vec<_>, CqlError>>()?;
                value::build::map(key_type, entries.iter().map(|(key, value)| (&**key, &**value)).collect(), &mut out);
            }
            Self::Fields(terms) => {
                let unset = |number: usize| format!("Invalid unset value for tuple field number {number}");
                let fields = values(terms, environment, unset)?;
                value::build::tuple(fields.iter().map(Bound::bytes), &mut out);
            }
            Self::Field(tuple, number) => {
                return Ok(match tuple.evaluate(environment)? {
                    Bound::Bytes(bytes) => {
                        let field = value::layout::fields(&bytes).nth((*number).into()).flatten();
                        field.map_or(Bound::Null, |field| Bound::Bytes(Cow::Owned(field.to_vec())))
                    }
                    other => other,
                });
            }
            Self::UserType(user, terms) => {
                let field = |number: usize| user.fields.get(number).map_or("", |(name, _)| name);
                let unset = |number: usize| format!("Invalid unset value for field '{}' of user defined type {}", field(number), user.name);
                let fields = values(terms, environment, unset)?;
                value::build::tuple(fields.iter().map(Bound::bytes), &mut out);
            }
            Self::Vector(element_type, terms) => {
                for term in terms {
                    value::build::vector_element(element_type, &part(term, "vectors")?, &mut out);
                }
            }
            Self::Call(call) => return self::call(call, environment),
            Self::Json(term) => return json(term, environment),
            Self::Null | Self::Constant(_) | Self::Bind(_) => return Err(CqlError::Server("not a composed term".to_owned())),
        }
        Ok(Bound::Bytes(Cow::Owned(out)))
    }
}

/// The values of `terms`, none of which may be unset: `unset` gives the message for the one of this number.
fn values<'a>(terms: &'a [Term], environment: &Environment<'a>, unset: impl Fn(usize) -> String) -> Result<Vec<Bound<'a>>, CqlError> {
    let value = |(number, term): (usize, &'a Term)| match term.evaluate(environment)? {
        Bound::Unset => Err(CqlError::Invalid(unset(number))),
        bound => Ok(bound),
    };
    terms.iter().enumerate().map(value).collect()
}

/// Calls a function on terms.
fn call<'a>(call: &'a Call, environment: &Environment<'a>) -> Result<Bound<'a>, CqlError> {
    let unset = |_| format!("Invalid unset value for argument in call to function {}", call.function.shown_name());
    let arguments = values(&call.arguments, environment, unset)?;
    let arguments: Vec<Option<&[u8]>> = arguments.iter().map(Bound::bytes).collect();
    let result = function::call(&call.function, &arguments, environment, call.serial)?;
    Ok(result.map_or(Bound::Null, |bytes| Bound::Bytes(Cow::Owned(bytes))))
}

/// A column's value in the object of INSERT JSON.
fn json<'a>(term: &'a JsonTerm, environment: &Environment<'a>) -> Result<Bound<'a>, CqlError> {
    let null = || CqlError::invalid("Got null for INSERT JSON values");
    let object = term.object.evaluate(environment)?.require(null)?;
    let object = std::str::from_utf8(&object).map_err(|_| CqlError::invalid("The JSON value is not UTF-8"))?;
    if object.trim_ascii() == "null" {
        return Err(null());
    }
    let decode_error = |error: value::json::JsonError| CqlError::Invalid(format!("Error decoding JSON value for {}: {error}", term.column));
    let members = value::json::object(object)
        .map_err(|error| CqlError::Invalid(format!("Could not decode JSON string as a map: {error}. (String was: {object})")))?;
    if let Some(table) = &term.table
        && let Some((unknown, _)) = members.iter().find(|(name, _)| table.column(name).is_none())
    {
        return Err(CqlError::Invalid(format!("JSON values map contains unrecognized column: {unknown}")));
    }
    let Some((_, text)) = members.iter().rfind(|(name, _)| *name == term.column) else {
        return Ok(match term.missing {
            Missing::Null => Bound::Null,
            Missing::Unset => Bound::Unset,
        });
    };
    let mut bytes = Vec::new();
    let there = value::json::from_json(&term.data_type, text, &mut bytes).map_err(decode_error)?;
    Ok(if there { Bound::Bytes(Cow::Owned(bytes)) } else { Bound::Null })
}
