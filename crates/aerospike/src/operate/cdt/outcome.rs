//! What an operation made of its container, and values of containers as answers.

use crate::ResultCode;
use crate::value::msgpack::{Head, Reader};
use crate::value::{Particle, ParticleType};
use std::borrow::Cow;

/// What became of the container at the end of a path, and the answer.
pub(super) struct Outcome {
    /// The container's bytes, if they changed.
    pub(super) container: Option<Vec<u8>>,
    /// The answer.
    pub(super) result: Option<Particle<'static>>,
}

impl Outcome {
    pub(super) fn changed(container: Vec<u8>, result: Option<Particle<'static>>) -> Self {
        Self { container: Some(container), result }
    }

    pub(super) fn unchanged(result: Option<Particle<'static>>) -> Self {
        Self { container: None, result }
    }
}

/// A value inside a container as a particle of its own. Nil is a value too: clients are told of it.
pub(super) fn particle(bytes: &[u8]) -> Result<Particle<'static>, ResultCode> {
    let (kind, bytes): (_, Cow<'_, [u8]>) = match Reader::new(bytes).head()? {
        Head::Nil => (ParticleType::Null, Cow::Borrowed(&[][..])),
        Head::Bool(value) => (ParticleType::Bool, Cow::Owned(vec![value.into()])),
        Head::Integer(number) => (ParticleType::Integer, Cow::Owned(number.to_be_bytes().to_vec())),
        Head::Unsigned(number) => (ParticleType::Integer, Cow::Owned(number.to_be_bytes().to_vec())),
        Head::Double(number) => (ParticleType::Double, Cow::Owned(number.to_be_bytes().to_vec())),
        Head::List(_) => (ParticleType::List, Cow::Borrowed(bytes)),
        Head::Map(_) => (ParticleType::Map, Cow::Borrowed(bytes)),
        Head::Raw([kind, bytes @ ..]) => match ParticleType::from_wire(*kind) {
            Some(kind @ (ParticleType::String | ParticleType::HyperLogLog | ParticleType::GeoJson)) => (kind, Cow::Borrowed(bytes)),
            _ => (ParticleType::Blob, Cow::Borrowed(bytes)),
        },
        Head::Raw([]) => (ParticleType::String, Cow::Borrowed(&[][..])),
        Head::Extension(..) => return Err(ResultCode::PARAMETER),
    };
    Ok(Particle::owned(kind, bytes.into_owned()))
}

/// A number as a particle.
pub(super) fn number(number: usize) -> Option<Particle<'static>> {
    Some(Particle::owned(ParticleType::Integer, (number as i64).to_be_bytes().to_vec()))
}
