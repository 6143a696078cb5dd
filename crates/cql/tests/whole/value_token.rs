//! Partition keys and their tokens, against Cassandra's partitioner and the vectors of the drivers' own tests.

use crate::value_support::*;
use base::Token;
use cql::value::token::KeyTooLong;
use cql::value::{PartitionKey, partition_key, token};

#[test]
fn tokens_are_cassandras() {
    for case in golden("token.tsv") {
        let [key, theirs] = case.as_slice() else { panic!("{case:?}") };
        assert_eq!(token(&unhex(key)), Token(theirs.parse().unwrap()), "{case:?}");
    }
}

#[test]
fn tokens_are_the_drivers() {
    assert_eq!(token(b"123"), Token(-7_468_325_962_851_647_638));
    assert_eq!(token(&[0, 0xFF, 0x10, 0xFA, 0x99].repeat(10)), Token(5_837_342_703_291_459_765));
    assert_eq!(token(&[0xFE; 8]), Token(-8_927_430_733_708_461_935));
    assert_eq!(token(&[0x10; 8]), Token(1_446_172_840_243_228_796));
    assert_eq!(token(b"9223372036854775807"), Token(7_162_290_910_810_015_547));
    assert_eq!(token(b""), Token(i64::MIN));
}

#[test]
fn keys_of_several_columns_have_lengths_and_zeros() {
    let mut key = vec![9];
    partition_key([&b"ab"[..], b"", b"\0\x01\x02"].into_iter(), &mut key).unwrap();
    assert_eq!(hex(&key), "09000261620000000000030001".to_owned() + "0200");
    let components: Vec<_> = PartitionKey::new(&key[1..], 3).collect();
    assert_eq!(components, [&b"ab"[..], b"", b"\0\x01\x02"]);
    assert_eq!(PartitionKey::new(b"plain", 1).collect::<Vec<_>>(), [b"plain"]);
    assert_eq!(PartitionKey::new(b"\0\x05ab", 2).count(), 0);
}

#[test]
fn keys_that_are_too_long_are_refused() {
    let long = vec![0; 65_536];
    assert_eq!(partition_key([&long[..]].into_iter(), &mut Vec::new()), Err(KeyTooLong { length: 65_536 }));
    assert_eq!(partition_key([&long[..65_535]].into_iter(), &mut Vec::new()), Ok(()));
    assert_eq!(partition_key([&long[..65_535], b""].into_iter(), &mut Vec::new()), Err(KeyTooLong { length: 65_541 }));
}
