//! From bytes to a tree whose types are known to fit.
//!
//! A type that is not known before a record is looked at (`unknown`, a marker) fits everywhere.

use super::code;
use super::node::{Call, GeoSide, Node};
use super::pattern::Pattern;
use super::value::{Type, Value};
use crate::ResultCode;
use crate::geo::Shape;
use crate::operate;
use crate::value::msgpack::{self, Head, Reader};

/// How deep expressions may be in each other.
const DEPTH_MAX: usize = 64;

/// What the operations of a call are on.
mod module {
    pub(super) const CONTAINERS: i64 = 0;
    pub(super) const BITS: i64 = 1;
    pub(super) const HYPER_LOG_LOG: i64 = 2;
    /// Set where the operation changes what it is about.
    pub(super) const MODIFIES: i64 = 0x40;
}

/// A type, if it is known.
pub(super) type Known = Option<Type>;

/// Reads expressions from bytes that anybody may have sent.
pub(super) struct Parser<'a> {
    reader: Reader<'a>,
    /// The variables that may be named here, the innermost last.
    variables: Vec<(&'a [u8], Known)>,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes), variables: Vec::new(), depth: 0 }
    }

    /// Whether all is read.
    pub(super) fn is_empty(&self) -> bool {
        self.reader.is_empty()
    }

    pub(super) fn head(&mut self) -> Result<Head<'a>, ResultCode> {
        Ok(self.reader.head()?)
    }

    pub(super) fn integer(&mut self) -> Result<i64, ResultCode> {
        match self.reader.head()? {
            Head::Integer(number) => Ok(number),
            _ => Err(ResultCode::PARAMETER),
        }
    }

    /// A name or a pattern, which has no type in front.
    fn name(&mut self) -> Result<&'a [u8], ResultCode> {
        match self.reader.head()? {
            Head::Raw(name) => Ok(name),
            _ => Err(ResultCode::PARAMETER),
        }
    }

    /// The next expression and its type.
    pub(super) fn expression(&mut self) -> Result<(Node<'a>, Known), ResultCode> {
        let ahead = self.reader;
        match self.reader.head()? {
            Head::List(count @ 1..) => {
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return Err(ResultCode::PARAMETER);
                }
                let command = self.integer()?;
                let parsed = self.command(command, count - 1)?;
                self.depth -= 1;
                Ok(parsed)
            }
            Head::List(0) => Err(ResultCode::PARAMETER),
            Head::Map(_) => {
                self.reader = ahead;
                self.quoted()
            }
            _ => {
                self.reader = ahead;
                let value = Value::of_msgpack(self.reader.value()?).ok_or(ResultCode::PARAMETER)?;
                if let Value::Bytes(Type::GeoJson, text) = &value {
                    Shape::parse(text).ok_or(ResultCode::PARAMETER)?;
                }
                let kind = value.kind();
                Ok((Node::Value(value), kind))
            }
        }
    }

    /// A point or a region; what the client has written is read once for all records.
    fn geo_side(&mut self) -> Result<GeoSide<'a>, ResultCode> {
        let (node, kind) = self.expression()?;
        expect(kind, Type::GeoJson)?;
        match node {
            Node::Value(Value::Bytes(Type::GeoJson, text)) => Ok(GeoSide::Known(Shape::parse(&text).ok_or(ResultCode::PARAMETER)?)),
            node => Ok(GeoSide::Given(node)),
        }
    }

    /// A list or map as a value, in its shortest form.
    fn quoted(&mut self) -> Result<(Node<'a>, Known), ResultCode> {
        let mut stored = Vec::new();
        let kind = match { self.reader }.head()? {
            Head::List(_) => Type::List,
            Head::Map(_) => Type::Map,
            _ => return Err(ResultCode::PARAMETER),
        };
        msgpack::store(&mut self.reader, &mut stored, 0)?;
        Ok((Node::Value(Value::bytes(kind, stored)), Some(kind)))
    }

    fn command(&mut self, command: i64, count: usize) -> Result<(Node<'a>, Known), ResultCode> {
        let exactly = |expected| if count == expected { Ok(()) } else { Err(ResultCode::PARAMETER) };
        match command {
            code::UNKNOWN => exactly(0).map(|()| (Node::Unknown, None)),
            code::REGEX => {
                exactly(3)?;
                let (flags, pattern) = (self.integer()?, self.name()?);
                let pattern = Pattern::new(pattern, flags)?;
                let (text, kind) = self.expression()?;
                expect(kind, Type::Text)?;
                Ok((Node::Matches(Box::new((pattern, text))), Some(Type::Bool)))
            }
            code::GEO => {
                exactly(2)?;
                let sides = [self.geo_side()?, self.geo_side()?];
                Ok((Node::Geo(Box::new(sides)), Some(Type::Bool)))
            }
            code::DIGEST_MODULO..=code::BIN_TYPE => self.about(command, count),
            code::COND => self.cond(count),
            code::VAR => {
                exactly(1)?;
                let name = self.name()?;
                let place = self.variables.iter().rposition(|(known, _)| *known == name).ok_or(ResultCode::PARAMETER)?;
                Ok((Node::Variable(place), self.variables[place].1))
            }
            code::LET => self.scope(count),
            code::QUOTED => exactly(1).and_then(|()| self.quoted()),
            code::CALL => {
                exactly(4)?;
                let result = self.kind()?;
                let call = self.call(result)?;
                Ok((Node::Call(Box::new(call)), Some(result)))
            }
            _ => {
                let mut arguments = Vec::new();
                let mut kinds = Vec::new();
                for _ in 0..count {
                    let (argument, kind) = self.expression()?;
                    arguments.push(argument);
                    kinds.push(kind);
                }
                let kind = result_of(command, &kinds)?;
                Ok((Node::Apply(command, arguments), kind))
            }
        }
    }

    /// What is known of a record, its bins among it.
    fn about(&mut self, command: i64, count: usize) -> Result<(Node<'a>, Known), ResultCode> {
        let exactly = |expected| if count == expected { Ok(()) } else { Err(ResultCode::PARAMETER) };
        match command {
            code::DIGEST_MODULO => {
                exactly(1)?;
                let modulus = self.integer()?;
                let modulus = u32::try_from(modulus).ok().filter(|modulus| *modulus > 0).ok_or(ResultCode::PARAMETER)?;
                Ok((Node::DigestModulo(modulus), Some(Type::Integer)))
            }
            code::DEVICE_SIZE..=code::RECORD_SIZE => {
                exactly(0)?;
                let kind = match command {
                    code::SET_NAME => Type::Text,
                    code::KEY_EXISTS | code::IS_TOMBSTONE => Type::Bool,
                    _ => Type::Integer,
                };
                Ok((Node::About(command), Some(kind)))
            }
            code::KEY => {
                exactly(1)?;
                let kind = self.kind()?;
                Ok((Node::Key(kind), Some(kind)))
            }
            code::BIN => {
                exactly(2)?;
                let (kind, name) = (self.kind()?, self.name()?);
                Ok((Node::Bin(kind, name), Some(kind)))
            }
            code::BIN_TYPE => {
                exactly(1)?;
                Ok((Node::BinType(self.name()?), Some(Type::Integer)))
            }
            _ => Err(ResultCode::PARAMETER),
        }
    }

    /// An operation with its arguments, and what it is about.
    fn call(&mut self, result: Type) -> Result<Call<'a>, ResultCode> {
        let module = self.integer()?;
        let operation = match (module & !module::MODIFIES, module & module::MODIFIES != 0) {
            (module::CONTAINERS, false) => operate::code::CDT_READ,
            (module::CONTAINERS, true) => operate::code::CDT_MODIFY,
            (module::BITS, false) => operate::code::BITS_READ,
            (module::BITS, true) => operate::code::BITS_MODIFY,
            (module::HYPER_LOG_LOG, false) => operate::code::HLL_READ,
            (module::HYPER_LOG_LOG, true) => operate::code::HLL_MODIFY,
            _ => return Err(ResultCode::PARAMETER),
        };
        let mut count = self.list()?;
        let mut code = self.integer()?;
        let mut path = None;
        if code == code::WITH_PATH && count == 3 {
            path = Some(self.reader.value()?);
            count = self.list()?;
            code = self.integer()?;
        }
        let mut arguments = Vec::new();
        for _ in 1..count {
            arguments.push(self.expression()?.0);
        }
        let (about, _) = self.expression()?;
        Ok(Call { operation, path, code, arguments, about, result })
    }

    /// The head of a list that is not empty.
    fn list(&mut self) -> Result<usize, ResultCode> {
        match self.reader.head()? {
            Head::List(count @ 1..) => Ok(count),
            _ => Err(ResultCode::PARAMETER),
        }
    }

    fn kind(&mut self) -> Result<Type, ResultCode> {
        Type::from_wire(self.integer()?).ok_or(ResultCode::PARAMETER)
    }

    /// Conditions with their actions, then the action if none holds. All actions give one type, or nothing.
    fn cond(&mut self, count: usize) -> Result<(Node<'a>, Known), ResultCode> {
        if count.is_multiple_of(2) {
            return Err(ResultCode::PARAMETER);
        }
        let (mut parts, mut result) = (Vec::new(), None);
        for place in 0..count {
            let (part, kind) = self.expression()?;
            parts.push(part);
            if place % 2 == 0 && place + 1 < count {
                expect(kind, Type::Bool)?;
                continue;
            }
            result = match (result, kind) {
                (None | Some(Type::Nil), kind @ Some(_)) => kind,
                (result, None | Some(Type::Nil)) => result,
                (result, kind) if result == kind => result,
                _ => return Err(ResultCode::PARAMETER),
            };
        }
        Ok((Node::Cond(parts), result))
    }

    /// Names with what they stand for, then the expression in which they do.
    fn scope(&mut self, count: usize) -> Result<(Node<'a>, Known), ResultCode> {
        if count.is_multiple_of(2) {
            return Err(ResultCode::PARAMETER);
        }
        let outer = self.variables.len();
        let mut parts = Vec::new();
        for _ in 0..count / 2 {
            let name = self.name()?;
            let (definition, kind) = self.expression()?;
            parts.push(definition);
            self.variables.push((name, kind));
        }
        let (body, kind) = self.expression()?;
        parts.push(body);
        self.variables.truncate(outer);
        Ok((Node::Let(parts), kind))
    }
}

fn expect(kind: Known, expected: Type) -> Result<(), ResultCode> {
    if kind.is_none_or(|kind| kind == expected) { Ok(()) } else { Err(ResultCode::PARAMETER) }
}

/// What a command gives for arguments of these types.
fn result_of(command: i64, kinds: &[Known]) -> Result<Known, ResultCode> {
    let all = |expected| kinds.iter().try_for_each(|kind| expect(*kind, expected));
    let known = kinds.iter().copied().flatten().next();
    let (range, takes, gives) = match command {
        code::EQ..=code::LE => (2..=2, known, Some(Type::Bool)),
        code::AND | code::OR | code::EXCLUSIVE => (1..=usize::MAX, Some(Type::Bool), Some(Type::Bool)),
        code::NOT => (1..=1, Some(Type::Bool), Some(Type::Bool)),
        code::ADD | code::SUB | code::MUL | code::DIV | code::MIN | code::MAX => (1..=usize::MAX, numeric(known)?, known),
        code::ABS => (1..=1, numeric(known)?, known),
        code::POW | code::LOG => (2..=2, Some(Type::Float), Some(Type::Float)),
        code::FLOOR | code::CEIL => (1..=1, Some(Type::Float), Some(Type::Float)),
        code::TO_INT => (1..=1, Some(Type::Float), Some(Type::Integer)),
        code::TO_FLOAT => (1..=1, Some(Type::Integer), Some(Type::Float)),
        code::INT_AND | code::INT_OR | code::INT_XOR => (1..=usize::MAX, Some(Type::Integer), Some(Type::Integer)),
        code::MOD | code::INT_LSHIFT | code::INT_RSHIFT | code::INT_ARSHIFT => (2..=2, Some(Type::Integer), Some(Type::Integer)),
        code::INT_NOT | code::INT_COUNT => (1..=1, Some(Type::Integer), Some(Type::Integer)),
        code::INT_LSCAN | code::INT_RSCAN if kinds.len() == 2 => {
            expect(kinds[0], Type::Integer)?;
            expect(kinds[1], Type::Bool)?;
            return Ok(Some(Type::Integer));
        }
        _ => return Err(ResultCode::PARAMETER),
    };
    if !range.contains(&kinds.len()) {
        return Err(ResultCode::PARAMETER);
    }
    takes.map_or(Ok(()), all)?;
    Ok(gives)
}

/// The type that all arguments of arithmetic have.
fn numeric(known: Known) -> Result<Known, ResultCode> {
    match known {
        None | Some(Type::Integer | Type::Float) => Ok(known),
        Some(_) => Err(ResultCode::PARAMETER),
    }
}
