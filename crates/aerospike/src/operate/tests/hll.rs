//! Operations on sketches: what clients expect, and random operations against a model.

mod estimates;

use super::super::{Change, Effect, apply, code};
use super::show;
use crate::ResultCode;
use crate::value::msgpack::write;
use crate::value::{Particle, ParticleType};
use base::Rng;
use std::collections::BTreeSet;

const INIT: i64 = 0;
const ADD: i64 = 1;
const SET_UNION: i64 = 2;
const REFRESH_COUNT: i64 = 3;
const FOLD: i64 = 4;
const COUNT: i64 = 50;
const UNION: i64 = 51;
const UNION_COUNT: i64 = 52;
const INTERSECT_COUNT: i64 = 53;
const SIMILARITY: i64 = 54;
const DESCRIBE: i64 = 55;
const MAY_CONTAIN: i64 = 56;

const CREATE_ONLY: i64 = 1;
const UPDATE_ONLY: i64 = 2;
const NO_FAIL: i64 = 4;
const ALLOW_FOLD: i64 = 8;

/// An argument of an operation.
#[derive(Clone, Copy)]
enum Argument<'a> {
    Number(i64),
    /// Strings of these numbers.
    Elements(&'a [u64]),
    Sketches(&'a [Particle<'static>]),
    /// A sketch alone.
    Sketch(&'a Particle<'static>),
}

use Argument::{Elements, Number, Sketches};

fn operand(operation: i64, arguments: &[Argument<'_>]) -> Particle<'static> {
    let mut bytes = Vec::new();
    write::list(&mut bytes, 1 + arguments.len(), 0);
    write::integer(&mut bytes, operation);
    for argument in arguments {
        match argument {
            Number(number) => write::integer(&mut bytes, *number),
            Elements(numbers) => {
                write::list(&mut bytes, numbers.len(), 0);
                numbers.iter().for_each(|number| write::typed(&mut bytes, ParticleType::String, number.to_string().as_bytes()));
            }
            Sketches(sketches) => {
                write::list(&mut bytes, sketches.len(), 0);
                sketches.iter().for_each(|sketch| write::typed(&mut bytes, sketch.kind, &sketch.bytes));
            }
            Argument::Sketch(sketch) => write::typed(&mut bytes, sketch.kind, &sketch.bytes),
        }
    }
    Particle::owned(ParticleType::Blob, bytes)
}

fn run(bin: Option<&Particle<'static>>, operation: i64, arguments: &[Argument<'_>]) -> Result<Effect<'static>, ResultCode> {
    let kind = if operation >= COUNT { code::HLL_READ } else { code::HLL_MODIFY };
    let effect = apply(kind, bin, &operand(operation, arguments))?;
    let owned = match effect.bin {
        Change::Set(particle) => Change::Set(particle.into_owned()),
        Change::Keep => Change::Keep,
        Change::Remove => panic!("no operation on sketches removes a bin"),
    };
    Ok(Effect { bin: owned, result: effect.result.map(Particle::into_owned) })
}

/// The sketch after a change.
fn change(bin: Option<&Particle<'static>>, operation: i64, arguments: &[Argument<'_>]) -> Particle<'static> {
    let effect = run(bin, operation, arguments).unwrap_or_else(|code| panic!("operation {operation}: {code}"));
    match effect.bin {
        Change::Set(particle) => particle,
        _ => bin.expect("a sketch that stays as it is").clone(),
    }
}

fn answer(bin: &Particle<'static>, operation: i64, arguments: &[Argument<'_>]) -> Particle<'static> {
    let effect = run(Some(bin), operation, arguments).unwrap_or_else(|code| panic!("operation {operation}: {code}"));
    effect.result.expect("an answer")
}

fn number(bin: &Particle<'static>, operation: i64, arguments: &[Argument<'_>]) -> f64 {
    let Particle { kind, bytes } = answer(bin, operation, arguments);
    let bytes = (*bytes).try_into().expect("eight bytes");
    if kind == ParticleType::Double { f64::from_be_bytes(bytes) } else { i64::from_be_bytes(bytes) as f64 }
}

fn sketch(index_bits: i64, minhash_bits: i64, elements: &[u64]) -> Particle<'static> {
    change(None, ADD, &[Elements(elements), Number(index_bits), Number(minhash_bits)])
}

fn refused(bin: Option<&Particle<'static>>, operation: i64, arguments: &[Argument<'_>]) -> Option<ResultCode> {
    run(bin, operation, arguments).err()
}

/// Elements that no other seed has.
fn elements(seed: u64, count: u64) -> Vec<u64> {
    (seed << 32..(seed << 32) + count).collect()
}

#[test]
fn bits_are_within_what_the_protocol_allows() {
    for index_bits in 0..=20 {
        for minhash_bits in 0..=60 {
            let allowed = (4..=16).contains(&index_bits)
                && (minhash_bits == 0 || (4..=51).contains(&minhash_bits))
                && index_bits + minhash_bits <= 64;
            let made = run(None, INIT, &[Number(index_bits), Number(minhash_bits), Number(0)]);
            assert_eq!(made.is_ok(), allowed, "{index_bits}, {minhash_bits}");
            let Ok(Effect { bin: Change::Set(sketch), result: None }) = made else {
                assert_eq!(made, Err(ResultCode::PARAMETER));
                continue;
            };
            assert_eq!(sketch.bytes.len() as i64, 11 + (1 << index_bits) * (6 + minhash_bits) / 8);
            assert_eq!(show(Some(&answer(&sketch, DESCRIBE, &[]))), format!("[{index_bits}, {minhash_bits}]"));
            assert_eq!(number(&sketch, COUNT, &[]), 0.0);
        }
    }
}

#[test]
fn a_sketch_made_anew_keeps_the_bits_that_are_not_said() {
    let before = sketch(10, 20, &[1, 2, 3]);
    for (index_bits, minhash_bits, expected) in [(-1, -1, "[10, 20]"), (12, -1, "[12, 20]"), (-1, 0, "[10, 0]"), (8, 8, "[8, 8]")] {
        let after = change(Some(&before), INIT, &[Number(index_bits), Number(minhash_bits), Number(0)]);
        assert_eq!(show(Some(&answer(&after, DESCRIBE, &[]))), expected);
        assert_eq!(number(&after, COUNT, &[]), 0.0);
    }
    let wide = sketch(16, 0, &[]);
    assert_eq!(refused(Some(&wide), INIT, &[Number(-1), Number(51), Number(0)]), Some(ResultCode::OP_NOT_APPLICABLE));
}

#[test]
fn flags_say_what_may_be_made_and_changed() {
    let [small, other] = [sketch(8, 0, &[1]), sketch(8, 0, &[2])];
    let others = std::slice::from_ref(&other);
    let init = |bin, flags| run(bin, INIT, &[Number(8), Number(-1), Number(flags)]).map(|effect| effect.bin != Change::Keep);
    let add = |bin, flags| run(bin, ADD, &[Elements(&[2]), Number(8), Number(-1), Number(flags)]).map(|effect| effect.bin != Change::Keep);
    let unite = |bin, flags| run(bin, SET_UNION, &[Sketches(others), Number(flags)]).map(|effect| effect.bin != Change::Keep);
    let there = Some(&small);
    let cases = [
        (CREATE_ONLY, None, Ok(true), Ok(true), Ok(true)),
        (CREATE_ONLY, there, Err(ResultCode::BIN_EXISTS), Err(ResultCode::BIN_EXISTS), Err(ResultCode::BIN_EXISTS)),
        (CREATE_ONLY | NO_FAIL, there, Ok(false), Ok(false), Ok(false)),
        (UPDATE_ONLY, None, Err(ResultCode::BIN_NOT_FOUND), Err(ResultCode::PARAMETER), Err(ResultCode::BIN_NOT_FOUND)),
        (UPDATE_ONLY, there, Ok(true), Err(ResultCode::PARAMETER), Ok(true)),
        (UPDATE_ONLY | NO_FAIL, None, Ok(false), Err(ResultCode::PARAMETER), Ok(false)),
        (ALLOW_FOLD, there, Err(ResultCode::PARAMETER), Err(ResultCode::PARAMETER), Ok(true)),
        (CREATE_ONLY | UPDATE_ONLY, there, Err(ResultCode::PARAMETER), Err(ResultCode::PARAMETER), Err(ResultCode::PARAMETER)),
        (16, there, Err(ResultCode::PARAMETER), Err(ResultCode::PARAMETER), Err(ResultCode::PARAMETER)),
    ];
    for (flags, bin, init_expected, add_expected, union_expected) in cases {
        assert_eq!((init(bin, flags), add(bin, flags), unite(bin, flags)), (init_expected, add_expected, union_expected), "{flags}");
    }
    // Without bits, nothing can be made.
    for flags in [0, CREATE_ONLY] {
        let arguments = [Elements(&[1]), Number(-1), Number(-1), Number(flags)];
        assert_eq!(refused(None, ADD, &arguments), Some(ResultCode::OP_NOT_APPLICABLE));
        assert_eq!(refused(None, INIT, &[Number(-1), Number(4), Number(flags)]), Some(ResultCode::OP_NOT_APPLICABLE));
    }
    let quiet = run(None, ADD, &[Elements(&[1]), Number(-1), Number(-1), Number(NO_FAIL)]);
    assert_eq!(quiet, Ok(Effect { bin: Change::Keep, result: None }));
    for operation in [REFRESH_COUNT, FOLD] {
        let arguments = [Number(4)];
        let arguments = if operation == FOLD { &arguments[..] } else { &[] };
        assert_eq!(refused(None, operation, arguments), Some(ResultCode::BIN_NOT_FOUND));
    }
}

#[test]
fn a_union_becomes_less_precise_only_where_that_is_allowed() {
    let [fine, coarse, hashed] = [sketch(10, 0, &[1, 2]), sketch(8, 0, &[3]), sketch(10, 8, &[4])];
    // The bin, the others, whether it takes the flag, what comes out.
    let cases = [
        (Some(&coarse), vec![fine.clone()], false, "[8, 0]"),
        (Some(&fine), vec![hashed.clone()], false, "[10, 0]"),
        (Some(&fine), vec![coarse.clone()], true, "[8, 0]"),
        (Some(&hashed), vec![fine.clone()], true, "[10, 0]"),
        (Some(&hashed), vec![hashed.clone(), coarse.clone()], true, "[8, 0]"),
        (Some(&hashed), vec![hashed.clone()], false, "[10, 8]"),
        (None, vec![fine.clone(), coarse.clone(), hashed.clone()], false, "[8, 0]"),
        (None, vec![hashed.clone()], false, "[10, 8]"),
    ];
    for (bin, others, takes_flag, expected) in cases {
        let plain = refused(bin, SET_UNION, &[Sketches(&others), Number(0)]);
        assert_eq!(plain, takes_flag.then_some(ResultCode::OP_NOT_APPLICABLE), "{expected}");
        let union = change(bin, SET_UNION, &[Sketches(&others), Number(ALLOW_FOLD)]);
        assert_eq!(show(Some(&answer(&union, DESCRIBE, &[]))), expected);
        // A read of the same union folds without asking.
        if let Some(bin) = bin {
            assert_eq!(answer(bin, UNION, &[Sketches(&others)]), union);
            assert_eq!(number(bin, UNION_COUNT, &[Sketches(&others)]), number(&union, COUNT, &[]));
        }
    }
}

#[test]
fn folds_and_unions_are_as_if_all_had_been_added_to_one() {
    let (one, other) = (elements(1, 3_000), elements(2, 5_000));
    let both = [one.clone(), other.clone()].concat();
    let counted = |particle| change(Some(&particle), REFRESH_COUNT, &[]);
    for (index_bits, minhash_bits) in [(4, 0), (9, 0), (16, 0), (4, 51), (9, 20), (13, 51), (16, 48)] {
        let whole = counted(sketch(index_bits, minhash_bits, &both));
        let (left, right) = (sketch(index_bits, minhash_bits, &one), sketch(index_bits, minhash_bits, &other));
        assert_eq!(change(Some(&left), SET_UNION, &[Sketches(&[right]), Number(0)]), whole);
        let again = run(Some(&whole), ADD, &[Elements(&both), Number(-1), Number(-1), Number(0)]);
        assert_eq!(again.map(|effect| (effect.bin, show(effect.result.as_ref()))), Ok((Change::Keep, "0".to_owned())));
        for fewer in 4..=index_bits {
            let folded = run(Some(&whole), FOLD, &[Number(fewer)]);
            if minhash_bits == 0 {
                assert_eq!(counted(change(Some(&whole), FOLD, &[Number(fewer)])), counted(sketch(fewer, 0, &both)));
            } else {
                assert_eq!(folded, Err(ResultCode::OP_NOT_APPLICABLE));
            }
        }
        let more = if index_bits == 16 { ResultCode::PARAMETER } else { ResultCode::OP_NOT_APPLICABLE };
        assert_eq!(refused(Some(&whole), FOLD, &[Number(index_bits + 1)]), Some(more));
        assert_eq!(refused(Some(&whole), FOLD, &[Number(3)]), Some(ResultCode::PARAMETER));
    }
}

#[test]
fn nothing_has_nothing_in_common() {
    for minhash_bits in [0, 12] {
        let empty = sketch(10, minhash_bits, &[]);
        let others = [empty.clone()];
        assert!(number(&empty, SIMILARITY, &[Sketches(&others)]).is_nan());
        assert_eq!(number(&empty, INTERSECT_COUNT, &[Sketches(&others)]), 0.0);
    }
}

#[test]
fn what_was_added_may_be_contained() {
    let bin = sketch(12, 16, &[1, 2, 3]);
    assert_eq!(number(&bin, MAY_CONTAIN, &[Elements(&[1, 3])]), 1.0);
    assert_eq!(number(&bin, MAY_CONTAIN, &[Elements(&[1, 4])]), 0.0);
    assert_eq!(number(&bin, MAY_CONTAIN, &[Elements(&[])]), 1.0);
    let wrong = (4..1_004).filter(|element| number(&bin, MAY_CONTAIN, &[Elements(&[*element])]) != 0.0).count();
    assert!(wrong <= 5, "{wrong} of 1,000 that were never added");
}

#[test]
fn equal_values_are_one_element() {
    // Twice 7, twice "7", twice the blob, a list and the same in a wide form, 7.0, nil.
    let values: &[u8] = &[
        0x99, 7, 0xcd, 0, 7, 0xa2, 3, b'7', 0xd9, 2, 3, b'7', 0xa2, 4, b'7', 0x91, 7, 0xdc, 0, 1, 7, 0xcb, 0x40, 0x1c, 0, 0, 0, 0, 0, 0,
        0xc0,
    ];
    let payload = Particle::owned(ParticleType::Blob, [&[0x94, 1], values, &[12, 0]].concat());
    let effect = apply(code::HLL_MODIFY, None, &payload).expect("elements of all kinds");
    assert_eq!(show(effect.result.as_ref()), "6");
    // A marker is no value.
    let payload = Particle::new(ParticleType::Blob, &[0x94, 1, 0x91, 0xd4, 0xff, 1, 12, 0]);
    assert_eq!(apply(code::HLL_MODIFY, None, &payload), Err(ResultCode::PARAMETER));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bin = sketch(8, 0, &[1]);
    let there = Some(&bin);
    let blob = Particle::owned(ParticleType::Blob, bin.bytes.to_vec());
    assert_eq!(refused(Some(&blob), COUNT, &[]), Some(ResultCode::BIN_TYPE));
    assert_eq!(refused(Some(&blob), INIT, &[Number(8), Number(0), Number(NO_FAIL)]), Some(ResultCode::BIN_TYPE));
    for operation in [UNION, UNION_COUNT, INTERSECT_COUNT, SIMILARITY, SET_UNION] {
        let number = [Number(1)];
        let string = [Particle::owned(ParticleType::String, bin.bytes.to_vec())];
        for arguments in [&[Sketches(&[])][..], &[Sketches(&string)], &number, &[]] {
            assert_eq!(refused(there, operation, arguments), Some(ResultCode::PARAMETER), "{operation}");
        }
        // As older clients send it, and without a list.
        assert_eq!(refused(there, operation, &[Sketches(std::slice::from_ref(&blob))]), None);
        assert_eq!(refused(there, operation, &[Argument::Sketch(&bin)]), None);
    }
    for arguments in [&[Number(8), Number(0), Number(0), Number(0)][..], &[Elements(&[])], &[Number(1 << 40)], &[Number(-2)]] {
        assert_eq!(refused(None, INIT, arguments), Some(ResultCode::PARAMETER));
    }
    for operation in [5, 49, 57, -1] {
        assert_eq!(refused(there, operation, &[]), Some(ResultCode::PARAMETER));
    }
    for operation in [COUNT, DESCRIBE] {
        assert_eq!(run(None, operation, &[]), Ok(Effect { bin: Change::Keep, result: None }));
    }
}

/// Of others: any bytes that do not begin as here.
#[test]
fn sketches_of_others_and_damaged_ones_are_kept_and_not_worked_on() {
    let good = sketch(8, 4, &[1, 2]);
    let mut damaged = Vec::new();
    for (at, byte) in [(0, 0), (1, 3), (1, 9), (1, 17), (2, 3), (2, 5), (2, 60), (3, 0x80)] {
        let mut bytes = good.bytes.to_vec();
        bytes[at] = byte;
        damaged.push(bytes);
    }
    damaged.push(good.bytes[..good.bytes.len() - 1].to_vec());
    damaged.push([&good.bytes[..], &[0]].concat());
    damaged.push(good.bytes[..5].to_vec());
    damaged.push(Vec::new());
    for bytes in damaged {
        let bad = Particle::owned(ParticleType::HyperLogLog, bytes);
        assert_eq!(apply(code::WRITE, None, &bad).map(|effect| effect.bin), Ok(Change::Set(bad.clone())));
        let others = [bad.clone()];
        for (operation, arguments) in [
            (COUNT, &[][..]),
            (DESCRIBE, &[]),
            (MAY_CONTAIN, &[Elements(&[1])]),
            (REFRESH_COUNT, &[]),
            (FOLD, &[Number(4)]),
            (ADD, &[Elements(&[1]), Number(8), Number(4), Number(0)]),
            (UNION, &[Sketches(std::slice::from_ref(&good))]),
            (SET_UNION, &[Sketches(std::slice::from_ref(&good)), Number(0)]),
            (INIT, &[Number(8), Number(-1), Number(0)]),
        ] {
            assert_eq!(refused(Some(&bad), operation, arguments), Some(ResultCode::OP_NOT_APPLICABLE), "{operation} of {:?}", bad.bytes);
        }
        for operation in [UNION, UNION_COUNT, INTERSECT_COUNT, SIMILARITY, SET_UNION] {
            assert_eq!(refused(Some(&good), operation, &[Sketches(&others)]), Some(ResultCode::PARAMETER));
        }
        assert_eq!(number(&change(Some(&bad), INIT, &[Number(8), Number(0), Number(0)]), COUNT, &[]), 0.0);
    }
}

/// A bin and the set that it stands for.
struct Model {
    elements: BTreeSet<u64>,
    shape: (i64, i64),
    bin: Particle<'static>,
}

impl Model {
    fn new(index_bits: i64, minhash_bits: i64) -> Self {
        Self { elements: BTreeSet::new(), shape: (index_bits, minhash_bits), bin: sketch(index_bits, minhash_bits, &[]) }
    }

    /// The bin is what a sketch of the set would be, and knows how many there are, nearly.
    fn check(&self) {
        let all: Vec<u64> = self.elements.iter().copied().collect();
        let whole = sketch(self.shape.0, self.shape.1, &all);
        assert_eq!(change(Some(&self.bin), REFRESH_COUNT, &[]), change(Some(&whole), REFRESH_COUNT, &[]));
        let (counted, count) = (number(&self.bin, COUNT, &[]), all.len() as f64);
        assert!((counted - count).abs() <= 6.0 * 1.04 * count / f64::from(1 << self.shape.0).sqrt() + 0.5, "{counted} of {count}");
    }
}

#[test]
fn random_operations_agree_with_a_model() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let minhash_bits = [0, 0, 4, 17, 48][rng.below(5) as usize];
        let mut bins: Vec<Model> = (0..3).map(|_| Model::new(4 + rng.below(10) as i64, minhash_bits)).collect();
        for _ in 0..30 {
            let (at, other) = (rng.below(3) as usize, rng.below(3) as usize);
            let (index_bits, minhash_bits) = bins[at].shape;
            let arguments = [Number(index_bits), Number(minhash_bits), Number(0)];
            match rng.below(8) {
                0 => {
                    bins[at].bin = change(Some(&bins[at].bin), INIT, &arguments);
                    bins[at].elements.clear();
                }
                1 | 2 => {
                    let others = [bins[other].bin.clone()];
                    bins[at].bin = change(Some(&bins[at].bin), SET_UNION, &[Sketches(&others), Number(ALLOW_FOLD)]);
                    let more = bins[other].elements.clone();
                    bins[at].elements.extend(more);
                    let is_same = bins[at].shape == bins[other].shape;
                    bins[at].shape = (index_bits.min(bins[other].shape.0), if is_same { minhash_bits } else { 0 });
                }
                3 if minhash_bits == 0 => {
                    let fewer = 4 + rng.below(index_bits as u64 - 3) as i64;
                    bins[at].bin = change(Some(&bins[at].bin), FOLD, &[Number(fewer)]);
                    bins[at].shape.0 = fewer;
                }
                _ => {
                    let from = rng.below(2_000);
                    let added: Vec<u64> = (from..from + rng.below(400)).collect();
                    bins[at].bin = change(Some(&bins[at].bin), ADD, &[Elements(&added)]);
                    bins[at].elements.extend(added);
                }
            }
            bins[at].check();
        }
    }
}
