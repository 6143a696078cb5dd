//! Compares keys, distributions and histogram logs with facts that `tests/ycsb-generators` had YCSB and HdrHistogram print.
//!
//! `generators log FILE` writes an interval log; `generators compare FACTS` reads a fact a line, says which do not hold, and ends with
//! "N passed, N failed".

use base::Rng;
use load::choice::{Chooser, SCRAMBLED_ITEMS, SCRAMBLED_ZETA, zeta};
use load::keys::fnv;
use load::latency::histogram;
use load::workload::{KeyChoice, OperationKind};
use load::{Histogram, HistogramLog, Second};
use std::collections::BTreeMap;
use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

const ROWS: u64 = 1_000;
const SEED: u64 = 20_250_101;
/// How far chi-square may be above its degrees of freedom, in standard deviations: YCSB's generators have no seed, so every run is another
/// sample; six are exceeded by chance less than once in a million.
const DEVIATIONS: f64 = 6.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["log", path] => File::create(path).and_then(|file| write_log(file).map(|()| true)),
        ["compare", path] => std::fs::read_to_string(path).map(|facts| compare(&facts)),
        _ => Err(std::io::Error::other("generators log FILE | compare FACTS")),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("generators: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Two seconds with latencies that [`log_line`] knows.
fn seconds() -> Vec<(Second, BTreeMap<OperationKind, Histogram>)> {
    let of = |number: u64, kind: OperationKind, count: u64| {
        let mut latencies = histogram();
        (1..=count).for_each(|latency| latencies.saturating_record(latency * 10_000 * (number + 1)));
        let second = Second { start_s: number as f64, length_s: 1.0, operations: BTreeMap::new(), errors: 0 };
        (second, [(kind, latencies)].into())
    };
    vec![of(0, OperationKind::Read, 1_000), of(1, OperationKind::ReadModifyWrite, 77)]
}

fn write_log(file: File) -> std::io::Result<()> {
    let mut log = HistogramLog::new(file, "two seconds", UNIX_EPOCH)?;
    for (second, latencies) in seconds() {
        log.second(&second, &latencies)?;
    }
    log.finish().map(drop)
}

/// What HdrHistogram's reader shall make of the log: tag, begin and end in milliseconds, count, longest, median.
fn log_lines() -> Vec<String> {
    let line = |(second, latencies): (Second, BTreeMap<OperationKind, Histogram>)| {
        let (kind, histogram) = latencies.first_key_value().expect("each has one");
        let (start, end) = (second.start_s * 1e3, (second.start_s + second.length_s) * 1e3);
        let (count, max, median) = (histogram.len(), histogram.max(), histogram.value_at_quantile(0.5));
        format!("log {} {start} {end} {count} {max} {median}", kind.name())
    };
    seconds().into_iter().map(line).collect()
}

fn compare(facts: &str) -> bool {
    let (mut passed, mut failed) = (0, 0);
    let mut logs = log_lines();
    for fact in facts.lines() {
        let name: String = fact.split(' ').take(3).collect::<Vec<_>>().join(" ");
        let difference = match fact.split_once(' ') {
            Some(("log", _)) => match logs.iter().position(|line| line == fact) {
                Some(found) => {
                    logs.remove(found);
                    None
                }
                None => Some(format!("HdrHistogram reads {fact}, expected one of {logs:?}")),
            },
            Some((kind, rest)) => difference(kind, rest),
            None => Some("a line without a fact".to_owned()),
        };
        match difference {
            None => passed += 1,
            Some(difference) => {
                println!("FAILED {name}: {difference}");
                failed += 1;
            }
        }
    }
    failed += logs.len();
    logs.iter().for_each(|line| println!("FAILED: HdrHistogram did not find {line}"));
    // As many as the program prints: facts that are missing do not hold.
    const FACTS: usize = 7 + 8 + 1 + 1 + 7 + 2;
    if passed + failed != FACTS {
        println!("FAILED: {} facts, expected {FACTS}", passed + failed);
        failed += 1;
    }
    println!("{passed} passed, {failed} failed");
    failed == 0
}

/// How we differ from a fact; none if we do not.
fn difference(kind: &str, rest: &str) -> Option<String> {
    let words: Vec<&str> = rest.split(' ').collect();
    match (kind, words.as_slice()) {
        ("fnv", [number, hash]) => {
            let ours = fnv(number.parse().ok()?);
            (ours.to_string() != *hash).then(|| format!("{hash} there, {ours} here"))
        }
        ("zeta", [items, theta, value]) => {
            let (ours, value) = (zeta(items.parse().ok()?, theta.parse().ok()?), value.parse::<f64>().ok()?);
            ((ours - value).abs() > value * 1e-10).then(|| format!("{value} there, {ours} here"))
        }
        ("scrambled", [items, value]) => {
            let same = items.parse() == Ok(SCRAMBLED_ITEMS) && value.parse() == Ok(SCRAMBLED_ZETA);
            (!same).then(|| format!("{items} items and {value} there"))
        }
        ("sequence", rows) => {
            let mut chooser = chooser(KeyChoice::Sequential);
            let same = rows.iter().all(|row| row.parse() == Ok(chooser.next(ROWS - 1)));
            (!same).then(|| "another sequence".to_owned())
        }
        ("counts", _) => {
            let (name, counts) = rest.split_once(" : ")?;
            let choice = match name {
                "uniform" => KeyChoice::Uniform,
                "zipfian 0.99" => KeyChoice::Zipfian { constant: 0.99 },
                "zipfian 0.7" => KeyChoice::Zipfian { constant: 0.7 },
                "scrambled-zipfian" => KeyChoice::ScrambledZipfian { constant: 0.99 },
                "latest" => KeyChoice::Latest,
                "hotspot" => KeyChoice::Hotspot { rows: 0.2, operations: 0.8 },
                "exponential" => KeyChoice::Exponential { percentile: 95.0, rows: 0.857_142_857_1 },
                _ => return Some("a distribution that is not known here".to_owned()),
            };
            let theirs: Vec<u64> = counts.split(' ').map_while(|count| count.parse().ok()).collect();
            let mut ours = vec![0_u64; theirs.len()];
            let mut chooser = chooser(choice);
            (0..theirs.iter().sum()).for_each(|_| ours[chooser.next(ROWS - 1) as usize] += 1);
            let (chi, freedom) = chi_square(&ours, &theirs);
            println!("{name}: chi-square {chi:.0} with {freedom:.0} degrees of freedom");
            (chi > freedom + DEVIATIONS * (2.0 * freedom).sqrt()).then(|| "not the same distribution".to_owned())
        }
        _ => Some("a fact that is not known here".to_owned()),
    }
}

fn chooser(choice: KeyChoice) -> Chooser {
    Chooser::new(&choice, ROWS, 0, &Arc::default(), Rng::new(SEED))
}

/// Of two samples of equal size; rows that both hardly have are thrown together.
fn chi_square(ours: &[u64], theirs: &[u64]) -> (f64, f64) {
    const LEAST: u64 = 20;
    let mut cells: Vec<(u64, u64)> = Vec::new();
    let mut rest = (0, 0);
    for (ours, theirs) in ours.iter().zip(theirs) {
        if ours + theirs >= LEAST {
            cells.push((*ours, *theirs));
        } else {
            rest = (rest.0 + ours, rest.1 + theirs);
        }
    }
    if rest.0 + rest.1 >= LEAST {
        cells.push(rest);
    }
    let chi = cells.iter().map(|(ours, theirs)| (*ours as f64 - *theirs as f64).powi(2) / (ours + theirs) as f64).sum();
    (chi, cells.len() as f64 - 1.0)
}
