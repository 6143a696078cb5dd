//! What is told of the sizes of tables.

use super::shard::{Shard, TABLE, config};
use crate::{Key, Kind, TableSizes, WriteBatch};
use base::{Slot, TableId, Token};

/// Tokens spread over the ring.
fn token(number: u64) -> Token {
    Token(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) as i64)
}

fn write(shard: &mut Shard, keys: impl Iterator<Item = (u64, u32)>, row_bytes: usize) {
    for (partition, clustering) in keys {
        let clustering = if clustering == 0 { Vec::new() } else { clustering.to_be_bytes().to_vec() };
        let key = Key { table: TABLE, token: token(partition), partition: &partition.to_be_bytes(), clustering: &clustering };
        let mut batch = WriteBatch::new();
        batch.put(&key, Kind::Live, &vec![1; row_bytes]).unwrap();
        shard.write(&batch).unwrap();
        shard.turn();
    }
}

#[test]
fn partitions_are_counted_and_their_sizes_are_near() {
    let mut shard = Shard::new(config(32 << 10, 200, 4 << 20));
    assert_eq!(shard.engine.table_sizes(TABLE, |_| true), TableSizes::default());
    write(&mut shard, (0..1_000).map(|partition| (partition, 0)), 100);
    let sizes = shard.engine.table_sizes(TABLE, |_| true);
    assert_eq!(sizes.partitions, 1_000);
    let mean = sizes.sampled_bytes / sizes.sampled;
    assert!(sizes.sampled >= 64 && (100..200).contains(&mean), "{sizes:?}");
    // Overwritten rows are the same partitions.
    write(&mut shard, (0..1_000).map(|partition| (partition, 0)), 100);
    assert_eq!(shard.engine.table_sizes(TABLE, |_| true).partitions, 1_000);
    let low = shard.engine.table_sizes(TABLE, |slot: Slot| slot.0 < 2_048);
    let high = shard.engine.table_sizes(TABLE, |slot: Slot| slot.0 >= 2_048);
    assert_eq!(low.partitions + high.partitions, 1_000);
    assert!(low.partitions > 0 && high.partitions > 0);
    assert_eq!(shard.engine.table_sizes(TableId(TABLE.0 + 1), |_| true), TableSizes::default());
}

#[test]
fn partitions_of_many_rows_count_once_with_all_their_rows() {
    let mut shard = Shard::new(crate::Config { leaf_rows_max: 16, page_rows_max: 32, ..config(32 << 10, 200, 4 << 20) });
    write(&mut shard, (1..=2_000).map(|row| (7, row)), 100);
    let sizes = shard.engine.table_sizes(TABLE, |_| true);
    assert_eq!((sizes.partitions, sizes.sampled), (1, 1));
    assert!((10_000..400_000).contains(&sizes.sampled_bytes), "{sizes:?}");
}
