//! Mutations of what clients send: for the tests of this crate, and of others that name this file.
//!
//! `TARNDB_FUZZ_ITERATIONS` sets the number of mutations a target (default 20000), `TARNDB_FUZZ_SEED` the seed that a failure names.

use base::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const DEFAULT_ITERATIONS: u64 = 20_000;

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// Whether there are enough mutations to say that some must be accepted.
pub(crate) fn is_full_run() -> bool {
    from_environment("TARNDB_FUZZ_ITERATIONS", DEFAULT_ITERATIONS) >= DEFAULT_ITERATIONS
}

/// Runs `check` with mutations of `corpus`; a failure prints how to see it again.
pub(crate) fn fuzz(target: &str, corpus: &[Vec<u8>], mut check: impl FnMut(&[u8], &mut Rng)) {
    let iterations = from_environment("TARNDB_FUZZ_ITERATIONS", DEFAULT_ITERATIONS);
    let first = from_environment("TARNDB_FUZZ_SEED", 1);
    for seed in first..first + iterations {
        let mut rng = Rng::new(seed);
        let mut bytes = corpus[rng.below(corpus.len() as u64) as usize].clone();
        for _ in 0..1 + rng.below(6) {
            mutate(&mut bytes, corpus, &mut rng);
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&bytes, &mut rng))) {
            let package = env!("CARGO_PKG_NAME");
            eprintln!("TARNDB_FUZZ_SEED={seed} TARNDB_FUZZ_ITERATIONS=1 cargo test -p {package} --test {target}");
            resume_unwind(panic);
        }
    }
}

const EDGES: [u32; 10] = [0, 1, 2, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF];

fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.below(bytes.len() as u64 + 1) as usize;
    match rng.below(7) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, rng.next_u64() as u8),
        2 | 3 => {
            if at < bytes.len() {
                bytes[at] ^= 1 << rng.below(8);
            }
        }
        // A length, a count or a flag is what most bytes are part of: one, two or four bytes become an edge.
        4 => {
            let edge = EDGES[rng.below(EDGES.len() as u64) as usize];
            let width = 1 << rng.below(3);
            let (big, little) = (edge.to_be_bytes(), edge.to_le_bytes());
            let edge = if rng.below(2) == 0 { &big[4 - width..] } else { &little[..width] };
            for (target, source) in bytes.iter_mut().skip(at).zip(edge) {
                *target = *source;
            }
        }
        5 => {
            let end = (at + rng.below(64) as usize).min(bytes.len());
            bytes.drain(at..end);
        }
        _ => {
            let other = &corpus[rng.below(corpus.len() as u64) as usize];
            let from = rng.below(other.len() as u64 + 1) as usize;
            let part = &other[from..(from + rng.below(200) as usize).min(other.len())];
            bytes.splice(at..at, part.iter().copied());
        }
    }
}
