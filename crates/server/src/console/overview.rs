//! `GET /api/v1/overview`: what the board has, in one object.

use crate::metrics::{largest_tables, latencies, table_bytes};
use crate::status::{Status, rebuilds};
use ::node::{Board, CoreReport, LATENCY_BOUNDS_US, MEASURED_PROTOCOLS, RebuildReport, Report, RequestKind};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// So many tables are shown, the largest.
const TABLES_MAX: usize = 50;

pub(super) fn overview(board: &Board, ready: bool, memory_limit_bytes: u64) -> Value {
    let schema = board.schema();
    let status = Status::new(board.report(), ready);
    let report = &status.report;
    let tables = largest_tables(&report.cores, &schema, TABLES_MAX).into_iter().map(|(table, sizes)| {
        json!({"keyspace": table.keyspace, "table": table.name, "partitions": sizes.partitions, "bytes": table_bytes(&sizes)})
    });
    let protocols = MEASURED_PROTOCOLS.iter().enumerate();
    let errors = protocols.map(|(protocol, name)| {
        let errors: u64 = report.cores.iter().map(|core| core.requests.errors[protocol].sum()).sum();
        ((*name).to_owned(), errors.into())
    });
    json!({
        "version": status.version,
        "time_ms": u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX),
        "healthy": status.healthy,
        "problems": status.problems,
        "clustered": report.clustered,
        "cluster": report.cluster,
        "rebuilds": rebuilds(&report.cores).iter().filter(|rebuild| rebuild.slots > 0).map(rebuild).collect::<Vec<_>>(),
        "memory_limit_bytes": memory_limit_bytes,
        "cores": report.cores.iter().map(core).collect::<Vec<_>>(),
        "latency_bounds_us": LATENCY_BOUNDS_US,
        "requests": requests(report),
        "errors": errors.collect::<serde_json::Map<_, _>>(),
        "tables": tables.collect::<Vec<_>>(),
        "process": process(),
    })
}

fn rebuild(rebuild: &RebuildReport) -> Value {
    json!({
        "node": rebuild.node,
        "slots": rebuild.slots,
        "left_bytes": rebuild.left_bytes,
        "bytes_per_s": rebuild.bytes_per_s,
        "held_by": rebuild.held.name(),
    })
}

/// Counts since the start; buckets as `latency_bounds_us` has them, and one for what took longer.
fn requests(report: &Report) -> Vec<Value> {
    let protocols = MEASURED_PROTOCOLS.iter().enumerate();
    let of_each = protocols.flat_map(|(protocol, name)| RequestKind::ALL.map(|kind| (name, kind, latencies(report, protocol, kind))));
    let shown = of_each.map(|(protocol, kind, latencies)| {
        json!({"protocol": protocol, "kind": kind.name(), "buckets": latencies.buckets, "sum_us": latencies.sum_us})
    });
    shown.collect()
}

fn core(core: &CoreReport) -> Value {
    let engine = &core.engine;
    json!({
        "core": core.core,
        "connections": core.connections,
        "rows": core.rows,
        "live_bytes": core.live_bytes,
        "device_used_bytes": core.device_used_bytes,
        "device_capacity_bytes": core.device_capacity_bytes,
        "memory_bytes": core.memory_bytes,
        "index_bytes": engine.index_bytes,
        "frame_bytes": engine.frame_bytes,
        "pin_bytes": engine.pin_bytes,
        "waiting_bytes": core.waiting_bytes,
        "is_full": core.is_full,
        "damaged_records": core.damaged_records,
        "slots_to_index": core.slots_to_index,
        "vectors_linked": core.vectors_linked,
        "vectors_left": core.vectors_left,
        "vector_bytes": core.vector_bytes,
        "view_slots_left": core.view_slots_left,
        "views_behind": core.views_behind,
        "primaries": core.primaries,
        "secondaries": core.secondaries,
        "learners": core.learners,
        "unserved": core.unserved,
        "to_wipe": core.to_wipe,
        "segments": engine.segments,
        "segments_free": engine.segments_free,
        "gets": engine.gets,
        "device_reads": engine.device_reads,
        "rows_written": engine.rows_written,
        "user_bytes": engine.user_bytes,
        "defrag_bytes": engine.defrag_bytes,
        "page_bytes": engine.page_bytes,
        "device_bytes_written": engine.device_bytes_written,
        "unfinished_batches": core.unfinished_batches,
        "logins_failed": core.logins_failed,
        "slow_requests": core.slow_requests,
        "forwarded": core.forwarded,
    })
}

/// What the kernel does not tell is null.
fn process() -> Value {
    let pid = std::process::id();
    let figures = io_linux::process_figures(pid);
    json!({
        "cpu_s": figures.cpu_s,
        "resident_bytes": figures.memory,
        "device_read_bytes": figures.device_read,
        "device_written_bytes": figures.device_written,
        "network_received_bytes": figures.network_received,
        "network_sent_bytes": figures.network_sent,
        "open_files": io_linux::process_open_files(pid),
        "started_s": io_linux::process_start_s(pid),
    })
}
