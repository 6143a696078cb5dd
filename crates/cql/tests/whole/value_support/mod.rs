//! What the tests of values share: types by name, golden files, random types and values.
//!
//! The golden files hold what Apache Cassandra 5.0.9 answered when its classes were asked: one case a line, tab-separated.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use base::Rng;
use cql::value::{build, layout};
use model::{DataType, Frozen, UserType};
use std::sync::Arc;

/// How often a fuzz test tries: `TARNDB_FUZZ_ITERATIONS`, or 20,000.
pub fn iterations() -> u64 {
    std::env::var("TARNDB_FUZZ_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

/// A seed for this run: `TARNDB_SEED`, or a fixed one. Failures print it.
pub fn seed() -> u64 {
    std::env::var("TARNDB_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_260_401)
}

/// The cases of a golden file.
pub fn golden(file: &str) -> Vec<Vec<String>> {
    let path = format!("{}/tests/whole/value_golden/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let cases: Vec<Vec<String>> =
        text.lines().filter(|line| !line.is_empty()).map(|line| line.split('\t').map(unescape).collect()).collect();
    assert!(cases.len() > 10, "{path} is too short");
    cases
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next().unwrap() {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            },
            other => other,
        });
    }
    out
}

pub fn unhex(text: &str) -> Vec<u8> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap()).collect()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The type that golden files call `name`. `pair` is a user type of `a int, b text`, `nest` one of `x frozen<pair>, "Y"
/// frozen<list<int>>`.
pub fn ty(name: &str) -> DataType {
    let (ty, rest) = parse(name, Frozen::No);
    assert_eq!(rest, "", "{name}");
    ty
}

fn parse(text: &str, frozen: Frozen) -> (DataType, &str) {
    let text = text.trim_start();
    let end = text.find(['<', '>', ',']).unwrap_or(text.len());
    let (word, mut rest) = (text[..end].trim(), &text[end..]);
    let udt = |name: &str, fields: Vec<(String, DataType)>| {
        DataType::Udt(Arc::new(UserType { keyspace: "ks".into(), name: name.into(), fields }), frozen)
    };
    let mut arguments = Vec::new();
    let mut number = 0;
    if rest.starts_with('<') {
        let inner = if word == "frozen" { Frozen::Yes } else { Frozen::No };
        while !rest.starts_with('>') {
            let part = rest[1..].trim_start();
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits > 0 {
                number = part[..digits].parse().unwrap();
                rest = part[digits..].trim_start();
            } else {
                let (argument, after) = parse(part, inner);
                arguments.push(argument);
                rest = after.trim_start();
            }
        }
        rest = &rest[1..];
    }
    let mut next = arguments.into_iter();
    let mut argument = || Arc::new(next.next().unwrap());
    let ty = match word {
        "frozen" => Arc::unwrap_or_clone(argument()),
        "list" => DataType::List(argument(), frozen),
        "set" => DataType::Set(argument(), frozen),
        "map" => DataType::Map(argument(), argument(), frozen),
        "vector" => DataType::Vector(argument(), number),
        "tuple" => DataType::Tuple(next.collect()),
        "pair" => udt("pair", vec![("a".into(), DataType::Int), ("b".into(), DataType::Text)]),
        "nest" => udt("nest", vec![("x".into(), ty("frozen<pair>")), ("Y".into(), DataType::List(Arc::new(DataType::Int), Frozen::Yes))]),
        native => SCALARS.iter().find(|ty| ty.to_string() == native).unwrap_or_else(|| panic!("no type {native}")).clone(),
    };
    (ty, rest)
}

/// Every type that is not built from others.
pub const SCALARS: [DataType; 20] = [
    DataType::Ascii,
    DataType::BigInt,
    DataType::Blob,
    DataType::Boolean,
    DataType::Counter,
    DataType::Date,
    DataType::Decimal,
    DataType::Double,
    DataType::Duration,
    DataType::Float,
    DataType::Inet,
    DataType::Int,
    DataType::SmallInt,
    DataType::Text,
    DataType::Time,
    DataType::Timestamp,
    DataType::TimeUuid,
    DataType::TinyInt,
    DataType::Uuid,
    DataType::Varint,
];

/// A random type with at most `depth` levels above scalars.
pub fn random_type(rng: &mut Rng, depth: u32) -> DataType {
    let inner = |rng: &mut Rng| Arc::new(random_type(rng, depth - 1));
    match if depth == 0 { 0 } else { rng.below(9) } {
        0..3 => SCALARS[rng.below(20) as usize].clone(),
        3 => DataType::List(inner(rng), Frozen::Yes),
        4 => DataType::Set(inner(rng), Frozen::Yes),
        5 => DataType::Map(inner(rng), inner(rng), Frozen::Yes),
        6 => DataType::Tuple((0..=rng.below(3)).map(|_| random_type(rng, depth - 1)).collect()),
        7 => DataType::Udt(
            Arc::new(UserType {
                keyspace: "ks".into(),
                name: "u".into(),
                fields: (0..=rng.below(3)).map(|at| (format!("f{at}"), random_type(rng, depth - 1))).collect(),
            }),
            Frozen::Yes,
        ),
        _ => DataType::Vector(inner(rng), 1 + rng.below(3) as u32),
    }
}

/// A random valid value, from a distribution with many equal prefixes, zeros, extremes and empties.
pub fn random_value(ty: &DataType, rng: &mut Rng) -> Vec<u8> {
    if rng.below(20) == 0 && cql::value::validate(ty, &[]).is_ok() {
        return Vec::new();
    }
    let mut out = Vec::new();
    match ty {
        DataType::Text => {
            for _ in 0..rng.below(5) {
                let c = ['a', 'b', '\0', '\u{1}', 'é', '中', '\u{10FFFF}', '"', '\\', '\n'][rng.below(10) as usize];
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        DataType::Ascii => (0..rng.below(5)).for_each(|_| out.push([b'a', b'b', 0, 1, 0x7F, b'\''][rng.below(6) as usize])),
        DataType::Blob | DataType::Custom(_) => bytes(rng.below(6), rng, &mut out),
        DataType::Int | DataType::Date | DataType::Float => number(4, rng, &mut out),
        DataType::BigInt | DataType::Counter | DataType::Timestamp | DataType::Double => number(8, rng, &mut out),
        DataType::SmallInt => number(2, rng, &mut out),
        DataType::TinyInt => number(1, rng, &mut out),
        DataType::Boolean => out.push(rng.below(3) as u8),
        DataType::Time => {
            let nanoseconds = [0, 1, 86_399_999_999_999, rng.below(86_400_000_000_000)][rng.below(4) as usize];
            out.extend_from_slice(&nanoseconds.to_be_bytes());
        }
        DataType::Inet => bytes([4, 16][rng.below(2) as usize], rng, &mut out),
        DataType::Uuid => bytes(16, rng, &mut out),
        DataType::TimeUuid => {
            bytes(16, rng, &mut out);
            out[6] = (out[6] & 0x0F) | 0x10;
        }
        DataType::Varint => integer(rng, &mut out),
        DataType::Decimal => {
            let scale = [0, 1, 2, -1, -3, 30, i32::MAX, i32::MIN, i32::MIN + 1][rng.below(9) as usize];
            out.extend_from_slice(&scale.to_be_bytes());
            integer(rng, &mut out);
        }
        DataType::Duration => {
            let sign = if rng.below(2) == 0 { 1 } else { -1 };
            for bound in [1_u64 << 31, 1 << 31, 1 << 62] {
                let part = [0, 1, 12, rng.below(bound)][rng.below(4) as usize] as i64 * sign;
                unsigned_vint(((part << 1) ^ (part >> 63)) as u64, &mut out);
            }
        }
        DataType::List(element, _) => {
            let parts: Vec<_> = (0..rng.below(4)).map(|_| random_value(element, rng)).collect();
            build::list(parts.iter().map(Vec::as_slice), &mut out);
        }
        DataType::Set(element, _) => {
            let parts: Vec<_> = (0..rng.below(4)).map(|_| random_value(element, rng)).collect();
            build::set(element, parts.iter().map(Vec::as_slice).collect(), &mut out);
        }
        DataType::Map(key, value, _) => {
            let parts: Vec<_> = (0..rng.below(4)).map(|_| (random_value(key, rng), random_value(value, rng))).collect();
            build::map(key, parts.iter().map(|(k, v)| (k.as_slice(), v.as_slice())).collect(), &mut out);
        }
        DataType::Tuple(types) => random_fields(types.iter(), rng, &mut out),
        DataType::Udt(user, _) => random_fields(user.fields.iter().map(|(_, ty)| ty), rng, &mut out),
        DataType::Vector(element, dimension) => {
            for _ in 0..*dimension {
                let part = loop {
                    let part = random_value(element, rng);
                    if layout::fixed_length(element).is_none_or(|length| length == part.len()) {
                        break part;
                    }
                };
                build::vector_element(element, &part, &mut out);
            }
        }
    }
    out
}

fn random_fields<'t>(types: impl ExactSizeIterator<Item = &'t DataType>, rng: &mut Rng, out: &mut Vec<u8>) {
    let count = if rng.below(4) == 0 { rng.below(types.len() as u64 + 1) } else { types.len() as u64 };
    for ty in types.take(count as usize) {
        let value = (rng.below(4) > 0).then(|| random_value(ty, rng));
        build::field(value.as_deref(), out);
    }
}

fn bytes(length: u64, rng: &mut Rng, out: &mut Vec<u8>) {
    for _ in 0..length {
        out.push([0, 0, 1, 0x7F, 0x80, 0xFF, rng.next_u64() as u8][rng.below(7) as usize]);
    }
}

fn number(length: usize, rng: &mut Rng, out: &mut Vec<u8>) {
    let special = [0, 1, -1, i64::MIN, i64::MAX, i64::from(i32::MIN), 0x7FC0_0000, -0x8000, 0x80][rng.below(9) as usize];
    let word = if rng.below(2) == 0 { special } else { rng.next_u64() as i64 };
    out.extend_from_slice(&word.to_be_bytes()[8 - length..]);
}

/// A two's complement integer of 1 to 80 bytes, now and then with superfluous sign bytes.
fn integer(rng: &mut Rng, out: &mut Vec<u8>) {
    let length = [1, 1, 2, 3, 8, 16, 17, 64, 65, 80][rng.below(10) as usize];
    let start = out.len();
    bytes(length, rng, out);
    if rng.below(4) == 0 {
        out[start..].fill([0, 0xFF][rng.below(2) as usize]);
        *out.last_mut().unwrap() = [10, 100, 0xF6][rng.below(3) as usize];
    }
}

fn unsigned_vint(value: u64, out: &mut Vec<u8>) {
    let extra = (0..8).find(|extra| value < 1 << (7 * (extra + 1))).unwrap_or(8);
    let bytes = value.to_be_bytes();
    if extra == 8 {
        out.push(0xFF);
        out.extend_from_slice(&bytes);
    } else {
        let start = out.len();
        out.extend_from_slice(&bytes[7 - extra as usize..]);
        out[start] |= !(0xFF_u32 >> extra) as u8;
    }
}

/// Turns a valid value into one that may not be: flips, cuts, grows or replaces.
pub fn damage(value: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(3) {
        let at = rng.below(value.len() as u64 + 1) as usize;
        match rng.below(5) {
            0 if at < value.len() => value[at] ^= 1 << rng.below(8),
            1 => value.truncate(at),
            2 => value.insert(at, rng.next_u64() as u8),
            3 if at + 4 <= value.len() => value[at..at + 4].copy_from_slice(&(rng.next_u64() as u32 >> rng.below(32)).to_be_bytes()),
            _ => value.extend_from_slice(&rng.next_u64().to_be_bytes()[..at.min(8)]),
        }
    }
}
