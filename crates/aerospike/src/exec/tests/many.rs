//! Batches and scans.

use super::database::{Database, Said};
use super::{Ask, digest_of, integer};
use crate::operate::code;
use crate::wire::{Attributes, MessageWriter, Operation, field, info1, info2, info3};
use std::collections::BTreeSet;

const LAST: u8 = info3::LAST;

/// A batch in the making.
#[derive(Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    count: u32,
}

impl Batch {
    pub(super) fn digest(mut self, index: u32, digest: [u8; 20], flags: u8) -> Self {
        self.bytes.extend(index.to_be_bytes());
        self.bytes.extend(digest);
        self.bytes.push(flags);
        self.count += 1;
        self
    }

    /// As clients before 2022 ask for whole records.
    pub(super) fn read(self, index: u32, key: u8, namespace: &[u8]) -> Self {
        let mut batch = self.digest(index, digest_of(key), 0);
        batch.bytes.push(info1::READ | info1::GET_ALL);
        batch.finish(namespace, &[], &[])
    }

    /// A read of what meets a filter.
    pub(super) fn filtered(self, index: u32, key: u8, filter: &[u8]) -> Self {
        let mut batch = self.digest(index, digest_of(key), 0);
        batch.bytes.push(info1::READ | info1::GET_ALL);
        batch.finish(b"test", &[(field::FILTER, filter)], &[])
    }

    pub(super) fn repeat(self, index: u32, key: u8) -> Self {
        self.digest(index, digest_of(key), 1)
    }

    pub(super) fn full(self, index: u32, key: u8, attributes: Attributes, operations: &[Operation<'_>]) -> Self {
        let mut batch = self.digest(index, digest_of(key), 2 | 4 | 8);
        batch.bytes.extend([attributes.info1, attributes.info2, attributes.info3]);
        batch.bytes.extend((attributes.generation as u16).to_be_bytes());
        batch.bytes.extend(attributes.ttl.to_be_bytes());
        batch.finish(b"test", &[], operations)
    }

    /// As Java clients before 6.0 ask for whole records: without the set's name.
    pub(super) fn by_digest(self, index: u32, key: u8) -> Self {
        let mut batch = self.digest(index, digest_of(key), 0);
        batch.bytes.push(info1::READ | info1::GET_ALL);
        batch.finish_in(b"test", None, &[], &[])
    }

    fn finish(self, namespace: &[u8], fields: &[(u8, &[u8])], operations: &[Operation<'_>]) -> Self {
        self.finish_in(namespace, Some(b"s"), fields, operations)
    }

    fn finish_in(mut self, namespace: &[u8], set: Option<&[u8]>, fields: &[(u8, &[u8])], operations: &[Operation<'_>]) -> Self {
        let mut whole = Vec::new();
        let mut message = MessageWriter::begin(&mut whole);
        message.field(&mut whole, field::NAMESPACE, namespace, &[]);
        set.into_iter().for_each(|set| message.field(&mut whole, field::SET, set, &[]));
        fields.iter().for_each(|(kind, data)| message.field(&mut whole, *kind, data, &[]));
        for operation in operations {
            message.operation(&mut whole, operation);
        }
        message.end(&mut whole, crate::ResultCode::OK);
        // The counts, fields and operations are those of a message.
        self.bytes.extend_from_slice(&whole[18..]);
        self
    }

    pub(super) fn ask(self) -> Ask {
        let field = [&self.count.to_be_bytes()[..], &[0b1101], &self.bytes].concat();
        Ask::about(&[(field::BATCH, &field)]).info(info1::BATCH, 0, 0)
    }
}

pub(super) fn put(key: u8, value: i64) -> Ask {
    Ask::of(key).info(0, info2::WRITE, 0).operation(code::WRITE, 1, "a", &integer(value))
}

pub(super) fn filled(keys: u8) -> Database {
    let mut database = Database::new();
    for key in 0..keys {
        database.one(&put(key, i64::from(key)));
    }
    database
}

/// The records by index, after the last message was seen to be the last.
pub(super) fn by_index(mut said: Vec<Said>) -> Vec<Said> {
    let last = said.pop().unwrap();
    assert_eq!((last.info3, last.result), (LAST, 0));
    assert!(said.iter().all(|said| said.info3 == 0));
    said.sort_by_key(|said| said.index);
    said
}

#[test]
fn a_batch_answers_for_each_record_by_its_index() {
    for cold in [false, true] {
        let mut database = filled(200);
        if cold {
            database.cool_down();
        }
        let mut batch = Batch::default().read(7, 0, b"test");
        for key in 1..250 {
            batch = batch.repeat(7 + u32::from(key), key);
        }
        let said = by_index(database.ask(&batch.read(1_000, 3, b"none").ask()));
        assert_eq!(said.len(), 251);
        for (key, said) in said[..200].iter().enumerate() {
            assert_eq!((said.index, said.result, said.bins[0].2.as_slice()), (7 + key as u32, 0, &integer(key as i64)[..]));
        }
        assert!(said[200..250].iter().all(|said| said.result == 2));
        assert_eq!(said[250].result, 20);
    }
}

#[test]
fn a_batch_writes_deletes_and_operates() {
    let mut database = filled(4);
    let write = Attributes { info2: info2::WRITE, ..Attributes::default() };
    let operation = |code, value: &'static [u8]| Operation { code, particle: 1, name: b"new", value };
    let batch = Batch::default()
        .full(0, 0, write, &[operation(code::WRITE, &[0, 0, 0, 0, 0, 0, 0, 9])])
        .repeat(1, 9)
        .full(2, 1, Attributes { info2: info2::WRITE | info2::DELETE, ..write }, &[])
        .full(3, 2, Attributes { info2: info2::WRITE | info2::GENERATION, generation: 7, ..write }, &[operation(code::WRITE, &[0; 8])])
        .full(4, 3, Attributes { info1: info1::READ, ..write }, &[operation(code::WRITE, &[1; 8]), operation(code::READ, &[])])
        .full(5, 77, Attributes { info2: info2::WRITE | info2::DELETE, ..write }, &[]);
    let said = by_index(database.ask(&batch.ask()));
    let results: Vec<(u8, u32)> = said.iter().map(|said| (said.result, said.generation)).collect();
    assert_eq!(results, [(0, 2), (0, 1), (0, 0), (3, 0), (0, 2), (2, 0)]);
    assert_eq!(said[4].bins, [("new".to_owned(), 1, vec![1; 8])]);
    assert_eq!(database.one(&Ask::of(1).info(info1::READ | info1::GET_ALL, 0, 0)).result, 2);
    assert_eq!(database.one(&Ask::of(9).info(info1::READ | info1::GET_ALL, 0, 0)).bins, [("new".to_owned(), 1, integer(9).to_vec())]);
}

#[test]
fn a_batch_that_makes_no_sense_is_refused_as_a_whole() {
    let mut database = filled(1);
    let good = Batch::default().read(0, 0, b"test").ask();
    let (kind, field) = good.fields[0].clone();
    for length in 0..field.len() {
        let said = database.ask(&Ask::about(&[(kind, &field[..length])]));
        assert_eq!((said.len(), said[0].result, said[0].info3), (1, 4, LAST), "{length} bytes");
    }
    assert_eq!(database.ask(&Batch::default().repeat(0, 0).ask())[0].result, 4, "nothing to repeat");
    assert_eq!(database.ask(&Batch::default().ask()).len(), 1, "an empty batch has an end");
    assert_eq!(database.ask(&good).len(), 2);
}

#[test]
fn replies_to_batches_come_in_pieces() {
    let mut database = Database::new();
    for key in 0..200 {
        database.one(&Ask::of(key).info(0, info2::WRITE, 0).operation(code::WRITE, 4, "a", &vec![key; 300_000]));
    }
    let mut batch = Batch::default().read(0, 0, b"test");
    for key in 1..200 {
        batch = batch.repeat(u32::from(key), key);
    }
    let ask = batch.ask();
    let pieces = database.pieces(&ask.encode());
    assert!(pieces.iter().all(|piece| piece.len() < 24 << 20), "{:?}", pieces.iter().map(Vec::len).collect::<Vec<_>>());
    assert!(pieces.len() > 5);
    let said = by_index(database.ask(&ask));
    assert_eq!(said.len(), 200);
    assert!(said.iter().all(|said| said.bins[0].2 == vec![said.index as u8; 300_000]));
}

pub(super) fn scan(set: &[u8]) -> Ask {
    let fields: &[(u8, &[u8])] =
        if set.is_empty() { &[(field::NAMESPACE, b"test")] } else { &[(field::NAMESPACE, b"test"), (field::SET, set)] };
    Ask::about(fields).info(info1::READ, 0, info3::PARTITION_DONE)
}

pub(super) fn pids(slots: impl Iterator<Item = u16>) -> Vec<u8> {
    slots.flat_map(u16::to_le_bytes).collect()
}

/// The records of a scan, after the last message was seen to be the last.
pub(super) fn records(mut said: Vec<Said>) -> Vec<Said> {
    let last = said.pop().unwrap();
    assert_eq!((last.info3, last.result), (LAST, 0));
    said
}

pub(super) fn digests(said: &[Said]) -> BTreeSet<[u8; 20]> {
    let digests: BTreeSet<[u8; 20]> = said.iter().map(|said| said.digest.unwrap()).collect();
    assert_eq!(digests.len(), said.len(), "a record is given once");
    digests
}

#[test]
fn a_scan_gives_every_record_of_its_partitions_once() {
    for cold in [false, true] {
        let mut database = filled(200);
        let mut other = Ask::of(3);
        other.fields[1].1 = b"other".to_vec();
        let key = [&[3][..], b"user"].concat();
        database.one(&other.info(0, info2::WRITE, 0).operation(code::WRITE, 3, "b", b"x").field(field::KEY, &key));
        database.one(&Ask::of(5).info(0, info2::WRITE | info2::DELETE, 0));
        if cold {
            database.cool_down();
        }
        let all = records(database.ask(&scan(b"s")));
        assert_eq!(digests(&all), (0..200).filter(|key| *key != 5).map(digest_of).collect());
        assert!(all.iter().all(|said| said.set.as_deref() == Some(b"s") && said.generation == 1 && said.bins.len() == 1));
        assert_eq!(records(database.ask(&scan(b""))).len(), 200, "all sets");
        assert_eq!(records(database.ask(&scan(b"none"))), []);
        let said = records(database.ask(&scan(b"other")));
        assert_eq!((said.len(), said[0].key.as_deref()), (1, Some(&key[..])));

        let some = records(database.ask(&scan(b"s").field(field::PARTITIONS, &pids([160u16, 0, 32, 33, 160].into_iter()))));
        assert_eq!(digests(&some), [10, 0, 2].map(digest_of).into());
        let none = records(database.ask(&scan(b"s").field(field::PARTITIONS, &[])));
        assert_eq!(none, [], "no partitions");
    }
}

#[test]
fn a_scan_gives_the_bins_that_are_asked_for() {
    let mut database = Database::new();
    database.one(&put(1, 1).operation(code::WRITE, 1, "b", &integer(2)));
    let names = |said: Vec<Said>| records(said)[0].bins.iter().map(|bin| bin.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(database.ask(&scan(b"s"))), ["a", "b"]);
    assert_eq!(names(database.ask(&scan(b"s").operation(code::READ, 0, "b", &[]))), ["b"]);
    assert_eq!(names(database.ask(&scan(b"s").field(field::QUERY_BINS, b"\x01\x01a"))), ["a"]);
    assert!(names(database.ask(&scan(b"s").info(info1::NO_BINS, 0, 0))).is_empty());
    database.one(&put(2, 1));
    let count = |ask: Ask, database: &mut Database| records(database.ask(&ask)).len();
    assert_eq!(count(scan(b"s"), &mut database), 2);
    assert_eq!(count(scan(b"s").operation(code::READ, 0, "b", &[]), &mut database), 1, "a record without the bin is left out");
    assert_eq!(count(scan(b"s").info(info1::NO_BINS, 0, 0), &mut database), 2);
    let said = database.ask(&scan(b"s").operation(code::CDT_READ, 4, "a", &[0x91, 0x10]));
    assert_eq!((said.len(), said[0].result, said[0].info3), (1, 16, LAST));
    assert_eq!(count(scan(b"s").field(field::FILTER, &[0xC3]), &mut database), 2);
    assert_eq!(count(scan(b"s").field(field::FILTER, &[0xC2]), &mut database), 0);
    assert_eq!(database.ask(&scan(b"s").field(field::FILTER, &[1]))[0].result, 4);
    for partitions in [&[0u8][..], &[0, 0x10], &pids((0..4096).chain(0..1))] {
        assert_eq!(database.ask(&scan(b"s").field(field::PARTITIONS, partitions))[0].result, 4);
    }
}

#[test]
fn a_scan_goes_on_where_it_was_left() {
    for (set, cold) in [(&b"s"[..], false), (b"", false), (b"", true)] {
        let mut database = filled(100);
        for key in 0..100 {
            // Two more records in each partition, one of them in another set.
            for (first, set) in [(200, b"s"), (100, b"t")] {
                let mut ask = put(key, 1);
                ask.fields[1].1 = set.to_vec();
                ask.fields[2].1[4] = first;
                database.one(&ask);
            }
        }
        let expected = if set.is_empty() { 300 } else { 200 };
        let mut last: Vec<Option<[u8; 20]>> = vec![None; 4096];
        let mut found = BTreeSet::new();
        for page in 0.. {
            if cold {
                database.cool_down();
            }
            let mut ask = scan(set).field(field::RECORDS_MAX, &17u64.to_be_bytes());
            ask = ask.field(field::PARTITIONS, &pids((0..4096).filter(|slot| last[usize::from(*slot)].is_none())));
            ask = ask.field(field::DIGESTS, &last.iter().flatten().flatten().copied().collect::<Vec<_>>());
            let said = records(database.ask(&ask));
            assert!(said.len() <= 17, "page {page} has {}", said.len());
            for digest in said.iter().map(|said| said.digest.unwrap()) {
                assert!(found.insert(digest), "given twice");
                last[usize::from(u16::from_le_bytes([digest[0], digest[1]]) & 4095)] = Some(digest);
            }
            if said.is_empty() {
                break;
            }
            assert!(page < 100);
        }
        assert_eq!(found.len(), expected);
    }
}

#[test]
fn a_scan_is_as_slow_as_it_is_asked_to_be() {
    // Records a second, and how long 200 take at least and at most, in milliseconds.
    for (per_second, least, most) in [(50u32, 3_900, 4_000), (1, 199_000, 200_000), (7, 28_400, 28_600), (100_000, 0, 2), (0, 0, 0)] {
        let mut database = filled(200);
        let before_us = database.clock_us;
        let said = records(database.ask(&scan(b"s").field(field::RECORDS_PER_SECOND, &per_second.to_be_bytes())));
        assert_eq!(digests(&said).len(), 200);
        let took_ms = (database.clock_us - before_us) / 1_000;
        assert!((least..=most).contains(&took_ms), "{per_second} a second took {took_ms} ms");
    }
}

#[test]
fn a_scan_of_many_sets_does_not_look_at_everything_again_and_again() {
    let mut database = Database::new();
    for set in 0..100 {
        for key in 0..50 {
            let mut ask = put(key, 1);
            ask.fields[1].1 = format!("set{set}").into_bytes();
            ask.fields[2].1[19] = set;
            database.one(&ask);
        }
    }
    let before = database.runs;
    let said = records(database.ask(&scan(b"")));
    assert_eq!(digests(&said).len(), 5_000);
    assert!(database.runs - before < 4_096 + 50 * 20, "{} parts", database.runs - before);
}

#[test]
fn older_clients_are_told_when_a_partition_is_done() {
    let mut database = filled(3);
    let mut ask = scan(b"s").field(field::PARTITIONS, &pids([16u16, 5].into_iter()));
    ask.attributes.info3 = 0;
    let said = records(database.ask(&ask));
    assert_eq!(said.len(), 3);
    assert_eq!(said[1..].iter().map(|said| (said.info3, said.generation)).collect::<Vec<_>>(), [(4, 16), (4, 5)]);
}

#[test]
fn a_scan_of_much_comes_in_pieces() {
    let mut database = Database::new();
    for key in 0..100 {
        database.one(&Ask::of(key).info(0, info2::WRITE, 0).operation(code::WRITE, 4, "a", &vec![key; 300_000]));
    }
    let pieces = database.pieces(&scan(b"s").encode());
    assert!(pieces.len() > 8 && pieces.iter().all(|piece| piece.len() < 6 << 20));
    assert_eq!(records(database.ask(&scan(b"s"))).len(), 100);
}
