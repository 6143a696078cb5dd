//! Records that are named by their digests alone.

use super::database::{Database, Said};
use super::many::{Batch, by_index};
use super::{Ask, digest_of, integer};
use crate::operate::code;
use crate::wire::{field, info1, info2};

const NOT_FOUND: u8 = 2;

/// About a record whose set is not told.
fn by_digest(key: u8) -> Ask {
    Ask::about(&[(field::NAMESPACE, b"test"), (field::DIGEST, &digest_of(key))])
}

fn get(key: u8) -> Ask {
    by_digest(key).info(info1::READ | info1::GET_ALL, 0, 0)
}

fn put_in(set: &[u8], key: u8) -> Ask {
    let fields = [(field::NAMESPACE, &b"test"[..]), (field::SET, set), (field::DIGEST, &digest_of(key))];
    Ask::about(&fields).info(0, info2::WRITE, 0).operation(code::WRITE, 1, "a", &integer(key.into()))
}

/// Records 1 and 2 of `s`, 3 of `t`, 4 in no set if that is asked for.
fn filled(has_no_set: bool) -> Database {
    let mut database = Database::new();
    for (set, key) in [(&b"s"[..], 1), (b"s", 2), (b"t", 3)] {
        database.one(&put_in(set, key));
    }
    if has_no_set {
        database.one(&put_in(b"", 4));
    }
    database
}

fn value(said: &Said) -> (u8, Option<&[u8]>) {
    (said.result, said.bins.first().map(|bin| bin.2.as_slice()))
}

#[test]
fn a_read_finds_a_record_by_its_digest_alone() {
    for (has_no_set, cold) in [(false, false), (true, false), (true, true)] {
        let mut database = filled(has_no_set);
        if cold {
            database.cool_down();
        }
        // Odd and even runs are on this core and on another.
        for key in [1, 2, 3, 1, 2, 3] {
            let said = database.one(&get(key));
            assert_eq!((value(&said), said.generation), ((0, Some(&integer(key.into())[..])), 1), "{key}");
        }
        let header = database.one(&by_digest(3).info(info1::READ | info1::NO_BINS, 0, 0));
        assert_eq!((header.result, header.generation, header.bins.len()), (0, 1, 0));
        let operate = by_digest(3).info(info1::READ, 0, 0).operation(code::READ, 0, "a", &[]);
        assert_eq!(value(&database.one(&operate)), (0, Some(&integer(3)[..])));
        assert_eq!(database.one(&get(3).field(field::SET, b"s")).result, NOT_FOUND, "not in this set");
        assert_eq!(value(&database.one(&get(3).field(field::SET, b""))), (0, Some(&integer(3)[..])), "some clients send an empty name");
        assert_eq!(database.one(&get(4)).result, if has_no_set { 0 } else { NOT_FOUND });
        assert_eq!(database.one(&get(5)).result, NOT_FOUND);
        // Filters are asked about the record that is found, and know its set.
        assert_eq!(database.one(&get(3).field(field::FILTER, &[0xC2])).result, 27);
        database.one(&put_in(b"t", 3).info(0, info2::DELETE, 0));
        assert_eq!(database.one(&get(3)).result, NOT_FOUND);
    }
}

#[test]
fn writes_are_about_records_without_a_set() {
    let mut database = filled(false);
    let delete = by_digest(1).info(0, info2::WRITE | info2::DELETE, 0);
    assert_eq!(database.one(&delete).result, NOT_FOUND);
    let write = by_digest(1).info(0, info2::WRITE, 0).operation(code::WRITE, 1, "a", &integer(77));
    assert_eq!((database.one(&write).result, database.one(&write).generation), (0, 2));
    assert_eq!(value(&database.one(&get(1))), (0, Some(&integer(77)[..])), "what is in no set is found first");
    assert_eq!(value(&database.one(&get(1).field(field::SET, b"s"))), (0, Some(&integer(1)[..])));
    assert_eq!(database.one(&delete).result, 0);
    assert_eq!(value(&database.one(&get(1))), (0, Some(&integer(1)[..])));
}

#[test]
fn a_batch_finds_records_by_their_digests_alone() {
    for (has_no_set, cold, others) in [(false, false, 0), (true, false, 0), (true, true, 0), (false, false, 3), (true, true, 3)] {
        let mut database = filled(has_no_set);
        if others > 0 {
            (database.cores, database.others) = (4_096, [16, 48, 64].into());
        }
        if cold {
            database.cool_down();
        }
        let batch =
            Batch::default().by_digest(0, 1).repeat(1, 2).repeat(2, 3).repeat(3, 4).repeat(4, 5).read(5, 3, b"test").read(6, 1, b"test");
        let said = by_index(database.ask(&batch.ask()));
        let results: Vec<u8> = said.iter().map(|said| said.result).collect();
        assert_eq!(results, [0, 0, 0, if has_no_set { 0 } else { NOT_FOUND }, NOT_FOUND, NOT_FOUND, 0]);
        for (index, key) in [(0, 1), (1, 2), (2, 3), (6, 1)] {
            assert_eq!(said[index].bins[0].2, integer(key));
        }
    }
}

#[test]
fn a_record_is_looked_for_only_where_the_client_may_read() {
    for (has_no_set, others) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut database = filled(has_no_set);
        if others {
            (database.cores, database.others) = (4_096, [16, 48, 64].into());
        }
        let no_set = if has_no_set { 0 } else { NOT_FOUND };
        for (readable, expected) in
            [(vec!["s"], [0, NOT_FOUND, no_set]), (vec!["t"], [NOT_FOUND, 0, no_set]), (vec![], [NOT_FOUND, NOT_FOUND, no_set])]
        {
            database.readable = Some(readable.into_iter().collect());
            let said = by_index(database.ask(&Batch::default().by_digest(0, 1).repeat(1, 3).repeat(2, 4).ask()));
            assert_eq!(said.iter().map(|said| said.result).collect::<Vec<_>>(), expected);
            for (key, result) in [1, 3, 4].into_iter().zip(expected) {
                assert_eq!(database.one(&get(key)).result, result, "{key}");
            }
        }
    }
}
