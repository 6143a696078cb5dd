//! Operations as tables: a bin, an operation, what becomes of the bin, the answer.
//!
//! What is expected is what the clients' own tests and the server's documentation say.

mod bits;
mod hll;
mod lists;
mod maps;
mod model;
mod paths;
mod scalars;

use super::{Change, apply, code};
use crate::ResultCode;
use crate::value::msgpack::notation::{bytes, text};
use crate::value::{Particle, ParticleType};

/// A bin's value from text; a missing bin is `-`.
fn bin(notation: &str) -> Option<Particle<'static>> {
    (notation != "-").then(|| {
        let kind = if notation.trim_start_matches(['<', '~']).starts_with('{') { ParticleType::Map } else { ParticleType::List };
        Particle::owned(kind, bytes(notation))
    })
}

/// A particle as text; none is `-`.
fn show(particle: Option<&Particle<'_>>) -> String {
    let Some(Particle { kind, bytes }) = particle else { return "-".to_owned() };
    match kind {
        ParticleType::List | ParticleType::Map => text(bytes),
        ParticleType::Null => "null".to_owned(),
        ParticleType::Integer => i64::from_be_bytes((**bytes).try_into().expect("eight bytes")).to_string(),
        ParticleType::Double => format!("{:?}", f64::from_be_bytes((**bytes).try_into().expect("eight bytes"))),
        ParticleType::Bool => (bytes[0] != 0).to_string(),
        ParticleType::String => format!("\"{}\"", String::from_utf8_lossy(bytes)),
        kind => format!("{kind:?}({})", String::from_utf8_lossy(bytes)),
    }
}

/// Runs a list or map operation: the bin after it, and the answer.
fn run(before: &str, operand: &str) -> Result<(String, String), ResultCode> {
    let before = bin(before);
    let operand = Particle::owned(ParticleType::Blob, bytes(operand));
    let effect = match apply(code::CDT_READ, before.as_ref(), &operand) {
        Err(ResultCode::PARAMETER) => apply(code::CDT_MODIFY, before.as_ref(), &operand)?,
        read => read?,
    };
    let after = match &effect.bin {
        Change::Keep => show(before.as_ref()),
        Change::Set(particle) => show(Some(particle)),
        Change::Remove => "-".to_owned(),
    };
    Ok((after, show(effect.result.as_ref())))
}

/// Checks reads: a bin, then operations with their answers.
fn reads(before: &str, cases: &[(&str, &str)]) {
    for (operand, expected) in cases {
        let (after, result) = run(before, operand).unwrap_or_else(|code| panic!("{operand} of {before}: {code}"));
        assert_eq!((after.as_str(), result.as_str()), (before, *expected), "{operand} of {before}");
    }
}

/// Checks changes: a bin, an operation, the bin after it, the answer.
fn changes(cases: &[(&str, &str, &str, &str)]) {
    for (before, operand, after, expected) in cases {
        let (now, result) = run(before, operand).unwrap_or_else(|code| panic!("{operand} of {before}: {code}"));
        assert_eq!((now.as_str(), result.as_str()), (*after, *expected), "{operand} of {before}");
    }
}

/// Checks refusals: a bin, an operation, the code.
fn refusals(cases: &[(&str, &str, ResultCode)]) {
    for (before, operand, expected) in cases {
        assert_eq!(run(before, operand).err(), Some(*expected), "{operand} of {before}");
    }
}
