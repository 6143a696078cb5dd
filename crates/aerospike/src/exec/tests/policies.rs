//! One record: what a request finds, what it expects, what it leaves.

use super::database::{Database, NOW_S, Said};
use super::{Ask, integer};
use crate::operate::code;
use crate::wire::{field, info1, info2, info3};

const INTEGER: u8 = 1;
const STRING: u8 = 3;
const LIST: u8 = 20;

const NEVER: u32 = u32::MAX;
const KEEP: u32 = u32::MAX - 1;

pub(super) fn put(key: u8, name: &str, value: i64) -> Ask {
    Ask::of(key).info(0, info2::WRITE, 0).operation(code::WRITE, INTEGER, name, &integer(value))
}

pub(super) fn get(key: u8) -> Ask {
    Ask::of(key).info(info1::READ | info1::GET_ALL, 0, 0)
}

fn delete(key: u8) -> Ask {
    Ask::of(key).info(0, info2::WRITE | info2::DELETE, 0)
}

fn names(said: &Said) -> Vec<&str> {
    said.bins.iter().map(|(name, _, _)| name.as_str()).collect()
}

#[test]
fn a_record_is_what_was_written() {
    let mut database = Database::new();
    assert_eq!(database.one(&get(1)).result, 2, "there is no set yet");
    let said = database.one(&put(1, "a", -7).operation(code::WRITE, STRING, "b", b"text"));
    assert_eq!((said.result, said.generation, said.void_time, said.bins.len()), (0, 1, 0, 0));
    assert_eq!(database.declarations, 1, "set and bins in one");
    assert_eq!(database.one(&get(2)).result, 2, "there is no such record");
    let said = database.one(&get(1));
    assert_eq!((said.result, said.generation), (0, 1));
    assert_eq!(said.bins, [("a".to_owned(), INTEGER, integer(-7).to_vec()), ("b".to_owned(), STRING, b"text".to_vec())]);

    // Another kind of value in a bin takes another column, and the former is gone.
    assert_eq!(database.one(&Ask::of(1).info(0, info2::WRITE, 0).operation(code::WRITE, STRING, "a", b"seven")).generation, 2);
    assert_eq!(database.declarations, 2);
    let said = database.one(&get(1));
    assert_eq!(said.bins.iter().find(|(name, _, _)| name == "a").unwrap(), &("a".to_owned(), STRING, b"seven".to_vec()));
    assert_eq!(said.bins.len(), 2);

    // Writing nothing to a bin removes it; the last takes the record along.
    let remove = |name: &str| Ask::of(1).info(0, info2::WRITE, 0).operation(code::WRITE, 0, name, &[]);
    assert_eq!(database.one(&remove("a")).result, 0);
    assert_eq!(names(&database.one(&get(1))), ["b"]);
    assert_eq!(database.one(&remove("b")).result, 0);
    assert_eq!(database.one(&get(1)).result, 2);
    assert_eq!(database.one(&remove("b")).result, 2);
    assert_eq!(database.one(&put(1, "a", 1)).generation, 1, "a new record");
    assert_eq!(database.row_count(), 1);
}

#[test]
fn reads_give_what_they_ask_for() {
    let mut database = Database::new();
    database.one(&put(1, "a", 1).operation(code::WRITE, INTEGER, "b", &integer(2)));
    let read = |info1: u8, info2: u8, bins: &[&str]| {
        bins.iter().fold(Ask::of(1).info(info1::READ | info1, info2, 0), |ask, name| ask.operation(code::READ, 0, name, &[]))
    };
    assert_eq!(names(&database.one(&read(0, 0, &["b"]))), ["b"]);
    assert_eq!(names(&database.one(&read(0, 0, &["b", "x", "a", "b"]))), ["b", "a", "b"]);
    let said = database.one(&read(0, info2::RESPOND_ALL_OPS, &["x", "a"]));
    assert_eq!(said.bins, [("x".to_owned(), 0, vec![]), ("a".to_owned(), INTEGER, integer(1).to_vec())]);
    let said = database.one(&read(0, 0, &["x"]));
    assert_eq!((said.result, said.bins.len()), (0, 0), "a record without the bin is there");
    for (info1, bins) in [(info1::NO_BINS, &[][..]), (info1::NO_BINS, &[""][..])] {
        let said = database.one(&read(info1, 0, bins));
        assert_eq!((said.result, said.generation, said.bins.len()), (0, 1, 0));
    }
    assert_eq!(database.one(&read(0, 0, &[])).result, 4, "neither all bins nor none nor some");
    assert_eq!(database.one(&read(0, 0, &[]).operation(code::WRITE, INTEGER, "a", &integer(1))).result, 4, "a read does not write");
}

#[test]
fn expectations_are_checked_before_anything_is_written() {
    let put = |info2, info3, generation| put(1, "a", 5).info(0, info2, info3).generation(generation);
    let delete = |info2, generation| delete(1).info(0, info2, 0).generation(generation);
    let touch = Ask::of(1).info(0, info2::WRITE, 0).operation(code::TOUCH, 0, "", &[]);
    // The request, its result on a missing record, and on one of generation 2.
    let cases = [
        ("update", put(0, 0, 0), 0, 0),
        ("create only", put(info2::CREATE_ONLY, 0, 0), 0, 5),
        ("update only", put(0, info3::UPDATE_ONLY, 0), 2, 0),
        ("create or replace", put(0, info3::CREATE_OR_REPLACE, 0), 0, 0),
        ("replace only", put(0, info3::REPLACE_ONLY, 0), 2, 0),
        ("generation 0", put(info2::GENERATION, 0, 0), 0, 3),
        ("generation 1", put(info2::GENERATION, 0, 1), 3, 3),
        ("generation 2", put(info2::GENERATION, 0, 2), 3, 0),
        ("generation after 1", put(info2::GENERATION_GREATER, 0, 1), 0, 3),
        ("generation after 2", put(info2::GENERATION_GREATER, 0, 2), 0, 3),
        ("generation after 3", put(info2::GENERATION_GREATER, 0, 3), 0, 0),
        ("delete", delete(0, 0), 2, 0),
        ("durable delete", delete(info2::DURABLE_DELETE, 0), 2, 0),
        ("delete generation 1", delete(info2::GENERATION, 1), 2, 3),
        ("delete generation 2", delete(info2::GENERATION, 2), 2, 0),
        ("touch", touch.clone(), 2, 0),
        ("touch and replace", touch.info(0, 0, info3::CREATE_OR_REPLACE), 2, 4),
        ("nothing", Ask::of(1).info(0, info2::WRITE, 0), 4, 4),
        ("a bin without a name", put(0, 0, 0).operation(code::WRITE, INTEGER, "", &integer(1)), 4, 4),
        ("a long name", put(0, 0, 0).operation(code::WRITE, INTEGER, "sixteen letters!", &integer(1)), 21, 21),
        ("an unknown type", put(0, 0, 0).operation(code::WRITE, 99, "b", &[]), 4, 4),
        ("too long a life", put(0, 0, 0).ttl(315_360_001), 4, 4),
        ("a filter that is true", put(0, 0, 0).field(field::FILTER, &[0xC3]), 0, 0),
        ("a filter that is false", put(0, 0, 0).field(field::FILTER, &[0xC2]), 0, 27),
        ("a filter that is none", put(0, 0, 0).field(field::FILTER, &[1]), 0, 4),
        ("a function without a name", put(0, 0, 0).field(field::UDF_PACKAGE, b"p"), 4, 4),
        ("a transaction", put(0, 0, 0).field(field::TRANSACTION_ID, &[0; 8]), 4, 4),
        ("digests of an old batch", put(0, 0, 0).field(field::TRANSACTION_DEADLINE, &[0; 20]), 16, 16),
        ("an index", put(0, 0, 0).field(field::INDEX_RANGE, &[0]), 4, 4),
        ("another namespace", Ask::about(&[(field::NAMESPACE, b"none"), (field::DIGEST, &[0; 20])]), 20, 20),
        ("a set that cannot be", Ask::about(&[(field::NAMESPACE, b"test"), (field::SET, b"a:b"), (field::DIGEST, &[0; 20])]), 4, 4),
        ("an old batch", Ask::of(1).info(info1::READ | info1::BATCH, 0, 0), 16, 16),
    ];
    for (name, ask, missing, present) in cases {
        let mut database = Database::new();
        assert_eq!(database.ask(&ask).last().unwrap().result, missing, "{name} on a missing record");
        if missing != 0 {
            assert_eq!(database.row_count(), 0, "{name} on a missing record");
        }
        let mut database = Database::new();
        database.one(&super::policies::put(1, "a", 1));
        database.one(&super::policies::put(1, "b", 2));
        let before = database.one(&get(1));
        assert_eq!(database.ask(&ask).last().unwrap().result, present, "{name} on a record");
        if present != 0 {
            assert_eq!(database.one(&get(1)), before, "{name} on a record");
        }
    }
}

#[test]
fn replacing_drops_what_is_not_written() {
    let mut database = Database::new();
    database.one(&put(1, "a", 1).operation(code::WRITE, INTEGER, "b", &integer(2)));
    for (info3, left) in
        [(info3::UPDATE_ONLY, vec!["a", "b", "c"]), (info3::REPLACE_ONLY, vec!["c"]), (info3::CREATE_OR_REPLACE, vec!["c"])]
    {
        assert_eq!(database.one(&put(1, "c", 3).info(0, 0, info3)).result, 0);
        assert_eq!(names(&database.one(&get(1))), left);
    }
    assert_eq!(database.one(&get(1)).generation, 4);
}

#[test]
fn a_deleted_record_is_gone_and_starts_anew() {
    let mut database = Database::new();
    database.one(&put(1, "a", 1));
    assert_eq!(database.one(&delete(1)).result, 0);
    assert_eq!(database.one(&get(1)).result, 2);
    assert_eq!(database.one(&delete(1)).result, 2);
    assert_eq!(database.row_count(), 1, "the deletion is kept");
    assert_eq!(database.one(&put(1, "b", 1).info(0, info2::CREATE_ONLY, 0)).generation, 1);
    assert_eq!(names(&database.one(&get(1))), ["b"]);
}

#[test]
fn operations_run_in_order_and_all_or_none() {
    let mut database = Database::new();
    let ask = put(1, "a", 1)
        .info(info1::READ, info2::WRITE, 0)
        .operation(code::READ, 0, "a", &[])
        .operation(code::WRITE, INTEGER, "a", &integer(2))
        .operation(code::READ, 0, "a", &[])
        .operation(code::READ, 0, "none", &[]);
    let said = database.one(&ask);
    assert_eq!(said.bins.iter().map(|bin| bin.2.as_slice()).collect::<Vec<_>>(), [integer(1), integer(2)]);
    let said = database.one(&ask.clone().info(0, info2::RESPOND_ALL_OPS, 0));
    let kinds: Vec<(&str, u8)> = said.bins.iter().map(|(name, kind, _)| (name.as_str(), *kind)).collect();
    assert_eq!(kinds, [("a", 0), ("a", INTEGER), ("a", 0), ("a", INTEGER), ("none", 0)]);
    assert_eq!(said.generation, 2);

    let all = put(1, "b", 3).info(info1::READ | info1::GET_ALL, 0, 0).operation(code::READ, 0, "", &[]);
    assert_eq!(names(&database.one(&all)), ["a", "b"]);

    // A record is deleted and made again in one; its generation goes on.
    let anew = Ask::of(1)
        .info(info1::READ | info1::GET_ALL, info2::WRITE, 0)
        .operation(code::READ, 0, "", &[])
        .operation(code::DELETE, 0, "", &[])
        .operation(code::WRITE, INTEGER, "c", &integer(1));
    let said = database.one(&anew);
    assert_eq!((names(&said), said.generation), (vec!["a", "b"], 4));
    assert_eq!(names(&database.one(&get(1))), ["c"]);

    let fails = put(1, "c", 9).operation(code::HLL_MODIFY, 0, "c", &[]);
    assert_ne!(database.one(&fails).result, 0);
    let said = database.one(&get(1));
    assert_eq!((said.bins[0].2.as_slice(), said.generation), (&integer(1)[..], 4));
    let last = Ask::of(1).info(0, info2::WRITE, 0).operation(code::DELETE, 0, "", &[]);
    assert_eq!(database.one(&last).result, 0);
    assert_eq!(database.one(&last).result, 2);
}

#[test]
fn records_last_as_long_as_they_are_told() {
    let void_time = NOW_S - 1_262_304_000;
    let touch = |ttl| Ask::of(1).info(0, info2::WRITE, 0).operation(code::TOUCH, 0, "", &[]).ttl(ttl);
    let mut database = Database::new();
    // A write, and how long the record lasts from then on; 0 is for ever.
    let steps = [
        (put(1, "a", 1).ttl(100), 100),
        (touch(KEEP), 100),
        (touch(50), 50),
        (put(1, "a", 2).ttl(KEEP), 50),
        (touch(NEVER), 0),
        (put(1, "a", 3).ttl(KEEP), 0),
        (put(1, "a", 4).ttl(10), 10),
        (put(1, "a", 5), 0),
    ];
    for (step, (ask, lasts)) in steps.into_iter().enumerate() {
        let expected = if lasts == 0 { 0 } else { void_time + lasts };
        let said = database.one(&ask);
        assert_eq!((said.result, said.generation, said.void_time), (0, step as u32 + 1, expected), "step {step}");
        assert_eq!(database.one(&get(1)).void_time, expected, "step {step}");
    }
    database.one(&put(1, "a", 6).ttl(10));
    // The second in which it was written may have been nearly over.
    database.now_s += 10;
    assert_eq!(database.one(&get(1)).result, 0);
    database.now_s += 1;
    assert_eq!(database.one(&get(1)).result, 2);
    assert_eq!(database.one(&touch(5)).result, 2);
    assert_eq!(database.one(&put(1, "b", 1).info(0, info2::CREATE_ONLY, 0)).generation, 1, "an expired record is none");
    assert_eq!(names(&database.one(&get(1))), ["b"]);

    let day = |ttl| {
        let about = Ask::about(&[(field::NAMESPACE, b"day"), (field::DIGEST, &[1; 20])]).ttl(ttl);
        about.info(0, info2::WRITE, 0).operation(code::WRITE, INTEGER, "a", &integer(1))
    };
    let of_day = database.now_s - 1_262_304_000 + 86_400;
    assert_eq!(database.one(&day(0)).void_time, of_day);
    assert_eq!(database.one(&day(NEVER)).void_time, 0);
    assert_eq!(database.one(&day(1)).void_time, of_day - 86_399);
}

#[test]
fn reading_renews_a_record_that_has_little_left() {
    let mut database = Database::new();
    let void_time = NOW_S - 1_262_304_000 + 100;
    database.one(&put(1, "a", 1).ttl(100).field(field::KEY, b"\x03user"));
    let before = database.one(&get(1));
    // Seconds that have passed, the percentage, and how much later the record ends.
    let steps = [(10, 80, 0), (19, 80, 0), (20, 80, 20), (21, 0, 20), (100, NEVER, 20), (100, 101, 20), (100, 19, 20), (100, 20, 100)];
    for (passed, percent, later) in steps {
        database.now_s = NOW_S + passed;
        let expected = Said { void_time: void_time + later, ..before.clone() };
        assert_eq!(database.one(&get(1).ttl(percent)), expected, "after {passed} s with {percent} %");
        assert_eq!(database.one(&get(1).field(field::KEY, b"\x03user")), expected, "the same record");
    }
    database.one(&put(2, "a", 1));
    assert_eq!(database.one(&get(2).ttl(100)).void_time, 0, "for ever is for ever");
}

#[test]
fn generations_wrap_past_zero() {
    let mut database = Database::new();
    for write in 0..=u16::MAX {
        assert_eq!(database.one(&put(1, "a", 0)).generation, u32::from(write).min(65_534) + 1 - u32::from(write == u16::MAX) * 65_534);
    }
}

#[test]
fn keys_are_kept_and_compared() {
    let mut database = Database::new();
    let key = |kind: u8, value: &[u8]| [&[kind], value].concat();
    database.one(&put(1, "a", 1).field(field::KEY, &key(STRING, b"one")));
    assert_eq!(database.one(&get(1).field(field::KEY, &key(STRING, b"one"))).result, 0);
    for (other, result) in [(key(STRING, b"two"), 19), (key(INTEGER, &integer(1)), 19), (key(4, b"one"), 19), (key(LIST, b""), 4)] {
        assert_eq!(database.one(&get(1).field(field::KEY, &other)).result, result);
        assert_eq!(database.one(&put(1, "a", 2).field(field::KEY, &other)).result, result);
    }
    database.one(&put(1, "a", 3));
    assert_eq!(database.one(&get(1).field(field::KEY, &key(STRING, b"two"))).result, 19, "a write without a key leaves it");

    // Without a digest, the key tells.
    let by_key = Ask::about(&[(field::NAMESPACE, b"test"), (field::SET, b"s"), (field::KEY, &key(STRING, b"k"))]);
    database.one(&by_key.clone().info(0, info2::WRITE, 0).operation(code::WRITE, INTEGER, "a", &integer(8)));
    let digest = crate::digest(b"s", &key(STRING, b"k"));
    let by_digest = Ask::about(&[(field::NAMESPACE, b"test"), (field::SET, b"s"), (field::DIGEST, &digest)]);
    assert_eq!(database.one(&by_digest.info(info1::READ | info1::GET_ALL, 0, 0)).bins[0].2, integer(8));
}

#[test]
fn a_record_has_a_greatest_size() {
    let mut database = Database::new();
    database.record_bytes_max = 1_000;
    let blob = |bytes: usize| Ask::of(1).info(0, info2::WRITE, 0).operation(code::WRITE, 4, "a", &vec![7; bytes]);
    assert_eq!(database.one(&blob(900)).result, 0);
    assert_eq!(database.one(&blob(1_000)).result, 13);
    assert_eq!(database.one(&get(1)).bins[0].2.len(), 900);
}

#[test]
fn rows_on_the_device_make_no_difference() {
    let mut database = Database::new();
    database.one(&put(1, "a", 1));
    for write in 2..6 {
        database.cool_down();
        assert_eq!(database.one(&put(1, "a", write)).generation, write as u32);
        database.cool_down();
        assert_eq!(database.one(&get(1)).bins[0].2, integer(write));
    }
    assert!(database.misses() >= 8);
}
