//! The timeline of a phase in columns, at most a few hundred intervals long, as charts draw it.
//!
//! Seconds are put into intervals of one width (for every target of a phase the same, so that their lines share their places). An interval
//! of several seconds keeps the mean, and the least and the largest second, so that a stall of one second in twelve hours stays visible.

use super::model::{PhaseReport, Second, SecondOperation};
use serde::Serialize;
use std::collections::BTreeMap;

/// Columns of a phase; all have the length of `t`. A missing figure is `null`.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Columns {
    /// Seconds in an interval.
    pub(super) width: u32,
    /// Middle of each interval: seconds after the start of the phase.
    pub(super) t: Vec<f64>,
    /// By operation.
    pub(super) operations: BTreeMap<String, OperationColumns>,
    /// Errors a second.
    pub(super) errors: Vec<Option<f64>>,
    /// Cores that the target kept busy.
    pub(super) cpu: Vec<Option<f64>>,
    /// Resident bytes of the target: the largest of the interval.
    pub(super) memory: Vec<Option<f64>>,
    /// Bytes a second from the device.
    pub(super) device_read: Vec<Option<f64>>,
    /// Bytes a second to the device.
    pub(super) device_written: Vec<Option<f64>>,
    /// Bytes a second that the target's network namespace received.
    pub(super) target_network_received: Vec<Option<f64>>,
    /// Bytes a second that were sent from there.
    pub(super) target_network_sent: Vec<Option<f64>>,
}

/// One operation; latencies in microseconds.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct OperationColumns {
    /// Replies a second.
    pub(super) rate: Vec<Option<f64>>,
    /// Those of the interval's slowest second.
    pub(super) rate_min: Vec<Option<f64>>,
    /// Those of its fastest.
    pub(super) rate_max: Vec<Option<f64>>,
    /// Means over the interval's seconds, weighted with their replies.
    pub(super) p50: Vec<Option<f64>>,
    pub(super) p95: Vec<Option<f64>>,
    pub(super) p99: Vec<Option<f64>>,
    pub(super) p999: Vec<Option<f64>>,
    /// The least p50 of a second.
    pub(super) p50_min: Vec<Option<f64>>,
    /// The largest p99.9 of a second.
    pub(super) p999_max: Vec<Option<f64>>,
    /// The longest.
    pub(super) max: Vec<Option<f64>>,
}

/// Seconds in an interval so that `seconds` give at most `intervals_max`.
pub(super) fn width(seconds: f64, intervals_max: u32) -> u32 {
    // Widths that a person counts in; the last is a day.
    const WIDTHS: [u32; 16] = [1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 86_400];
    // A run of an hour ends some milliseconds after it.
    let needed = seconds.floor() / f64::from(intervals_max.max(1));
    WIDTHS.into_iter().find(|width| f64::from(*width) >= needed).unwrap_or(needed.ceil() as u32)
}

/// The timeline of `phase` in intervals of `width` seconds.
pub(super) fn columns(phase: &PhaseReport, width: u32) -> Columns {
    let names: std::collections::BTreeSet<&String> = phase.timeline.iter().flat_map(|second| second.operations.keys()).collect();
    let mut columns = Columns { width, ..Columns::default() };
    for name in &names {
        columns.operations.insert((*name).clone(), OperationColumns::default());
    }
    let mut start = 0.0;
    let mut rest = phase.timeline.as_slice();
    while let Some(first) = rest.first() {
        // A second belongs where most of it lies: its clock may tick a little late.
        let interval = |second: &Second| (second.second / f64::from(width) - 0.25 / f64::from(width)).ceil().max(1.0) - 1.0;
        let here = interval(first);
        let length = rest.iter().take_while(|second| interval(second) <= here).count();
        let (seconds, later) = rest.split_at(length);
        let end = seconds.last().map_or(start, |second| second.second);
        columns.t.push(round((here + 0.5) * f64::from(width)));
        columns.push(seconds, start, end);
        start = end;
        rest = later;
    }
    columns
}

impl Columns {
    fn push(&mut self, seconds: &[Second], start: f64, end: f64) {
        let long = if end > start { end - start } else { 1.0 };
        let sum = |figure: fn(&Second) -> Option<f64>| {
            let some: Vec<f64> = seconds.iter().filter_map(figure).collect();
            (!some.is_empty()).then(|| round(some.iter().sum::<f64>() / long))
        };
        self.errors.push(sum(|second| Some(second.errors as f64)));
        self.cpu.push(sum(|second| second.target_cpu_s));
        self.device_read.push(sum(|second| second.device_read.map(|bytes| bytes as f64)));
        self.device_written.push(sum(|second| second.device_written.map(|bytes| bytes as f64)));
        self.target_network_received.push(sum(|second| second.target_network_received.map(|bytes| bytes as f64)));
        self.target_network_sent.push(sum(|second| second.target_network_sent.map(|bytes| bytes as f64)));
        self.memory.push(seconds.iter().filter_map(|second| second.target_memory).max().map(|bytes| round(bytes as f64)));
        for (name, operation) in &mut self.operations {
            operation.push(name, seconds, start, long);
        }
    }
}

impl OperationColumns {
    fn push(&mut self, name: &str, seconds: &[Second], start: f64, long: f64) {
        let mut before = start;
        let mut rates = Vec::with_capacity(seconds.len());
        let mut answered: Vec<&SecondOperation> = Vec::with_capacity(seconds.len());
        for second in seconds {
            let operation = second.operations.get(name).filter(|operation| operation.replies > 0);
            let lasted = if second.second > before { second.second - before } else { 1.0 };
            rates.push(operation.map_or(0.0, |operation| operation.replies as f64) / lasted);
            answered.extend(operation);
            before = second.second;
        }
        let replies: u64 = answered.iter().map(|operation| operation.replies).sum();
        let mean = |figure: fn(&SecondOperation) -> f64| {
            (replies > 0)
                .then(|| round(answered.iter().map(|operation| figure(operation) * operation.replies as f64).sum::<f64>() / replies as f64))
        };
        let extreme = |figure: fn(&SecondOperation) -> f64, better: fn(f64, f64) -> f64| {
            answered.iter().map(|operation| figure(operation)).reduce(better).map(round)
        };
        self.rate.push(Some(round(replies as f64 / long)));
        self.rate_min.push(rates.iter().copied().reduce(f64::min).map(round));
        self.rate_max.push(rates.iter().copied().reduce(f64::max).map(round));
        self.p50.push(mean(|operation| operation.p50));
        self.p95.push(mean(|operation| operation.p95));
        self.p99.push(mean(|operation| operation.p99));
        self.p999.push(mean(|operation| operation.p999));
        self.p50_min.push(extreme(|operation| operation.p50, f64::min));
        self.p999_max.push(extreme(|operation| operation.p999, f64::max));
        self.max.push(extreme(|operation| operation.max, f64::max));
    }
}

/// Five significant digits: what a chart can show, in a third of the bytes.
fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let factor = 10f64.powi(4 - value.abs().log10().floor() as i32);
    if factor >= 1.0 { (value * factor).round() / factor } else { (value * factor).round() * 10f64.powi(-(factor.log10().round() as i32)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(end: f64, replies: u64, p50: f64) -> Second {
        let operation = SecondOperation { replies, p50, p95: p50 * 2.0, p99: p50 * 3.0, p999: p50 * 4.0, max: p50 * 5.0 };
        Second {
            second: end,
            operations: BTreeMap::from([("read".to_owned(), operation)]),
            errors: 0,
            target_cpu_s: Some(0.5),
            target_memory: None,
            device_read: None,
            device_written: Some(1000),
            target_network_received: Some(3000),
            target_network_sent: None,
        }
    }

    fn phase(timeline: Vec<Second>) -> PhaseReport {
        PhaseReport {
            name: "run".to_owned(),
            kind: super::super::model::PhaseKind::Run,
            started_s: 0.0,
            seconds: timeline.len() as f64,
            complete: true,
            unknown: false,
            settings: BTreeMap::new(),
            throughput: 0.0,
            operations: Vec::new(),
            errors: Vec::new(),
            verified: Default::default(),
            variation: None,
            drift: None,
            resources: Default::default(),
            timeline,
            events: Vec::new(),
            histogram_log: None,
            histogram_log_failure: None,
        }
    }

    #[test]
    fn an_interval_keeps_mean_and_extremes() {
        let columns =
            columns(&phase(vec![second(1.0, 300, 10.0), second(2.02, 102, 40.0), second(3.0, 0, 0.0), second(4.0, 100, 10.0)]), 2);
        assert_eq!(columns.t, [1.0, 3.0]);
        let read = &columns.operations["read"];
        assert_eq!(read.rate, [Some(199.01), Some(50.505)]);
        assert_eq!(read.rate_min, [Some(100.0), Some(0.0)]);
        assert_eq!(read.rate_max, [Some(300.0), Some(100.0)]);
        assert_eq!(read.p50, [Some(17.612), Some(10.0)]);
        assert_eq!(read.p50_min, [Some(10.0), Some(10.0)]);
        assert_eq!(read.p999_max, [Some(160.0), Some(40.0)]);
        assert_eq!(columns.memory, [None, None]);
        assert_eq!((columns.target_network_received[0], columns.target_network_sent[0]), (Some(2970.3), None));
        assert_eq!(columns.cpu[0], Some(0.49505));
    }

    #[test]
    fn a_second_without_a_reply_has_a_rate_of_zero_and_no_latency() {
        let columns = columns(&phase(vec![second(1.0, 10, 5.0), second(2.0, 0, 0.0)]), 1);
        assert_eq!(columns.operations["read"].rate, [Some(10.0), Some(0.0)]);
        assert_eq!(columns.operations["read"].p99, [Some(15.0), None]);
    }

    #[test]
    fn twelve_hours_fit_in_the_intervals_they_may_have() {
        assert_eq!(width(43_200.004, 720), 60);
        assert_eq!(width(43_200.0, 100), 600);
        assert_eq!(width(600.0, 720), 1);
        assert_eq!(width(0.0, 720), 1);
        let long = phase((1..=43_200).map(|end| second(f64::from(end), 10, 5.0)).collect());
        assert_eq!(columns(&long, 60).t.len(), 720);
    }

    #[test]
    fn rounding_keeps_five_digits() {
        assert_eq!(round(123_456.7), 123_460.0);
        assert_eq!(round(0.001_234_56), 0.001_234_6);
        assert_eq!(round(0.0), 0.0);
    }
}
