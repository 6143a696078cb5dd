//! Made-up reports, the same every time: what real ones look like, and the odd ones.

use bench::report::model::{
    Cost, ErrorCount, Event, Latency, OperationReport, Paper, PaperResult, PhaseKind, PhaseReport, Ratio, Report, Resources, SCHEMA,
    Second, SecondOperation, Spread, StudyInfo, TargetReport, Verified,
};
use bench::statistics::Summary;
use std::collections::BTreeMap;

/// How a target behaves.
struct Shape {
    /// Replies a second of all operations together.
    rate: f64,
    /// Microseconds.
    p50: f64,
    /// How far p99.9 is from p50: 1 is close.
    tail: f64,
    /// Seconds between two compactions; 0: none.
    saw: f64,
}

/// A number in 0..1 that depends on nothing but its arguments (splitmix64).
fn noise(seed: u64, at: u64) -> f64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(at.wrapping_mul(0xD1B5_4A32_D192_ED03));
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// A report's name, and what makes it.
pub(crate) type Made = (&'static str, fn() -> Report);

/// Every kind of report there is.
pub(crate) const ALL: [Made; 10] = [
    ("aerospike-cassandra", || aerospike_cassandra(600, 1.0)),
    ("improved", || aerospike_cassandra(600, 1.3)),
    ("griddb-scaleout", griddb_scaleout),
    ("resilience", resilience),
    ("incomplete", incomplete),
    ("empty", empty),
    ("hostile", hostile),
    ("repeats", repeats),
    ("repeats-scaleout", repeats_scaleout),
    ("long", || aerospike_cassandra(43_200, 1.0)),
];

fn map<V>(entries: &[(&str, V)]) -> BTreeMap<String, V>
where
    V: Clone,
{
    entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn texts(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn latencies(p50: f64, tail: f64) -> Latency {
    Latency {
        mean: p50 * (1.1 + tail * 0.2),
        p50,
        p95: p50 * (1.6 + tail * 0.5),
        p99: p50 * (2.1 + tail * 1.6),
        p999: p50 * (3.0 + tail * 6.0),
        max: p50 * (6.0 + tail * 40.0),
    }
}

/// Percentiles nearer and nearer to 100, through those of `latency`.
fn spectrum(latency: &Latency) -> Vec<(f64, f64)> {
    let known =
        [(0.0, latency.p50 * 0.6), (0.301, latency.p50), (1.301, latency.p95), (2.0, latency.p99), (3.0, latency.p999), (5.5, latency.max)];
    (0..=220)
        .map(|step| {
            let place = f64::from(step) * 0.025;
            let after = known.iter().position(|(other, _)| *other >= place).unwrap_or(known.len() - 1).max(1);
            let ((x0, y0), (x1, y1)) = (known[after - 1], known[after]);
            let share = ((place - x0) / (x1 - x0)).clamp(0.0, 1.0);
            let percentile = if step == 220 { 100.0 } else { 100.0 - 100.0 / 10f64.powf(place) };
            (percentile, y0 * (y1 / y0).powf(share))
        })
        .collect()
}

/// A second of a target: sinks while a compaction runs.
fn second(end: u32, shape: &Shape, mix: &[(&str, f64, f64)], seed: u64) -> Second {
    let at = f64::from(end);
    let compacting = if shape.saw > 0.0 { ((at % shape.saw) / shape.saw - 0.45).max(0.0) * 1.8 } else { 0.0 };
    let rate = shape.rate * (1.0 - 0.55 * compacting) * (0.98 + 0.04 * noise(seed, end.into()));
    let slower = 1.0 + 3.0 * compacting + 0.1 * noise(seed + 1, end.into());
    let stall: f64 = if shape.saw > 0.0 && noise(seed + 2, end.into()) > 0.985 { 8.0 } else { 1.0 };
    let operations = mix.iter().map(|(name, share, factor)| {
        let figures = latencies(shape.p50 * factor * slower, shape.tail);
        let operation = SecondOperation {
            replies: (rate * share) as u64,
            p50: figures.p50,
            p95: figures.p95,
            p99: figures.p99 * stall.min(2.0),
            p999: figures.p999 * stall * (0.8 + 0.5 * noise(seed + 3, end.into())),
            max: figures.max * stall,
        };
        ((*name).to_owned(), operation)
    });
    Second {
        second: at + 0.003 * noise(seed + 4, end.into()),
        operations: operations.collect(),
        errors: 0,
        target_cpu_s: Some((0.82 + 0.15 * compacting + 0.02 * noise(seed + 5, end.into())).min(1.0)),
        target_memory: Some((1_600_000_000.0 + 3.0e8 * (at / 60.0).min(1.0) + 1.2e8 * compacting) as u64),
        device_read: Some((rate * 480.0 + 9.0e7 * compacting) as u64),
        device_written: Some((rate * 620.0 + 8.0e7 * compacting) as u64),
        target_network_received: Some((rate * 1_270.0) as u64),
        target_network_sent: Some((rate * 1_290.0) as u64),
    }
}

fn phase(name: &str, kind: PhaseKind, started_s: f64, seconds: u32, shape: &Shape, mix: &[(&str, f64, f64)], seed: u64) -> PhaseReport {
    let timeline: Vec<Second> = (1..=seconds).map(|end| second(end, shape, mix, seed)).collect();
    let length = f64::from(seconds);
    let operations: Vec<OperationReport> = mix
        .iter()
        .map(|(name, _, factor)| {
            let replies = timeline.iter().map(|second| second.operations[*name].replies).sum::<u64>();
            let latency = latencies(shape.p50 * factor * if shape.saw > 0.0 { 1.7 } else { 1.0 }, shape.tail);
            let spectrum = spectrum(&latency);
            OperationReport { operation: (*name).to_owned(), replies, errors: 0, throughput: replies as f64 / length, latency, spectrum }
        })
        .collect();
    let replies: u64 = operations.iter().map(|operation| operation.replies).sum();
    PhaseReport {
        name: name.to_owned(),
        kind,
        started_s,
        seconds: length,
        complete: true,
        unknown: false,
        settings: texts(&[("threads", "800"), ("connections", "16"), ("pace", "closed loop"), ("distribution", "uniform")]),
        throughput: replies as f64 / length,
        operations,
        errors: Vec::new(),
        verified: Verified::default(),
        variation: (seconds >= 20).then_some(if shape.saw > 0.0 { 0.214 } else { 0.0081 }),
        drift: (seconds >= 20).then_some(if shape.saw > 0.0 { 0.83 } else { 0.998 }),
        resources: Resources {
            target_cpu_s: Some(timeline.iter().filter_map(|second| second.target_cpu_s).sum()),
            target_memory_peak: timeline.iter().filter_map(|second| second.target_memory).max(),
            device_read: Some(timeline.iter().filter_map(|second| second.device_read).sum()),
            device_written: Some(timeline.iter().filter_map(|second| second.device_written).sum()),
            target_network_received: Some(timeline.iter().filter_map(|second| second.target_network_received).sum()),
            target_network_sent: Some(timeline.iter().filter_map(|second| second.target_network_sent).sum()),
            network_received: replies * 620,
            network_sent: replies * 580,
            client_cpu_s: replies as f64 * 2.4e-6,
            client_busiest: 0.61,
            client_limited: false,
        },
        timeline,
        events: Vec::new(),
        histogram_log: Some(format!("{name}-{seed}.hlog")),
        histogram_log_failure: None,
    }
}

fn quiet(name: &str, kind: PhaseKind, started_s: f64, seconds: f64) -> PhaseReport {
    PhaseReport { seconds, complete: true, ..PhaseReport::begun(name, kind, started_s) }
}

fn target(name: &str, server: &str, nodes: u32, phases: Vec<PhaseReport>) -> TargetReport {
    TargetReport {
        name: name.to_owned(),
        given: name.to_owned(),
        protocol: "cql".to_owned(),
        address: "127.0.0.1:9042".to_owned(),
        server: server.to_owned(),
        nodes,
        round: 1,
        settings: texts(&[("cores", "1 (cpu 0)"), ("durability", "memory, flush every 100 ms"), ("memory limit", "2.00 GiB")]),
        phases,
        costs: Vec::new(),
        failure: None,
    }
}

fn report(name: &str, title: &str, targets: Vec<TargetReport>) -> Report {
    Report {
        schema: SCHEMA,
        study: StudyInfo {
            name: name.to_owned(),
            title: title.to_owned(),
            description: "A half of the requests reads a row, the other half overwrites one; keys are chosen uniformly, so that caches help little. \
                          The data is larger than the memory of each server.\n\nEach target runs alone, on the same cores, with the same durability."
                .to_owned(),
            paper: None,
            file: format!("name = \"{name}\"\ntitle = \"{title}\"\n\n[dataset]\nrows = 4_000_000\nfields = 10\nfield_bytes = 100\n\n[[phase]]\nname = \"load\"\nkind = \"load\"\n"),
        },
        tool: "tarndb 0.1.0 (3191ac5)".to_owned(),
        command: ["tarndb", "bench", "run", name, "--scale", "0.01", "--out", "results of friday"].map(str::to_owned).to_vec(),
        started: "2026-11-20T18:02:11Z".to_owned(),
        seconds: targets.iter().flat_map(|target| &target.phases).map(|phase| phase.seconds).sum(),
        scale: 0.01,
        complete: true,
        warnings: Vec::new(),
        repeats: 1,
        environment: texts(&[
            ("CPU", "AMD EPYC 9R14"),
            ("CPUs of this process", "[0, 1]"),
            ("CPUs of the server", "[0]"),
            ("CPUs of the load generator", "[1]"),
            ("memory", "31.0 GiB"),
            ("kernel", "6.18.5"),
            ("file system of the data", "ext4 on /dev/vda1"),
            ("load of the machine before", "0.12"),
        ]),
        targets,
        ratios: Vec::new(),
        settings: texts(&[("--memory", "2147483648 bytes"), ("--seed", "1")]),
    }
}

const HALF: [(&str, f64, f64); 2] = [("read", 0.5, 1.0), ("update", 0.5, 0.8)];
const INSERT: [(&str, f64, f64); 1] = [("insert", 1.0, 1.2)];

fn aerospike_cassandra(seconds: u32, faster: f64) -> Report {
    let tarndb = Shape { rate: 82_000.0 * faster, p50: 210.0 / faster, tail: 1.0, saw: 0.0 };
    let cassandra = Shape { rate: 6_100.0, p50: 2_400.0, tail: 6.0, saw: f64::from(seconds) / 5.0 };
    let phases = |shape: &Shape, seed: u64, load: u32, settle: f64| {
        let mut settling = phase("settle", PhaseKind::Settle, f64::from(load), settle as u32, shape, &[], seed + 30);
        settling.histogram_log = None;
        let mut validate = phase("validate", PhaseKind::Validate, 2.0, 5, shape, &HALF, seed + 10);
        validate.verified = Verified { compared: 20_000, ..Verified::default() };
        let mut run = phase("run", PhaseKind::Run, f64::from(load) + settle, seconds, shape, &HALF, seed);
        run.verified = Verified { compared: run.operations[0].replies, ..Verified::default() };
        vec![
            quiet("check", PhaseKind::Check, 0.000_000_781, 0.012_345),
            validate,
            phase("load", PhaseKind::Load, 7.0, load, shape, &INSERT, seed + 20),
            settling,
            run,
        ]
    };
    let mut ours = target("tarndb", "TarnDB 0.1.0", 1, phases(&tarndb, 1, 60, 4.0));
    let mut theirs = target("cassandra", "Apache Cassandra 5.0.4", 1, phases(&cassandra, 100, 420, 190.0));
    theirs.settings.insert("heap".to_owned(), "1.5 GiB, G1".to_owned());
    for (target, rate) in [(&mut ours, tarndb.rate), (&mut theirs, cassandra.rate)] {
        target.costs.push(Cost { phase: "run".to_owned(), node_hour: 0.42, per_100m: 1e8 / rate / 3600.0 * 0.42 });
    }
    if let Some(run) = theirs.phases.last_mut() {
        run.errors = vec![ErrorCount { kind: "timeout".to_owned(), count: 37 }, ErrorCount { kind: "overloaded".to_owned(), count: 4 }];
        run.operations[0].errors = 41;
        for (at, second) in run.timeline.iter_mut().enumerate() {
            second.errors = u64::from(at % 97 == 96);
        }
    }
    let run = |target: &TargetReport| target.phases[4].clone();
    let (a, b) = (run(&ours), run(&theirs));
    let higher =
        |measure: &str, subject: f64, baseline: f64, paper: f64| ratio(measure, subject, baseline, "ops/s", subject / baseline, paper);
    let lower = |measure: &str, subject: f64, baseline: f64, paper: f64| {
        ratio(measure, subject / 1e3, baseline / 1e3, "ms", baseline / subject, paper)
    };
    let inserts = |target: &TargetReport| {
        (
            target.phases[2].throughput,
            target.phases[2].throughput * target.phases[2].seconds / (target.phases[2].seconds + target.phases[3].seconds),
        )
    };
    let ratios = vec![
        higher("run throughput", a.throughput, b.throughput, 14.0),
        lower("run read p95", a.operations[0].latency.p95, b.operations[0].latency.p95, 42.0),
        lower("run update p95", a.operations[1].latency.p95, b.operations[1].latency.p95, 24.0),
        higher("load throughput", inserts(&ours).0, inserts(&theirs).0, 8.0),
        higher("load throughput with settling", inserts(&ours).1, inserts(&theirs).1, 12.0),
        Ratio { subject_value: None, measured: None, ..higher("run scan p99", 0.0, 1.0, 3.0) },
    ];
    let mut made = report("aerospike-cassandra", "Twelve hours of reads and updates", vec![ours, theirs]);
    let mut study = bench::study::find("aerospike-cassandra").expect("it is shipped");
    study.scale(made.scale).expect("it leaves rows");
    study.last(seconds.into());
    made.study.file = study.file();
    made.study.paper = Some(Paper {
        citation: "Aerospike and Cassandra compared over twelve hours with YCSB, Aerospike Inc., 2016".to_owned(),
        url: "https://www.example.com/papers/twelve-hours?from=report&page=1".to_owned(),
        setup: "3 servers, 400 million records of 10 × 100 bytes, replication 2, uniform, 50 % reads and 50 % updates, 800 client threads, 12 hours.".to_owned(),
        results: vec![
            PaperResult { system: "Aerospike".to_owned(), nodes: Some(3), measure: "run throughput".to_owned(), value: 125_000.0, unit: "ops/s".to_owned() },
            PaperResult { system: "Cassandra".to_owned(), nodes: Some(3), measure: "run throughput".to_owned(), value: 8_900.0, unit: "ops/s".to_owned() },
        ],
    });
    made.ratios = ratios;
    made
}

/// `aerospike-cassandra` shorter, larger, on a smaller machine and of a later version.
#[allow(dead_code)] // Not every user of this file compares.
pub(crate) fn unlike() -> Report {
    let mut made = aerospike_cassandra(150, 1.3);
    made.scale = 0.3;
    let mut study = bench::study::Study::parse("aerospike-cassandra", &made.study.file).expect("a shipped study, scaled");
    study.scale(30.0).expect("it leaves rows");
    made.study.file = study.file();
    made.tool = "tarndb 0.2.0".to_owned();
    made.environment.insert("memory".to_owned(), "7.0 GiB".to_owned());
    made
}

fn ratio(measure: &str, subject: f64, baseline: f64, unit: &str, measured: f64, paper: f64) -> Ratio {
    Ratio {
        measure: measure.to_owned(),
        subject: "tarndb".to_owned(),
        baseline: "cassandra".to_owned(),
        subject_value: Some(subject),
        baseline_value: Some(baseline),
        unit: unit.to_owned(),
        measured: Some(measured),
        paper: Some(paper),
        subject_spread: None,
        baseline_spread: None,
        measured_spread: None,
    }
}

/// `aerospike-cassandra` three times, one time a tenth slower and one a quarter faster; in the second cassandra dies.
fn repeats() -> Report {
    let each = [1.0, 0.9, 1.25].map(|faster| aerospike_cassandra(120, faster));
    let mut made = each[0].clone();
    (made.repeats, made.complete) = (3, false);
    made.study.file = made.study.file.replacen("replication", "repeats = 3\nreplication", 1);
    made.targets = each
        .iter()
        .zip(1..)
        .flat_map(|(report, round)| report.targets.iter().cloned().map(move |target| TargetReport { round, ..target }))
        .collect();
    for target in &mut made.targets {
        for log in target.phases.iter_mut().filter_map(|phase| phase.histogram_log.as_mut()) {
            *log = format!("round-{}-{log}", target.round);
        }
    }
    let dead = &mut made.targets[3];
    dead.failure = Some("127.0.0.1:9142 closed every connection 41 s into run".to_owned());
    dead.costs.clear();
    dead.phases[4].complete = false;
    dead.phases[4].timeline.truncate(41);
    dead.phases[4].verified = Verified { compared: 1_000, lost: 2, ..Verified::default() };
    for (at, ratio) in made.ratios.iter_mut().enumerate() {
        let counts: Vec<&Ratio> = each
            .iter()
            .enumerate()
            .filter(|(round, _)| *round != 1 || ratio.measure.starts_with("load"))
            .map(|(_, report)| &report.ratios[at])
            .collect();
        let spread = |of: fn(&Ratio) -> Option<f64>| {
            let figures: Vec<f64> = counts.iter().filter_map(|ratio| of(ratio)).collect();
            let summary = Summary::of(figures.iter().copied());
            (
                summary.map(|summary| summary.median),
                summary.map(|summary| Spread { lowest: summary.least, highest: summary.most, rounds: figures.len() as u32 }),
            )
        };
        let (subject, baseline, measured) =
            (spread(|ratio| ratio.subject_value), spread(|ratio| ratio.baseline_value), spread(|ratio| ratio.measured));
        (ratio.subject_value, ratio.subject_spread) = subject;
        (ratio.baseline_value, ratio.baseline_spread) = baseline;
        (ratio.measured, ratio.measured_spread) = measured;
    }
    made
}

/// `griddb-scaleout` three times, each slower than the one before.
fn repeats_scaleout() -> Report {
    let mut made = griddb_scaleout();
    made.repeats = 3;
    let slower = |target: &TargetReport, round: u32| {
        let mut target = TargetReport { round, ..target.clone() };
        let factor = 1.0 - 0.08 * f64::from(round - 1);
        for phase in &mut target.phases {
            phase.throughput *= factor;
            phase.operations.iter_mut().for_each(|operation| operation.throughput *= factor);
        }
        target.costs.iter_mut().for_each(|cost| cost.per_100m /= factor);
        target
    };
    made.targets = (1..=3).flat_map(|round| made.targets.iter().map(move |target| slower(target, round)).collect::<Vec<_>>()).collect();
    made
}

fn griddb_scaleout() -> Report {
    let sizes = [(3, 1.0), (5, 1.63), (10, 3.1), (20, 5.9)].map(|(nodes, factor)| {
        let shape = |rate: f64, p50: f64| Shape { rate: rate * factor, p50, tail: 1.5, saw: 0.0 };
        let seed = u64::from(nodes);
        let write = phase("write", PhaseKind::Load, 1.0, 90, &shape(960_000.0, 350.0), &INSERT, seed);
        let read = phase("read", PhaseKind::Run, 95.0, 120, &shape(10_600_000.0, 120.0), &[("read", 1.0, 1.0)], seed + 50);
        let costs = [&write, &read].map(|phase| Cost {
            phase: phase.name.clone(),
            node_hour: 0.42,
            per_100m: 1e8 / phase.throughput / 3600.0 * 0.42 * f64::from(nodes),
        });
        let mut made = target("tarndb", "TarnDB 0.1.0", nodes, vec![write, read]);
        made.costs = costs.to_vec();
        made
    });
    let mut made = report("griddb-scaleout", "Three, five, ten and twenty nodes", sizes.to_vec());
    made.study.paper = Some(Paper {
        citation: "GridDB on 3 to 20 nodes, 2018".to_owned(),
        url: "https://www.example.com/griddb".to_owned(),
        setup: "200-byte records, 100 million written and read, a container for each thread, replication 3, compression.".to_owned(),
        results: vec![PaperResult {
            system: "GridDB".to_owned(),
            nodes: Some(20),
            measure: "read throughput".to_owned(),
            value: 62_800_000.0,
            unit: "ops/s".to_owned(),
        }],
    });
    made
}

fn resilience() -> Report {
    let shape = Shape { rate: 40_000.0, p50: 280.0, tail: 1.2, saw: 0.0 };
    let mut run = phase("run", PhaseKind::Run, 30.0, 180, &shape, &HALF, 7);
    for second in &mut run.timeline {
        let dip = match second.second {
            at if (60.0..63.0).contains(&at) => 0.0,
            at if (63.0..90.0).contains(&at) => 0.55 + 0.45 * (at - 63.0) / 27.0,
            at if (120.0..132.0).contains(&at) => 0.8,
            _ => 1.0,
        };
        for operation in second.operations.values_mut() {
            operation.replies = (operation.replies as f64 * dip) as u64;
            operation.p999 /= f64::max(dip, 0.05);
        }
        second.errors = if dip == 0.0 { 800 } else { 0 };
    }
    run.events = vec![
        Event {
            second: 60.0,
            what: "kill".to_owned(),
            figures: map(&[("noticed_s", 1.8), ("served_s", 2.6), ("lowest", 0.0), ("silent_s", 3.0), ("recovered_after_s", 29.5)]),
        },
        Event { second: 120.0, what: "restart".to_owned(), figures: map(&[("ready_s", 2.4), ("whole_s", 12.0), ("lowest", 0.8)]) },
    ];
    run.errors =
        vec![ErrorCount { kind: "connection lost".to_owned(), count: 1_600 }, ErrorCount { kind: "timeout".to_owned(), count: 800 }];
    run.operations[0].errors = 1_200;
    run.operations[1].errors = 1_200;
    run.verified = Verified { compared: 3_400_000, unknown: 12_345, ..Verified::default() };
    report("resilience", "A node dies and comes back under load", vec![target("tarndb", "TarnDB 0.1.0", 3, vec![run])])
}

fn incomplete() -> Report {
    let mut made = aerospike_cassandra(120, 1.0);
    made.complete = false;
    made.warnings = vec!["Interrupted after 2 min 41 s (Ctrl-C): what was measured until then is here.".to_owned()];
    made.ratios.truncate(1);
    made.targets[0].phases[4].resources.client_limited = true;
    made.targets[0].phases[4].resources.client_busiest = 0.987;
    made.targets[0].phases[4].verified = Verified { unknown: 4_920_123, ..Verified::default() };
    let theirs = &mut made.targets[1];
    theirs.phases.truncate(3);
    theirs.phases[2].complete = false;
    theirs.phases[2].timeline.truncate(161);
    theirs.phases[2].verified = Verified { compared: 1_000, lost: 2, stale: 1, ..Verified::default() };
    theirs.failure = Some("127.0.0.1:9142 closed every connection 161 s into load; its log ends with OutOfMemoryError".to_owned());
    theirs.costs.clear();
    made
}

fn empty() -> Report {
    let mut unreachable = target("cassandra", "", 1, Vec::new());
    unreachable.settings.clear();
    unreachable.failure = Some("127.0.0.1:9142 refuses connections".to_owned());
    let mut made = report("scylla-power", "One big server", vec![unreachable]);
    made.complete = false;
    made
}

/// Names that would be markup, scripts and links if anything took them for such.
fn hostile() -> Report {
    let shape = Shape { rate: 0.4, p50: 1.0, tail: 0.0, saw: 0.0 };
    let evil = "</script><script>document.title='broken out'</script><img src=x onerror=\"document.title='broken out'\"><!-- ${x} \u{2028}";
    let mut run = phase(evil, PhaseKind::Run, 0.0, 3, &shape, &[(evil, 1.0, 1.0)], 3);
    run.events = vec![Event { second: 1.0, what: evil.to_owned(), figures: map(&[(evil, 1e300)]) }];
    run.histogram_log = Some("javascript:alert(1)".to_owned());
    run.timeline[1].operations.clear();
    let mut made = report(evil, evil, vec![target(evil, evil, 1, vec![run])]);
    made.warnings = vec![evil.to_owned()];
    made.study.description = format!("{evil} {}", "wide".repeat(200));
    made.study.paper = Some(Paper {
        citation: evil.to_owned(),
        url: "javascript:document.title='broken out'".to_owned(),
        setup: evil.to_owned(),
        results: Vec::new(),
    });
    made.command = vec![evil.to_owned()];
    made.environment.insert(evil.to_owned(), evil.to_owned());
    made.environment.insert("CPU".to_owned(), evil.to_owned());
    made
}
