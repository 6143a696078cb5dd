//! Recall, time and memory of a graph: `cargo run --profile quick -p tarndb-vectors --example recall -- VECTORS DIMENSIONS METRIC KIND`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use base::Rng;
use vectors::{Entry, KeyedGraph, Metric};

/// Seconds that this thread has run: others may have the processor in between.
fn cpu_s() -> f64 {
    let figures = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    figures.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn normal(rng: &mut Rng) -> f32 {
    let uniform = |rng: &mut Rng| (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    ((-2.0 * (1.0 - uniform(rng)).ln()).sqrt() * (std::f64::consts::TAU * uniform(rng)).cos()) as f32
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (count, dimensions): (u32, usize) = (arguments[0].parse().unwrap(), arguments[1].parse().unwrap());
    let metric = match &*arguments[2] {
        "cosine" => Metric::Cosine,
        "euclidean" => Metric::Euclidean,
        _ => Metric::DotProduct,
    };
    let clustered = arguments[3] == "clustered";
    let mut rng = Rng::new(1);
    let centres: Vec<Vec<f32>> = (0..200).map(|_| (0..dimensions).map(|_| normal(&mut rng)).collect()).collect();
    let vector = |rng: &mut Rng| -> Vec<f32> {
        let centre = &centres[rng.below(200) as usize];
        (0..dimensions).map(|at| if clustered { centre[at] + 0.3 * normal(rng) } else { normal(rng) }).collect()
    };
    let all: Vec<Vec<f32>> = (0..count).map(|_| vector(&mut rng)).collect();
    let mut keyed = KeyedGraph::new(metric, dimensions, 1);
    let began = cpu_s();
    let mut most = 0;
    for (n, vector) in all.iter().enumerate() {
        keyed.put(&(n as u32).to_be_bytes(), vector.iter().copied(), Entry { timestamp: 1, expires_at_s: 0 });
    }
    while keyed.has_work() {
        let before = keyed.graph().compared();
        keyed.step();
        most = most.max(keyed.graph().compared() - before);
    }
    let built = cpu_s() - began;
    let bytes = keyed.bytes() as f64 / f64::from(count);
    println!(
        "{count} x {dimensions} {metric:?}: {built:.1} s, {:.0} us each, {} compared each, {most} at most, {bytes:.0} bytes each",
        built * 1e6 / f64::from(count),
        keyed.graph().compared() / u64::from(count)
    );
    let queries: Vec<Vec<f32>> = (0..200).map(|_| vector(&mut rng)).collect();
    let exact: Vec<Vec<u32>> = queries
        .iter()
        .map(|query| {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let far = |other: &[f32]| match metric {
                Metric::Cosine => -dot(query, other) / dot(other, other).sqrt(),
                Metric::DotProduct => -dot(query, other),
                Metric::Euclidean => dot(other, other) - 2.0 * dot(query, other),
            };
            let mut order: Vec<(f32, u32)> = all.iter().enumerate().map(|(n, other)| (far(other), n as u32)).collect();
            order.sort_by(|one, other| one.0.total_cmp(&other.0));
            order.truncate(10);
            order.into_iter().map(|(_, n)| n).collect()
        })
        .collect();
    for candidates in [48, 500] {
        let began = cpu_s();
        let compared = keyed.graph().compared();
        let found: Vec<_> = queries.iter().map(|query| keyed.search(query.iter().copied(), candidates, 1, &|_| true).unwrap()).collect();
        let took = (cpu_s() - began) / queries.len() as f64;
        let compared = (keyed.graph().compared() - compared) / queries.len() as u64;
        let hits: usize = found
            .iter()
            .zip(&exact)
            .map(|(found, exact)| exact.iter().filter(|n| found.iter().any(|key| key[..] == n.to_be_bytes())).count())
            .sum();
        println!(
            "  {candidates} candidates: recall {:.4}, {:.0} us, {compared} compared",
            hits as f64 / (10 * queries.len()) as f64,
            took * 1e6
        );
    }
}
