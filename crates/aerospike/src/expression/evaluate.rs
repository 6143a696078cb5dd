//! What an expression gives for a record. What cannot be known is nothing: a bin that is missing or of another type, a division by zero, an
//! operation that does not fit. It spreads to what is computed from it, except where the rest decides: false AND unknown is false.

use super::node::{Call, GeoSide, Node};
use super::value::{Type, Value};
use super::{code, numbers};
use crate::geo::Shape;
use crate::operate::{self, Change};
use crate::record::{BinSource, EPOCH_S, Record, UserKey, void_time};
use crate::value::msgpack::write;
use crate::value::{Particle, ParticleType};
use model::operation::Context;
use model::record_set::DIGEST_BYTES;
use model::row::Stamp;
use smallvec::SmallVec;
use std::borrow::Cow;

/// How much the operations in one evaluation may look at and give, all together: other requests wait meanwhile.
const OPERATION_BYTES_MAX: usize = 16 << 20;

/// A record that an expression is about.
pub(crate) struct Subject<'s> {
    pub(crate) bins: &'s dyn BinSource,
    pub(crate) set: &'s str,
    pub(crate) key: Option<UserKey<'s>>,
    pub(crate) digest: &'s [u8; DIGEST_BYTES],
    /// When it was written and when it expires; none for a record in the making.
    pub(crate) stamp: Option<Stamp>,
    pub(crate) row_bytes: usize,
    pub(crate) now_us: i64,
}

impl<'s> Subject<'s> {
    /// A record that is there.
    pub(crate) fn of_record(
        record: &Record<'s>,
        bins: &'s dyn BinSource,
        set: &'s str,
        digest: &'s [u8; DIGEST_BYTES],
        context: &Context,
    ) -> Self {
        let Record { stamp, key, row_bytes, .. } = *record;
        Self { bins, set, key, digest, stamp: Some(stamp), row_bytes, now_us: context.timestamp_us }
    }
}

/// One evaluation.
pub(super) struct Evaluation<'e> {
    subject: &'e Subject<'e>,
    variables: Vec<Option<Value<'e>>>,
    bytes_left: usize,
}

impl<'e> Evaluation<'e> {
    pub(super) fn new(subject: &'e Subject<'e>) -> Self {
        Self { subject, variables: Vec::new(), bytes_left: OPERATION_BYTES_MAX }
    }

    /// How many bytes its operations have looked at and given.
    pub(super) fn spent(&self) -> usize {
        OPERATION_BYTES_MAX - self.bytes_left
    }

    /// What an expression gives; none if that cannot be known.
    pub(super) fn value(&mut self, node: &'e Node<'e>) -> Option<Value<'e>> {
        match node {
            Node::Unknown => None,
            Node::Value(value) => Some(value.clone()),
            Node::Bin(kind, name) => self.subject.bins.bin(name).and_then(Value::of_particle).filter(|value| value.kind() == Some(*kind)),
            Node::BinType(name) => {
                let kind = self.subject.bins.bin(name).map_or(ParticleType::Null, |particle| particle.kind);
                Some(Value::Integer(i64::from(kind as u8)))
            }
            Node::Key(kind) => {
                let ([key_kind], bytes) = self.subject.key?.to_wire();
                let key = Value::of_particle(Particle::new(ParticleType::from_wire(key_kind)?, bytes))?;
                Some(key).filter(|key| key.kind() == Some(*kind))
            }
            Node::About(command) => self.about(*command),
            Node::DigestModulo(modulus) => {
                let number = self.subject.digest.last_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes))?;
                Some(Value::Integer(i64::from(number % modulus)))
            }
            Node::Matches(parts) => {
                let (pattern, text) = &**parts;
                match self.value(text)? {
                    Value::Bytes(Type::Text, text) => pattern.matches(&text).map(Value::Bool),
                    _ => None,
                }
            }
            Node::Geo(sides) => {
                let [one, other] = &**sides;
                let (one, other) = (self.shape(one)?, self.shape(other)?);
                Some(Value::Bool(one.meets(&other)))
            }
            Node::Cond(parts) => self.cond(parts),
            Node::Let(parts) => {
                let outer = self.variables.len();
                let (body, definitions) = parts.split_last()?;
                for definition in definitions {
                    let value = self.value(definition);
                    self.variables.push(value);
                }
                let value = self.value(body);
                self.variables.truncate(outer);
                value
            }
            Node::Variable(place) => self.variables.get(*place).cloned().flatten(),
            Node::Call(call) => self.call(call),
            Node::Apply(command, arguments) => self.apply(*command, arguments),
        }
    }

    fn shape(&mut self, side: &'e GeoSide<'e>) -> Option<Cow<'e, Shape>> {
        match side {
            GeoSide::Known(shape) => {
                self.bytes_left = self.bytes_left.checked_sub(shape.bytes_a_place())?;
                Some(Cow::Borrowed(shape))
            }
            GeoSide::Given(node) => match self.value(node)? {
                Value::Bytes(Type::GeoJson, text) => {
                    self.bytes_left = self.bytes_left.checked_sub(text.len())?;
                    Shape::parse(&text).map(Cow::Owned)
                }
                _ => None,
            },
        }
    }

    fn truth(&mut self, node: &'e Node<'e>) -> Option<bool> {
        match self.value(node)? {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    fn cond(&mut self, parts: &'e [Node<'e>]) -> Option<Value<'e>> {
        let mut pairs = parts.chunks_exact(2);
        for pair in &mut pairs {
            if self.truth(&pair[0])? {
                return self.value(&pair[1]);
            }
        }
        self.value(pairs.remainder().first()?)
    }

    fn apply(&mut self, command: i64, arguments: &'e [Node<'e>]) -> Option<Value<'e>> {
        let decisive = match command {
            code::AND => false,
            code::OR => true,
            _ => {
                let values = arguments.iter().map(|argument| self.value(argument)).collect::<Option<SmallVec<[_; 4]>>>()?;
                return numbers::apply(command, &values);
            }
        };
        let mut is_known = true;
        for argument in arguments {
            match self.truth(argument) {
                Some(value) if value == decisive => return Some(Value::Bool(decisive)),
                Some(_) => {}
                None => is_known = false,
            }
        }
        is_known.then_some(Value::Bool(!decisive))
    }

    /// What an operation gives; none if it cannot be done, or gives something of another type or too much.
    fn call(&mut self, call: &'e Call<'e>) -> Option<Value<'e>> {
        let about = self.value(&call.about)?.to_particle();
        self.bytes_left = self.bytes_left.checked_sub(about.bytes.len())?;
        let mut operand = Vec::new();
        if let Some(path) = call.path {
            write::list(&mut operand, 3, 0);
            write::integer(&mut operand, code::WITH_PATH);
            operand.extend_from_slice(path);
        }
        write::list(&mut operand, 1 + call.arguments.len(), 0);
        write::integer(&mut operand, call.code);
        for argument in &call.arguments {
            self.value(argument)?.write_msgpack(&mut operand);
        }
        self.bytes_left = self.bytes_left.checked_sub(operand.len())?;
        let operand = Particle::owned(ParticleType::Blob, operand);
        // What changes a sketch makes one where there is none.
        let is_none = about.kind == ParticleType::Null && call.operation == operate::code::HLL_MODIFY;
        let effect = operate::apply(call.operation, (!is_none).then_some(&about), &operand).ok()?;
        let given = match effect.bin {
            Change::Set(changed) => changed,
            Change::Keep if operate::is_write(call.operation) => about.clone(),
            Change::Keep => effect.result?,
            Change::Remove => return None,
        };
        self.bytes_left = self.bytes_left.checked_sub(given.bytes.len())?;
        Value::of_particle(given.into_owned()).filter(|value| value.kind() == Some(call.result))
    }

    /// What is known of a record besides its bins. Times are in nanoseconds since 1970, or tell how long ago or ahead; -1 is never.
    fn about(&self, command: i64) -> Option<Value<'e>> {
        let subject = self.subject;
        let written_us = subject.stamp.map(|stamp| stamp.timestamp);
        let void_s = subject.stamp.map(void_time).filter(|void| *void > 0).map(|void| i64::from(void) + i64::from(EPOCH_S));
        Some(match command {
            code::LAST_UPDATE => Value::Integer(written_us?.saturating_mul(1_000)),
            code::SINCE_UPDATE => Value::Integer((subject.now_us - written_us?).max(0) / 1_000),
            code::VOID_TIME => Value::Integer(void_s.map_or(-1, |void| void * 1_000_000_000)),
            code::TTL => Value::Integer(void_s.map_or(-1, |void| (void - subject.now_us / 1_000_000).max(0))),
            code::SET_NAME => Value::bytes(Type::Text, subject.set.as_bytes()),
            code::KEY_EXISTS => Value::Bool(subject.key.is_some()),
            code::IS_TOMBSTONE => Value::Bool(false),
            // All is on the device.
            code::MEMORY_SIZE => Value::Integer(0),
            code::DEVICE_SIZE | code::RECORD_SIZE => Value::Integer(subject.row_bytes as i64),
            _ => return None,
        })
    }
}
