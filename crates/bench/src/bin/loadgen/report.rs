//! What a run prints.

use crate::options::Options;
use load::latency::histogram;
use load::workload::OperationKind;
use load::{Histogram, Observer, Outcome, Second, Summary};
use serde::Serialize;
use std::collections::BTreeMap;

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
    /// Whole seconds; empty unless asked for.
    intervals: Vec<Interval>,
}

/// From the reply before a request, or the start, to its own.
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    mean: f64,
    p50: f64,
    p99: f64,
    p999: f64,
    most: f64,
}

/// A second. One without replies stands in the list like any other: it is what such a list is looked at for.
#[derive(Debug, Serialize)]
pub(crate) struct Interval {
    replies: u64,
    latency_us: Latency,
}

/// The seconds of a run.
#[derive(Debug, Default)]
pub(crate) struct Intervals(Vec<Interval>);

impl Observer for Intervals {
    fn second(&mut self, second: &Second, latencies: &BTreeMap<OperationKind, Histogram>) {
        if second.length_s >= 1.0 {
            let all = together(latencies);
            self.0.push(Interval { replies: all.len(), latency_us: Latency::of(&all) });
        }
    }
}

impl Latency {
    fn of(latencies_ns: &Histogram) -> Self {
        let Summary { mean_us, p50_us, p99_us, p999_us, max_us, .. } = Summary::of(latencies_ns);
        Self { mean: mean_us, p50: p50_us, p99: p99_us, p999: p999_us, most: max_us }
    }
}

fn together(latencies_ns: &BTreeMap<OperationKind, Histogram>) -> Histogram {
    let mut all = histogram();
    latencies_ns.values().for_each(|of| all.add(of).expect("all have the same bounds"));
    all
}

impl Report {
    pub(crate) fn new(options: &Options, outcome: &Outcome, intervals: Intervals) -> Self {
        let requests = outcome.replies();
        Self {
            workload: options.workload.name(),
            protocol: options.protocol,
            connections: options.connections,
            depth: options.depth,
            keys: options.keys,
            columns: options.columns,
            column_bytes: options.column_bytes,
            requests,
            seconds: outcome.elapsed_s,
            requests_per_second: requests as f64 / outcome.elapsed_s,
            latency_us: Latency::of(&together(&outcome.latencies)),
            intervals: if options.intervals { intervals.0 } else { Vec::new() },
        }
    }
}
