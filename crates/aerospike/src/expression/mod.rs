//! Expressions: filters of requests, and operations that read or write what an expression gives.
//!
//! An expression is MessagePack: a list that begins with a command ([`code`]), or a value. [`parse`] makes a tree of it whose types fit;
//! [`evaluate`] asks what it gives for a record. Values of lists and maps within are marked as quoted; operations on lists, maps, bits
//! and sketches are those of bins (`crate::operate`).
//!
//! | payload of an operation | |
//! |---|---|
//! | `[expression, flags]` | read it, or write what it gives to the bin |

mod code;
mod evaluate;
mod node;
mod numbers;
mod parse;
mod pattern;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use evaluate::Subject;

use crate::ResultCode;
use crate::geo::Shape;
use crate::operate::Change;
use crate::value::msgpack::Head;
use crate::value::{Particle, ParticleType};
use evaluate::Evaluation;
use node::Node;
use parse::{Known, Parser};
use std::cell::Cell;
use value::{Type, Value};

/// What a client wants of an operation with an expression.
mod flags {
    pub(super) const CREATE_ONLY: i64 = 1;
    pub(super) const UPDATE_ONLY: i64 = 2;
    pub(super) const ALLOW_DELETE: i64 = 4;
    pub(super) const POLICY_NO_FAIL: i64 = 8;
    pub(super) const EVALUATION_NO_FAIL: i64 = 16;
}

/// A condition that records have to meet.
pub(crate) struct Filter<'a> {
    node: Node<'a>,
    /// How many bytes it has looked at since that was asked for.
    spent: Cell<usize>,
}

impl<'a> Filter<'a> {
    /// Reads a filter.
    ///
    /// # Errors
    /// What is no expression, or none that is true or false.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, ResultCode> {
        let mut parser = Parser::new(bytes);
        match parser.expression()? {
            (node, None | Some(Type::Bool)) if parser.is_empty() => Ok(Self { node, spent: Cell::new(0) }),
            _ => Err(ResultCode::PARAMETER),
        }
    }

    /// Whether it is true of a record.
    pub(crate) fn accepts(&self, subject: &Subject<'_>) -> bool {
        let mut evaluation = Evaluation::new(subject);
        let accepts = matches!(evaluation.value(&self.node), Some(Value::Bool(true)));
        self.spent.set(self.spent.get().saturating_add(evaluation.spent()));
        accepts
    }

    /// As many bytes of rows as took as long to look at as what it has evaluated, besides records as such, since this was last asked for.
    pub(crate) fn take_spent(&self) -> usize {
        self.spent.take()
    }
}

/// The operand of an operation with an expression.
struct Operand<'a> {
    node: Node<'a>,
    kind: Known,
    flags: i64,
}

impl<'a> Operand<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ResultCode> {
        let mut parser = Parser::new(bytes);
        let Head::List(2) = parser.head()? else { return Err(ResultCode::PARAMETER) };
        let (node, kind) = parser.expression()?;
        let flags = parser.integer()?;
        if parser.is_empty() { Ok(Self { node, kind, flags }) } else { Err(ResultCode::PARAMETER) }
    }

    fn has(&self, flag: i64) -> bool {
        self.flags & flag != 0
    }

    /// What the expression gives; none if that cannot be known and the client does not mind.
    fn evaluate(&self, subject: &Subject<'_>) -> Result<Option<Particle<'static>>, ResultCode> {
        match Evaluation::new(subject).value(&self.node) {
            Some(value) => Ok(Some(value.to_particle())),
            None if self.has(flags::EVALUATION_NO_FAIL) => Ok(None),
            None => Err(ResultCode::OP_NOT_APPLICABLE),
        }
    }
}

/// The answer of an operation that reads an expression.
///
/// # Errors
/// What is no expression, or cannot be known of this record.
pub(crate) fn read(operand: &[u8], subject: &Subject<'_>) -> Result<Option<Particle<'static>>, ResultCode> {
    Operand::parse(operand)?.evaluate(subject)
}

/// What becomes of a bin to which what an expression gives is written; `exists` is whether it is there.
///
/// # Errors
/// As [`read`]; a bin that is there or not against what the client expects; nil, unless the client allows that to delete.
pub(crate) fn write(operand: &[u8], exists: bool, subject: &Subject<'_>) -> Result<Change<'static>, ResultCode> {
    let operand = Operand::parse(operand)?;
    let refused = match exists {
        true if operand.has(flags::CREATE_ONLY) => Some(ResultCode::BIN_EXISTS),
        false if operand.has(flags::UPDATE_ONLY) => Some(ResultCode::BIN_NOT_FOUND),
        _ => None,
    };
    let outcome = match refused {
        Some(code) => Err(code),
        None => match operand.evaluate(subject)? {
            None => Ok(Change::Keep),
            // What it takes out of a list or map nobody has looked at.
            Some(particle) if particle.kind == ParticleType::GeoJson && Shape::parse(&particle.bytes).is_none() => {
                Err(ResultCode::GEO_INVALID_GEOJSON)
            }
            Some(particle) if particle.kind != ParticleType::Null => Ok(Change::Set(particle)),
            Some(_) if operand.has(flags::ALLOW_DELETE) => Ok(Change::Remove),
            Some(_) => Err(ResultCode::OP_NOT_APPLICABLE),
        },
    };
    if operand.has(flags::POLICY_NO_FAIL) { outcome.or(Ok(Change::Keep)) } else { outcome }
}

/// The kind of value that [`write()`] leaves in a bin, if it leaves any.
///
/// # Errors
/// What is no expression.
pub(crate) fn written_kind(operand: &[u8]) -> Result<Option<ParticleType>, ResultCode> {
    Ok(Operand::parse(operand)?.kind.filter(|kind| *kind != Type::Nil).map(Type::particle))
}
