//! Operations on whole values.

use super::effect::{Change, Effect};
use crate::ResultCode;
use crate::geo::{self, Shape};
use crate::value::msgpack::{self, Head, Malformed, Reader};
use crate::value::{Particle, ParticleType};

/// Writes a bin: any type, each with the bytes that belong to it; nothing removes the bin.
pub(super) fn write<'a>(operand: &Particle<'a>) -> Result<Effect<'a>, ResultCode> {
    if operand.kind == ParticleType::Null {
        return Ok(Effect::change(Change::Remove));
    }
    Ok(Effect::change(Change::Set(stored(operand)?)))
}

/// Adds to a number; both are integers, which wrap, or both doubles. A bin that is missing gets the operand, whatever it is.
pub(super) fn add<'a>(bin: Option<&Particle<'a>>, operand: &Particle<'a>) -> Result<Effect<'a>, ResultCode> {
    let operand = join_operand(operand)?;
    let Some(bin) = bin else { return Ok(Effect::change(Change::Set(operand))) };
    let sum = match (bin.kind, operand.kind) {
        (ParticleType::Integer, ParticleType::Integer) => {
            i64::from_be_bytes(eight(&bin.bytes)?).wrapping_add(i64::from_be_bytes(eight(&operand.bytes)?)).to_be_bytes()
        }
        (ParticleType::Double, ParticleType::Double) => {
            (f64::from_be_bytes(eight(&bin.bytes)?) + f64::from_be_bytes(eight(&operand.bytes)?)).to_be_bytes()
        }
        _ => return Err(ResultCode::BIN_TYPE),
    };
    Ok(Effect::change(Change::Set(Particle::owned(bin.kind, sum.to_vec()))))
}

/// Puts bytes behind those of the bin.
pub(super) fn append<'a>(bin: Option<&Particle<'a>>, operand: &Particle<'a>) -> Result<Effect<'a>, ResultCode> {
    join(bin, operand, |bin, operand| [bin, operand].concat())
}

/// Puts bytes in front of those of the bin.
pub(super) fn prepend<'a>(bin: Option<&Particle<'a>>, operand: &Particle<'a>) -> Result<Effect<'a>, ResultCode> {
    join(bin, operand, |bin, operand| [operand, bin].concat())
}

fn join<'a>(
    bin: Option<&Particle<'a>>,
    operand: &Particle<'a>,
    joined: impl Fn(&[u8], &[u8]) -> Vec<u8>,
) -> Result<Effect<'a>, ResultCode> {
    let operand = join_operand(operand)?;
    let particle = match bin {
        None => operand,
        Some(bin) if bin.kind == operand.kind && is_joined(bin.kind) => Particle::owned(bin.kind, joined(&bin.bytes, &operand.bytes)),
        Some(_) => return Err(ResultCode::BIN_TYPE),
    };
    Ok(Effect::change(Change::Set(particle)))
}

/// Whether values of a type are put together by append and prepend.
fn is_joined(kind: ParticleType) -> bool {
    matches!(
        kind,
        ParticleType::String
            | ParticleType::Blob
            | ParticleType::JavaBlob
            | ParticleType::CSharpBlob
            | ParticleType::PythonBlob
            | ParticleType::RubyBlob
            | ParticleType::PhpBlob
            | ParticleType::ErlangBlob
    )
}

/// A value that is to be put together with the bin's; nothing is none.
fn join_operand<'a>(operand: &Particle<'a>) -> Result<Particle<'a>, ResultCode> {
    if operand.kind == ParticleType::Null { Err(ResultCode::PARAMETER) } else { stored(operand) }
}

/// A value that a client sent, checked, as it is stored.
fn stored<'a>(operand: &Particle<'a>) -> Result<Particle<'a>, ResultCode> {
    let bytes = &operand.bytes;
    match operand.kind {
        ParticleType::Integer => match bytes.len() {
            8 => {}
            1 | 2 | 4 => {
                let mut wide = [0; 8];
                wide[8 - bytes.len()..].copy_from_slice(bytes);
                return Ok(Particle::owned(ParticleType::Integer, wide.to_vec()));
            }
            _ => return Err(ResultCode::PARAMETER),
        },
        ParticleType::Double if bytes.len() != 8 => return Err(ResultCode::PARAMETER),
        ParticleType::Bool if !matches!(**bytes, [0 | 1]) => return Err(ResultCode::PARAMETER),
        ParticleType::GeoJson => {
            let text = geo::text(bytes).ok_or(ResultCode::PARAMETER)?;
            Shape::parse(text).ok_or(ResultCode::GEO_INVALID_GEOJSON)?;
            return Ok(Particle::owned(ParticleType::GeoJson, text.to_vec()));
        }
        ParticleType::List | ParticleType::Map => {
            let container = container(operand.kind, bytes).map_err(|Malformed| ResultCode::PARAMETER)?;
            if container != **bytes {
                return Ok(Particle::owned(operand.kind, container));
            }
        }
        _ => {}
    }
    Ok(operand.clone())
}

/// A list or map that a client sent, as it is stored: nothing comes after it.
fn container(kind: ParticleType, bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut reader = Reader::new(bytes);
    match (kind, { reader }.head()?) {
        (ParticleType::List, Head::List(_)) | (ParticleType::Map, Head::Map(_)) => {}
        _ => return Err(Malformed),
    }
    let mut out = Vec::with_capacity(bytes.len());
    msgpack::store(&mut reader, &mut out, 0)?;
    if reader.is_empty() { Ok(out) } else { Err(Malformed) }
}

fn eight(bytes: &[u8]) -> Result<[u8; 8], ResultCode> {
    bytes.try_into().map_err(|_| ResultCode::BIN_TYPE)
}
