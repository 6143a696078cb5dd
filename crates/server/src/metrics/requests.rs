//! How many requests clients have made, and how long they took: on all cores together.

use super::family::family;
use ::node::{LATENCY_BOUNDS_US, Latencies, MEASURED_PROTOCOLS, Report, RequestKind};
use std::fmt::Write;

pub(super) fn write(out: &mut String, report: &Report) {
    let name = "tarndb_request_duration_seconds";
    let help = "From when this node had a request of a client to when its reply was made, by protocol and kind.";
    family(out, name, "histogram", help, std::iter::empty::<(String, u64)>());
    for (protocol, protocol_name) in MEASURED_PROTOCOLS.iter().enumerate() {
        for kind in RequestKind::ALL {
            let all = latencies(report, protocol, kind);
            write_histogram(out, name, &format!("protocol=\"{protocol_name}\",kind=\"{}\"", kind.name()), &all);
        }
    }
    let errors = MEASURED_PROTOCOLS.iter().enumerate().map(|(protocol, name)| {
        let errors = report.cores.iter().map(|core| core.requests.errors[protocol]).sum::<u64>();
        (format!("{{protocol=\"{name}\"}}"), errors)
    });
    family(out, "tarndb_request_errors_total", "counter", "Requests that were answered with an error.", errors);
}

/// How long requests took on all cores.
pub(crate) fn latencies(report: &Report, protocol: usize, kind: RequestKind) -> Latencies {
    let cores = report.cores.iter().map(|core| &core.requests.latencies[protocol][kind as usize]);
    cores.fold(Latencies::default(), |mut all, core| {
        all.sum_us += core.sum_us;
        all.buckets.iter_mut().zip(core.buckets).for_each(|(all, one)| *all += one);
        all
    })
}

fn write_histogram(out: &mut String, name: &str, labels: &str, latencies: &Latencies) {
    let bounds = LATENCY_BOUNDS_US.iter().map(|us| format!("{}", *us as f64 / 1e6)).chain(std::iter::once("+Inf".to_owned()));
    let mut count = 0;
    for (bound, requests) in bounds.zip(latencies.buckets) {
        count += requests;
        let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
    }
    let _ = writeln!(out, "{name}_sum{{{labels}}} {:.6}\n{name}_count{{{labels}}} {count}", latencies.sum_us as f64 / 1e6);
}
