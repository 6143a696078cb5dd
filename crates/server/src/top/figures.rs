//! What happened between two looks at a node.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is used of `GET /api/v1/overview`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Overview {
    pub(super) version: String,
    pub(super) time_ms: u64,
    pub(super) problems: Vec<String>,
    pub(super) cluster: Option<Cluster>,
    pub(super) memory_limit_bytes: u64,
    pub(super) cores: Vec<Core>,
    pub(super) latency_bounds_us: Vec<u64>,
    pub(super) requests: Vec<Requests>,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) tables: Vec<Table>,
    pub(super) process: Process,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Cluster {
    pub(super) name: String,
    pub(super) node: Option<u32>,
    pub(super) leader: Option<u32>,
    pub(super) members: Vec<Member>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Member {
    pub(super) id: u32,
    pub(super) state: String,
    pub(super) address: String,
    pub(super) primaries: u32,
    pub(super) replicas: u32,
    pub(super) learners: u32,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Core {
    pub(super) core: u16,
    pub(super) connections: u32,
    pub(super) rows: u64,
    pub(super) memory_bytes: u64,
    pub(super) index_bytes: u64,
    pub(super) frame_bytes: u64,
    pub(super) waiting_bytes: u64,
    pub(super) device_used_bytes: u64,
    pub(super) device_capacity_bytes: u64,
    pub(super) live_bytes: u64,
    pub(super) segments_free: u64,
    pub(super) primaries: u32,
    pub(super) device_reads: u64,
    pub(super) device_bytes_written: u64,
    pub(super) user_bytes: u64,
    pub(super) defrag_bytes: u64,
    pub(super) page_bytes: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Requests {
    pub(super) protocol: String,
    pub(super) kind: String,
    pub(super) buckets: Vec<u64>,
    pub(super) sum_us: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Table {
    pub(super) keyspace: String,
    pub(super) table: String,
    pub(super) partitions: u64,
    pub(super) bytes: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Process {
    pub(super) cpu_s: Option<f64>,
    pub(super) resident_bytes: Option<u64>,
    pub(super) started_s: Option<f64>,
}

impl Overview {
    pub(super) fn sum(&self, figure: fn(&Core) -> u64) -> u64 {
        self.cores.iter().map(figure).sum()
    }

    /// Bytes that the log has got for a byte of writers.
    pub(super) fn write_amplification(&self) -> Option<f64> {
        let user = self.sum(|core| core.user_bytes);
        let all = user + self.sum(|core| core.defrag_bytes + core.page_bytes);
        (user > 0).then(|| all as f64 / user as f64)
    }
}

/// Requests of one kind, or of all.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) name: String,
    /// A second.
    pub(super) rate: f64,
    /// The ends of the buckets that half, 99 % and 99.9 % of requests are within; none without requests, or beyond the last.
    pub(super) percentiles_us: [Option<u64>; 3],
    pub(super) mean_us: Option<f64>,
}

/// What happened between two looks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figures {
    pub(super) rows: Vec<Row>,
    pub(super) errors: f64,
    pub(super) cpus: Option<f64>,
    pub(super) device_reads: f64,
    pub(super) device_bytes_written: f64,
}

impl Figures {
    /// A node that was restarted in between counts from nothing: all of its figures are since then.
    pub(super) fn between(before: &Overview, now: &Overview) -> Self {
        let seconds = (now.time_ms.saturating_sub(before.time_ms) as f64 / 1e3).max(0.001);
        let is_same = before.process.started_s == now.process.started_s;
        let nothing = Overview::default();
        let before = if is_same { before } else { &nothing };
        let per_second = |figure: &dyn Fn(&Overview) -> u64| figure(now).saturating_sub(figure(before)) as f64 / seconds;
        let changes: Vec<Requests> = now.requests.iter().map(|requests| change(&before.requests, requests)).collect();
        let bounds = &now.latency_bounds_us;
        let shown = changes.iter().zip(&now.requests).filter(|(_, since_start)| since_start.buckets.iter().any(|count| *count > 0));
        let mut rows: Vec<Row> = shown.map(|(one, _)| row(format!("{} {}", one.protocol, one.kind), &[one], bounds, seconds)).collect();
        rows.push(row("all".to_owned(), &changes.iter().collect::<Vec<_>>(), bounds, seconds));
        Self {
            rows,
            errors: per_second(&|of| of.errors.values().sum()),
            cpus: now.process.cpu_s.map(|cpu_s| (cpu_s - before.process.cpu_s.unwrap_or(0.0)).max(0.0) / seconds),
            device_reads: per_second(&|of| of.sum(|core| core.device_reads)),
            device_bytes_written: per_second(&|of| of.sum(|core| core.device_bytes_written)),
        }
    }

    pub(super) fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let [p50, p99, p999] = row.percentiles_us;
            json!({"requests": row.name, "per_second": row.rate, "p50_us": p50, "p99_us": p99, "p999_us": p999, "mean_us": row.mean_us})
        });
        json!({
            "requests": rows.collect::<Vec<_>>(),
            "errors_per_second": self.errors,
            "cpus": self.cpus,
            "device_reads_per_second": self.device_reads,
            "device_bytes_written_per_second": self.device_bytes_written,
        })
    }
}

fn change(before: &[Requests], now: &Requests) -> Requests {
    let then = before.iter().find(|then| then.protocol == now.protocol && then.kind == now.kind);
    let counted = |at: usize| then.and_then(|then| then.buckets.get(at)).copied().unwrap_or(0);
    Requests {
        buckets: now.buckets.iter().enumerate().map(|(at, count)| count.saturating_sub(counted(at))).collect(),
        sum_us: now.sum_us.saturating_sub(then.map_or(0, |then| then.sum_us)),
        ..now.clone()
    }
}

fn row(name: String, parts: &[&Requests], bounds: &[u64], seconds: f64) -> Row {
    let mut buckets = vec![0; bounds.len() + 1];
    for part in parts {
        buckets.iter_mut().zip(&part.buckets).for_each(|(all, one)| *all += one);
    }
    let count: u64 = buckets.iter().sum();
    let sum_us: u64 = parts.iter().map(|part| part.sum_us).sum();
    Row {
        name,
        rate: count as f64 / seconds,
        percentiles_us: [0.5, 0.99, 0.999].map(|part| percentile(&buckets, bounds, part)),
        mean_us: (count > 0).then(|| sum_us as f64 / count as f64),
    }
}

fn percentile(buckets: &[u64], bounds: &[u64], part: f64) -> Option<u64> {
    let count: u64 = buckets.iter().sum();
    let wanted = (part * count as f64).ceil() as u64;
    let mut seen = 0;
    let at = buckets.iter().position(|requests| {
        seen += requests;
        seen >= wanted.max(1)
    })?;
    bounds.get(at).copied()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A node after so many seconds, with so many reads in each bucket.
    pub(in crate::top) fn node(seconds: u64, reads: [u64; 3]) -> Overview {
        let requests = |kind: &str, buckets: [u64; 3]| Requests {
            protocol: "cql".to_owned(),
            kind: kind.to_owned(),
            buckets: buckets.to_vec(),
            sum_us: buckets[0] * 10 + buckets[1] * 100,
        };
        Overview {
            version: "0.1.0".to_owned(),
            time_ms: 1_000_000 + seconds * 1000,
            latency_bounds_us: vec![25, 6_000],
            requests: vec![requests("read", reads), requests("write", [0; 3])],
            errors: BTreeMap::from([("cql".to_owned(), 2 * seconds)]),
            cores: vec![Core { device_reads: 3 * seconds, user_bytes: 100, defrag_bytes: 25, ..Core::default() }],
            process: Process { cpu_s: Some(seconds as f64 / 2.0), resident_bytes: None, started_s: Some(7.0) },
            ..Overview::default()
        }
    }

    #[test]
    fn rates_and_percentiles_are_of_what_was_in_between() {
        let figures = Figures::between(&node(10, [100, 0, 0]), &node(12, [298, 2, 0]));
        let [read, all] = &figures.rows[..] else { panic!("{figures:?}") };
        assert_eq!((read.name.as_str(), read.rate, read.percentiles_us), ("cql read", 100.0, [Some(25), Some(25), Some(6_000)]));
        assert_eq!(read.mean_us, Some((198.0 * 10.0 + 200.0) / 200.0));
        assert_eq!((all.name.as_str(), all.rate), ("all", 100.0));
        assert_eq!((figures.errors, figures.cpus, figures.device_reads), (2.0, Some(0.5), 3.0));
        assert_eq!(node(0, [0; 3]).write_amplification(), Some(1.25));
    }

    #[test]
    fn what_took_longer_than_all_bounds_has_no_end_and_nothing_has_no_latency() {
        assert_eq!(percentile(&[1, 0, 9], &[25, 6_000], 0.5), None);
        assert_eq!(percentile(&[0, 0, 0], &[25, 6_000], 0.5), None);
        assert_eq!(percentile(&[1, 0, 0], &[25, 6_000], 0.999), Some(25));
    }

    #[test]
    fn a_restarted_node_counts_from_nothing() {
        let restarted = Overview { process: Process { started_s: Some(1009.0), ..Process::default() }, ..node(12, [4, 0, 0]) };
        assert_eq!(Figures::between(&node(10, [1000, 0, 0]), &restarted).rows[0].rate, 2.0);
    }
}
