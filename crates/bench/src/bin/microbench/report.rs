//! The figures as a table or as JSON.

use bench::statistics::Summary;
use serde::Serialize;

/// What one combination of shape, workload and batch came to.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) shape: String,
    pub(crate) workload: &'static str,
    pub(crate) batch: u16,
    /// Time on the CPU in the core: what others on the machine took is not in it.
    pub(crate) ns_per_request: Summary,
    pub(crate) requests_per_second: Summary,
    /// Time of the clock in the core.
    pub(crate) wall_ns_per_request: Summary,
    /// Time of the clock in all: the core, the disk that is memory, the making and checking of requests.
    pub(crate) gross_ns_per_request: Summary,
    /// How much of the round the thread was on a CPU. Below 0.98 or so the caches were others' too, and the figures are too high.
    pub(crate) on_cpu: Summary,
    /// Batches whose replies needed more than one turn.
    pub(crate) delayed: u64,
    /// Bytes the core wrote to the disk for each request.
    pub(crate) disk_bytes_per_request: f64,
}

/// Above the lines.
pub(crate) fn print_head() {
    println!(
        "{:<7} {:<7} {:>5}  {:>12} {:>8}  {:>24}  {:>8}  {:>9}  {:>6}  {:>7}  {:>10}",
        "shape", "kind", "batch", "requests/s", "ns", "least – most (spread)", "wall ns", "gross ns", "on CPU", "delayed", "disk B/req"
    );
}

/// One line of the table.
pub(crate) fn print(line: &Line) {
    let ns = &line.ns_per_request;
    println!(
        "{:<7} {:<7} {:>5}  {:>12.0} {:>8.1}  {:>24}  {:>8.1}  {:>9.1}  {:>5.1}%  {:>7}  {:>10.1}",
        line.shape,
        line.workload,
        line.batch,
        line.requests_per_second.median,
        ns.median,
        format!("{:.1} – {:.1} ({:.1} %)", ns.least, ns.most, ns.spread_percent()),
        line.wall_ns_per_request.median,
        line.gross_ns_per_request.median,
        line.on_cpu.median * 100.0,
        line.delayed,
        line.disk_bytes_per_request,
    );
}
