//! Which bytes are values: against Cassandra's answers, and against damage.

use crate::value_support::*;
use cql::value::comparable::{decode, encode};
use cql::value::json::to_json;
use cql::value::text::to_literal;
use cql::value::{TYPE_DEPTH_MAX, ValueError, compare, normalize, validate};
use model::{DataType, Frozen, VECTOR_DIMENSIONS_MAX};
use std::sync::Arc;

/// What Cassandra accepts, or fails on with an internal error, and TarnDB refuses with a message of its own.
fn stricter(name: &str, bytes: &[u8], theirs: &str) -> bool {
    match name {
        // Its message names version 0 whatever the version is.
        "timeuuid" => theirs.ends_with("TimeUUID type: 0x0"),
        "text" => std::str::from_utf8(bytes).is_err(),
        "time" => bytes.first().is_some_and(|byte| *byte >= 0x80) || theirs == "ok" && unhex("00004e94914f0000") == bytes,
        "duration" => theirs == "ok" && bytes.len() > 3 || theirs == "error Unexpected error",
        _ if name.contains("list") || name.contains("set") || name.contains("map") => bytes == [0xFF; 4],
        _ => theirs.starts_with("error Attempted to read") || theirs.starts_with("error Invalidate data"),
    }
}

#[test]
fn verdicts_and_messages_are_cassandras() {
    let mut stricter_count = 0;
    for case in golden("validate.tsv") {
        let [name, bytes, theirs] = case.as_slice() else { panic!("{case:?}") };
        let bytes = unhex(bytes);
        let ours = match validate(&ty(name), &bytes) {
            Ok(()) => "ok".to_owned(),
            Err(error) => format!("error {error}"),
        };
        if stricter(name, &bytes, theirs) && ours != *theirs {
            assert!(ours.starts_with("error"), "{case:?}: {ours}");
            stricter_count += 1;
        } else {
            assert_eq!(ours, *theirs, "{case:?}");
        }
    }
    assert!(stricter_count > 5);
}

#[test]
fn random_values_are_valid_and_normal_forms_stay() {
    let mut rng = base::Rng::new(seed());
    for round in 0..iterations() {
        let ty = random_type(&mut rng, 3);
        let value = random_value(&ty, &mut rng);
        assert_eq!(validate(&ty, &value), Ok(()), "seed {} round {round}: {ty} {}", seed(), hex(&value));
        assert_eq!(normalize(&ty, &value).unwrap().as_ref(), value, "seed {} round {round}: {ty} {}", seed(), hex(&value));
    }
}

#[test]
fn damaged_values_never_panic() {
    let mut rng = base::Rng::new(seed());
    let (mut good, mut bad) = (0, 0);
    for _ in 0..iterations() {
        let ty = random_type(&mut rng, 3);
        let mut value = random_value(&ty, &mut rng);
        damage(&mut value, &mut rng);
        match normalize(&ty, &value) {
            Ok(_) => good += 1,
            Err(error) => {
                bad += 1;
                assert!(error.to_string().len() < 2000);
            }
        }
    }
    assert!(good > 0 && bad > 0);
}

#[test]
fn unsorted_sets_and_maps_are_sorted_at_any_depth() {
    let list = ty("frozen<list<frozen<set<int>>>>");
    let value = unhex("00000001" /* one set */) // its length follows
        .into_iter()
        .chain(unhex("0000001c00000003000000040000000200000004ffffffff0000000400000002"))
        .collect::<Vec<_>>();
    let sorted = normalize(&list, &value).unwrap();
    assert_eq!(hex(&sorted), "00000001000000140000000200000004ffffffff0000000400000002");
    let map = ty("frozen<map<int, text>>");
    let twice = unhex("0000000200000004000000010000000161000000040000000100000001620000");
    assert!(normalize(&map, &twice).is_err());
    let sorted = normalize(&map, &twice[..twice.len() - 2]).unwrap();
    assert_eq!(hex(&sorted), "0000000100000004000000010000000162");
}

#[test]
fn nesting_beyond_the_limit_is_refused() {
    let nested = |levels| (0..levels).fold(DataType::Int, |inner, _| DataType::List(Arc::new(inner), Frozen::Yes));
    let value = |levels| {
        (0..levels).fold(vec![0, 0, 0, 1], |inner: Vec<u8>, _| [&[0, 0, 0, 1], &(inner.len() as u32).to_be_bytes()[..], &inner].concat())
    };
    assert_eq!(validate(&nested(TYPE_DEPTH_MAX), &value(TYPE_DEPTH_MAX)), Ok(()));
    assert_eq!(validate(&nested(TYPE_DEPTH_MAX + 1), &value(TYPE_DEPTH_MAX + 1)), Err(ValueError::Depth));
}

/// A vector's bytes end what is done with them, and not its dimension, which may be that of gigabytes.
#[test]
fn vectors_are_as_long_as_their_bytes() {
    let long = |element| DataType::Vector(Arc::new(element), 70_000);
    let floats: Vec<u8> = (0..70_000).flat_map(|number| (number as f32).to_be_bytes()).collect();
    let texts: Vec<u8> = (0..70_000).flat_map(|_| [1, b'x']).collect();
    for (ty, bytes) in [(long(DataType::Float), floats), (long(DataType::Text), texts)] {
        assert_eq!(normalize(&ty, &bytes).unwrap(), bytes);
        let (mut key, mut back) = (Vec::new(), Vec::new());
        encode(&ty, &bytes, false, &mut key);
        decode(&ty, false, &mut key.as_slice(), &mut back).unwrap();
        assert_eq!(back, bytes);
        assert!(compare(&ty, &bytes, &bytes).is_eq());
        assert!(validate(&ty, &bytes[..bytes.len() - 1]).is_err() && validate(&ty, &[&bytes[..], &[0]].concat()).is_err());
    }
    let longest = |element| DataType::Vector(Arc::new(element), VECTOR_DIMENSIONS_MAX);
    let nested = longest(longest(longest(DataType::Float)));
    for ty in [longest(DataType::Float), longest(DataType::Text), longest(DataType::TimeUuid), nested, longest(longest(DataType::Blob))] {
        for bytes in [&[][..], &[0; 16], &[1; 1000]] {
            validate(&ty, bytes).expect_err("gigabytes are missing");
            let (mut key, mut back) = (Vec::new(), Vec::new());
            encode(&ty, bytes, false, &mut key);
            let (literal, json) = (to_literal(&ty, Some(bytes)), to_json(&ty, Some(bytes)));
            assert!(literal.len() + json.len() + key.len() < 10_000, "{ty}");
            decode(&ty, false, &mut key.as_slice(), &mut back).unwrap();
            assert_eq!(back, bytes, "{ty}");
        }
    }
}
