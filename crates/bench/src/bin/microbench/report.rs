//! The figures as a table or as JSON.

use bench::statistics::Summary;
use serde::Serialize;

/// What one combination of shape, workload and batch came to.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) shape: String,
    pub(crate) workload: &'static str,
    pub(crate) batch: u16,
    /// Time in the core.
    pub(crate) ns_per_request: Summary,
    pub(crate) requests_per_second: Summary,
    /// Time in the core, in the disk that is memory, and in making and checking requests.
    pub(crate) gross_ns_per_request: Summary,
    /// How much of the round the thread was on a CPU: less than 1 means that others disturbed it.
    pub(crate) on_cpu: Summary,
    /// Batches whose replies needed more than one turn.
    pub(crate) delayed: u64,
    /// Bytes the core wrote to the disk for each request.
    pub(crate) disk_bytes_per_request: f64,
}

/// Above the lines.
pub(crate) fn print_head() {
    println!(
        "{:<7} {:<7} {:>5}  {:>12} {:>8}  {:>24}  {:>9}  {:>6}  {:>7}  {:>12}",
        "shape", "kind", "batch", "requests/s", "ns", "ns least – most (spread)", "gross ns", "on CPU", "delayed", "disk B/req"
    );
}

/// One line of the table.
pub(crate) fn print(line: &Line) {
    let ns = &line.ns_per_request;
    println!(
        "{:<7} {:<7} {:>5}  {:>12.0} {:>8.1}  {:>24}  {:>9.1}  {:>5.1}%  {:>7}  {:>12.1}",
        line.shape,
        line.workload,
        line.batch,
        line.requests_per_second.median,
        ns.median,
        format!("{:.1} – {:.1} ({:.1} %)", ns.least, ns.most, ns.spread_percent()),
        line.gross_ns_per_request.median,
        line.on_cpu.median * 100.0,
        line.delayed,
        line.disk_bytes_per_request,
    );
}
