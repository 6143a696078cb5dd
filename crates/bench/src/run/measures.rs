//! From what a load came to, to what a report says of it.

use super::drive::Measured;
use super::watch::Reading;
use crate::report::figures::{count, duration, latency};
use crate::report::model::{ErrorCount, Event, Latency, OperationReport, PhaseReport, Resources, Second, SecondOperation, Verified};
use io_linux::ProcessFigures;
use load::latency::{Summary, spectrum};
use load::workload::{KeyChoice, OperationKind, Pace};
use std::collections::BTreeMap;

/// Length of the windows that the variation is taken over.
const WINDOW_SECONDS: usize = 10;
/// A phase needs so many seconds for a first and last tenth that mean something.
const DRIFT_SECONDS_MIN: usize = 20;
/// The busiest thread's share of a CPU from which on the client may have been the limit.
const BUSY: f64 = 0.95;
/// Share of its CPUs above which the target was a limit as much as the client.
const TARGET_BUSY: f64 = 0.9;
/// An event's dip is over when throughput is back at this share of what it was before, for so many seconds.
const RECOVERED_SHARE: f64 = 0.9;
const RECOVERED_SECONDS: usize = 3;

/// Puts what was measured into a phase's report.
pub(super) fn file(report: &mut PhaseReport, measured: &Measured, target_cpus: Option<usize>) {
    let outcome = &measured.outcome;
    let seconds = outcome.elapsed_s;
    report.seconds = seconds;
    report.settings = settings(measured);
    report.throughput = if seconds > 0.0 { outcome.replies() as f64 / seconds } else { 0.0 };
    report.operations = operations(measured);
    report.errors = outcome.errors.iter().map(|(kind, count)| ErrorCount { kind: kind.clone(), count: *count }).collect();
    report.errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    let load::Verified { compared, lost, stale, wrong, unknown } = outcome.verified;
    report.verified = Verified { compared, lost, stale, wrong, unknown };
    report.timeline = timeline(measured);
    report.resources = resources(measured, target_cpus);
    let replies = replies_of_whole_seconds(&report.timeline);
    report.variation = variation(&replies);
    report.drift = drift(&replies);
    report.events = measured.events.clone();
    for at in 0..report.events.len() {
        let until = report.events.get(at + 1).map_or(f64::INFINITY, |next| next.second);
        let steady = report.events[0].second;
        let dip = dip(&replies, &report.timeline, steady, &report.events[at], until);
        report.events[at].figures.extend(dip);
    }
}

/// Replies in each second but the last, which may be a short one.
fn replies_of_whole_seconds(timeline: &[Second]) -> Vec<f64> {
    let whole = &timeline[..timeline.len().saturating_sub(1)];
    whole.iter().map(|second| second.operations.values().map(|one| one.replies as f64).sum()).collect()
}

fn name(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Read => "read",
        OperationKind::Update => "update",
        OperationKind::Insert => "insert",
        OperationKind::Scan => "scan",
        OperationKind::ReadModifyWrite => "read-modify-write",
    }
}

fn settings(measured: &Measured) -> BTreeMap<String, String> {
    let plan = &measured.plan;
    let mix = plan.mix.operations.iter().map(|(kind, weight)| format!("{weight} {}", name(*kind))).collect::<Vec<_>>().join(", ");
    let keys = match plan.mix.keys {
        KeyChoice::Sequential => "sequential".to_owned(),
        KeyChoice::Uniform => "uniform".to_owned(),
        KeyChoice::Latest => "latest".to_owned(),
        KeyChoice::Zipfian { constant } => format!("zipfian, constant {constant}"),
        KeyChoice::ScrambledZipfian { constant } => format!("scrambled zipfian, constant {constant}"),
        KeyChoice::Gaussian { deviations } => format!("gaussian, {deviations} standard deviations to each end"),
        KeyChoice::Hotspot { rows, operations } => format!("hotspot: {operations} of operations on {rows} of rows"),
        KeyChoice::Exponential { percentile, rows } => format!("exponential: {percentile} % of operations on the last {rows} of rows"),
    };
    let pace = match plan.pace {
        Pace::Closed => "closed loop: the next request follows a reply".to_owned(),
        Pace::Batches => "closed loop: the next requests of a connection follow the last of its replies".to_owned(),
        Pace::Open(rate) => format!("open loop: {rate} requests/s; latency from when a request was due"),
    };
    let clients = plan.clients;
    BTreeMap::from([
        ("operations".to_owned(), mix),
        ("keys".to_owned(), keys),
        ("pace".to_owned(), pace),
        ("threads".to_owned(), clients.threads.to_string()),
        ("connections".to_owned(), clients.connections.to_string()),
        ("in flight on each connection".to_owned(), clients.in_flight.to_string()),
        ("update writes".to_owned(), if plan.mix.update_all_fields { "all fields" } else { "one field" }.to_owned()),
        ("reads are verified".to_owned(), if plan.mix.verify { "yes" } else { "no" }.to_owned()),
        ("seed".to_owned(), plan.seed.to_string()),
    ])
}

fn operations(measured: &Measured) -> Vec<OperationReport> {
    let outcome = &measured.outcome;
    let report = |(kind, histogram): (&OperationKind, &load::Histogram)| {
        let Summary { replies, mean_us, p50_us, p95_us, p99_us, p999_us, max_us } = Summary::of(histogram);
        OperationReport {
            operation: name(*kind).to_owned(),
            replies,
            errors: outcome.failed.get(kind).copied().unwrap_or(0),
            throughput: if outcome.elapsed_s > 0.0 { replies as f64 / outcome.elapsed_s } else { 0.0 },
            latency: Latency { mean: mean_us, p50: p50_us, p95: p95_us, p99: p99_us, p999: p999_us, max: max_us },
            spectrum: spectrum(histogram),
        }
    };
    outcome.latencies.iter().map(report).collect()
}

fn timeline(measured: &Measured) -> Vec<Second> {
    let readings = &measured.readings;
    let second = |second: &load::Second| {
        let end = second.start_s + second.length_s;
        let operation = |(kind, one): (&OperationKind, &Summary)| {
            let Summary { replies, p50_us, p95_us, p99_us, p999_us, max_us, .. } = *one;
            (name(*kind).to_owned(), SecondOperation { replies, p50: p50_us, p95: p95_us, p99: p99_us, p999: p999_us, max: max_us })
        };
        let at_end = nearest(readings, end);
        let at_start = nearest(readings, second.start_s);
        let both = at_start.zip(at_end);
        Second {
            second: end,
            operations: second.operations.iter().map(operation).collect(),
            errors: second.errors,
            target_cpu_s: both.and_then(|(start, end)| rise_f(start.cpu_s, end.cpu_s)),
            target_memory: at_end.and_then(|end| end.memory),
            device_read: both.and_then(|(start, end)| rise(start.device_read, end.device_read)),
            device_written: both.and_then(|(start, end)| rise(start.device_written, end.device_written)),
            target_network_received: both.and_then(|(start, end)| rise(start.network_received, end.network_received)),
            target_network_sent: both.and_then(|(start, end)| rise(start.network_sent, end.network_sent)),
        }
    };
    measured.outcome.seconds.iter().map(second).collect()
}

/// The reading that was made closest to a second, if one was made within half of one.
fn nearest(readings: &[Reading], second: f64) -> Option<ProcessFigures> {
    let at = readings.partition_point(|reading| reading.second < second);
    let near = readings[at.saturating_sub(1)..readings.len().min(at + 1)].iter();
    let closest = near.min_by(|one, other| (one.second - second).abs().total_cmp(&(other.second - second).abs()))?;
    ((closest.second - second).abs() <= 0.6).then_some(closest.sample)
}

/// How much a counter rose; nothing when it fell: another process counts from zero.
fn rise(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    before.zip(after).and_then(|(before, after)| after.checked_sub(before))
}

fn rise_f(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    before.zip(after).map(|(before, after)| after - before).filter(|rise| *rise >= 0.0)
}

fn resources(measured: &Measured, target_cpus: Option<usize>) -> Resources {
    let (outcome, readings) = (&measured.outcome, &measured.readings);
    // Steps, not first and last reading: a target that was restarted counts from zero again.
    let steps = || readings.windows(2).map(|pair| (pair[0].sample, pair[1].sample));
    let sum = |of: fn(&ProcessFigures) -> Option<u64>| {
        let rises: Vec<u64> = steps().filter_map(|(before, after)| rise(of(&before), of(&after))).collect();
        (!rises.is_empty()).then(|| rises.iter().sum())
    };
    let cpu: Vec<f64> = steps().filter_map(|(before, after)| rise_f(before.cpu_s, after.cpu_s)).collect();
    let target_cpu_s = (!cpu.is_empty()).then(|| cpu.iter().sum::<f64>());
    let target_busy = target_cpu_s.zip(target_cpus).map(|(spent, cpus)| spent / outcome.elapsed_s.max(f64::EPSILON) / cpus as f64);
    let busiest = outcome.client_busiest();
    Resources {
        target_cpu_s,
        target_memory_peak: readings.iter().filter_map(|reading| reading.sample.memory_peak.or(reading.sample.memory)).max(),
        device_read: sum(|sample| sample.device_read),
        device_written: sum(|sample| sample.device_written),
        target_network_received: sum(|sample| sample.network_received),
        target_network_sent: sum(|sample| sample.network_sent),
        network_received: outcome.bytes_received,
        network_sent: outcome.bytes_sent,
        client_cpu_s: outcome.client_cpu_s(),
        client_busiest: busiest,
        client_limited: busiest >= BUSY && target_busy.is_none_or(|busy| busy < TARGET_BUSY),
    }
}

/// Standard deviation by mean of windows of ten seconds.
fn variation(replies: &[f64]) -> Option<f64> {
    let windows: Vec<f64> = replies.chunks_exact(WINDOW_SECONDS).map(|window| window.iter().sum()).collect();
    if windows.len() < 2 {
        return None;
    }
    let mean = mean(&windows);
    let variance = windows.iter().map(|window| (window - mean).powi(2)).sum::<f64>() / windows.len() as f64;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

/// Throughput of the last tenth by that of the first.
fn drift(replies: &[f64]) -> Option<f64> {
    if replies.len() < DRIFT_SECONDS_MIN {
        return None;
    }
    let tenth = replies.len() / 10;
    let (first, last) = (mean(&replies[..tenth]), mean(&replies[replies.len() - tenth..]));
    (first > 0.0).then(|| last / first)
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// What an event did to throughput: `before` (replies a second), `lowest` (its share of before), `shows_after_s` (the first second below nine
/// tenths of before), `silent_s` (seconds without a reply), `longest_us` (the slowest reply), `errors`, `recovered_after_s` (back for three
/// seconds).
fn dip(replies: &[f64], timeline: &[Second], steady_until: f64, event: &Event, until: f64) -> BTreeMap<String, f64> {
    let at = event.second as usize;
    let end = (until as usize).max(at);
    let before = mean(&replies[..(steady_until as usize).min(replies.len())]);
    let mut figures = BTreeMap::from([("before".to_owned(), before)]);
    if at >= replies.len() || before <= 0.0 {
        return figures;
    }
    let after = &replies[at..];
    let own = &replies[at..end.min(replies.len())];
    let seconds = &timeline[at..end.min(timeline.len())];
    let low = |value: &f64| *value < before * RECOVERED_SHARE;
    figures.insert("lowest".to_owned(), own.iter().copied().fold(f64::INFINITY, f64::min).min(before) / before);
    figures.insert("silent_s".to_owned(), own.iter().filter(|value| **value == 0.0).count() as f64);
    let longest = seconds.iter().flat_map(|second| second.operations.values()).map(|one| one.max).fold(0.0, f64::max);
    figures.insert("longest_us".to_owned(), longest);
    figures.insert("errors".to_owned(), seconds.iter().map(|second| second.errors as f64).sum());
    if let Some(shows) = own.iter().position(low) {
        figures.insert("shows_after_s".to_owned(), shows as f64);
        let back = after[shows..].windows(RECOVERED_SECONDS).position(|window| !window.iter().any(low));
        if let Some(back) = back {
            figures.insert("recovered_after_s".to_owned(), (shows + back) as f64);
        }
    }
    figures
}

/// A phase in a line, for the console.
pub(super) fn line(report: &PhaseReport) -> String {
    let mut line = format!("{} ops/s in {}", count(report.throughput as u64), duration(report.seconds));
    for operation in &report.operations {
        let Latency { p50, p99, max, .. } = operation.latency;
        line += &format!("; {} p50 {}, p99 {}, max {}", operation.operation, latency(p50), latency(p99), latency(max));
    }
    let errors: u64 = report.errors.iter().map(|error| error.count).sum();
    if errors > 0 {
        line += &format!("; {} errors", count(errors));
    }
    line
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn variation_and_drift_need_time_and_tell_saw_teeth_from_decline() {
        assert_eq!((variation(&[5.0; 19]), drift(&[5.0; 19])), (None, None));
        assert_eq!((variation(&[5.0; 30]), drift(&[5.0; 30])), (Some(0.0), Some(1.0)));
        let teeth: Vec<f64> = (0..40).map(|second| if second / 10 % 2 == 0 { 100.0 } else { 50.0 }).collect();
        assert!((variation(&teeth).unwrap() - 1.0 / 3.0).abs() < 1e-9);
        let decline: Vec<f64> = (0..100).map(|second| f64::from(100 - second / 2)).collect();
        assert!(drift(&decline).unwrap() < 0.6);
    }

    #[test]
    fn a_counter_that_starts_again_has_not_risen() {
        assert_eq!((rise(Some(5), Some(9)), rise(Some(9), Some(5)), rise(None, Some(5))), (Some(4), None, None));
        assert_eq!(rise_f(Some(2.0), Some(1.0)), None);
    }

    #[test]
    fn a_reading_far_away_is_none() {
        let reading = |second| Reading { second, sample: ProcessFigures { memory: Some(second as u64), ..ProcessFigures::default() } };
        let readings = [reading(0.0), reading(1.1), reading(4.0)];
        assert_eq!(nearest(&readings, 1.0).unwrap().memory, Some(1));
        assert_eq!(nearest(&readings, 0.4).unwrap().memory, Some(0));
        assert_eq!((nearest(&readings, 2.5), nearest(&[], 1.0)), (None, None));
        assert_eq!(nearest(&readings, 4.5).unwrap().memory, Some(4));
    }

    fn second(replies: u64, max: f64, errors: u64) -> Second {
        Second {
            second: 0.0,
            operations: BTreeMap::from([("read".to_owned(), SecondOperation { replies, max, ..SecondOperation::default() })]),
            errors,
            target_cpu_s: None,
            target_memory: None,
            device_read: None,
            device_written: None,
            target_network_received: None,
            target_network_sent: None,
        }
    }

    #[test]
    fn a_dip_has_depth_length_and_an_end() {
        let mut replies = vec![100.0; 10];
        replies.extend([0.0, 0.0, 0.0, 40.0, 95.0, 100.0, 100.0, 100.0]);
        let timeline = vec![second(0, 1500.0, 2); 18];
        let event = Event { second: 9.2, what: "kill-node".to_owned(), figures: BTreeMap::new() };
        let figures = dip(&replies, &timeline, 9.2, &event, f64::INFINITY);
        let expected = [
            ("before", 100.0),
            ("lowest", 0.0),
            ("silent_s", 3.0),
            ("longest_us", 1500.0),
            ("errors", 18.0),
            ("shows_after_s", 1.0),
            ("recovered_after_s", 5.0),
        ];
        assert_eq!(figures, expected.map(|(name, value)| (name.to_owned(), value)).into());
        let never = dip(&[100.0, 0.0, 0.0, 0.0, 0.0], &timeline[..5], 1.0, &Event { second: 1.0, ..event }, f64::INFINITY);
        assert!(!never.contains_key("recovered_after_s"));
    }

    #[test]
    fn a_last_second_that_is_short_is_no_dip() {
        let mut timeline = vec![second(100, 0.0, 0); 10];
        timeline.push(second(1, 0.0, 3));
        let event = Event { second: 5.0, what: "start-node".to_owned(), figures: BTreeMap::new() };
        let figures = dip(&replies_of_whole_seconds(&timeline), &timeline, 5.0, &event, f64::INFINITY);
        assert_eq!((figures["lowest"], figures["errors"], figures.get("shows_after_s")), (1.0, 3.0, None));
    }
}
