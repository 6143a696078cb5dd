//! Operations on bits: examples, and random ones against a model that works on one bit after the other.

use super::super::{Change, apply, code};
use crate::ResultCode;
use crate::value::msgpack::write;
use crate::value::{Particle, ParticleType};

/// An argument of an operation.
#[derive(Clone, Copy, Debug)]
enum Argument<'a> {
    Number(i64),
    Truth(bool),
    Blob(&'a [u8]),
}

use Argument::{Blob, Number, Truth};

fn operand(operation: i64, arguments: &[Argument<'_>]) -> Particle<'static> {
    let mut bytes = Vec::new();
    write::list(&mut bytes, 1 + arguments.len(), 0);
    write::integer(&mut bytes, operation);
    for argument in arguments {
        match argument {
            Number(number) => write::integer(&mut bytes, *number),
            Truth(value) => write::bool(&mut bytes, *value),
            Blob(blob) => write::typed(&mut bytes, ParticleType::Blob, blob),
        }
    }
    Particle::owned(ParticleType::Blob, bytes)
}

/// The blob after a change.
fn modify(before: Option<&[u8]>, operation: i64, arguments: &[Argument<'_>]) -> Result<Option<Vec<u8>>, ResultCode> {
    let before = before.map(|bytes| Particle::new(ParticleType::Blob, bytes));
    match apply(code::BITS_MODIFY, before.as_ref(), &operand(operation, arguments))?.bin {
        Change::Set(particle) => Ok(Some(particle.bytes.into_owned())),
        Change::Keep => Ok(before.map(|before| before.bytes.into_owned())),
        Change::Remove => panic!("no operation on bits removes a bin"),
    }
}

fn read(blob: &[u8], operation: i64, arguments: &[Argument<'_>]) -> Result<Vec<u8>, ResultCode> {
    let blob = Particle::new(ParticleType::Blob, blob);
    let effect = apply(code::BITS_READ, Some(&blob), &operand(operation, arguments))?;
    assert_eq!(effect.bin, Change::Keep);
    Ok(effect.result.expect("a read of a blob answers").bytes.into_owned())
}

fn number(blob: &[u8], operation: i64, arguments: &[Argument<'_>]) -> Result<i64, ResultCode> {
    read(blob, operation, arguments).map(|bytes| i64::from_be_bytes(bytes.try_into().expect("eight bytes")))
}

const RESIZE: i64 = 0;
const INSERT: i64 = 1;
const REMOVE: i64 = 2;
const SET: i64 = 3;
const NOT: i64 = 7;
const LSHIFT: i64 = 8;
const RSHIFT: i64 = 9;
const ADD: i64 = 10;
const SUBTRACT: i64 = 11;
const SET_INT: i64 = 12;
const GET: i64 = 50;
const COUNT: i64 = 51;
const LSCAN: i64 = 52;
const RSCAN: i64 = 53;
const GET_INT: i64 = 54;

#[test]
fn the_clients_examples_give_what_the_clients_say() {
    let blob = [0b0000_0001, 0b0100_0010, 0b0000_0011, 0b0000_0100, 0b0000_0101];
    let cases: [(i64, &[Argument<'_>], &[u8]); 14] = [
        (RESIZE, &[Number(6), Number(0), Number(0)], &[1, 66, 3, 4, 5, 0]),
        (RESIZE, &[Number(6), Number(0), Number(1)], &[0, 1, 66, 3, 4, 5]),
        (RESIZE, &[Number(2), Number(0), Number(1)], &[4, 5]),
        (INSERT, &[Number(1), Blob(&[255, 199]), Number(0)], &[1, 255, 199, 66, 3, 4, 5]),
        (REMOVE, &[Number(2), Number(3), Number(0)], &[1, 66]),
        (SET, &[Number(13), Number(3), Blob(&[0b1110_0000]), Number(0)], &[1, 0b0100_0111, 3, 4, 5]),
        (4, &[Number(17), Number(6), Blob(&[0b1010_1000]), Number(0)], &[1, 66, 0b0101_0111, 4, 5]),
        (5, &[Number(17), Number(6), Blob(&[0b1010_1100]), Number(0)], &[1, 66, 0b0101_0101, 4, 5]),
        (6, &[Number(23), Number(9), Blob(&[0b0011_1100, 0b1000_0000]), Number(0)], &[1, 66, 0b0000_0010, 0, 5]),
        (NOT, &[Number(25), Number(6), Number(0)], &[1, 66, 3, 0b0111_1010, 5]),
        (LSHIFT, &[Number(32), Number(8), Number(3), Number(0)], &[1, 66, 3, 4, 0b0010_1000]),
        (RSHIFT, &[Number(0), Number(9), Number(1), Number(0)], &[0, 0b1100_0010, 3, 4, 5]),
        (ADD, &[Number(24), Number(16), Number(128), Number(0), Number(0)], &[1, 66, 3, 4, 133]),
        (SUBTRACT, &[Number(24), Number(16), Number(128), Number(0), Number(0)], &[1, 66, 3, 3, 133]),
    ];
    for (operation, arguments, expected) in cases {
        assert_eq!(modify(Some(&blob), operation, arguments), Ok(Some(expected.to_vec())), "{operation} {arguments:?}");
    }
    assert_eq!(read(&blob, GET, &[Number(9), Number(5)]), Ok(vec![0b1000_0000]));
    assert_eq!(number(&blob, COUNT, &[Number(20), Number(4)]), Ok(2));
    assert_eq!(number(&blob, LSCAN, &[Number(24), Number(8), Truth(true)]), Ok(5));
    assert_eq!(number(&blob, RSCAN, &[Number(32), Number(8), Truth(true)]), Ok(7));
    assert_eq!(number(&blob, GET_INT, &[Number(8), Number(16)]), Ok(16_899));
    assert_eq!(number(&[0xff; 8], GET_INT, &[Number(0), Number(64)]), Ok(-1));
    assert_eq!(number(&[0x0f], GET_INT, &[Number(-4), Number(4), Number(1)]), Ok(-1));
}

#[test]
fn what_does_not_fit_is_refused_or_left() {
    const NO_FAIL: Argument<'_> = Number(4);
    let bit = Blob(&[0x80]);
    type Case<'c> = (Option<&'c [u8]>, i64, &'c [Argument<'c>], ResultCode);
    let refused: [Case<'_>; 19] = [
        (None, SET, &[Number(0), Number(1), bit, Number(0)], ResultCode::BIN_NOT_FOUND),
        (None, RESIZE, &[Number(1), Number(2)], ResultCode::BIN_NOT_FOUND),
        (Some(&[1]), RESIZE, &[Number(1), Number(1)], ResultCode::BIN_EXISTS),
        (Some(&[1]), SET, &[Number(0), Number(1), bit, Number(1)], ResultCode::PARAMETER),
        (Some(&[1]), SET, &[Number(8), Number(1), bit, Number(0)], ResultCode::OP_NOT_APPLICABLE),
        (Some(&[1]), SET, &[Number(7), Number(2), bit, Number(0)], ResultCode::OP_NOT_APPLICABLE),
        (Some(&[1]), SET, &[Number(-9), Number(1), bit, Number(0)], ResultCode::OP_NOT_APPLICABLE),
        (Some(&[1, 2]), SET, &[Number(0), Number(9), bit, Number(0)], ResultCode::PARAMETER),
        (Some(&[1]), SET, &[Number(0), Number(0), bit, Number(0)], ResultCode::PARAMETER),
        (Some(&[1]), NOT, &[Number(0), Number(-1), Number(0)], ResultCode::PARAMETER),
        (Some(&[1]), RESIZE, &[Number(i64::MAX), Number(0)], ResultCode::PARAMETER),
        (Some(&[1]), INSERT, &[Number(1 << 40), bit, Number(0)], ResultCode::PARAMETER),
        (Some(&[]), REMOVE, &[Number(0), Number(1), Number(0)], ResultCode::PARAMETER),
        (Some(&[1]), LSHIFT, &[Number(0), Number(1), Number(-1), Number(0)], ResultCode::PARAMETER),
        (Some(&[0xff]), ADD, &[Number(0), Number(8), Number(1), Number(0), Number(0)], ResultCode::OP_NOT_APPLICABLE),
        (Some(&[0x7f]), ADD, &[Number(0), Number(8), Number(1), Number(0), Number(1)], ResultCode::OP_NOT_APPLICABLE),
        (Some(&[0; 9]), ADD, &[Number(0), Number(65), Number(1), Number(0), Number(0)], ResultCode::PARAMETER),
        (Some(&[0]), ADD, &[Number(0), Number(8), Number(1), Number(0), Number(6)], ResultCode::PARAMETER),
        (Some(&[0]), 99, &[Number(0)], ResultCode::PARAMETER),
    ];
    for (before, operation, arguments, code) in refused {
        assert_eq!(modify(before, operation, arguments), Err(code), "{before:?} {operation} {arguments:?}");
    }
    assert_eq!(modify(None, SET, &[Number(0), Number(1), bit, NO_FAIL]), Ok(None));
    assert_eq!(modify(Some(&[1]), SET, &[Number(8), Number(1), bit, NO_FAIL]), Ok(Some(vec![1])));
    assert_eq!(modify(Some(&[1]), SET, &[Number(7), Number(2), Blob(&[0]), Number(8)]), Ok(Some(vec![0])));
    assert_eq!(modify(None, INSERT, &[Number(1), Blob(&[10]), Number(1)]), Ok(Some(vec![0, 10])));
    assert_eq!(modify(Some(&[0xff]), ADD, &[Number(0), Number(8), Number(2), Number(0), Number(2)]), Ok(Some(vec![0xff])));
    assert_eq!(modify(Some(&[0x81]), ADD, &[Number(0), Number(8), Number(0x81), Number(0), Number(3)]), Ok(Some(vec![0x80])));
    assert_eq!(modify(Some(&[0]), SUBTRACT, &[Number(0), Number(8), Number(1), Number(0), Number(4)]), Ok(Some(vec![0xff])));
    let text = Particle::new(ParticleType::String, b"x");
    assert_eq!(apply(code::BITS_READ, Some(&text), &operand(GET, &[Number(0), Number(1)])), Err(ResultCode::BIN_TYPE));
    assert_eq!(apply(code::BITS_MODIFY, Some(&text), &operand(NOT, &[Number(0), Number(1), Number(0)])), Err(ResultCode::BIN_TYPE));
    let absent = apply(code::BITS_READ, None, &operand(GET, &[Number(0), Number(1)])).expect("a missing bin reads as nothing");
    assert_eq!((absent.bin, absent.result), (Change::Keep, None));
}

/// A blob as bits.
fn bits_of(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte & (0x80 >> bit) != 0)).collect()
}

fn bytes_of(bits: &[bool]) -> Vec<u8> {
    bits.chunks(8).map(|chunk| chunk.iter().enumerate().fold(0, |byte, (at, bit)| byte | u8::from(*bit) << (7 - at))).collect()
}

#[test]
fn random_operations_do_what_they_do_to_one_bit_after_the_other() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for _ in 0..20_000 {
        let blob: Vec<u8> = (0..1 + random(12)).map(|_| random(256) as u8).collect();
        let value: Vec<u8> = (0..12).map(|_| random(256) as u8).collect();
        let offset = random(8 * blob.len());
        let size = 1 + random(8 * blob.len() - offset);
        let (before, given) = (bits_of(&blob), bits_of(&value));
        let shift = random(size + 2);
        let at = [Number(offset as i64), Number(size as i64)];
        let old = &before[offset..offset + size];
        let (operation, argument): (i64, _) = match random(7) {
            0 => (SET, Some(Blob(&value))),
            1 => (4, Some(Blob(&value))),
            2 => (5, Some(Blob(&value))),
            3 => (6, Some(Blob(&value))),
            4 => (NOT, None),
            5 => (LSHIFT, Some(Number(shift as i64))),
            _ => (RSHIFT, Some(Number(shift as i64))),
        };
        let new: Vec<bool> = (0..size)
            .map(|place| match operation {
                SET => given[place],
                4 => old[place] | given[place],
                5 => old[place] ^ given[place],
                6 => old[place] & given[place],
                NOT => !old[place],
                LSHIFT => old.get(place + shift).copied().unwrap_or(false),
                _ => place.checked_sub(shift).is_some_and(|from| old[from]),
            })
            .collect();
        let mut after = before.clone();
        after[offset..offset + size].copy_from_slice(&new);
        let arguments: Vec<_> = at.iter().copied().chain(argument).chain([Number(0)]).collect();
        assert_eq!(modify(Some(&blob), operation, &arguments), Ok(Some(bytes_of(&after))), "{blob:?} {operation} {arguments:?}");
        assert_eq!(read(&blob, GET, &at), Ok(bytes_of(old)), "{blob:?} {at:?}");
        assert_eq!(number(&blob, COUNT, &at), Ok(old.iter().filter(|bit| **bit).count() as i64), "{blob:?} {at:?}");
        for wanted in [false, true] {
            let place = |found: Option<usize>| Ok(found.map_or(-1, |place| place as i64));
            let arguments = [at[0], at[1], Truth(wanted)];
            assert_eq!(number(&blob, LSCAN, &arguments), place(old.iter().position(|bit| *bit == wanted)), "{blob:?} {arguments:?}");
            assert_eq!(number(&blob, RSCAN, &arguments), place(old.iter().rposition(|bit| *bit == wanted)), "{blob:?} {arguments:?}");
        }
        if size <= 64 {
            let stored = old.iter().fold(0_u64, |number, bit| number << 1 | u64::from(*bit));
            assert_eq!(number(&blob, GET_INT, &at), Ok(stored as i64), "{blob:?} {at:?}");
            let written = modify(Some(&blob), SET_INT, &[at[0], at[1], Number(stored as i64), Number(0)]);
            assert_eq!(written, Ok(Some(blob.clone())), "{blob:?} {at:?}");
        }
    }
}
