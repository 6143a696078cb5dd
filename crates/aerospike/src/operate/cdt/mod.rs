//! Operations inside lists and maps.
//!
//! A [`Call`] is what the client sent: a path of [`Step`]s to a nested container, an operation, its arguments. [`path`] walks the path and
//! puts a changed container back where it was; [`list`] and [`map`] do the operation on the container at its end; [`select`] finds the
//! elements that a by-index, by-rank, by-key or by-value operation means; [`answer`] shapes what is said about them.

mod answer;
mod call;
mod list;
mod map;
mod outcome;
mod path;
mod select;
mod stored;

use super::effect::{Change, Effect};
use crate::ResultCode;
use crate::value::msgpack::{Head, Malformed, Reader};
use crate::value::{Particle, ParticleType};
use call::{Call, Container, Create, Step};

impl From<Malformed> for ResultCode {
    fn from(_: Malformed) -> Self {
        ResultCode::PARAMETER
    }
}

/// Reads inside a list or map.
pub(super) fn read<'a>(bin: Option<&Particle<'a>>, operand: &Particle<'a>) -> Result<Effect<'a>, ResultCode> {
    let call = Call::parse(&operand.bytes)?;
    if call.changes() {
        return Err(ResultCode::PARAMETER);
    }
    let Some(bin) = bin else { return Ok(Effect::answer(None)) };
    check_type(bin, &call)?;
    let Some(container) = path::resolve(&bin.bytes, &call.path)? else { return Ok(Effect::answer(None)) };
    let result = match call.container {
        Container::List => list::read(&call, container)?,
        Container::Map => map::read(&call, container)?,
    };
    Ok(Effect::answer(result))
}

/// The type of bins that a path by itself leads into, as indexes and queries have one.
///
/// # Errors
/// It is no path, or one that makes what is missing.
pub(crate) fn kind_of_path(path: &[u8]) -> Result<ParticleType, ResultCode> {
    let steps = steps(path)?;
    match steps.first().map(|step| step.container) {
        Some(Container::List) => Ok(ParticleType::List),
        Some(Container::Map) => Ok(ParticleType::Map),
        None => Err(ResultCode::PARAMETER),
    }
}

/// The value at the end of a path by itself; none if that leads nowhere.
pub(crate) fn within<'a>(bin: &'a [u8], path: &'a [u8]) -> Option<&'a [u8]> {
    path::resolve(bin, &steps(path).ok()?).ok().flatten()
}

fn steps(path: &[u8]) -> Result<Vec<Step<'_>>, ResultCode> {
    let steps = call::parse_path_alone(path)?;
    if steps.iter().all(|step| step.create == Create::No) { Ok(steps) } else { Err(ResultCode::PARAMETER) }
}

/// Changes a list or map.
pub(super) fn modify<'a>(bin: Option<&Particle<'a>>, operand: &Particle<'a>) -> Result<Effect<'a>, ResultCode> {
    let call = Call::parse(&operand.bytes)?;
    if !call.changes() {
        return Err(ResultCode::PARAMETER);
    }
    if let Some(bin) = bin {
        check_type(bin, &call)?;
    }
    let outcome = path::modify(bin.map(|bin| &*bin.bytes), &call, 0)?;
    let change = match outcome.container {
        None => Change::Keep,
        Some(bytes) => match Reader::new(&bytes).head()? {
            Head::List(_) => Change::Set(Particle::owned(ParticleType::List, bytes)),
            _ => Change::Set(Particle::owned(ParticleType::Map, bytes)),
        },
    };
    Ok(Effect { bin: change, result: outcome.result })
}

/// A bin must be a container; without a path, the one that the operation is about.
fn check_type(bin: &Particle<'_>, call: &Call<'_>) -> Result<(), ResultCode> {
    let right = match (bin.kind, call.container) {
        (ParticleType::List | ParticleType::Map, _) if !call.path.is_empty() => true,
        (ParticleType::List, Container::List) | (ParticleType::Map, Container::Map) => true,
        _ => false,
    };
    if right { Ok(()) } else { Err(ResultCode::BIN_TYPE) }
}
