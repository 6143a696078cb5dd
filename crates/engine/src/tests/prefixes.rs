//! Slots of an index: which ones a prefix filter names, while rows are written and slots are read into it.

use super::shard::{Shard, TABLE, config};
use crate::{Covering, Key, Kind, WriteBatch};
use base::{Slot, TableId};

const SLOT: Slot = Slot(2048);

fn key(clustering: &[u8]) -> Key<'_> {
    Key { table: TABLE, token: SLOT.first_token(), partition: b"entries", clustering }
}

/// The first four bytes, and the first three.
fn prefix_of(key: &[u8], number: usize) -> Option<&[u8]> {
    key.get(..4)?.get(..4_usize.checked_sub(number).filter(|length| *length > 2)?)
}

fn put(shard: &mut Shard, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let mut batch = WriteBatch::new();
        batch.put(&key(&number.to_be_bytes()), Kind::Live, b"row").unwrap();
        shard.write(&batch).unwrap();
    }
}

fn cover(shard: &Shard) -> Covering {
    shard.engine.cover_slot((TABLE, SLOT.first_token(), b"entries"), &[], prefix_of, (1024, true)).unwrap()
}

fn next(shard: &Shard, number: u32) -> Option<(Slot, bool)> {
    shard.engine.next_slot((TABLE, TABLE), &number.to_be_bytes(), Slot(0), Slot(4095))
}

#[test]
fn a_slot_is_covered_a_stretch_at_a_time_while_it_is_written() {
    let mut shard = Shard::new(config(128 << 10, 64, 16 << 20));
    put(&mut shard, 1000..4000);
    assert_eq!(next(&shard, 7), Some((SLOT, false)), "not covered: it may have any value");
    let mut stretches = 0;
    while next(&shard, 7) == Some((SLOT, false)) {
        assert_ne!(cover(&shard), Covering::Refused);
        stretches += 1;
        // Before what was read, and after.
        let some = 500 + 10 * stretches;
        put(&mut shard, some..some + 10);
        put(&mut shard, 5000 + some..5010 + some);
    }
    assert!((3..12).contains(&stretches), "{stretches}");
    for number in (1000..4000).chain(510..510 + 10 * stretches).chain(5510..5510 + 10 * stretches) {
        assert_eq!(next(&shard, number), Some((SLOT, true)), "{number}");
        let shorter = &number.to_be_bytes()[..3];
        assert_eq!(shard.engine.next_slot((TABLE, TABLE), shorter, Slot(0), Slot(4095)), Some((SLOT, true)), "{number}");
    }
    let mut batch = WriteBatch::new();
    batch.put(&key(b"1"), Kind::Live, b"").unwrap();
    shard.write(&batch).unwrap();
    assert_eq!(next(&shard, 7), Some((SLOT, false)), "a key without a prefix ends that");
}

#[test]
fn an_unknown_table_is_not_taken_for_an_empty_one() {
    let shard = Shard::new(config(128 << 10, 64, 16 << 20));
    assert_eq!(shard.engine.next_slot((TableId(8), TableId(9)), b"", Slot(3), Slot(5)), Some((Slot(3), false)));
    assert_eq!(next(&shard, 7), None);
}
