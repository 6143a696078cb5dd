//! Values as literals and JSON, and JSON as values, against Cassandra's answers and back.

use crate::value_support::*;
use base::Rng;
use cql::value::json::{JsonError, from_json, object, to_json};
use cql::value::text::to_literal;
use cql::value::{compare, parse};
use model::DataType;

/// What Cassandra writes otherwise, with the reason.
fn differs(name: &str, wire: &[u8], theirs: &str) -> bool {
    let zero = name == "duration" && wire == [0, 0, 0];
    // It loses the sign of years before 1, and prints a superfluous digit now and then (JDK-4511638).
    let year = name.contains("timestamp") && wire.first().is_some_and(|byte| *byte >= 0x80);
    let digits = name.contains("float") || name.contains("double");
    zero || year || digits || theirs.starts_with("error")
}

#[test]
fn literals_and_json_are_cassandras() {
    let (mut differing, mut total) = (0, 0);
    for case in golden("text.tsv") {
        let [form, name, wire, theirs] = case.as_slice() else { panic!("{case:?}") };
        let (ty, wire) = (ty(name), unhex(wire));
        let ours = if form == "cql" { to_literal(&ty, Some(&wire)) } else { to_json(&ty, Some(&wire)) };
        total += 1;
        if ours != *theirs {
            assert!(differs(name, &wire, theirs), "{case:?}: {ours}");
            differing += 1;
            if name == "double" {
                assert_eq!(ours.parse::<f64>().unwrap(), theirs.parse::<f64>().unwrap());
                assert!(ours.len() <= theirs.len());
            }
        }
    }
    assert!(differing * 20 < total, "{differing} of {total}");
}

#[test]
fn json_is_read_as_cassandra_reads_it() {
    for case in golden("json.tsv") {
        let [name, text, theirs] = case.as_slice() else { panic!("{case:?}") };
        let mut out = Vec::new();
        let ours = match from_json(&ty(name), text, &mut out) {
            Ok(true) => format!("0x{}", hex(&out)),
            Ok(false) => "null".to_owned(),
            Err(error) => format!("error {error}"),
        };
        if ours == *theirs {
            continue;
        }
        let fine = match (name.as_str(), text.as_str()) {
            // Cassandra rounds decimals to doubles; these are the digits that were sent.
            ("decimal", "1.10" | "1e10" | "123456789012345678901234567890.123456789") => ours.starts_with("0x"),
            ("int", "null") => ours == "null",
            ("counter", "1") => ours == "0x0000000000000001",
            // What Cassandra accepts, and is no JSON or no value.
            ("int", "1 2") | ("duration", "\"\"") => ours.starts_with("error"),
            // The same verdict in other words.
            _ => ours.starts_with("error") && theirs.starts_with("error") && ours.len() > 20,
        };
        assert!(fine, "{case:?}: {ours}");
        assert!(!theirs.contains("Tuple ") && !theirs.contains("but got a"), "{case:?}: {ours}");
        if !theirs.contains("decoding")
            && !theirs.contains("blob")
            && !theirs.contains(".0'")
            && theirs.starts_with("error")
            && ours.starts_with("error")
        {
            let words = |text: &str| text.split(&[':', ';'][..]).next().unwrap().to_owned();
            assert_eq!(words(&ours), words(theirs), "{case:?}");
        }
    }
}

#[test]
fn values_survive_json() {
    let mut rng = Rng::new(seed());
    for round in 0..iterations() / 2 {
        let ty = random_type(&mut rng, 3);
        let value = random_value(&ty, &mut rng);
        let json = to_json(&ty, Some(&value));
        let context = || format!("seed {} round {round}: {ty} {} {json}", seed(), hex(&value));
        let mut back = Vec::new();
        let some = from_json(&ty, &json, &mut back);
        // What JSON cannot say: NaN and infinity, an empty boolean; and what Cassandra does not read back, an empty varint or decimal.
        let is_empty_number = matches!(&some, Err(JsonError::Number { text, .. }) if text.to_string().is_empty());
        if json.contains("null") || is_empty_number {
            continue;
        }
        assert_eq!(some, Ok(true), "{}", context());
        assert!(compare(&ty, &value, &back).is_eq(), "{} gives {}", context(), hex(&back));
    }
}

#[test]
fn values_of_native_types_survive_their_literal() {
    let mut rng = Rng::new(seed());
    for _ in 0..iterations() / 4 {
        let ty = &SCALARS[rng.below(20) as usize];
        let value = random_value(ty, &mut rng);
        let literal = to_literal(ty, Some(&value));
        if literal == "null" {
            continue;
        }
        let text = match literal.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')) {
            Some(inner) => inner.replace("''", "'"),
            None => literal.clone(),
        };
        let mut back = Vec::new();
        parse::parse(ty, &text, &mut back).unwrap_or_else(|error| panic!("{ty} {} {literal}: {error}", hex(&value)));
        assert!(compare(ty, &value, &back).is_eq(), "{ty} {} {literal} {}", hex(&value), hex(&back));
    }
}

#[test]
fn rows_are_split_into_columns() {
    let row = object(r#" {"a": 1, "B": {"x": [1, "}"]}, "\"C d\"": null} "#).unwrap();
    let row: Vec<_> = row.iter().map(|(name, json)| (name.as_str(), *json)).collect();
    assert_eq!(row, [("a", "1"), ("b", r#"{"x": [1, "}"]}"#), ("C d", "null")]);
    // The last of a name counts.
    assert_eq!(object(r#"{"a": 1, "A": 2}"#).unwrap().iter().rfind(|(name, _)| name == "a").map(|(_, value)| *value), Some("2"));
    assert!(object("[1]").unwrap_err().to_string().starts_with("Expected a map, but got a ArrayList"));
    assert!(object("{\"a\": 1} x").is_err());
    assert!(object("").is_err());
}

#[test]
fn json_of_any_kind_never_panics_or_recurses_without_bound() {
    let mut rng = Rng::new(seed());
    let pieces = [
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "d83d",
        "1",
        "-",
        ".5",
        "e9",
        "null",
        "true",
        "\"a\"",
        "\"\\ud83d\\ude00\"",
        "é",
        " ",
        "0x",
    ];
    for _ in 0..iterations() {
        let text: String = (0..rng.below(12)).map(|_| pieces[rng.below(pieces.len() as u64) as usize]).collect();
        let ty = random_type(&mut rng, 2);
        let mut out = Vec::new();
        if let Ok(true) = from_json(&ty, &text, &mut out) {
            assert_eq!(cql::value::validate(&ty, &out), Ok(()), "{ty} {text}");
        }
        let _ = object(&text);
        // A valid text with one wrong byte.
        let value = random_value(&ty, &mut rng);
        let mut text = to_json(&ty, Some(&value)).into_bytes();
        damage(&mut text, &mut rng);
        if let Ok(text) = String::from_utf8(text) {
            let _ = from_json(&ty, &text, &mut out);
        }
    }
    for open in ["[", "{\"a\":", "\"["] {
        assert!(from_json(&DataType::Int, &open.repeat(100_000), &mut Vec::new()).is_err());
        assert!(object(&format!("{{\"a\":{}", open.repeat(100_000))).is_err());
    }
}

#[test]
fn text_of_bytes_that_are_no_value_says_the_bytes() {
    assert_eq!(to_literal(&DataType::Int, Some(&[1, 2, 3])), "0x010203");
    assert_eq!(to_literal(&DataType::Int, None), "null");
    let mut rng = Rng::new(seed());
    for _ in 0..iterations() {
        let ty = random_type(&mut rng, 3);
        let mut value = random_value(&ty, &mut rng);
        damage(&mut value, &mut rng);
        let _ = (to_literal(&ty, Some(&value)), to_json(&ty, Some(&value)));
    }
}

#[test]
fn a_few_bytes_of_json_do_not_become_gigabytes() {
    let fields = (0..1000).map(|at| (format!("f{at}"), DataType::Int)).collect();
    let user =
        DataType::Udt(std::sync::Arc::new(model::UserType { keyspace: "ks".into(), name: "wide".into(), fields }), model::Frozen::Yes);
    let list = DataType::List(user.into(), model::Frozen::Yes);
    let json = format!("[{}{{}}]", "{},".repeat(1_000_000));
    let mut out = Vec::new();
    assert_eq!(from_json(&list, &json, &mut out), Err(JsonError::TooLong));
    assert!(out.len() < 100 << 20);
}
