#![allow(clippy::unwrap_used)]

use super::{Division, Expiration, HashDivision, IntervalUnit, Intervals, PARTS_MAX, Partitioning};
use crate::schema::{ColumnDefinition, ElementType};
use crate::testing::column;
use base::Rng;
use std::ops::Bound;

const DAY_MS: i64 = 86_400_000;

fn days(every: i64) -> Intervals {
    Intervals { column: "at".to_owned(), every, unit: Some(IntervalUnit::Day) }
}

fn numbers(every: i64) -> Intervals {
    Intervals { column: "n".to_owned(), every, unit: None }
}

fn hash(count: u32) -> HashDivision {
    HashDivision { column: "h".to_owned(), count }
}

fn not_null(name: &str, element: ElementType) -> ColumnDefinition {
    ColumnDefinition { is_not_null: true, ..column(name, element, false) }
}

#[test]
fn intervals_begin_at_multiples_of_their_width() {
    let thousands = Partitioning::new(Some(numbers(1_000)), None, None);
    let at = [
        (0, 0),
        (999, 0),
        (1_000, 1),
        (-1, -1),
        (-1_000, -1),
        (-1_001, -2),
        (i64::MAX, i64::MAX / 1_000),
        (i64::MIN, i64::MIN / 1_000 - 1),
    ];
    for (value, interval) in at {
        assert_eq!(thousands.interval_of(value), interval, "{value}");
        let (from, to) = thousands.bounds(interval).unwrap();
        assert!(from <= value && (value < to || to == i64::MAX), "{value}: {from} to {to}");
    }
    let month = Partitioning::new(Some(days(30)), None, None);
    assert_eq!(month.bounds(month.interval_of(-1)), Some((-30 * DAY_MS, 0)));
}

#[test]
fn texts_come_back_and_others_are_none() {
    let mut all = vec![
        Partitioning::new(None, Some(hash(8)), None),
        Partitioning::new(Some(numbers(5_000)), Some(hash(3)), None),
        Partitioning::new(Some(days(1)), None, Expiration::new(90, "hour")),
    ];
    all[1].change(&Division::Add(vec![-3, 7]), 0).unwrap();
    all[1].change(&Division::Drop(7), 0).unwrap();
    let mut rng = Rng::new(11);
    for partitioning in &all {
        let text = partitioning.to_text();
        assert_eq!(Partitioning::of_text(&text).as_ref(), Some(partitioning), "{text}");
        for _ in 0..2_000 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=rng.below(3) {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = b" \n-09hx"[rng.below(7) as usize];
            }
            if let Some(read) = std::str::from_utf8(&bytes).ok().and_then(Partitioning::of_text) {
                // What is read can be used.
                let _ = (read.parts().count(), read.interval_of(i64::MIN), read.bounds(i64::MAX), read.hash_of(Some(b"x")), read.to_text());
            }
        }
    }
    for wrong in [
        "",
        "next 3",
        "hash 0 h\nnext 0",
        "hash 2000 h\nnext 2000",
        "hash 3 h\nnext 2\npart 0 0",
        "interval 0 - n\nnext 0",
        "interval 9 WEEK n\nnext 0",
    ] {
        assert_eq!(Partitioning::of_text(wrong), None, "{wrong:?}");
    }
    for division in [Division::Add(vec![1, -2]), Division::Drop(i64::MIN)] {
        assert_eq!(Division::of_text(&division.to_text()), Ok(division));
    }
    for wrong in ["", "add x", "drop", "drop 1 2", "sell 1"] {
        assert!(Division::of_text(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn data_partitions_are_made_once_and_dropped_for_ever() {
    let mut table = Partitioning::new(Some(numbers(1_000)), Some(hash(4)), None);
    assert_eq!(table.parts().count(), 0);
    assert_eq!(table.change(&Division::Add(vec![5, -1]), 0), Ok(true));
    assert_eq!(table.change(&Division::Add(vec![5]), 0), Ok(false), "it is there");
    assert_eq!(table.parts().map(|(interval, _)| interval).collect::<Vec<_>>(), [-1, -1, -1, -1, 5, 5, 5, 5]);
    let of = |table: &Partitioning, from, to, hash| table.parts_between(from, to, hash).map(|(_, part)| part).collect::<Vec<_>>();
    assert_eq!(of(&table, Bound::Included(0), Bound::Unbounded, None), [0, 1, 2, 3]);
    assert_eq!(of(&table, Bound::Unbounded, Bound::Included(4), Some(2)), [6]);
    assert_eq!(of(&table, Bound::Included(9), Bound::Included(2), None), [0_u32; 0], "no value is so");
    assert_eq!(table.change(&Division::Drop(5), 0), Ok(true));
    assert_eq!(table.part(5, 0), None);
    let removed = crate::ErrorCode::SQL_TABLE_PARTITION_ALREADY_REMOVED;
    for again in [Division::Drop(5), Division::Add(vec![5])] {
        assert_eq!(table.change(&again, 0).unwrap_err().code, removed);
    }
    assert_eq!(table.change(&Division::Drop(8), 0).unwrap_err().code, crate::ErrorCode::SQL_DDL_INVALID_PARAMETER);
    table.change(&Division::Add(vec![6]), 0).unwrap();
    assert_eq!(table.part(6, 1), Some(9), "numbers are not given again");
    let too_many: Vec<i64> = (10..10 + PARTS_MAX as i64).collect();
    assert_eq!(table.clone().change(&Division::Add(too_many), 0).unwrap_err().code, crate::ErrorCode::SQL_TABLE_PARTITION_MAX_ASSIGN_COUNT);
    let mut hashed = Partitioning::new(None, Some(hash(4)), None);
    assert_eq!(hashed.parts().count(), 4);
    for change in [Division::Add(vec![1]), Division::Drop(0)] {
        assert_eq!(hashed.change(&change, 0).unwrap_err().code, crate::ErrorCode::SQL_DDL_INVALID_PARTITIONING_TABLE_TYPE);
    }
}

#[test]
fn rows_expire_after_the_end_of_their_interval() {
    let mut table = Partitioning::new(Some(days(1)), None, Expiration::new(1_500, "millisecond"));
    let second = 86_400;
    assert_eq!(table.expires_at_s(9), Some(10 * second + 2), "a part of a second is a whole one");
    assert_eq!((table.expires_at_s(-100), table.expires_at_s(i64::MAX)), (Some(0), Some(u32::MAX)));
    assert_eq!(table.change(&Division::Add(vec![9, 20]), 10 * second), Ok(true));
    assert_eq!(table.change(&Division::Add(vec![21]), 10 * second + 2), Ok(true));
    assert_eq!(table.parts().map(|(interval, _)| interval).collect::<Vec<_>>(), [20, 21], "what has expired is forgotten");
    assert_eq!(table.change(&Division::Add(vec![9]), 10 * second + 2), Ok(false), "and is not made again");
}

#[test]
fn hashes_spread_values_evenly() {
    let table = Partitioning::new(None, Some(hash(16)), None);
    let mut counts = [0_u32; 16];
    for value in 0..16_000_i64 {
        counts[table.hash_of(Some(&value.to_le_bytes())) as usize] += 1;
    }
    assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
    assert_eq!(table.hash_of(None), 0);
    // Part of the format: rows lie where it says.
    assert_eq!([&b""[..], b"a", b"tarn", &7_i32.to_le_bytes()].map(|bytes| table.hash_of(Some(bytes))), PLACES);
}

const PLACES: [u32; 4] = [2, 13, 11, 4];

#[test]
fn what_cannot_be_is_refused() {
    let columns = [not_null("at", ElementType::Timestamp), not_null("n", ElementType::Long), column("h", ElementType::String, false)];
    let check = |intervals, hash, expiration, key_len| {
        Partitioning { intervals, hash, expiration, first: [].into(), dropped: [].into(), next: 0 }.check(&columns, key_len)
    };
    let code = |intervals, hash, expiration, key_len| check(intervals, hash, expiration, key_len).map_err(|error| error.code.0);
    assert_eq!(code(Some(days(1)), None, Expiration::new(1, "DAY"), 1), Ok(()));
    assert_eq!(code(Some(numbers(1_000)), None, None, 0), Ok(()));
    let (parameter, by) = (Err(280_012), Err(280_013));
    let wrong = [
        (code(Some(numbers(999)), None, None, 0), parameter),
        (code(Some(numbers(2_999)), Some(hash(3)), None, 0), parameter),
        (code(Some(numbers(1_000)), None, Expiration::new(1, "DAY"), 0), parameter),
        (code(Some(numbers(1_000)), None, None, 1), by),
        (code(None, Some(hash(1_025)), None, 0), parameter),
        (code(None, Some(hash(0)), None, 0), parameter),
        (code(None, Some(hash(2)), Expiration::new(1, "DAY"), 0), parameter),
        (code(Some(Intervals { unit: None, ..days(1) }), None, None, 0), parameter),
        (code(Some(Intervals { unit: Some(IntervalUnit::Hour), ..numbers(1_000) }), None, None, 0), parameter),
        (code(Some(days(i64::MAX)), None, None, 0), parameter),
        (code(Some(Intervals { column: "h".to_owned(), ..numbers(1_000) }), None, None, 0), by),
        (code(Some(Intervals { column: "x".to_owned(), ..numbers(1_000) }), None, None, 0), by),
    ];
    for (at, (was, expected)) in wrong.into_iter().enumerate() {
        assert_eq!(was, expected, "{at}");
    }
}
