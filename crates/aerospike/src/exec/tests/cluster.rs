//! Batches and scans whose parts other members run, or nobody.

use super::database::{Database, Said};
use super::many::{Batch, by_index, digests, filled, pids, records, scan};
use super::{digest_of, integer};
use crate::ResultCode;
use crate::operate::code;
use crate::wire::{Attributes, Operation, field, info2, info3};
use base::SLOT_COUNT;

/// A member of which every other slot is another's.
fn member(keys: u8) -> Database {
    let mut database = filled(keys);
    database.cores = SLOT_COUNT as u16;
    database.others = (0..SLOT_COUNT as u16).filter(|slot| slot / 16 % 2 == 1).collect();
    database
}

#[test]
fn a_batch_over_members_is_one_over_cores() {
    for cold in [false, true] {
        let (mut member, mut node) = (member(100), filled(100));
        if cold {
            member.cool_down();
            node.cool_down();
        }
        let write = Attributes { info2: info2::WRITE, ..Attributes::default() };
        let add = Operation { code: code::ADD, particle: 1, name: b"a", value: &integer(1_000) };
        let mut batch = Batch::default().read(0, 0, b"test");
        for key in 1..120 {
            batch = batch.repeat(u32::from(key), key);
        }
        let generation = Attributes { info2: info2::WRITE | info2::GENERATION, generation: 7, ..write };
        let batch = batch.full(200, 31, write, &[add]).repeat(201, 32).full(202, 33, generation, &[add]).read(203, 3, b"none").ask();
        let (here, there) = (by_index(node.ask(&batch)), by_index(member.ask(&batch)));
        assert_eq!(here, there);
        assert_eq!(here.len(), 124);
        let sum = Batch::default().read(0, 31, b"test").repeat(1, 32).repeat(2, 33).ask();
        let sums: Vec<Vec<u8>> = by_index(member.ask(&sum)).into_iter().map(|said| said.bins[0].2.clone()).collect();
        assert_eq!(sums, [integer(1_031).to_vec(), integer(1_032).to_vec(), integer(33).to_vec()]);
    }
}

#[test]
fn a_batch_has_a_filter_wherever_its_parts_run() {
    // The bin `a`, an integer, is 1; or is 2.
    let [one, two] = [1, 2].map(|number| [0x93, 1, 0x93, 81, 2, 0xa1, b'a', number]);
    let batch = || Batch::default().read(0, 0, b"test").repeat(1, 1).repeat(2, 2).repeat(3, 3);
    let results = |said: Vec<Said>| said.iter().map(|said| said.result).collect::<Vec<_>>();
    for mut database in [filled(4), member(4)] {
        assert_eq!(results(by_index(database.ask(&batch().ask().field(field::FILTER, &one)))), [27, 0, 27, 27]);
        // A record's own goes before the batch's.
        let own = batch().filtered(4, 2, &two).filtered(5, 1, &two).ask();
        assert_eq!(results(by_index(database.ask(&own.field(field::FILTER, &one)))), [27, 0, 27, 27, 0, 27]);
    }
}

#[test]
fn records_that_nobody_serves_fail_by_themselves() {
    let mut member = member(20);
    member.unserved.insert(16 * 3, ResultCode::PARTITION_UNAVAILABLE);
    member.unserved.insert(16 * 4, ResultCode::TIMEOUT);
    let write = Attributes { info2: info2::WRITE, ..Attributes::default() };
    let set = Operation { code: code::WRITE, particle: 1, name: b"a", value: &integer(7) };
    let batch = Batch::default().read(0, 2, b"test").repeat(1, 3).repeat(2, 3).full(3, 4, write, &[set]).repeat(4, 5).ask();
    let said = by_index(member.ask(&batch));
    assert_eq!(said.iter().map(|said| (said.index, said.result)).collect::<Vec<_>>(), [(0, 0), (1, 11), (2, 11), (3, 9), (4, 0)]);
}

#[test]
fn a_scan_over_members_gives_every_record_once() {
    let mut member = member(200);
    let all: Vec<u16> = (0..SLOT_COUNT as u16).collect();
    let said = records(member.ask(&scan(b"s").field(field::PARTITIONS, &pids(all.iter().copied()))));
    assert_eq!(digests(&said), (0..200).map(digest_of).collect());
    assert_eq!(digests(&said), digests(&records(filled(200).ask(&scan(b"s")))));
    // One that names no partitions is asked of every node.
    let said = records(member.ask(&scan(b"s")));
    assert_eq!(digests(&said), (0..200).filter(|key| key % 2 == 0).map(digest_of).collect());
}

#[test]
fn a_partition_that_nobody_serves_is_told_of() {
    let mut member = member(50);
    member.unserved.insert(16 * 3, ResultCode::PARTITION_UNAVAILABLE);
    member.unserved.insert(16 * 5, ResultCode::TIMEOUT);
    for tells_ends in [false, true] {
        let mut ask = scan(b"s").field(field::PARTITIONS, &pids([16, 48, 32, 80].into_iter()));
        if tells_ends {
            ask.attributes.info3 = 0;
        }
        let (ends, given): (Vec<_>, Vec<_>) = records(member.ask(&ask)).into_iter().partition(|said| said.info3 == info3::PARTITION_DONE);
        assert_eq!(digests(&given), [1, 2].map(digest_of).into());
        let ends: Vec<(u32, u8)> = ends.iter().map(|said| (said.generation, said.result)).collect();
        let expected = [(16, 0), (48, 11), (32, 0), (80, 11)];
        assert_eq!(ends, expected.into_iter().filter(|(_, code)| tells_ends || *code > 0).collect::<Vec<_>>());
    }
    member.others.clear();
    let said = member.ask(&scan(b"s"));
    assert_eq!((said.len(), said[0].result, said[0].info3), (1, 11, info3::LAST), "whoever names none is told as a whole");
    member.unserved.insert(16 * 2, ResultCode::OUT_OF_MEMORY);
    let said = member.ask(&scan(b"s").field(field::PARTITIONS, &pids([16, 32].into_iter())));
    assert_eq!((said[0].result, said[0].info3), (8, info3::LAST));
}

#[test]
fn descriptions_that_are_none_are_refused() {
    use super::super::{Namespace, Options, part};
    use crate::wire::Message;
    let database = filled(2);
    let namespaces = [Namespace { name: "test".to_owned(), default_ttl_s: 0 }];
    let options = Options {
        namespaces: &namespaces,
        cores: 4_096,
        record_bytes_max: 1 << 20,
        is_primary: None,
        jobs: None,
        may_read: None,
        is_forwarded: false,
    };
    let ask = scan(b"s").encode();
    let message = Message::decode(&ask).unwrap();
    for length in 0..60 {
        let is_one = matches!(length, 20 | 40);
        assert_eq!(part(&database.schema, Some(&message), &vec![0; length], &options).is_ok(), is_one, "{length} bytes");
    }
    let backwards = [[1; 8], [0; 8]].concat();
    assert!(part(&database.schema, Some(&message), &[&backwards[..], &[0; 4]].concat(), &options).is_err());
    let batch = Batch::default().read(0, 0, b"test").repeat(1, 1).ask();
    let field = &batch.fields[0].1;
    for length in 0..field.len() {
        assert!(part(&database.schema, None, &field[..length], &options).is_err(), "{length} bytes");
    }
    let write = Attributes { info2: info2::WRITE, ..Attributes::default() };
    let operation = Operation { code: code::WRITE, particle: 1, name: b"unheard of", value: &integer(7) };
    let batch = Batch::default().full(0, 0, write, &[operation]).ask();
    assert!(matches!(part(&database.schema, None, &batch.fields[0].1, &options), Ok(None)), "to be declared first");
}
