//! What the engine of each core tells of itself.

use super::family::family;
use ::node::{CoreReport, EngineStats, Report, TableSizes};
use base::TableId;
use model::{Schema, Table};
use std::collections::BTreeMap;

/// So many tables have figures of their own; those with the most partitions.
const TABLES_MAX: usize = 200;

type Figure = (&'static str, &'static str, &'static str, fn(&EngineStats) -> u64);

/// By name, kind and meaning.
const FIGURES: &[Figure] = &[
    ("tarndb_engine_rows", "gauge", "Rows that the index knows, tombstones included.", |stats| stats.rows),
    ("tarndb_engine_live_bytes", "gauge", "Records that are not obsolete.", |stats| stats.live_bytes),
    ("tarndb_engine_memory_bytes", "gauge", "Memory of index, frames, pins and buffers.", |stats| stats.memory_bytes),
    ("tarndb_engine_index_bytes", "gauge", "Memory of the index.", |stats| stats.index_bytes),
    ("tarndb_engine_frame_bytes", "gauge", "Memory of segments that are being filled and of the cache.", |stats| stats.frame_bytes),
    ("tarndb_engine_damaged_records_total", "counter", "Records found damaged since the start.", |stats| stats.damaged_records),
    ("tarndb_engine_wide_partitions", "gauge", "Partitions with more than one row.", |stats| stats.wide_partitions),
    ("tarndb_engine_segments", "gauge", "Segments of the device in use or free.", |stats| stats.segments),
    ("tarndb_engine_segments_free", "gauge", "Segments that may be written.", |stats| stats.segments_free),
    ("tarndb_engine_segments_quarantined", "gauge", "Segments with damaged records that are kept as they are.", |stats| {
        stats.segments_quarantined
    }),
    ("tarndb_engine_rows_written_total", "counter", "Rows written, entries of indexes included.", |stats| stats.rows_written),
    ("tarndb_engine_user_bytes_total", "counter", "Bytes of rows appended to the log by writers.", |stats| stats.user_bytes),
    ("tarndb_engine_defrag_bytes_total", "counter", "Bytes of rows that defragmentation moved.", |stats| stats.defrag_bytes),
    ("tarndb_engine_page_bytes_total", "counter", "Bytes of pages of rows appended to the log.", |stats| stats.page_bytes),
    ("tarndb_engine_written_bytes_total", "counter", "Bytes written to the device, headers and padding included.", |stats| {
        stats.device_bytes_written
    }),
    ("tarndb_engine_syncs_total", "counter", "Syncs of the device.", |stats| stats.syncs),
    ("tarndb_engine_gets_total", "counter", "Point reads, repeated ones after a miss of the memory included.", |stats| stats.gets),
    ("tarndb_engine_device_reads_total", "counter", "Reads of the device for requests.", |stats| stats.device_reads),
    ("tarndb_engine_device_reads_shared_total", "counter", "Requests that found their record on its way from the device.", |stats| {
        stats.device_reads_shared
    }),
    ("tarndb_engine_cache_inserts_total", "counter", "Records copied into the cache.", |stats| stats.cache_inserts),
    ("tarndb_engine_frames_evicted_total", "counter", "Frames of segments and of the cache taken for others.", |stats| {
        stats.frames_evicted
    }),
    ("tarndb_engine_rows_purged_total", "counter", "Tombstones and expired rows dropped.", |stats| stats.rows_purged),
    ("tarndb_engine_segments_reclaimed_total", "counter", "Segments made free by defragmentation.", |stats| stats.segments_reclaimed),
    ("tarndb_engine_segments_expired_total", "counter", "Segments made free because all in them had expired.", |stats| {
        stats.segments_expired
    }),
    ("tarndb_engine_scrub_bytes_total", "counter", "Bytes that the scrub has verified.", |stats| stats.scrub_bytes),
    ("tarndb_engine_scrub_damaged_total", "counter", "Places that the scrub was the first to find damaged.", |stats| stats.scrub_damaged),
    ("tarndb_engine_device_failures_total", "counter", "Reads, writes and syncs of the device that failed.", |stats| stats.device_failures),
    ("tarndb_engine_growth_refused_total", "counter", "How often the file system had no room for a longer data file.", |stats| {
        stats.growth_refused
    }),
    ("tarndb_engine_checkpoints_total", "counter", "Checkpoints of the index completed.", |stats| stats.checkpoints),
];

pub(super) fn write(out: &mut String, report: &Report) {
    for (name, kind, help, figure) in FIGURES {
        family(out, name, kind, help, report.cores.iter().map(|core| (format!("{{core=\"{}\"}}", core.core), figure(&core.engine))));
    }
}

/// The largest tables of this node with what they have here; in a cluster, in those of their slots that it is the primary of.
pub(crate) fn largest_tables<'s>(cores: &[CoreReport], schema: &'s Schema, most: usize) -> Vec<(&'s Table, TableSizes)> {
    let mut sums: BTreeMap<TableId, TableSizes> = BTreeMap::new();
    for (table, sizes) in cores.iter().flat_map(|core| &core.tables) {
        sums.entry(*table).or_default().add(*sizes);
    }
    let mut tables: Vec<_> = schema.tables().filter_map(|table| Some((&**table, *sums.get(&table.id)?))).collect();
    tables.sort_unstable_by_key(|(table, sizes)| (std::cmp::Reverse(sizes.partitions), table.id));
    tables.truncate(most);
    tables
}

/// About how much a table takes on the device.
pub(crate) fn table_bytes(sizes: &TableSizes) -> u64 {
    sizes.partitions.saturating_mul(sizes.partition_bytes())
}

pub(super) fn write_tables(out: &mut String, cores: &[CoreReport], schema: &Schema) {
    let tables = largest_tables(cores, schema, TABLES_MAX);
    let mut of_each = |name: &str, help: &str, figure: fn(&TableSizes) -> u64| {
        let values = tables.iter().map(|(table, sizes)| {
            (format!("{{keyspace=\"{}\",table=\"{}\"}}", escaped(&table.keyspace), escaped(&table.name)), figure(sizes))
        });
        family(out, name, "gauge", help, values);
    };
    let help =
        "Partitions of the largest tables, deleted ones included until they are purged; some seconds old where there are many tables.";
    of_each("tarndb_table_partitions", help, |sizes| sizes.partitions);
    of_each("tarndb_table_bytes", "About how much their partitions take on the device.", table_bytes);
}

/// A label's value: quoted names may have anything in them.
pub(super) fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
