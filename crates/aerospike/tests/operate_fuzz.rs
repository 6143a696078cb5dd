//! Mutated lists, maps and operations inside them, on bits, and on sketches: no panic, nothing bloats, and what is stored is stored again as it is.
#![allow(clippy::unwrap_used)]

mod fuzzer;

use aerospike::operate::{Change, apply, code};
use aerospike::value::msgpack::write;
use aerospike::value::{Particle, ParticleType};
use fuzzer::{fuzz, is_full_run};

/// Nils that an operation may put in front of a place behind a list's end.
const PADDING_MAX: usize = 1 << 20;

/// The largest blob that an operation makes.
const BLOB_BYTES_MAX: usize = 8 << 20;

/// The largest sketch: 2^16 registers of 54 bits, and its head.
const SKETCH_BYTES_MAX: usize = (54 << 13) + 11;

/// A value under construction.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn integer(mut self, number: i64) -> Self {
        write::integer(&mut self.0, number);
        self
    }

    fn string(mut self, text: &str) -> Self {
        write::typed(&mut self.0, ParticleType::String, text.as_bytes());
        self
    }

    fn list(mut self, count: usize, flags: u8) -> Self {
        write::list(&mut self.0, count, flags);
        self
    }

    fn map(mut self, count: usize, flags: u8) -> Self {
        write::map(&mut self.0, count, flags);
        self
    }
}

/// Lists and maps of all kinds.
fn containers() -> Vec<Vec<u8>> {
    let new = Bytes::default;
    let mut values = new().list(6, 0).integer(-1).string("text").list(2, 1).integer(1).integer(2).map(1, 1).integer(1).list(0, 0);
    write::double(&mut values.0, 1.5);
    write::typed(&mut values.0, ParticleType::Blob, &[0; 40]);
    let numbers = (0..40).fold(new().list(40, 1), |bytes, number| bytes.integer(number * 300));
    let pairs = (0..20).fold(new().map(20, 1), |bytes, number| bytes.integer(number).string("value"));
    let nested = (0..30).fold(new(), |bytes, _| bytes.list(1, 0)).map(2, 3).string("a").integer(1).string("b").integer(2);
    vec![new().list(0, 0).0, new().map(0, 0).0, values.0, numbers.0, pairs.0, nested.0]
}

/// Every operation with arguments of every kind, with and without a path.
fn operands() -> Vec<Vec<u8>> {
    let mut operands = Vec::new();
    for operation in (0..41).chain(64..111) {
        let new = || Bytes::default().list(3, 0).integer(operation);
        operands.push(new().integer(1).integer(2).0);
        operands.push(new().integer(7).list(2, 0).integer(1).string("text").0);
        operands.push(new().map(1, 0).integer(5).string("new").integer(1).0);
        let path = Bytes::default().list(3, 0).integer(0xff).list(4, 0).integer(16).integer(-1).integer(0xa2).integer(1);
        operands.push(path.list(3, 0).integer(operation).integer(0x1_0007).integer(1).0);
    }
    operands
}

/// Every operation on bits.
fn bit_operands() -> Vec<Vec<u8>> {
    let mut operands = Vec::new();
    for operation in (0..13).chain(50..55) {
        let new = |count: usize| Bytes::default().list(1 + count, 0).integer(operation);
        operands.push(new(2).integer(3).integer(40).0);
        operands.push(new(3).integer(-9).integer(7).integer(0).0);
        operands.push(new(4).integer(1).integer(33).integer(5).integer(8).0);
        operands.push(new(5).integer(8).integer(64).integer(-1).integer(0).integer(5).0);
        let mut blob = new(4).integer(2).integer(30);
        write::typed(&mut blob.0, ParticleType::Blob, &[0xa5; 5]);
        operands.push(blob.integer(4).0);
        let mut truth = new(3).integer(2).integer(30);
        write::bool(&mut truth.0, true);
        operands.push(truth.0);
    }
    operands
}

/// A sketch with elements in it.
fn sketch(index_bits: i64, minhash_bits: i64) -> Particle<'static> {
    let elements = (0..30).fold(Bytes::default().list(5, 0).integer(1).list(30, 0), |bytes, number| bytes.integer(number));
    let operand = Particle::owned(ParticleType::Blob, elements.integer(index_bits).integer(minhash_bits).integer(0).0);
    match apply(code::HLL_MODIFY, None, &operand).unwrap().bin {
        Change::Set(particle) => particle.into_owned(),
        change => panic!("no sketch was made: {change:?}"),
    }
}

fn sketches() -> Vec<Particle<'static>> {
    [(4, 0), (5, 0), (4, 4), (5, 51), (8, 20)].map(|(index_bits, minhash_bits)| sketch(index_bits, minhash_bits)).to_vec()
}

/// Every operation on sketches.
fn sketch_operands() -> Vec<Vec<u8>> {
    let mut operands = Vec::new();
    for operation in (0..5).chain(50..57) {
        let new = |count: usize| Bytes::default().list(1 + count, 0).integer(operation);
        operands.push(new(0).0);
        operands.push(new(1).integer(4).0);
        operands.push(new(3).integer(6).integer(-1).integer(4).0);
        operands.push(new(4).list(3, 0).integer(1).string("text").list(1, 0).integer(2).integer(7).integer(9).integer(0).0);
        for count in 1..4 {
            for sketch in sketches() {
                let flags = usize::from(operation == 2);
                let mut list = new(1 + flags).list(count, 0);
                (0..count).for_each(|_| write::typed(&mut list.0, ParticleType::HyperLogLog, &sketch.bytes));
                operands.push(if flags == 0 { list.0 } else { list.integer(8).0 });
            }
        }
    }
    operands
}

/// A value as a client may write it: as it is stored.
fn stored(bytes: &[u8]) -> Option<Particle<'static>> {
    [ParticleType::List, ParticleType::Map].into_iter().find_map(|kind| {
        match apply(code::WRITE, None, &Particle::new(kind, bytes)).ok()?.bin {
            Change::Set(particle) => Some(particle.into_owned()),
            _ => None,
        }
    })
}

#[test]
fn containers_survive_mutations() {
    let mut taken = 0;
    fuzz("operate_fuzz containers", &containers(), |bytes, _| {
        let Some(particle) = stored(bytes) else { return };
        taken += 1;
        assert_eq!(stored(&particle.bytes).as_ref(), Some(&particle), "what is stored is stored again as it is");
        assert!(particle.bytes.len() <= 2 * bytes.len() + 8);
    });
    assert!(taken > 1_000 || !is_full_run(), "nearly all mutations were refused: {taken}");
}

#[test]
fn operations_survive_mutations() {
    let bins: Vec<Particle<'static>> = containers().iter().map(|bytes| stored(bytes).unwrap()).collect();
    let mut done = 0;
    fuzz("operate_fuzz operations", &operands(), |bytes, _| {
        let operand = Particle::new(ParticleType::Blob, bytes);
        let each = bins.iter().map(Some).chain([None]).flat_map(|bin| [code::CDT_READ, code::CDT_MODIFY].map(|operation| (bin, operation)));
        for (bin, operation) in each {
            let Ok(effect) = apply(operation, bin, &operand) else { continue };
            done += 1;
            let most = PADDING_MAX + 2 * bytes.len() + bin.map_or(0, |bin| bin.bytes.len()) + 64;
            assert!(effect.result.is_none_or(|result| result.bytes.len() <= most));
            if let Change::Set(particle) = effect.bin {
                assert!(operation == code::CDT_MODIFY && particle.bytes.len() <= most);
                assert_eq!(stored(&particle.bytes).as_ref(), Some(&particle), "what is left is stored again as it is");
            }
        }
    });
    assert!(done > 1_000 || !is_full_run(), "nearly all mutations were refused: {done}");
}

#[test]
fn operations_on_bits_survive_mutations() {
    let bins = [0, 1, 9, 64].map(|bytes| Particle::owned(ParticleType::Blob, vec![0x5a; bytes]));
    let mut done = 0;
    fuzz("operate_fuzz bits", &bit_operands(), |bytes, _| {
        let operand = Particle::new(ParticleType::Blob, bytes);
        for bin in bins.iter().map(Some).chain([None]) {
            for operation in [code::BITS_READ, code::BITS_MODIFY] {
                let Ok(effect) = apply(operation, bin, &operand) else { continue };
                done += 1;
                if let Change::Set(particle) = effect.bin {
                    assert!(operation == code::BITS_MODIFY && particle.kind == ParticleType::Blob);
                    assert!(particle.bytes.len() <= BLOB_BYTES_MAX);
                }
            }
        }
    });
    assert!(done > 1_000 || !is_full_run(), "nearly all mutations were refused: {done}");
}

#[test]
fn operations_on_sketches_survive_mutations() {
    let bins = sketches();
    let mut done = 0;
    fuzz("operate_fuzz sketches", &sketch_operands(), |bytes, _| {
        let operand = Particle::new(ParticleType::Blob, bytes);
        let each = bins.iter().map(Some).chain([None]).flat_map(|bin| [code::HLL_READ, code::HLL_MODIFY].map(|operation| (bin, operation)));
        for (bin, operation) in each {
            let Ok(effect) = apply(operation, bin, &operand) else { continue };
            done += 1;
            if let Change::Set(particle) = effect.bin {
                assert!(operation == code::HLL_MODIFY && particle.kind == ParticleType::HyperLogLog);
                assert!(particle.bytes.len() <= SKETCH_BYTES_MAX);
                // [55]: describe it.
                assert!(apply(code::HLL_READ, Some(&particle), &Particle::new(ParticleType::Blob, &[0x91, 55])).is_ok());
            }
        }
    });
    assert!(done > 1_000 || !is_full_run(), "nearly all mutations were refused: {done}");
}

#[test]
fn operations_survive_sketches_that_are_damaged() {
    let corpus: Vec<Vec<u8>> = sketches().iter().map(|sketch| sketch.bytes.to_vec()).collect();
    let operands = sketch_operands();
    fuzz("operate_fuzz damaged_sketches", &corpus, |bytes, rng| {
        let bin = Particle::new(ParticleType::HyperLogLog, bytes);
        for _ in 0..8 {
            let operand = Particle::new(ParticleType::Blob, &operands[rng.below(operands.len() as u64) as usize]);
            let _ = apply(code::HLL_READ, Some(&bin), &operand);
            let _ = apply(code::HLL_MODIFY, Some(&bin), &operand);
        }
    });
}

#[test]
fn operations_survive_bins_that_are_damaged() {
    let operands = operands();
    fuzz("operate_fuzz damaged", &containers(), |bytes, rng| {
        let operand = Particle::new(ParticleType::Blob, &operands[rng.below(operands.len() as u64) as usize]);
        for kind in [ParticleType::List, ParticleType::Map] {
            let bin = Particle::new(kind, bytes);
            let _ = apply(code::CDT_READ, Some(&bin), &operand);
            let _ = apply(code::CDT_MODIFY, Some(&bin), &operand);
        }
    });
}
