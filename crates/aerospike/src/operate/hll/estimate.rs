//! What sketches tell of the sets that they stand for.

use super::sketch::{RANK_MAX, Shape, Sketch};

/// Below this, registers that agree by chance change nothing that could be seen.
const CHANCE_BITS_MAX: usize = 24;

/// In how many parts the values of one rank are looked at: all values of a part are as likely as each other, nearly.
const PART_BITS_MAX: u32 = 4;

/// How many elements a sketch has.
pub(super) fn count(sketch: &Sketch<'_>) -> u64 {
    sketch.counted.unwrap_or_else(|| rounded(estimate(sketch)))
}

/// As large as a bin's integer may be.
pub(super) fn rounded(number: f64) -> u64 {
    (number.round() as u64).min(i64::MAX as u64)
}

/// The improved raw estimator of Ertl 2017: without bias for few elements and for many, and without tables.
fn estimate(sketch: &Sketch<'_>) -> f64 {
    let registers = sketch.shape.registers();
    let mut with_rank = [0_u32; RANK_MAX as usize + 1];
    for at in 0..registers {
        with_rank[sketch.rank(at) as usize] += 1;
    }
    let all = registers as f64;
    let [none, ranks @ .., highest] = with_rank;
    let harmonic = ranks.iter().rev().fold(all * tau(1.0 - f64::from(highest) / all), |sum, count| (sum + f64::from(*count)) / 2.0);
    all * all / (2.0 * std::f64::consts::LN_2) / (harmonic + all * sigma(f64::from(none) / all))
}

/// What registers without an element say: the sum of x^(2^k) 2^(k-1), and x.
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut sum, mut factor) = (x, 1.0);
    loop {
        x *= x;
        let before = sum;
        sum += x * factor;
        factor *= 2.0;
        if sum == before {
            return sum;
        }
    }
}

/// What registers of the highest rank say.
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut rest, mut factor) = (1.0 - x, 1.0);
    loop {
        x = x.sqrt();
        let before = rest;
        factor /= 2.0;
        rest -= (1.0 - x).powi(2) * factor;
        if rest == before {
            return rest / 3.0;
        }
    }
}

/// The union of sketches, of a shape that all of them can have.
pub(super) fn union(sketches: &[Sketch<'_>], shape: Shape) -> Sketch<'static> {
    let mut union = Sketch::new(shape);
    sketches.iter().for_each(|sketch| union.merge(sketch));
    union.counted = Some(count(&union));
    union
}

/// How many elements sketches have in common, and all together.
pub(super) struct Overlap {
    pub(super) common: f64,
    pub(super) all: f64,
}

impl Overlap {
    /// Of sketches of one shape.
    pub(super) fn of(sketches: &[Sketch<'_>], shape: Shape) -> Self {
        if shape.minhash_bits == 0 {
            return Self::by_counts(sketches, shape);
        }
        let all = count(&union(sketches, shape)) as f64;
        Self { common: all * jaccard(sketches, shape), all }
    }

    /// The share of what is common; not a number if there is nothing at all.
    pub(super) fn similarity(&self) -> f64 {
        self.common / self.all
    }

    /// By inclusion and exclusion: counts of the unions of each choice among a few sketches, added and taken off in turn.
    fn by_counts(sketches: &[Sketch<'_>], shape: Shape) -> Self {
        let (mut common, mut all) = (0.0, 0.0);
        for choice in 1..1_u32 << sketches.len() {
            let chosen: Vec<Sketch<'_>> =
                sketches.iter().enumerate().filter(|(at, _)| choice >> at & 1 != 0).map(|(_, sketch)| sketch.clone()).collect();
            // The last choice is of all sketches.
            all = count(&union(&chosen, shape)) as f64;
            common += if chosen.len().is_multiple_of(2) { -all } else { all };
        }
        Self { common: common.clamp(0.0, all), all }
    }
}

/// The share of registers that agree, among those that any sketch uses, without those that agree by chance.
fn jaccard(sketches: &[Sketch<'_>], shape: Shape) -> f64 {
    let (mut equal, mut used) = (0_u32, 0_u32);
    for at in 0..shape.registers() {
        let Some(first) = sketches.first().map(|sketch| sketch.register(at)) else { continue };
        let agree = sketches.iter().all(|sketch| sketch.register(at) == first);
        equal += u32::from(agree && first != 0);
        used += u32::from(!agree || first != 0);
    }
    if used == 0 {
        return 0.0;
    }
    let (agreeing, chance) = (f64::from(equal) / f64::from(used), by_chance(sketches, shape) / f64::from(used));
    ((agreeing - chance) / (1.0 - chance)).clamp(0.0, 1.0)
}

/// How many registers of sketches with nothing in common would agree.
fn by_chance(sketches: &[Sketch<'_>], shape: Shape) -> f64 {
    let others = sketches.len().saturating_sub(1);
    let bits = shape.minhash_bits;
    if others == 0 || bits as usize * others > CHANCE_BITS_MAX {
        return 0.0;
    }
    let counts: Vec<f64> = sketches.iter().map(|sketch| count(sketch) as f64).collect();
    let registers = shape.registers() as f64;
    let parts = 1_u32 << bits.min(PART_BITS_MAX);
    let values_of_part = f64::from(1_u32 << (bits - bits.min(PART_BITS_MAX)));
    // How likely it is that no element of so many brings a register above a part of a rank.
    let at_most = |count: f64, rank: i32, part: u32| {
        let above = 0.5_f64.powi(rank) * (2.0 - f64::from(part) / f64::from(parts));
        (count * (-above / registers).ln_1p()).exp()
    };
    let mut agree = 0.0;
    for rank in 1..=RANK_MAX as i32 {
        for part in 0..parts {
            let within = counts.iter().map(|count| at_most(*count, rank, part + 1) - at_most(*count, rank, part));
            agree += within.product::<f64>() / values_of_part.powi(others as i32);
        }
    }
    let agree = registers * agree;
    // Of few elements hardly any agree by chance: the estimate stays exact.
    if agree < 0.5 { 0.0 } else { agree }
}
