//! Which partitions a node is asked for most, by name: what shards have noted ([`shard::HotPartitions`]), with the schema.

use cql::system::HotPartition;
use cql::value;
use cql::value::text::write_literal;
use model::{Schema, Table};
use shard::{HotReport, NOTED_ONE_IN};
use std::fmt::Write;

/// So many of a core are told of.
const OF_A_CORE_MAX: usize = 20;
/// What was noted less often tells nothing.
const SAMPLES_MIN: u64 = 2;
const SECOND_US: u64 = 1_000_000;

/// What is told of the partitions of one core.
pub(crate) fn told(core: u16, report: &HotReport, schema: &Schema) -> Vec<HotPartition> {
    let per_second = NOTED_ONE_IN as f64 / (report.span_us.max(SECOND_US) as f64 / SECOND_US as f64);
    let frequent = report.partitions.iter().filter(|partition| partition.noted - partition.error >= SAMPLES_MIN);
    let told = frequent.filter_map(|partition| {
        let samples = partition.noted - partition.error;
        let (keyspace, name, table) = named(schema, partition.table)?;
        let key = match table {
            Some(table) if partition.is_whole => key_text(table, &partition.key),
            _ => hexadecimal(&partition.key, partition.is_whole),
        };
        Some(HotPartition {
            keyspace: keyspace.to_owned(),
            table: name.to_owned(),
            core,
            token: partition.token.0,
            key,
            requests_per_second: samples as f64 * per_second,
            share: samples as f64 / report.noted.max(1) as f64,
            samples,
        })
    });
    told.take(OF_A_CORE_MAX).collect()
}

/// The names of a table, and its columns if the key is one of its partitions. Else it is the table of an index, or one that is gone.
pub(crate) fn named(schema: &Schema, id: base::TableId) -> Option<(&str, &str, Option<&Table>)> {
    schema.tables().find_map(|table| {
        if table.id == id {
            return Some((&*table.keyspace, &*table.name, Some(&**table)));
        }
        let index = table.indexes.values().find(|index| index.id == id)?;
        Some((&*table.keyspace, &*index.name, None))
    })
}

/// A literal for each column of the key, without what columns mask.
pub(crate) fn key_text(table: &Table, key: &[u8]) -> String {
    let columns = table.partition_key();
    let mut text = String::new();
    let mut values = value::PartitionKey::new(key, columns.len());
    for column in columns {
        if !text.is_empty() {
            text.push_str(", ");
        }
        match values.next() {
            Some(_) if column.mask.is_some() => text.push_str("****"),
            Some(value) => write_literal(&column.data_type, value, &mut text),
            None => return hexadecimal(key, true),
        }
    }
    text
}

fn hexadecimal(bytes: &[u8], is_whole: bool) -> String {
    let mut text = "0x".to_owned();
    bytes.iter().for_each(|byte| {
        let _ = write!(text, "{byte:02x}");
    });
    if !is_whole {
        text.push('…');
    }
    text
}
