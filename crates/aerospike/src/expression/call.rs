//! Operations on lists, maps and blobs within expressions: their arguments are expressions, what they change is a copy.

use super::Node;
use super::evaluate::Evaluation;
use super::parse::Parser;
use super::value::{Type, Value};
use crate::ResultCode;
use crate::operate::{self, Change};
use crate::value::msgpack::{Head, write};
use crate::value::{Particle, ParticleType};

mod module {
    pub(super) const CONTAINERS: i64 = 0;
    pub(super) const BITS: i64 = 1;
    pub(super) const HYPER_LOG_LOG: i64 = 2;
    /// Set where the operation changes what it is about.
    pub(super) const MODIFIES: i64 = 0x40;
}

/// Stands where an operation's code would and says that a path comes next.
const WITH_PATH: i64 = 0xff;

/// An operation with its arguments and what it is about.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// The operation as bins have it.
    operation: u8,
    /// The path to a nested container, as the operation has it.
    path: Option<&'a [u8]>,
    code: i64,
    arguments: Vec<Node<'a>>,
    about: Node<'a>,
    result: Type,
}

impl<'a> Call<'a> {
    pub(super) fn parse(parser: &mut Parser<'a>, result: Type) -> Result<Self, ResultCode> {
        let module = parser.integer()?;
        let modifies = module & module::MODIFIES != 0;
        let operation = match (module & !module::MODIFIES, modifies) {
            (module::CONTAINERS, false) => operate::code::CDT_READ,
            (module::CONTAINERS, true) => operate::code::CDT_MODIFY,
            (module::BITS, false) => operate::code::BITS_READ,
            (module::BITS, true) => operate::code::BITS_MODIFY,
            (module::HYPER_LOG_LOG, _) => return Err(ResultCode::UNSUPPORTED_FEATURE),
            _ => return Err(ResultCode::PARAMETER),
        };
        let mut count = list(parser)?;
        let mut code = parser.integer()?;
        let mut path = None;
        if code == WITH_PATH && count == 3 {
            path = Some(parser.value()?);
            count = list(parser)?;
            code = parser.integer()?;
        }
        let mut arguments = Vec::new();
        for _ in 1..count {
            arguments.push(parser.expression()?.0);
        }
        let (about, _) = parser.expression()?;
        Ok(Self { operation, path, code, arguments, about, result })
    }

    /// What the operation gives; none if it cannot be done, or gives something of another type.
    pub(super) fn evaluate<'e>(&'e self, evaluation: &mut Evaluation<'e>) -> Option<Value<'e>> {
        let about = evaluation.value(&self.about)?.to_particle();
        let mut operand = Vec::new();
        if let Some(path) = self.path {
            write::list(&mut operand, 3, 0);
            write::integer(&mut operand, WITH_PATH);
            operand.extend_from_slice(path);
        }
        write::list(&mut operand, 1 + self.arguments.len(), 0);
        write::integer(&mut operand, self.code);
        for argument in &self.arguments {
            evaluation.value(argument)?.write_msgpack(&mut operand);
        }
        let operand = Particle::owned(ParticleType::Blob, operand);
        let effect = operate::apply(self.operation, Some(&about), &operand).ok()?;
        let given = match effect.bin {
            Change::Set(changed) => changed,
            Change::Keep if operate::is_write(self.operation) => about.clone(),
            Change::Keep => effect.result?,
            Change::Remove => return None,
        };
        evaluation.spend(given.bytes.len())?;
        Value::of_particle(given.into_owned()).filter(|value| value.kind() == Some(self.result))
    }
}

fn list(parser: &mut Parser<'_>) -> Result<usize, ResultCode> {
    match parser.head()? {
        Head::List(count @ 1..) => Ok(count),
        _ => Err(ResultCode::PARAMETER),
    }
}
