//! Entries of boxes, and the ranges in which a query looks for them.

use super::*;
use crate::geometry::grid::{self, COVERING_CELLS_MAX, ENTRY_BYTES, SIZES};

fn flat(x: [f64; 2], y: [f64; 2]) -> Bounds {
    Bounds { low: [x[0], y[0], f64::NEG_INFINITY], high: [x[1], y[1], f64::INFINITY] }
}

fn is_found(one: &Bounds, query: &Bounds) -> bool {
    let ranges = grid::ranges(query);
    grid::entries(one).any(|entry| ranges.iter().any(|(first, last)| *first <= entry && entry <= *last))
}

/// A box of a random place and size: near zero, anywhere, and out of the grid.
fn random_box(random: &mut Rng) -> Bounds {
    let mut side = || {
        let scale = [1e-9, 0.01, 1.0, 180.0, 1e6, 1e12, 1e30, f64::MAX][random.below(8) as usize];
        let at = (random.below(2_001) as f64 - 1_000.0) / 1_000.0 * scale;
        let size = [0.0, 1e-6, 0.1, 1.0, 100.0][random.below(5) as usize];
        [at, if random.below(20) == 0 { f64::MAX } else { at + size * scale.min(1e300) / 100.0 }]
    };
    flat(side(), side())
}

#[test]
fn boxes_that_meet_are_found() {
    let mut random = Rng::new(5);
    let (mut met, mut found) = (0, 0);
    for _ in 0..60_000 {
        let (one, query) = (random_box(&mut random), random_box(&mut random));
        let is_met = one.meets(&query);
        let is_found = is_found(&one, &query);
        assert!(is_found || !is_met, "{one:?} {query:?}");
        met += u32::from(is_met);
        found += u32::from(is_found);
    }
    assert!(met > 800 && met < found && found < 20_000, "{met} {found}");
}

#[test]
fn a_box_has_one_to_four_entries_and_a_query_a_bounded_number_of_ranges() {
    let mut random = Rng::new(6);
    for _ in 0..20_000 {
        let one = random_box(&mut random);
        assert!((1..=grid::ENTRIES_MAX).contains(&grid::entries(&one).count()), "{one:?}");
        let ranges = grid::ranges(&one);
        assert!(!ranges.is_empty() && ranges.len() as u128 <= COVERING_CELLS_MAX * (SIZES as u128 + 1) / 4, "{one:?}: {}", ranges.len());
        assert!(ranges.is_sorted() && ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{one:?}");
    }
    let everywhere = flat([f64::MIN, f64::MAX], [f64::MIN, f64::MAX]);
    assert_eq!(grid::ranges(&everywhere).len(), 1);
    let point = flat([13.4, 13.4], [52.5, 52.5]);
    assert_eq!(grid::entries(&point).count(), 1);
    assert_eq!(grid::ranges(&everywhere), [([0; ENTRY_BYTES], [0xFF; ENTRY_BYTES])]);
    assert!(is_found(&point, &everywhere) && is_found(&everywhere, &point));
}

#[test]
fn a_small_query_leaves_out_what_is_far_away() {
    // Degrees, also around zero.
    let mut random = Rng::new(9);
    for middle in [[13.4, 52.5], [0.0, 51.5], [0.0, 0.0], [-77.0, -12.0]] {
        let query = flat([middle[0] - 0.05, middle[0] + 0.05], [middle[1] - 0.05, middle[1] + 0.05]);
        let around = flat([middle[0] - 0.3, middle[0] + 0.3], [middle[1] - 0.3, middle[1] + 0.3]);
        let mut in_vain = 0;
        for _ in 0..20_000 {
            let (x, y) = (random.below(360_000) as f64 / 1e3 - 180.0, random.below(180_000) as f64 / 1e3 - 90.0);
            let one = flat([x, x + 0.001], [y, y + 0.001]);
            in_vain += u32::from(is_found(&one, &query) && !around.meets(&one));
        }
        assert_eq!(in_vain, 0, "{middle:?}");
    }
}
