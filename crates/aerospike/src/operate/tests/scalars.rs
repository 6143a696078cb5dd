//! Whole values.

use super::super::{Change, Effect, apply, code, is_write};
use crate::ResultCode;
use crate::value::msgpack::notation::bytes;
use crate::value::{Particle, ParticleType};

fn integer(number: i64) -> Particle<'static> {
    Particle::owned(ParticleType::Integer, number.to_be_bytes().to_vec())
}

fn double(number: f64) -> Particle<'static> {
    Particle::owned(ParticleType::Double, number.to_be_bytes().to_vec())
}

fn string(text: &'static str) -> Particle<'static> {
    Particle::new(ParticleType::String, text.as_bytes())
}

fn blob(text: &'static str) -> Particle<'static> {
    Particle::new(ParticleType::Blob, text.as_bytes())
}

fn null() -> Particle<'static> {
    Particle::new(ParticleType::Null, &[])
}

fn set(particle: Particle<'static>) -> Result<Effect<'static>, ResultCode> {
    Ok(Effect { bin: Change::Set(particle), result: None })
}

#[test]
fn add_append_and_prepend_join_values_of_one_type() {
    type Case = (u8, Option<Particle<'static>>, Particle<'static>, Result<Effect<'static>, ResultCode>);
    let cases: Vec<Case> = vec![
        (code::ADD, None, integer(10), set(integer(10))),
        (code::ADD, Some(integer(10)), integer(5), set(integer(15))),
        (code::ADD, Some(integer(i64::MAX)), integer(1), set(integer(i64::MIN))),
        (code::ADD, Some(integer(i64::MIN)), integer(-1), set(integer(i64::MAX))),
        (code::ADD, Some(double(1.5)), double(2.0), set(double(3.5))),
        (code::ADD, Some(double(f64::MAX)), double(f64::MAX), set(double(f64::INFINITY))),
        (code::ADD, Some(integer(1)), double(1.5), Err(ResultCode::BIN_TYPE)),
        (code::ADD, Some(double(1.5)), integer(1), Err(ResultCode::BIN_TYPE)),
        (code::ADD, Some(string("a")), integer(1), Err(ResultCode::BIN_TYPE)),
        (code::ADD, Some(integer(1)), string("a"), Err(ResultCode::BIN_TYPE)),
        (code::ADD, None, null(), Err(ResultCode::PARAMETER)),
        (code::ADD, None, Particle::new(ParticleType::Integer, &[1, 2, 3]), Err(ResultCode::PARAMETER)),
        (code::APPEND, None, string("hello"), set(string("hello"))),
        (code::APPEND, Some(string("hello")), string(" world"), set(string("hello world"))),
        (code::APPEND, Some(blob("a")), blob("b"), set(blob("ab"))),
        (code::APPEND, Some(blob("a")), string("b"), Err(ResultCode::BIN_TYPE)),
        (code::APPEND, Some(integer(1)), string("b"), Err(ResultCode::BIN_TYPE)),
        (code::APPEND, Some(integer(1)), integer(1), Err(ResultCode::BIN_TYPE)),
        // A missing bin gets whatever is to be joined.
        (code::APPEND, None, integer(1), set(integer(1))),
        (code::ADD, None, string("a"), set(string("a"))),
        (code::APPEND, None, null(), Err(ResultCode::PARAMETER)),
        (code::PREPEND, None, string("hello"), set(string("hello"))),
        (code::PREPEND, Some(string("world")), string("hello "), set(string("hello world"))),
    ];
    for (operation, bin, operand, expected) in cases {
        assert_eq!(apply(operation, bin.as_ref(), &operand), expected, "{operation} of {bin:?} and {operand:?}");
    }
}

const POINT: &[u8] = br#"{"type": "Point", "coordinates": [8.5, 47.4]}"#;

#[test]
fn a_write_takes_every_type_and_checks_it() {
    let kept = [
        integer(-1),
        double(0.5),
        string("text"),
        blob(""),
        Particle::new(ParticleType::JavaBlob, &[1]),
        Particle::new(ParticleType::Bool, &[1]),
        Particle::new(ParticleType::HyperLogLog, &[1, 2]),
        Particle::new(ParticleType::GeoJson, POINT),
        Particle::owned(ParticleType::List, bytes("[1, {\"a\": [null]}]")),
        Particle::owned(ParticleType::Map, bytes("<{1: 2}")),
    ];
    for particle in kept {
        assert_eq!(apply(code::WRITE, None, &particle), set(particle.clone()));
        let read = apply(code::READ, Some(&particle), &null());
        assert_eq!(read, Ok(Effect { bin: Change::Keep, result: Some(particle) }));
    }
    assert_eq!(apply(code::WRITE, Some(&integer(1)), &null()), Ok(Effect { bin: Change::Remove, result: None }));
    assert_eq!(apply(code::READ, None, &null()), Ok(Effect { bin: Change::Keep, result: None }));
    let refused: &[(ParticleType, &[u8])] = &[
        (ParticleType::Integer, &[]),
        (ParticleType::Integer, &[0; 9]),
        (ParticleType::Double, &[0; 4]),
        (ParticleType::Bool, &[2]),
        (ParticleType::Bool, &[]),
        (ParticleType::GeoJson, &[0, 0]),
        (ParticleType::GeoJson, &[0, 0, 1, b'{', b'}']),
        (ParticleType::List, &[]),
        (ParticleType::List, &[0x80]),
        (ParticleType::List, &[0x91, 1, 1]),
        (ParticleType::Map, &[0x90]),
        (ParticleType::Map, &[0x83, 0xc7, 0, 1, 0xc0, 2, 0, 1, 0]),
    ];
    for (kind, bytes) in refused {
        assert_eq!(apply(code::WRITE, None, &Particle::new(*kind, bytes)), Err(ResultCode::PARAMETER), "{kind:?} {bytes:?}");
    }
}

#[test]
fn geojson_is_stored_without_its_head_and_refused_if_it_is_none() {
    let write = |bytes: &[u8]| apply(code::WRITE, None, &Particle::owned(ParticleType::GeoJson, bytes.to_vec()));
    let stored = set(Particle::new(ParticleType::GeoJson, POINT));
    assert_eq!(write(&[&[0, 0, 0], POINT].concat()), stored);
    assert_eq!(write(&[&[1, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8], POINT].concat()), stored);
    for wrong in [&b"\0\0\0{}"[..], b"\0\0\0", b"\0\0\0{\"type\": \"Point\", \"coordinates\": [8.5, 97.4]}"] {
        assert_eq!(write(wrong), Err(ResultCode::GEO_INVALID_GEOJSON), "{wrong:?}");
    }
}

#[test]
fn what_is_written_in_a_wide_form_is_stored_in_the_shortest() {
    let cases: &[(ParticleType, &[u8], &[u8])] = &[
        (ParticleType::Integer, &[0xff], &[0, 0, 0, 0, 0, 0, 0, 0xff]),
        (ParticleType::Integer, &[1, 2], &[0, 0, 0, 0, 0, 0, 1, 2]),
        (ParticleType::Integer, &[1, 2, 3, 4], &[0, 0, 0, 0, 1, 2, 3, 4]),
        (ParticleType::List, &[0xdc, 0, 1, 0xcf, 0, 0, 0, 0, 0, 0, 0, 7], &[0x91, 7]),
        // A map that says it has an index, which is another's matter.
        (ParticleType::Map, &[0x82, 0xc7, 3, 0x11, 9, 9, 9, 0xc0, 1, 2], &[0x82, 0xc7, 0, 1, 0xc0, 1, 2]),
    ];
    for (kind, written, stored) in cases {
        assert_eq!(apply(code::WRITE, None, &Particle::new(*kind, written)), set(Particle::new(*kind, stored)), "{written:?}");
    }
}

#[test]
fn what_is_not_served_is_refused() {
    for operation in [code::BITS_READ, code::BITS_MODIFY, code::HLL_READ, code::HLL_MODIFY] {
        assert_eq!(apply(operation, None, &blob("")), Err(ResultCode::PARAMETER));
    }
    for operation in [0, 6, 17, 0xff] {
        assert_eq!(apply(operation, None, &blob("")), Err(ResultCode::PARAMETER));
        assert!(!is_write(operation));
    }
}
