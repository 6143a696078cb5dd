//! YCSB's ZipfianGenerator: item i of n, from 0, has probability (1 / (i + 1)^θ) / ζ(n, θ), ζ(n, θ) = Σ 1 / i^θ for i = 1..n.
//!
//! Drawn as in J. Gray et al., "Quickly Generating Billion-Record Synthetic Databases" (SIGMOD 1994): items 0 and 1 exactly, the others by an
//! approximation that takes one power.

/// Terms that are added one by one; what comes after is known to fifteen digits from the Euler–Maclaurin formula.
const TERMS_EXACT: u64 = 10_000;

/// ζ(n, θ), in a time that does not depend on n.
#[must_use]
pub fn zeta(items: u64, theta: f64) -> f64 {
    let term = |item: u64| (item as f64).powf(-theta);
    let exact: f64 = (1..=items.min(TERMS_EXACT)).rev().map(term).sum();
    if items <= TERMS_EXACT {
        return exact;
    }
    let (first, last) = (TERMS_EXACT as f64, items as f64);
    let integral =
        if (theta - 1.0).abs() < 1e-12 { (last / first).ln() } else { (last.powf(1.0 - theta) - first.powf(1.0 - theta)) / (1.0 - theta) };
    // Σ f(i), i = first+1..=last  =  ∫ f + (f(last) - f(first)) / 2 + (f'(last) - f'(first)) / 12 - …
    let slope = |x: f64| -theta * x.powf(-theta - 1.0);
    exact + integral + (term(items) - term(TERMS_EXACT)) / 2.0 + (slope(last) - slope(first)) / 12.0
}

/// The generator, a function of a uniform number.
#[derive(Clone, Debug)]
pub struct Zipfian {
    /// How many there were at first: the only use of it is in `eta`, as in YCSB, where items that come later do not change it there.
    items: u64,
    theta: f64,
    alpha: f64,
    zeta_2: f64,
    zeta_n: f64,
    /// How many `zeta_n` is of.
    zeta_items: u64,
    eta: f64,
}

impl Zipfian {
    /// Over `items`, with the skew `theta`, which is not 1.
    #[must_use]
    pub fn new(items: u64, theta: f64) -> Self {
        Self::with_zeta(items, theta, zeta(items, theta))
    }

    /// With a ζ that was computed before.
    #[must_use]
    pub fn with_zeta(items: u64, theta: f64, zeta_n: f64) -> Self {
        let zeta_2 = zeta(2, theta);
        let mut zipfian = Self { items, theta, alpha: 1.0 / (1.0 - theta), zeta_2, zeta_n, zeta_items: items, eta: 0.0 };
        zipfian.set_eta();
        zipfian
    }

    fn set_eta(&mut self) {
        self.eta = (1.0 - (2.0 / self.items as f64).powf(1.0 - self.theta)) / (1.0 - self.zeta_2 / self.zeta_n);
    }

    /// The item that `uniform`, from 0 up to 1, stands for.
    #[must_use]
    pub fn item(&self, uniform: f64) -> u64 {
        self.item_of(uniform, self.items)
    }

    /// As [`Zipfian::item`] when there are now `items`, which only grow.
    pub fn item_of_grown(&mut self, uniform: f64, items: u64) -> u64 {
        if items > self.zeta_items {
            self.zeta_n += (self.zeta_items + 1..=items).map(|item| (item as f64).powf(-self.theta)).sum::<f64>();
            self.zeta_items = items;
            self.set_eta();
        }
        self.item_of(uniform, items)
    }

    fn item_of(&self, uniform: f64, items: u64) -> u64 {
        let scaled = uniform * self.zeta_n;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(self.theta) {
            return 1;
        }
        (items as f64 * (self.eta * uniform - self.eta + 1.0).powf(self.alpha)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_is_the_sum() {
        for theta in [0.5, 0.99, 1.2] {
            for items in [1, 2, 9_999, 10_001, 200_000] {
                let sum: f64 = (1..=items).rev().map(|item| f64::from(item as u32).powf(-theta)).sum();
                assert!((zeta(items, theta) - sum).abs() < 1e-10 * sum, "{items} {theta}");
            }
        }
    }

    /// The constant that YCSB carries for 10¹⁰ items.
    #[test]
    fn zeta_of_ten_billion_is_ycsbs() {
        let ours = zeta(super::super::SCRAMBLED_ITEMS, 0.99);
        assert!((ours - super::super::SCRAMBLED_ZETA).abs() < 1e-6, "{ours}");
    }

    #[test]
    fn the_first_two_items_have_their_exact_share() {
        let zipfian = Zipfian::new(1_000, 0.99);
        let zeta = zeta(1_000, 0.99);
        assert_eq!(zipfian.item(1.0 / zeta - 1e-9), 0);
        assert_eq!(zipfian.item(1.0 / zeta + 1e-9), 1);
        assert_eq!(zipfian.item((1.0 + 0.5_f64.powf(0.99)) / zeta + 1e-9), 2);
        assert!(zipfian.item(1.0 - 1e-12) < 1_000);
    }

    #[test]
    fn growth_by_steps_is_growth_at_once() {
        let mut steps = Zipfian::new(1_000, 0.99);
        for items in 1_001..=2_000 {
            steps.item_of_grown(0.3, items);
        }
        let mut once = Zipfian::new(1_000, 0.99);
        for uniform in [0.01, 0.4, 0.99] {
            assert_eq!(steps.item_of_grown(uniform, 2_000), once.item_of_grown(uniform, 2_000));
        }
    }
}
