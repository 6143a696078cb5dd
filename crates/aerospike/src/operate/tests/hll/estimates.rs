//! Estimates against sets that are known.

use super::*;

#[test]
fn counts_are_as_near_as_theory_says() {
    for index_bits in [4, 8, 12, 16] {
        let sigma = 1.04 / f64::from(1 << index_bits).sqrt();
        for count in [1_u64, 10, 100, 1_000, 10_000, 60_000] {
            let seeds = if count < 60_000 { 40 } else { 8 };
            let mut sum = 0.0;
            for seed in 0..seeds {
                let counted = number(&sketch(index_bits, 0, &elements(seed + 1, count)), COUNT, &[]);
                let error = counted / count as f64 - 1.0;
                // With few registers more is estimated too high by far than too low.
                let allowed = 5.0 * sigma * (1.0 + 2.0 * sigma) + 0.5 / count as f64;
                assert!(error.abs() < allowed, "{counted} of {count}, {index_bits} bits, seed {seed}");
                sum += error;
            }
            let bias = (sum / seeds as f64).abs();
            assert!(bias < 4.0 * sigma / (seeds as f64).sqrt() + 0.5 / count as f64, "{bias} for {count}, {index_bits} bits");
        }
    }
}

#[test]
fn few_elements_are_counted_exactly() {
    for seed in 1..=50 {
        for count in 0..=10 {
            assert_eq!(number(&sketch(16, 0, &elements(seed, count)), COUNT, &[]), count as f64);
        }
    }
}

/// The common part of two sets, by every kind of sketch.
#[test]
fn overlaps_are_as_near_as_theory_says() {
    for (index_bits, minhash_bits) in [(12, 0), (12, 4), (12, 8), (12, 20), (13, 51), (16, 48)] {
        for share in [0, 10, 50, 100] {
            let mut errors = 0.0;
            for seed in 1..=8 {
                let (total, common) = (20_000, 20_000 * share / 100);
                let all = elements(seed, total);
                let middle = common + (total - common) / 2;
                let (left, right) = (
                    sketch(index_bits, minhash_bits, &all[..middle as usize]),
                    sketch(index_bits, minhash_bits, &all[(middle - common) as usize..]),
                );
                let others = [right];
                let similarity = number(&left, SIMILARITY, &[Sketches(&others)]);
                let counted = number(&left, INTERSECT_COUNT, &[Sketches(&others)]);
                let error = similarity - share as f64 / 100.0;
                errors += error;
                // Three counts that are added, or registers that are drawn.
                let allowed = if minhash_bits == 0 { 5.0 * 1.04 * 3.0_f64.sqrt() } else { 4.5 * 0.5 } / f64::from(1 << index_bits).sqrt();
                assert!(error.abs() <= allowed, "{similarity} for {share} %, {index_bits} and {minhash_bits} bits");
                assert!((counted / total as f64 - similarity).abs() < 0.05);
            }
            // Registers that agree by chance are taken off: one in 30 with four bits.
            let bias = (errors / 8.0_f64).abs();
            assert!(bias < if minhash_bits == 0 { 0.05 } else { 0.012 }, "{bias} for {share} %, {index_bits} and {minhash_bits} bits");
        }
    }
}

#[test]
fn several_sketches_have_something_in_common() {
    let parts = [elements(1, 3_000), elements(2, 1_000), elements(3, 1_000), elements(4, 1_000)];
    let with_common = |part: usize| [parts[0].clone(), parts[part].clone()].concat();
    // Common to all three: 3,000 of 6,000.
    let make = |minhash_bits| [1, 2, 3].map(|part| sketch(14, minhash_bits, &with_common(part)));
    for minhash_bits in [0, 20] {
        let [bin, others @ ..] = make(minhash_bits);
        let similarity = number(&bin, SIMILARITY, &[Sketches(&others)]);
        assert!((similarity - 0.5).abs() < 0.05, "{similarity}");
        let counted = number(&bin, INTERSECT_COUNT, &[Sketches(&others)]);
        assert!((counted - 3_000.0).abs() < 300.0, "{counted}");
    }
    // Without minhash bits two others are the most, whether all lack them or some.
    let ([plain, ..], [hashed, ..]) = (make(0), make(20));
    let three = |sketch: &Particle<'static>| vec![sketch.clone(); 3];
    for operation in [INTERSECT_COUNT, SIMILARITY] {
        assert_eq!(refused(Some(&plain), operation, &[Sketches(&three(&plain))]), Some(ResultCode::PARAMETER));
        assert_eq!(refused(Some(&plain), operation, &[Sketches(&three(&hashed))]), Some(ResultCode::OP_NOT_APPLICABLE));
        assert_eq!(refused(Some(&hashed), operation, &[Sketches(&three(&plain))]), Some(ResultCode::OP_NOT_APPLICABLE));
        assert_eq!(refused(Some(&hashed), operation, &[Sketches(&three(&hashed))]), None);
        assert_eq!(refused(Some(&plain), operation, &[Sketches(&three(&hashed)[..2])]), None);
    }
}
