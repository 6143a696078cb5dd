//! A function that a call was resolved to, and what it computes.

use super::collection::Part;
use super::environment::Environment;
use super::error::{FunctionError, Shown, Signature};
use super::mask::Mask;
use super::math::Math;
use super::number::{self, Number};
use super::operator::Operator;
use super::time;
use super::vector::Similarity;
use crate::value::aggregate::{Aggregate, AggregateKind};
use crate::value::script::{Script, ScriptAggregate};
use crate::value::{self, json, layout, text, validate, validate::DAY_NANOSECONDS};
use model::DataType;
use std::sync::Arc;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Now,
    RandomUuid,
    CurrentTimestamp,
    CurrentDate,
    CurrentTime,
    MinTimeUuid,
    MaxTimeUuid,
    ToDate,
    ToMilliseconds,
    AsBlob,
    FromBlob,
    Cast,
    Math(Math),
    Arithmetic(Operator),
    Concatenate,
    Shift(Operator),
    Negate,
    Floor,
    Part(Part),
    Fold(AggregateKind),
    Similarity(Similarity),
    Mask(Mask),
    ToJson,
    FromJson,
    Aggregate(AggregateKind),
    Token,
    /// What [`FunctionSpec::user`] says.
    User,
}

/// A function that a call was resolved to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSpec {
    pub(super) signature: Signature,
    pub(super) operation: Operation,
    pub(super) user: Option<UserSpec>,
}

/// What a user has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserSpec {
    /// A function.
    Function(Arc<Script>),
    /// An aggregate.
    Aggregate(Arc<ScriptAggregate>),
}

impl FunctionSpec {
    /// Name, argument types and result type.
    #[must_use]
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The types its arguments must have.
    #[must_use]
    pub fn arguments(&self) -> &[DataType] {
        &self.signature.arguments
    }

    /// The type of its result.
    #[must_use]
    pub fn result(&self) -> &DataType {
        &self.signature.result
    }

    /// Whether equal arguments give equal results, so that a call with constants may be computed once.
    #[must_use]
    pub fn is_deterministic(&self) -> bool {
        !matches!(
            self.operation,
            Operation::Now | Operation::RandomUuid | Operation::CurrentTimestamp | Operation::CurrentDate | Operation::CurrentTime
        )
    }

    /// Whether it is a masking function: what it gives stands for a value that is not to be seen.
    #[must_use]
    pub fn is_mask(&self) -> bool {
        matches!(self.operation, Operation::Mask(_))
    }

    /// Whether a larger first argument never gives a smaller result.
    #[must_use]
    pub fn is_monotonic(&self) -> bool {
        matches!(self.operation, Operation::Floor | Operation::ToDate | Operation::ToMilliseconds)
    }

    /// The user's function or aggregate, if it is one.
    #[must_use]
    pub fn user(&self) -> Option<&UserSpec> {
        self.user.as_ref()
    }

    /// Its name as messages and results have it: that of a user's with its keyspace.
    #[must_use]
    pub fn shown_name(&self) -> Box<str> {
        if self.user.is_some() { self.signature.full_name() } else { self.signature.name.clone() }
    }

    /// Whether it makes one value of many rows.
    #[must_use]
    pub fn is_aggregate(&self) -> bool {
        matches!(self.operation, Operation::Aggregate(_)) || matches!(self.user, Some(UserSpec::Aggregate(_)))
    }

    /// A new aggregation, if it is a native function that aggregates rows; [`FunctionSpec::call`] is for the others.
    #[must_use]
    pub fn aggregate(&self) -> Option<Aggregate> {
        match self.operation {
            Operation::Aggregate(kind) => Some(Aggregate::new(kind, self.signature.arguments.first().unwrap_or(&self.signature.result))),
            _ => None,
        }
    }

    /// Calls the function and appends its result to `out`; false is null, and nothing was appended.
    ///
    /// A null argument gives null (but for `toJson` and the masking functions), and so does an empty value of a type that is not text or blob.
    ///
    /// # Errors
    /// When the arguments have no result, such as a division by zero; `out` may then hold a part of one.
    pub fn call(&self, arguments: &[Option<&[u8]>], environment: &mut Environment<'_>, out: &mut Vec<u8>) -> Result<bool, FunctionError> {
        let types = &self.signature.arguments;
        if arguments.len() != types.len() {
            return Err(FunctionError::NotAValue);
        }
        if let Some(UserSpec::Function(script)) = &self.user {
            return script.call(arguments, environment.meter, out);
        }
        if self.operation == Operation::ToJson {
            // As to other functions, no bytes are null; SELECT JSON shows them as an empty text.
            let given = arguments[0].filter(|bytes| !bytes.is_empty() || has_empty(&types[0]));
            let mut written = String::new();
            json::write_json(&types[0], given, &mut written);
            out.extend_from_slice(written.as_bytes());
            return Ok(true);
        }
        if let Operation::Mask(mask) = self.operation {
            return mask.apply(&self.signature.name, &self.signature.result, arguments, out);
        }
        if self.operation == Operation::Token {
            let Some(parts) = arguments.iter().copied().collect::<Option<Vec<&[u8]>>>() else { return Ok(false) };
            let mut key = Vec::new();
            value::partition_key(parts.into_iter(), &mut key).map_err(|_| FunctionError::NotAValue)?;
            out.extend_from_slice(&value::token(&key).0.to_be_bytes());
            return Ok(true);
        }
        let mut values: [&[u8]; ARGUMENTS_MAX] = [&[]; ARGUMENTS_MAX];
        for ((slot, argument), ty) in values.iter_mut().zip(arguments).zip(types) {
            match argument {
                None => return Ok(false),
                Some(bytes) if bytes.is_empty() && self.operation != Operation::AsBlob && !has_empty(ty) => return Ok(false),
                Some(bytes) => *slot = bytes,
            }
        }
        self.apply(values, environment, out)
    }

    fn apply(&self, values: [&[u8]; ARGUMENTS_MAX], environment: &mut Environment<'_>, out: &mut Vec<u8>) -> Result<bool, FunctionError> {
        let (types, result) = (&self.signature.arguments, &self.signature.result);
        let [first, second, third] = values;
        match self.operation {
            Operation::Now => out.extend_from_slice(&environment.timeuuid()),
            Operation::RandomUuid => out.extend_from_slice(&environment.random_uuid()),
            Operation::CurrentTimestamp => out.extend_from_slice(&environment.now_milliseconds().to_be_bytes()),
            Operation::CurrentDate => out.extend_from_slice(&time::date(environment.now_milliseconds()).to_be_bytes()),
            Operation::CurrentTime => {
                let nanoseconds = environment.now_microseconds.wrapping_mul(1000).rem_euclid(DAY_NANOSECONDS);
                out.extend_from_slice(&nanoseconds.to_be_bytes());
            }
            Operation::MinTimeUuid => out.extend_from_slice(&time::min_timeuuid(time::milliseconds(&types[0], first)?)),
            Operation::MaxTimeUuid => out.extend_from_slice(&time::max_timeuuid(time::milliseconds(&types[0], first)?)),
            Operation::ToDate => out.extend_from_slice(&time::date(time::milliseconds(&types[0], first)?).to_be_bytes()),
            Operation::ToMilliseconds => out.extend_from_slice(&time::milliseconds(&types[0], first)?.to_be_bytes()),
            Operation::AsBlob => out.extend_from_slice(first),
            Operation::FromBlob => {
                if validate(result, first).is_err() {
                    return Err(FunctionError::NotBinary {
                        function: self.signature.name.clone(),
                        value: Shown::new(first),
                        ty: result.clone(),
                    });
                }
                out.extend_from_slice(first);
            }
            Operation::Cast if types[0] == *result => out.extend_from_slice(first),
            Operation::Cast if matches!(result, DataType::Text | DataType::Ascii) => {
                let mut written = String::new();
                text::write_plain(&types[0], first, &mut written);
                out.extend_from_slice(written.as_bytes());
            }
            Operation::Cast => number::argument(&types[0], first)?.write(result, out)?,
            Operation::Math(function) => function.apply(number::argument(&types[0], first)?, result, out)?,
            Operation::Negate => number::argument(&types[0], first)?.negated().write(result, out)?,
            Operation::Arithmetic(operator) => {
                let (left, right) = (number::argument(&types[0], first)?, number::argument(&types[1], second)?);
                let failed = |cause| FunctionError::Operation { left: types[0].clone(), operator, right: types[1].clone(), cause };
                Number::operate(operator, &left, &right, result).and_then(|number| number.write(result, out)).map_err(failed)?;
            }
            Operation::Concatenate => {
                out.extend_from_slice(first);
                out.extend_from_slice(second);
            }
            Operation::Shift(operator) => time::shift(operator, &types[0], first, second, out)?,
            Operation::Floor => time::floor(&types[0], first, second, (types.len() == 3).then_some(third), out)?,
            Operation::Part(part) => part.write(first, out),
            Operation::Fold(kind) => {
                let mut aggregate = Aggregate::new(kind, result);
                for element in layout::elements(first) {
                    aggregate.add(Some(element))?;
                }
                return aggregate.finish(out);
            }
            Operation::Similarity(similarity) => out.extend_from_slice(&similarity.compute(first, second)?.to_be_bytes()),
            Operation::FromJson => {
                let text = std::str::from_utf8(first).map_err(|_| FunctionError::NotAValue)?;
                return json::from_json(result, text, out).map_err(FunctionError::Json);
            }
            // All are taken before.
            Operation::ToJson | Operation::Mask(_) | Operation::Aggregate(_) | Operation::Token | Operation::User => {
                return Err(FunctionError::NotAValue);
            }
        }
        Ok(true)
    }
}

/// No function but the masking ones and `token` takes more arguments.
const ARGUMENTS_MAX: usize = 3;

/// Whether no bytes are a value like any other of this type.
fn has_empty(ty: &DataType) -> bool {
    matches!(ty, DataType::Text | DataType::Ascii | DataType::Blob | DataType::Custom(_) | DataType::Tuple(_) | DataType::Udt(..))
}
