//! Expressions as bytes, and what they give for a record.

use super::{Change, Filter, Subject, code, flags, read, write, written_kind};
mod geo;
mod hll;

use crate::ResultCode;
use crate::operate;
use crate::record::BinSource;
use crate::value::msgpack::write as pack;
use crate::value::{Particle, ParticleType};
use model::row::Stamp;

/// Bins of a record.
struct Bins(Vec<(&'static str, Particle<'static>)>);

impl BinSource for Bins {
    fn bin(&self, name: &[u8]) -> Option<Particle<'_>> {
        self.0.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, particle)| particle.clone())
    }
}

fn integer(number: i64) -> Particle<'static> {
    Particle::owned(ParticleType::Integer, number.to_be_bytes().to_vec())
}

fn bins() -> Bins {
    let list = list_of(&[3, 1, 2]);
    // A sketch of nothing, of 12 index bits and 20 minhash bits.
    let made = Particle::new(ParticleType::Blob, &[0x94, 0, 12, 20, 0]);
    let Change::Set(sketch) = operate::apply(operate::code::HLL_MODIFY, None, &made).expect("bits that fit").bin else {
        panic!("no sketch was made")
    };
    Bins(vec![
        ("a", integer(7)),
        ("zero", integer(0)),
        ("f", Particle::owned(ParticleType::Double, 2.5_f64.to_be_bytes().to_vec())),
        ("s", Particle::owned(ParticleType::String, b"abcde".to_vec())),
        ("b", Particle::owned(ParticleType::Blob, vec![0xc1, 0xaa])),
        ("t", Particle::owned(ParticleType::Bool, vec![1])),
        ("l", Particle::owned(ParticleType::List, list)),
        ("h", sketch),
    ])
}

fn list_of(numbers: &[i64]) -> Vec<u8> {
    let mut list = Vec::new();
    pack::list(&mut list, numbers.len(), 0);
    numbers.iter().for_each(|number| pack::integer(&mut list, *number));
    list
}

fn subject(bins: &Bins) -> Subject<'_> {
    let stamp = Stamp { timestamp: 1_700_000_000_000_000, ttl_s: 100, expires_at_s: 1_700_000_101 };
    Subject { bins, set: "people", key: None, digest: &[1; 20], stamp: Some(stamp), row_bytes: 88, now_us: 1_700_000_040_500_000 }
}

/// An expression in the making.
#[derive(Clone)]
struct Exp(Vec<u8>);

fn command(number: i64, parts: &[Exp]) -> Exp {
    let mut out = Vec::new();
    pack::list(&mut out, 1 + parts.len(), 0);
    pack::integer(&mut out, number);
    parts.iter().for_each(|part| out.extend_from_slice(&part.0));
    Exp(out)
}

fn made(write: impl FnOnce(&mut Vec<u8>)) -> Exp {
    let mut out = Vec::new();
    write(&mut out);
    Exp(out)
}

fn int(number: i64) -> Exp {
    made(|out| pack::integer(out, number))
}

fn float(number: f64) -> Exp {
    made(|out| pack::double(out, number))
}

fn truth(value: bool) -> Exp {
    made(|out| pack::bool(out, value))
}

fn text(text: &str) -> Exp {
    made(|out| pack::typed(out, ParticleType::String, text.as_bytes()))
}

/// A name, which has no type in front.
fn name(name: &str) -> Exp {
    made(|out| pack::raw(out, name.as_bytes()))
}

fn bin(kind: i64, bin: &str) -> Exp {
    command(code::BIN, &[int(kind), name(bin)])
}

fn a() -> Exp {
    bin(2, "a")
}

fn missing() -> Exp {
    bin(2, "none")
}

fn quoted(list: &[u8]) -> Exp {
    command(code::QUOTED, &[Exp(list.to_vec())])
}

fn call(module: i64, result: i64, operation: &[Exp], about: Exp) -> Exp {
    let mut operands = Vec::new();
    pack::list(&mut operands, operation.len(), 0);
    operation.iter().for_each(|part| operands.extend_from_slice(&part.0));
    command(code::CALL, &[int(result), int(module), Exp(operands), about])
}

fn operand(exp: &Exp, flags: i64) -> Vec<u8> {
    let mut out = Vec::new();
    pack::list(&mut out, 2, 0);
    out.extend_from_slice(&exp.0);
    pack::integer(&mut out, flags);
    out
}

/// What an expression gives; none if that cannot be known.
fn value(exp: &Exp) -> Result<Option<Particle<'static>>, ResultCode> {
    let bins = bins();
    read(&operand(exp, flags::EVALUATION_NO_FAIL), &subject(&bins))
}

fn gives(exp: &Exp, expected: Particle<'_>) {
    assert_eq!(value(exp), Ok(Some(expected.into_owned())), "{:x?}", exp.0);
}

fn gives_int(exp: Exp, expected: i64) {
    gives(&exp, integer(expected));
}

fn gives_truth(exp: Exp, expected: Option<bool>) {
    let expected = expected.map(|expected| Particle::owned(ParticleType::Bool, vec![u8::from(expected)]));
    assert_eq!(value(&exp), Ok(expected), "{:x?}", exp.0);
}

#[test]
fn numbers_are_computed() {
    gives_int(command(code::ADD, &[a(), int(4), int(1)]), 12);
    gives_int(command(code::SUB, &[a(), int(4)]), 3);
    gives_int(command(code::SUB, &[a()]), -7);
    gives_int(command(code::ADD, &[int(i64::MAX), int(1)]), i64::MIN);
    gives_int(command(code::MUL, &[a(), a()]), 49);
    gives_int(command(code::DIV, &[a(), int(-2)]), -3);
    gives_int(command(code::MOD, &[int(-7), int(4)]), -3);
    gives_int(command(code::ABS, &[int(-7)]), 7);
    gives_int(command(code::MIN, &[a(), int(-1), int(9)]), -1);
    gives_int(command(code::MAX, &[a(), int(-1), int(9)]), 9);
    gives_int(command(code::INT_AND, &[a(), int(12)]), 4);
    gives_int(command(code::INT_OR, &[a(), int(8)]), 15);
    gives_int(command(code::INT_XOR, &[a(), int(12)]), 11);
    gives_int(command(code::INT_NOT, &[a()]), -8);
    gives_int(command(code::INT_LSHIFT, &[a(), int(2)]), 28);
    gives_int(command(code::INT_LSHIFT, &[a(), int(64)]), 0);
    gives_int(command(code::INT_RSHIFT, &[int(-2), int(62)]), 3);
    gives_int(command(code::INT_ARSHIFT, &[int(-2), int(62)]), -1);
    gives_int(command(code::INT_COUNT, &[a()]), 3);
    gives_int(command(code::INT_LSCAN, &[int(1), truth(true)]), 63);
    gives_int(command(code::INT_RSCAN, &[int(1), truth(true)]), 63);
    gives_int(command(code::INT_LSCAN, &[int(-1), truth(false)]), -1);
    gives_int(command(code::TO_INT, &[bin(7, "f")]), 2);
    let double = |number: f64| Particle::owned(ParticleType::Double, number.to_be_bytes().to_vec());
    gives(&command(code::TO_FLOAT, &[a()]), double(7.0));
    gives(&command(code::POW, &[bin(7, "f"), float(2.0)]), double(6.25));
    gives(&command(code::LOG, &[float(8.0), float(2.0)]), double(3.0));
    gives(&command(code::FLOOR, &[bin(7, "f")]), double(2.0));
    gives(&command(code::CEIL, &[bin(7, "f")]), double(3.0));
    for unknown in [
        command(code::DIV, &[a(), bin(2, "zero")]),
        command(code::MOD, &[a(), bin(2, "zero")]),
        command(code::ADD, &[a(), missing()]),
        command(code::TO_INT, &[float(f64::INFINITY)]),
        command(code::INT_LSHIFT, &[a(), int(-1)]),
        bin(3, "a"),
        command(code::KEY, &[int(2)]),
    ] {
        assert_eq!(value(&unknown), Ok(None), "{:x?}", unknown.0);
    }
}

#[test]
fn unknown_spreads_unless_the_rest_decides() {
    let unknown = || command(code::EQ, &[missing(), int(1)]);
    gives_truth(command(code::AND, &[unknown(), truth(false)]), Some(false));
    gives_truth(command(code::AND, &[unknown(), truth(true)]), None);
    gives_truth(command(code::OR, &[unknown(), truth(true)]), Some(true));
    gives_truth(command(code::OR, &[unknown(), truth(false)]), None);
    gives_truth(command(code::NOT, &[unknown()]), None);
    gives_truth(command(code::EXCLUSIVE, &[truth(true), truth(false)]), Some(true));
    gives_truth(command(code::EXCLUSIVE, &[truth(true), truth(true)]), Some(false));
    gives_truth(command(code::EXCLUSIVE, &[truth(true), unknown()]), None);
    gives_truth(command(code::COND, &[unknown(), truth(true), truth(false)]), None);
    gives_truth(command(code::COND, &[truth(false), truth(true), truth(false)]), Some(false));
    for (command_code, expected) in
        [(code::EQ, false), (code::NE, true), (code::GT, true), (code::GE, true), (code::LT, false), (code::LE, false)]
    {
        gives_truth(command(command_code, &[a(), int(6)]), Some(expected));
    }
    gives_truth(command(code::LT, &[bin(3, "s"), text("abd")]), Some(true));
    gives_truth(command(code::EQ, &[bin(4, "l"), quoted(&list_of(&[3, 1, 2]))]), Some(true));
    gives_truth(command(code::EQ, &[bin(1, "t"), truth(true)]), Some(true));
    gives_truth(command(code::REGEX, &[int(1), name("^a.*e$"), bin(3, "s")]), Some(true));
}

#[test]
fn records_are_told_of() {
    gives_int(command(code::BIN_TYPE, &[name("f")]), 2);
    gives_int(command(code::BIN_TYPE, &[name("none")]), 0);
    gives_int(command(code::LAST_UPDATE, &[]), 1_700_000_000_000_000_000);
    gives_int(command(code::SINCE_UPDATE, &[]), 40_500);
    gives_int(command(code::VOID_TIME, &[]), 1_700_000_100_000_000_000);
    gives_int(command(code::TTL, &[]), 60);
    gives_int(command(code::RECORD_SIZE, &[]), 88);
    gives_int(command(code::DIGEST_MODULO, &[int(10)]), i64::from(0x0101_0101 % 10));
    gives(&command(code::SET_NAME, &[]), Particle::owned(ParticleType::String, b"people".to_vec()));
    gives_truth(command(code::KEY_EXISTS, &[]), Some(false));
    gives_truth(command(code::IS_TOMBSTONE, &[]), Some(false));
}

#[test]
fn variables_stand_for_what_they_were_defined_as() {
    let x = || command(code::VAR, &[name("x")]);
    let twice = command(code::ADD, &[x(), x()]);
    gives_int(command(code::LET, &[name("x"), a(), twice.clone()]), 14);
    let inner = command(code::LET, &[name("x"), command(code::ADD, &[x(), int(1)]), twice]);
    gives_int(command(code::LET, &[name("x"), a(), command(code::ADD, &[inner, x()])]), 23);
    assert_eq!(value(&x()), Err(ResultCode::PARAMETER));
}

#[test]
fn operations_on_containers_and_bits_change_a_copy() {
    const SIZE: i64 = 16;
    const APPEND_ITEMS: i64 = 2;
    const MODIFY: i64 = 0x40;
    gives_int(call(0, 2, &[int(SIZE)], bin(4, "l")), 3);
    let longer = call(MODIFY, 4, &[int(APPEND_ITEMS), quoted(&list_of(&[8, 9]))], bin(4, "l"));
    gives(&longer, Particle::owned(ParticleType::List, list_of(&[3, 1, 2, 8, 9])));
    gives_int(call(0, 2, &[int(SIZE)], longer), 5);
    // The third element, by an index that is computed.
    gives_int(call(0, 2, &[int(19), int(7), command(code::SUB, &[a(), int(5)])], bin(4, "l")), 2);
    gives_int(call(1, 2, &[int(51), int(0), int(8)], bin(6, "b")), 3);
    for unknown in [
        call(0, 2, &[int(19), int(7), int(99)], bin(4, "l")),
        // A number where a text was promised.
        call(0, 3, &[int(SIZE)], bin(4, "l")),
        call(0, 2, &[int(SIZE)], bin(6, "b")),
        call(1, 2, &[int(51), int(0), int(99)], bin(6, "b")),
    ] {
        assert_eq!(value(&unknown), Ok(None), "{:x?}", unknown.0);
    }
    assert_eq!(value(&call(3, 2, &[int(50)], bin(9, "h"))), Err(ResultCode::PARAMETER));
}

#[test]
fn memory_is_bounded_where_lists_grow_from_themselves() {
    let x = || command(code::VAR, &[name("x")]);
    let mut exp = call(0, 2, &[int(16)], x());
    for _ in 0..60 {
        let doubled = call(0x40, 4, &[int(2), x()], x());
        exp = command(code::LET, &[name("x"), doubled, exp]);
    }
    let exp = command(code::LET, &[name("x"), bin(4, "l"), exp]);
    assert_eq!(value(&exp), Ok(None));
}

#[test]
fn what_is_no_expression_is_refused() {
    let mut deep = truth(true);
    for _ in 0..100 {
        deep = command(code::NOT, &[deep]);
    }
    for wrong in [
        command(999, &[]),
        command(code::ADD, &[]),
        command(code::ADD, &[a(), float(1.0)]),
        command(code::ADD, &[text("a"), text("b")]),
        command(code::EQ, &[a(), text("a")]),
        command(code::AND, &[a(), truth(true)]),
        command(code::NOT, &[truth(true), truth(true)]),
        command(code::COND, &[truth(true), int(1), text("a")]),
        command(code::COND, &[truth(true), int(1)]),
        command(code::LET, &[name("x"), int(1)]),
        command(code::BIN, &[int(10), name("a")]),
        command(code::REGEX, &[int(1), name("("), bin(3, "s")]),
        command(code::DIGEST_MODULO, &[int(0)]),
        command(code::INT_LSCAN, &[a(), a()]),
        Exp(vec![0x90]),
        Exp(vec![0x92, 20]),
        Exp(vec![0xdd, 0xff, 0xff, 0xff, 0xff]),
        deep,
    ] {
        assert_eq!(value(&wrong), Err(ResultCode::PARAMETER), "{:x?}", wrong.0);
    }
    assert_eq!(value(&command(code::GEO, &[text("a"), text("b")])), Err(ResultCode::PARAMETER));
    assert!(Filter::parse(&a().0).is_err(), "a filter is true or false");
    assert!(Filter::parse(&[0xc3, 0xc3]).is_err(), "nothing comes after it");
    assert!(Filter::parse(&[]).is_err());
}

#[test]
fn what_is_written_depends_on_flags() {
    let bins = bins();
    let write = |exp: &Exp, flags: i64, exists: bool| write(&operand(exp, flags), exists, &subject(&bins));
    let nil = made(|out| out.push(pack::NIL));
    assert_eq!(write(&a(), 0, false), Ok(Change::Set(integer(7))));
    assert_eq!(write(&a(), flags::CREATE_ONLY, true), Err(ResultCode::BIN_EXISTS));
    assert_eq!(write(&a(), flags::CREATE_ONLY | flags::POLICY_NO_FAIL, true), Ok(Change::Keep));
    assert_eq!(write(&a(), flags::UPDATE_ONLY, false), Err(ResultCode::BIN_NOT_FOUND));
    assert_eq!(write(&a(), flags::UPDATE_ONLY, true), Ok(Change::Set(integer(7))));
    assert_eq!(write(&nil, 0, true), Err(ResultCode::OP_NOT_APPLICABLE));
    assert_eq!(write(&nil, flags::POLICY_NO_FAIL, true), Ok(Change::Keep));
    assert_eq!(write(&nil, flags::ALLOW_DELETE, true), Ok(Change::Remove));
    assert_eq!(write(&missing(), flags::POLICY_NO_FAIL, true), Err(ResultCode::OP_NOT_APPLICABLE));
    assert_eq!(write(&missing(), flags::EVALUATION_NO_FAIL, true), Ok(Change::Keep));
    // What is written is of the kind that was declared for it.
    for exp in
        [a(), bin(7, "f"), bin(3, "s"), bin(6, "b"), bin(1, "t"), bin(4, "l"), command(code::COND, &[truth(false), nil.clone(), a()])]
    {
        let Ok(Change::Set(particle)) = write(&exp, 0, false) else { panic!("{:x?} gives something", exp.0) };
        assert_eq!(written_kind(&operand(&exp, 0)), Ok(Some(particle.kind)));
    }
    assert_eq!(written_kind(&operand(&nil, 0)), Ok(None));
    assert_eq!(written_kind(&[0x91, 1]), Err(ResultCode::PARAMETER));
    assert!(operate::is_write(operate::code::EXPRESSION_MODIFY) && !operate::is_write(operate::code::EXPRESSION_READ));
}

#[test]
fn any_bytes_are_an_expression_or_not() {
    let x = || command(code::VAR, &[name("x")]);
    let seeds = [
        command(code::LET, &[name("x"), a(), command(code::ADD, &[x(), int(300), x()])]),
        command(code::COND, &[command(code::GT, &[bin(7, "f"), float(1.5)]), text("a"), bin(3, "s")]),
        command(code::REGEX, &[int(3), name("^[a-c]{2,5}.*$"), bin(3, "s")]),
        call(0x40, 4, &[int(2), quoted(&list_of(&[8, 9]))], bin(4, "l")),
        call(0, 2, &[int(19), int(7), int(-1)], bin(4, "l")),
        call(0x41, 6, &[int(10), int(2), int(9), int(77), int(0), int(3)], bin(6, "b")),
        command(code::EQ, &[command(code::BIN_TYPE, &[name("f")]), command(code::DIGEST_MODULO, &[int(7)])]),
        command(code::OR, &[command(code::KEY_EXISTS, &[]), command(code::LT, &[command(code::TTL, &[]), int(1)])]),
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let (bins, mut given) = (bins(), 0);
    for round in 0..8_000 {
        let mut bytes = operand(&seeds[round % seeds.len()], flags::EVALUATION_NO_FAIL);
        for _ in 0..random(3) {
            let place = random(bytes.len());
            match random(3) {
                0 => bytes[place] = random(256) as u8,
                1 => bytes.insert(place, random(256) as u8),
                _ => bytes.truncate(place.max(1)),
            }
        }
        let kind = written_kind(&bytes);
        match read(&bytes, &subject(&bins)) {
            Ok(Some(particle)) if particle.kind != ParticleType::Null => {
                given += 1;
                assert_eq!(kind, Ok(Some(particle.kind)), "{bytes:x?}");
            }
            // The flags may say that it must be known.
            Err(ResultCode::OP_NOT_APPLICABLE) => {}
            outcome => assert_eq!(outcome.is_err(), kind.is_err(), "{bytes:x?}"),
        }
    }
    assert!(given > 2_000, "nearly all were refused: {given}");
}
