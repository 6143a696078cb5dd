//! Values: their bytes, their order, what is stored of them, and garbage.

use base::Rng;

use super::notation::{bytes, text};
use super::{DEPTH_MAX, Head, List, Malformed, Map, Reader, compare, store, write};

/// As stored, or malformed.
fn stored(value: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut reader = Reader::new(value);
    let mut out = Vec::new();
    store(&mut reader, &mut out, 0)?;
    if reader.is_empty() { Ok(out) } else { Err(Malformed) }
}

#[test]
fn values_have_the_bytes_that_clients_write() {
    let cases: &[(&str, &[u8])] = &[
        ("null", &[0xc0]),
        ("true", &[0xc3]),
        ("false", &[0xc2]),
        ("0", &[0]),
        ("127", &[0x7f]),
        ("128", &[0xcc, 0x80]),
        ("256", &[0xcd, 1, 0]),
        ("65536", &[0xce, 0, 1, 0, 0]),
        ("4294967296", &[0xcf, 0, 0, 0, 1, 0, 0, 0, 0]),
        ("18446744073709551615", &[0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ("-1", &[0xff]),
        ("-32", &[0xe0]),
        ("-33", &[0xd0, 0xdf]),
        ("-128", &[0xd0, 0x80]),
        ("-129", &[0xd1, 0xff, 0x7f]),
        ("-32769", &[0xd2, 0xff, 0xff, 0x7f, 0xff]),
        ("-2147483649", &[0xd3, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]),
        ("1.5", &[0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0]),
        ("\"ab\"", &[0xa3, 3, b'a', b'b']),
        ("b\"ab\"", &[0xa3, 4, b'a', b'b']),
        ("g\"{}\"", &[0xa3, 23, b'{', b'}']),
        ("[1, [2]]", &[0x92, 1, 0x91, 2]),
        ("<[1]", &[0x92, 0xc7, 0, 1, 1]),
        ("{1: 2}", &[0x81, 1, 2]),
        ("<{1: 2}", &[0x82, 0xc7, 0, 1, 0xc0, 1, 2]),
        ("<<{}", &[0x81, 0xc7, 0, 3, 0xc0]),
        ("~{1: 2}", &[0x82, 0xc7, 0, 8, 0xc0, 1, 2]),
        ("inf", &[0xd4, 0xff, 1]),
        ("*", &[0xd4, 0xff, 0]),
    ];
    for (value, expected) in cases {
        assert_eq!(bytes(value), *expected, "{value}");
        assert_eq!(text(expected), *value);
    }
}

#[test]
fn long_values_have_long_heads() {
    for length in [30, 31, 254, 255, 65_534, 65_535] {
        let string = format!("\"{}\"", "x".repeat(length));
        assert_eq!(text(&bytes(&string)), string);
        let list = format!("[{}]", vec!["1"; length].join(", "));
        assert_eq!(text(&bytes(&list)), list);
    }
}

#[test]
fn every_value_has_its_place() {
    let ascending = [
        "null",
        "false",
        "true",
        "-9223372036854775808",
        "-1",
        "0",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "\"\"",
        "\"a\"",
        "\"aa\"",
        "\"b\"",
        "[]",
        "[null, 5]",
        "[1]",
        "[1, 2]",
        "[1, 2, 1]",
        "[1, 3]",
        "[[]]",
        "{}",
        "{1: 2}",
        "{1: 3}",
        "{2: 0}",
        "{1: 1, 2: 1}",
        "b\"\"",
        "b\"a\"",
        "-1.5",
        "0.0",
        "1e300",
        "g\"{}\"",
        "inf",
    ];
    for (left_place, left) in ascending.iter().enumerate() {
        for (right_place, right) in ascending.iter().enumerate() {
            let (left_bytes, right_bytes) = (bytes(left), bytes(right));
            assert_eq!(compare(&left_bytes, &right_bytes), left_place.cmp(&right_place), "{left} to {right}");
        }
        assert!(compare(&bytes(left), &bytes("*")).is_eq());
        assert!(compare(&bytes("*"), &bytes(left)).is_eq());
    }
}

#[test]
fn equal_values_may_be_written_in_different_ways() {
    let cases: &[(&[u8], &str)] = &[
        (&[0xcf, 0, 0, 0, 0, 0, 0, 0, 7], "7"),
        (&[0xd1, 0xff, 0xff], "-1"),
        (&[0xca, 0x3f, 0xc0, 0, 0], "1.5"),
        (&[0xd9, 2, 3, b'a'], "\"a\""),
        (&[0xc4, 2, 4, b'a'], "b\"a\""),
        (&[0xdd, 0, 0, 0, 1, 1], "[1]"),
        (&[0xdf, 0, 0, 0, 1, 1, 1], "{1: 1}"),
    ];
    for (wide, value) in cases {
        assert!(compare(wide, &bytes(value)).is_eq(), "{value}");
        assert_eq!(stored(wide), Ok(bytes(value)), "{value}");
    }
    for (left, right) in [("<[1, 2]", "[1, 2]"), ("<{1: 2}", "{1: 2}"), ("0.0", "-0.0")] {
        assert!(compare(&bytes(left), &bytes(right)).is_eq(), "{left} to {right}");
    }
}

#[test]
fn a_wildcard_stands_for_the_rest_of_a_list() {
    let cases = [
        ("[1, \"d\", \"e\"]", "[1, *]", true),
        ("[1]", "[1, *]", false),
        ("[2, \"d\"]", "[1, *]", false),
        ("[[1, 2], 3]", "[[1, *], 3]", true),
        ("[[1, 2], 4]", "[[1, *], 3]", false),
        ("{1: [2, 3]}", "{1: [2, *]}", true),
    ];
    for (value, pattern, equal) in cases {
        assert_eq!(compare(&bytes(value), &bytes(pattern)).is_eq(), equal, "{value} to {pattern}");
        assert_eq!(compare(&bytes(pattern), &bytes(value)).is_eq(), equal, "{pattern} to {value}");
    }
}

#[test]
fn what_is_stored_is_checked() {
    for value in ["<[1, 1, 2]", "<{1: 1, 2: 0}", "<<{1: 1, 2: 0}", "{2: 0, 1: 1}", "[<[], <{}]", "[null]", "{1: null}"] {
        assert_eq!(stored(&bytes(value)).map(|bytes| text(&bytes)), Ok(value.to_owned()));
    }
    for value in ["<[2, 1]", "<{2: 0, 1: 1}", "<{1: 0, 1: 1}", "{null: 1}", "inf", "[1, *]", "{1: inf}", "[<[2, 1]]"] {
        assert_eq!(stored(&bytes(value)), Err(Malformed), "{value}");
    }
    // What only the server's own memory or an answer has in it is dropped.
    assert_eq!(stored(&[0x83, 0xc7, 2, 0x11, 9, 9, 0xc0, 1, 1, 2, 2]), Ok(bytes("<{1: 1, 2: 2}")));
    assert_eq!(stored(&bytes("~{2: 1, 1: 1}")), Ok(bytes("{2: 1, 1: 1}")));
    assert_eq!(stored(&[0x81, 0xc7, 0, 2, 0xc0]), Err(Malformed), "ordered by values alone");
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| [vec![0x91; depth], vec![write::NIL]].concat();
    assert!(stored(&nested(DEPTH_MAX)).is_ok());
    assert_eq!(stored(&nested(DEPTH_MAX + 1)), Err(Malformed));
    assert_eq!(stored(&nested(1 << 20)), Err(Malformed));
    assert!(Reader::new(&nested(1 << 20)).value().is_ok(), "what is only skipped may be as deep as it likes");
}

#[test]
fn counts_that_cannot_be_are_refused_before_anything_is_allocated() {
    for value in [
        &[0xdd, 0xff, 0xff, 0xff, 0xff][..],
        &[0xdf, 0xff, 0xff, 0xff, 0xff, 1, 1],
        &[0x92, 1],
        &[0x81, 1],
        &[0xdb, 0xff, 0xff, 0xff, 0xff, 3],
        &[0xc1],
        &[0xc9, 0, 0, 0, 9, 1],
        &[],
    ] {
        assert_eq!(Reader::new(value).value(), Err(Malformed), "{value:?}");
        assert!(List::parse(value).is_err() && Map::parse(value).is_err(), "{value:?}");
    }
}

/// A value of any kind, at most so deep.
pub(crate) fn any_value(rng: &mut Rng, depth: usize) -> Vec<u8> {
    let mut out = Vec::new();
    match rng.below(if depth == 0 { 8 } else { 11 }) {
        0 => out.push(write::NIL),
        1 => write::bool(&mut out, rng.below(2) == 0),
        2 => write::integer(&mut out, rng.below(20) as i64 - 10),
        3 => write::integer(&mut out, rng.next_u64() as i64),
        4 => write::unsigned(&mut out, rng.next_u64()),
        5 => write::double(&mut out, rng.below(9) as f64 / 2.0 - 2.0),
        6 => write::typed(&mut out, crate::value::ParticleType::String, &b"abc"[..rng.below(4) as usize]),
        7 => write::typed(&mut out, crate::value::ParticleType::Blob, &b"abc"[..rng.below(4) as usize]),
        8 | 9 => {
            let count = rng.below(4) as usize;
            write::list(&mut out, count, 0);
            (0..count).for_each(|_| out.extend(any_value(rng, depth - 1)));
        }
        _ => {
            let count = rng.below(4) as usize;
            write::map(&mut out, count, 0);
            for key in 0..count {
                write::integer(&mut out, key as i64);
                out.extend(any_value(rng, depth - 1));
            }
        }
    }
    out
}

#[test]
fn the_order_is_total() {
    let mut rng = Rng::new(7);
    for _ in 0..300 {
        let mut values: Vec<Vec<u8>> = (0..20).map(|_| any_value(&mut rng, 3)).collect();
        values.sort_by(|left, right| compare(left, right));
        for (place, left) in values.iter().enumerate() {
            for right in &values[place..] {
                assert!(compare(left, right).is_le() && compare(right, left).is_ge());
            }
            assert_eq!(stored(left).as_ref(), Ok(left), "what is written is stored as it is");
        }
    }
}

#[test]
fn garbage_is_refused_or_read_but_never_harms() {
    let mut rng = Rng::new(11);
    let mut read = 0;
    for round in 0..60_000 {
        let mut value = any_value(&mut rng, 4);
        for _ in 0..rng.below(4) {
            let at = rng.below(value.len() as u64) as usize;
            match rng.below(3) {
                0 => value[at] = rng.next_u64() as u8,
                1 => value.truncate(at.max(1)),
                _ => value.insert(at, rng.next_u64() as u8),
            }
        }
        let other = any_value(&mut rng, 4);
        compare(&value, &other);
        let _ = Reader::new(&value).head().map(|head| matches!(head, Head::Nil));
        if let Ok(out) = stored(&value) {
            read += 1;
            assert_eq!(stored(&out), Ok(out.clone()), "round {round}: what is stored is stored again as it is");
            assert!(out.len() <= 2 * value.len() + 4, "round {round}");
        }
        let _ = (List::parse(&value), Map::parse(&value));
    }
    assert!(read > 5_000, "most of the garbage was nothing but garbage: {read}");
}
