//! `system.size_estimates` and `system.table_estimates`: how much of a table each range of the ring has, for tools that divide it among
//! readers (Spark, dsbulk). `system_views.disk_usage`: how much all have.
//!
//! Tokens are hashes, so partitions are taken to lie evenly in the node's ranges. The counts of all ranges add up to the node's.

use super::row::{RowBuilder, bigint, text};
use super::{NodeView, TableSize};
use model::Table;

const MEBIBYTE: u64 = 1 << 20;

/// A range of the ring that begins after `start` and has `end`, and what of a table is in it.
struct Share {
    start: i64,
    end: i64,
    partitions: u64,
}

pub(super) fn size_estimates(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    each(view, |table, size, share| {
        rows.row([
            ("keyspace_name", text(&table.keyspace)),
            ("table_name", text(&table.name)),
            ("range_start", text(share.start.to_string())),
            ("range_end", text(share.end.to_string())),
            ("mean_partition_size", number(size.partition_bytes)),
            ("partitions_count", number(share.partitions)),
        ]);
    });
}

/// A range counts under both names: of its first replica in the cluster, and in the data centre.
pub(super) fn table_estimates(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    each(view, |table, size, share| {
        for range_type in ["primary", "local_primary"] {
            rows.row([
                ("keyspace_name", text(&table.keyspace)),
                ("table_name", text(&table.name)),
                ("range_type", text(range_type)),
                ("range_start", text(share.start.to_string())),
                ("range_end", text(share.end.to_string())),
                ("mean_partition_size", number(size.partition_bytes)),
                ("partitions_count", number(share.partitions)),
            ]);
        }
    });
}

/// In mebibytes that are begun.
pub(super) fn disk_usage(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for (table, size) in sized(view) {
        let bytes = size.partitions.saturating_mul(size.partition_bytes);
        rows.row([
            ("keyspace_name", text(&table.keyspace)),
            ("table_name", text(&table.name)),
            ("mebibytes", number(bytes.div_ceil(MEBIBYTE))),
        ]);
    }
}

fn number(value: u64) -> Option<Vec<u8>> {
    bigint(value.try_into().unwrap_or(i64::MAX))
}

fn each(view: &NodeView<'_>, mut visit: impl FnMut(&Table, TableSize, &Share)) {
    let ranges = ranges(view);
    for (table, size) in sized(view) {
        for share in shares(&ranges, size.partitions) {
            visit(table, size, &share);
        }
    }
}

/// The tables whose sizes are known.
fn sized<'v>(view: &NodeView<'v>) -> impl Iterator<Item = (&'v Table, TableSize)> {
    let sizes = view.table_sizes;
    let size = move |table: &Table| sizes.binary_search_by_key(&table.id, |(id, _)| *id).ok().map(|position| sizes[position].1);
    view.schema.tables().filter_map(move |table| Some((&**table, size(table)?)))
}

/// The ranges whose first replica the node is, ascending. The first one of the ring begins with the smallest token.
fn ranges(view: &NodeView<'_>) -> Vec<(i64, i64)> {
    let others = view.peers.iter().flat_map(|peer| &peer.tokens);
    let mut all: Vec<i64> = view.tokens.iter().chain(others).copied().collect();
    all.sort_unstable();
    let mut own = view.tokens.to_vec();
    own.sort_unstable();
    own.dedup();
    own.into_iter().map(|end| (all[..all.partition_point(|token| *token < end)].last().copied().unwrap_or(i64::MIN), end)).collect()
}

fn shares(ranges: &[(i64, i64)], partitions: u64) -> impl Iterator<Item = Share> {
    let width = |range: &(i64, i64)| u128::from(range.1.abs_diff(range.0));
    let all: u128 = ranges.iter().map(width).sum::<u128>().max(1);
    let (mut seen, mut counted) = (0u128, 0u64);
    ranges.iter().map(move |range| {
        seen += width(range);
        let upto = (u128::from(partitions) * seen / all) as u64;
        let share = upto - counted;
        counted = upto;
        Share { start: range.0, end: range.1, partitions: share }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let ranges = [(i64::MIN, -100), (0, 1), (10, i64::MAX)];
        for partitions in [0, 1, 7, 1_000, u64::MAX] {
            let shares: Vec<Share> = shares(&ranges, partitions).collect();
            assert_eq!(shares.iter().map(|share| share.partitions).sum::<u64>(), partitions);
            assert!(shares[0].partitions.abs_diff(shares[2].partitions) <= partitions / 1_000 + 1);
        }
        assert_eq!(shares(&[], 5).count(), 0);
        assert_eq!(shares(&[(i64::MIN, i64::MIN)], 5).map(|share| share.partitions).sum::<u64>(), 0);
    }
}
