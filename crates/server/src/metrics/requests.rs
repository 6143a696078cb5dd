//! How many requests clients have made, and how long they and operations of the device took: on all cores together.

use super::engine::escaped;
use super::family::family;
use ::node::{
    CoreReport, DISK_BOUNDS_US, DiskHistogram, LATENCY_BOUNDS_US, Latencies, MEASURED_PROTOCOLS, Report, RequestKind, TableRequest,
    by_table,
};
use model::Schema;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

/// So many pairs of table and kind have figures.
const SERIES_MAX: usize = 300;

pub(super) fn write(out: &mut String, report: &Report) {
    let name = "tarndb_request_duration_seconds";
    let help = "From when this node had a request of a client to when its reply was made, by protocol and kind.";
    family(out, name, "histogram", help, std::iter::empty::<(String, u64)>());
    for (protocol, protocol_name) in MEASURED_PROTOCOLS.iter().enumerate() {
        for kind in RequestKind::ALL {
            let all = latencies(report, protocol, kind);
            let labels = format!("protocol=\"{protocol_name}\",kind=\"{}\"", kind.name());
            write_histogram(out, name, &labels, (&LATENCY_BOUNDS_US, &all.buckets), all.sum_us);
        }
    }
    let help = "Requests that were answered with an error, by the number that it has in the protocol.";
    let errors = MEASURED_PROTOCOLS.iter().enumerate().flat_map(|(protocol, name)| {
        let by_code = errors(report, protocol).into_iter();
        by_code.map(move |(code, errors)| (format!("{{protocol=\"{name}\",code=\"{}\"}}", code_name(protocol, code)), errors))
    });
    family(out, "tarndb_request_errors_total", "counter", help, errors);
}

/// Requests about the tables that most are about.
pub(super) fn write_tables(out: &mut String, report: &Report, schema: &Schema) {
    let mut all = Vec::new();
    for request in TableRequest::ALL {
        let sums = by_table(report.cores.iter().map(|core| &core.requests.tables), request);
        let known = schema.tables().filter_map(|table| Some((table, request, *sums.get(&table.id)?)));
        all.extend(known.filter(|(.., figures)| figures.latencies.count() > 0));
    }
    all.sort_unstable_by_key(|(table, request, figures)| (Reverse(figures.latencies.count()), table.id, *request as usize));
    all.truncate(SERIES_MAX);
    let mut of_each = |name: &str, help: &str, figure: fn(&Latencies) -> f64| {
        let values = all.iter().map(|(table, request, figures)| {
            let (keyspace, name, kind) = (escaped(&table.keyspace), escaped(&table.name), request.name());
            (format!("{{keyspace=\"{keyspace}\",table=\"{name}\",kind=\"{kind}\"}}"), figure(&figures.latencies))
        });
        family(out, name, "counter", help, values);
    };
    let help = "Requests of clients about one table, of the tables with the most: reads of partitions, scans and writes.";
    of_each("tarndb_table_requests_total", help, |latencies| latencies.count() as f64);
    let help = "How long these took together.";
    of_each("tarndb_table_request_seconds_total", help, |latencies| latencies.sum_us as f64 / 1e6);
}

/// The number of those that are not counted each by itself.
const OTHERS: i32 = i32::MAX;

/// Errors of a protocol on all cores, by their numbers.
fn errors(report: &Report, protocol: usize) -> BTreeMap<i32, u64> {
    let mut all = BTreeMap::new();
    for errors in report.cores.iter().map(|core| &core.requests.errors[protocol]) {
        // Others are always there: there is a series before the first error.
        for (code, count) in errors.by_code.iter().copied().chain([(OTHERS, errors.others)]) {
            *all.entry(code).or_default() += count;
        }
    }
    all
}

/// A number as the documents of its protocol write it: CQL's in hexadecimal.
fn code_name(protocol: usize, code: i32) -> String {
    match code {
        OTHERS => "other".to_owned(),
        code if MEASURED_PROTOCOLS[protocol] == "cql" => format!("0x{code:04x}"),
        code => code.to_string(),
    }
}

/// How long requests took on all cores.
pub(crate) fn latencies(report: &Report, protocol: usize, kind: RequestKind) -> Latencies {
    let cores = report.cores.iter().map(|core| &core.requests.latencies[protocol][kind as usize]);
    cores.fold(Latencies::default(), |mut all, core| {
        all.merge(core);
        all
    })
}

/// A kind of operation of the device, by its name.
type DiskKind = (&'static str, fn(&CoreReport) -> &DiskHistogram);

/// How long operations of the device took, on all cores together.
pub(super) fn write_device(out: &mut String, report: &Report) {
    let name = "tarndb_device_operation_duration_seconds";
    let help = "From when a core asked its device for a read, a write or a sync to when it saw that it was done.";
    family(out, name, "histogram", help, std::iter::empty::<(String, u64)>());
    let kinds: [DiskKind; 3] = [("read", |core| &core.disk.reads), ("write", |core| &core.disk.writes), ("sync", |core| &core.disk.syncs)];
    for (kind, of) in kinds {
        let mut all = DiskHistogram::default();
        report.cores.iter().for_each(|core| all.merge(of(core)));
        write_histogram(out, name, &format!("operation=\"{kind}\""), (&DISK_BOUNDS_US, &all.buckets), all.sum_us);
    }
}

fn write_histogram(out: &mut String, name: &str, labels: &str, (bounds_us, buckets): (&[u64], &[u64]), sum_us: u64) {
    let bounds = bounds_us.iter().map(|us| format!("{}", *us as f64 / 1e6)).chain(std::iter::once("+Inf".to_owned()));
    let mut count = 0;
    for (bound, counted) in bounds.zip(buckets) {
        count += counted;
        let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
    }
    let _ = writeln!(out, "{name}_sum{{{labels}}} {:.6}\n{name}_count{{{labels}}} {count}", sum_us as f64 / 1e6);
}
