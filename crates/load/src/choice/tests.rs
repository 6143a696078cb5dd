//! Each distribution against its published formula.

use super::*;

const DRAWS: u64 = 400_000;

fn chooser(choice: KeyChoice, rows: u64) -> Chooser {
    Chooser::new(&choice, rows, 0, &Arc::default(), Rng::new(11))
}

fn counts(choice: KeyChoice, rows: u64) -> Vec<u64> {
    let mut chooser = chooser(choice, rows);
    let mut counts = vec![0; rows as usize];
    for _ in 0..DRAWS {
        counts[chooser.next(rows - 1) as usize] += 1;
    }
    counts
}

/// Chi-square of counts against probabilities, cells with fewer than 20 expected draws thrown together; with its degrees of freedom.
fn chi_square(counts: &[u64], probability: impl Fn(u64) -> f64) -> (f64, f64) {
    let (mut chi, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
    for (row, count) in counts.iter().enumerate() {
        let expected = probability(row as u64) * DRAWS as f64;
        if expected >= 20.0 {
            chi += (*count as f64 - expected).powi(2) / expected;
            cells += 1.0;
        } else {
            rest.0 += *count as f64;
            rest.1 += expected;
        }
    }
    if rest.1 >= 20.0 {
        chi += (rest.0 - rest.1).powi(2) / rest.1;
        cells += 1.0;
    }
    (chi, cells - 1.0)
}

/// Beyond four standard deviations of chi-square: less than once in ten thousand seeds; the seed is fixed.
fn assert_fits(counts: &[u64], probability: impl Fn(u64) -> f64) {
    let (chi, freedom) = chi_square(counts, probability);
    assert!(chi < freedom + 4.0 * (2.0 * freedom).sqrt(), "chi-square {chi} with {freedom} degrees of freedom");
}

fn normal_below(x: f64) -> f64 {
    // Abramowitz and Stegun 26.2.17: seven digits.
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let series = t * (0.319_381_53 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() * series;
    if x < 0.0 { tail } else { 1.0 - tail }
}

#[test]
fn sequential_goes_round_and_threads_share_it() {
    let sequence = Arc::default();
    let mut one = Chooser::new(&KeyChoice::Sequential, 3, 0, &sequence, Rng::new(1));
    let mut other = Chooser::new(&KeyChoice::Sequential, 3, 0, &sequence, Rng::new(2));
    assert_eq!([one.next(2), other.next(2), one.next(2), other.next(2)], [0, 1, 2, 0]);
}

#[test]
fn uniform_is_flat() {
    assert_fits(&counts(KeyChoice::Uniform, 1_000), |_| 1.0 / 1_000.0);
}

/// Beyond the first two items the generator is an approximation: what is compared there is its own inverse, bounds of equal items.
#[test]
fn zipfian_has_the_shares_of_its_approximation_and_about_those_of_the_formula() {
    let (rows, theta) = (1_000, 0.99);
    let counts = counts(KeyChoice::Zipfian { constant: theta }, rows);
    let zipfian = Zipfian::new(rows, theta);
    let begins = |item: u64| {
        // The smallest uniform number whose item is this one or a later one.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if zipfian.item(middle) >= item { high = middle } else { low = middle }
        }
        if item == 0 { 0.0 } else { high }
    };
    let bounds: Vec<f64> = (0..rows).map(begins).chain([1.0]).collect();
    assert_fits(&counts, |item| bounds[item as usize + 1] - bounds[item as usize]);
    for item in [0, 1] {
        let formula = (item as f64 + 1.0).powf(-theta) / zeta(rows, theta);
        assert!((counts[item as usize] as f64 / DRAWS as f64 - formula).abs() < 0.003);
    }
}

#[test]
fn scrambled_zipfian_is_the_zipfian_of_ten_billion_scattered_by_the_hash() {
    let rows = 1_000;
    let counts = counts(KeyChoice::ScrambledZipfian { constant: 0.99 }, rows);
    // Rows 0..=1000 inclusive are scattered over; the last is not there and is drawn again.
    let favourite = fnv(0) % (rows + 1);
    let share = counts[favourite as usize] as f64 / DRAWS as f64;
    let formula = 1.0 / SCRAMBLED_ZETA;
    assert!((share - formula).abs() < 0.004, "{share} {formula}");
    assert!(counts.iter().all(|count| *count > 0), "every row is reached");
}

#[test]
fn latest_favours_the_newest_and_follows_growth() {
    let mut chooser = chooser(KeyChoice::Latest, 1_000);
    let newest = (0..10_000).filter(|_| chooser.next(1_499) == 1_499).count() as f64 / 10_000.0;
    let formula = 1.0 / zeta(1_499, 0.99);
    assert!((newest - formula).abs() < 0.02, "{newest} {formula}");
    assert!((0..10_000).all(|_| chooser.next(1_499) <= 1_499));
}

#[test]
fn gaussian_is_the_normal_distribution_cut_to_whole_numbers_and_clamped() {
    let rows = 500;
    let counts = counts(KeyChoice::Gaussian { deviations: 3.0 }, rows);
    let (mean, deviation) = (250.5, 499.0 / 6.0);
    assert_fits(&counts, |row| {
        let number = row as f64 + 1.0;
        let low = if row == 0 { 0.0 } else { normal_below((number - mean) / deviation) };
        let high = if row == rows - 1 { 1.0 } else { normal_below((number + 1.0 - mean) / deviation) };
        high - low
    });
}

#[test]
fn hotspot_gives_its_share_to_the_front() {
    let counts = counts(KeyChoice::Hotspot { rows: 0.2, operations: 0.8 }, 100);
    assert_fits(&counts, |row| if row < 20 { 0.8 / 20.0 } else { 0.2 / 80.0 });
}

#[test]
fn exponential_gives_its_percentile_to_the_newest_rows() {
    let counts = counts(KeyChoice::Exponential { percentile: 95.0, rows: 0.5 }, 1_000);
    let newest: u64 = counts[500..].iter().sum();
    // What falls before the first row is drawn again.
    let formula = 0.95 / (1.0 - 0.05 * 0.05);
    assert!((newest as f64 / DRAWS as f64 - formula).abs() < 0.003);
}
