//! What an expression gives, and the types of that.

use crate::geo;
use crate::value::msgpack::{self, Head, Reader, write};
use crate::value::{Particle, ParticleType};
use std::borrow::Cow;
use std::cmp::Ordering;

/// The types, by their numbers on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Type {
    Nil = 0,
    Bool = 1,
    Integer = 2,
    Text = 3,
    List = 4,
    Map = 5,
    Blob = 6,
    Float = 7,
    GeoJson = 8,
    HyperLogLog = 9,
}

impl Type {
    const ALL: [Self; 10] = [
        Self::Nil,
        Self::Bool,
        Self::Integer,
        Self::Text,
        Self::List,
        Self::Map,
        Self::Blob,
        Self::Float,
        Self::GeoJson,
        Self::HyperLogLog,
    ];

    pub(super) fn from_wire(number: i64) -> Option<Self> {
        usize::try_from(number).ok().and_then(|number| Self::ALL.get(number)).copied()
    }

    /// The type of a bin that holds such a value.
    pub(super) fn particle(self) -> ParticleType {
        match self {
            Self::Nil => ParticleType::Null,
            Self::Bool => ParticleType::Bool,
            Self::Integer => ParticleType::Integer,
            Self::Text => ParticleType::String,
            Self::List => ParticleType::List,
            Self::Map => ParticleType::Map,
            Self::Blob => ParticleType::Blob,
            Self::Float => ParticleType::Double,
            Self::GeoJson => ParticleType::GeoJson,
            Self::HyperLogLog => ParticleType::HyperLogLog,
        }
    }
}

/// A value; lists and maps are MessagePack as bins have it.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Nil,
    Bool(bool),
    Integer(i64),
    Float(f64),
    /// Text, bytes, a container, a GeoJSON text or a sketch.
    Bytes(Type, Cow<'a, [u8]>),
    /// Infinity or the wildcard: only to compare with.
    Marker(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(super) fn bytes(kind: Type, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Self::Bytes(kind, bytes.into())
    }

    /// The type; a marker is of any.
    pub(super) fn kind(&self) -> Option<Type> {
        match self {
            Self::Nil => Some(Type::Nil),
            Self::Bool(_) => Some(Type::Bool),
            Self::Integer(_) => Some(Type::Integer),
            Self::Float(_) => Some(Type::Float),
            Self::Bytes(kind, _) => Some(*kind),
            Self::Marker(_) => None,
        }
    }

    /// What a bin holds; none for what expressions do not know.
    pub(super) fn of_particle(particle: Particle<'a>) -> Option<Self> {
        let Particle { kind, bytes } = particle;
        let eight = || <[u8; 8]>::try_from(&*bytes).ok();
        Some(match kind {
            ParticleType::Null => Self::Nil,
            ParticleType::Integer => Self::Integer(i64::from_be_bytes(eight()?)),
            ParticleType::Double => Self::Float(f64::from_be_bytes(eight()?)),
            ParticleType::Bool => Self::Bool(*bytes.first()? != 0),
            ParticleType::GeoJson => Self::Bytes(Type::GeoJson, geo::text(&bytes)?.to_vec().into()),
            ParticleType::String => Self::Bytes(Type::Text, bytes),
            ParticleType::Blob => Self::Bytes(Type::Blob, bytes),
            ParticleType::List => Self::Bytes(Type::List, bytes),
            ParticleType::Map => Self::Bytes(Type::Map, bytes),
            ParticleType::HyperLogLog => Self::Bytes(Type::HyperLogLog, bytes),
            _ => return None,
        })
    }

    /// As a bin holds it.
    pub(super) fn to_particle(&self) -> Particle<'static> {
        let (kind, bytes) = match self {
            Self::Nil | Self::Marker(_) => (ParticleType::Null, Vec::new()),
            Self::Bool(value) => (ParticleType::Bool, vec![u8::from(*value)]),
            Self::Integer(number) => (ParticleType::Integer, number.to_be_bytes().to_vec()),
            Self::Float(number) => (ParticleType::Double, number.to_be_bytes().to_vec()),
            Self::Bytes(kind, bytes) => (kind.particle(), bytes.to_vec()),
        };
        Particle::owned(kind, bytes)
    }

    /// What a value in MessagePack is; none for what is malformed.
    pub(super) fn of_msgpack(bytes: &'a [u8]) -> Option<Self> {
        Some(match Reader::new(bytes).head().ok()? {
            Head::Nil => Self::Nil,
            Head::Bool(value) => Self::Bool(value),
            Head::Integer(number) => Self::Integer(number),
            Head::Unsigned(number) => Self::Integer(number as i64),
            Head::Double(number) => Self::Float(number),
            Head::List(_) => Self::bytes(Type::List, bytes),
            Head::Map(_) => Self::bytes(Type::Map, bytes),
            Head::Extension(..) => Self::Marker(bytes),
            Head::Raw([kind, rest @ ..]) => match ParticleType::from_wire(*kind)? {
                ParticleType::String => Self::bytes(Type::Text, rest),
                ParticleType::Blob => Self::bytes(Type::Blob, rest),
                ParticleType::GeoJson => Self::bytes(Type::GeoJson, rest),
                ParticleType::HyperLogLog => Self::bytes(Type::HyperLogLog, rest),
                _ => return None,
            },
            Head::Raw([]) => return None,
        })
    }

    /// Appends it as MessagePack.
    pub(super) fn write_msgpack(&self, out: &mut Vec<u8>) {
        match self {
            Self::Nil => out.push(write::NIL),
            Self::Bool(value) => write::bool(out, *value),
            Self::Integer(number) => write::integer(out, *number),
            Self::Float(number) => write::double(out, *number),
            Self::Bytes(Type::List | Type::Map, bytes) => out.extend_from_slice(bytes),
            Self::Bytes(kind, bytes) => write::typed(out, kind.particle(), bytes),
            Self::Marker(bytes) => out.extend_from_slice(bytes),
        }
    }

    /// The order of two values of one type; none if they cannot be compared.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => Some(one.cmp(other)),
            (Self::Float(one), Self::Float(other)) => one.partial_cmp(other),
            (Self::Bytes(kind, one), Self::Bytes(other_kind, other)) if kind == other_kind && !matches!(kind, Type::List | Type::Map) => {
                Some(one.cmp(other))
            }
            _ if self.kind() == other.kind() || self.kind().is_none() || other.kind().is_none() => {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                self.write_msgpack(&mut left);
                other.write_msgpack(&mut right);
                Some(msgpack::compare(&left, &right))
            }
            _ => None,
        }
    }
}
