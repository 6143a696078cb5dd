//! What a run prints.

use crate::options::Options;
use crate::timeline::{Interval, Timeline};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::Duration;

/// One run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    workload: &'static str,
    protocol: u8,
    connections: u16,
    depth: u16,
    keys: u64,
    columns: u16,
    column_bytes: u32,
    requests: u64,
    seconds: f64,
    requests_per_second: f64,
    latency_us: Latency,
    /// Empty unless asked for.
    intervals: Vec<Interval>,
}

/// From the sending of a request to its reply.
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    mean: f64,
    p50: f64,
    p99: f64,
    p999: f64,
    most: f64,
}

impl Latency {
    /// Of latencies in nanoseconds.
    pub(crate) fn of(latencies_ns: &Histogram<u64>) -> Self {
        let at = |quantile| latencies_ns.value_at_quantile(quantile) as f64 / 1_000.0;
        Self {
            mean: latencies_ns.mean() / 1_000.0,
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            most: latencies_ns.max() as f64 / 1_000.0,
        }
    }
}

impl Report {
    pub(crate) fn new(options: &Options, requests: u64, took: Duration, timeline: Timeline) -> Self {
        let (latencies_ns, intervals) = timeline.finish();
        Self {
            workload: options.workload.name(),
            protocol: options.protocol,
            connections: options.connections,
            depth: options.depth,
            keys: options.keys,
            columns: options.columns,
            column_bytes: options.column_bytes,
            requests,
            seconds: took.as_secs_f64(),
            requests_per_second: requests as f64 / took.as_secs_f64(),
            latency_us: Latency::of(&latencies_ns),
            intervals,
        }
    }
}
