//! A machine's two clocks: the monotonic one runs a little too fast or too slow, the wall clock is off and may be set at any time.

use base::Rng;
use io::Now;

/// The wall clock's time when the true time is 0.
const WALL_US: i64 = 1_700_000_000_000_000;

/// A clock's rate is off by at most so much.
const DRIFT_PPM_MAX: u64 = 20_000;
/// Wall clocks are off by at most so much, until somebody sets them.
const WALL_OFF_US_MAX: u64 = 2_000_000;
const MILLION: i128 = 1_000_000;

/// The clocks of one machine, as functions of the true time.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    true_us: u64,
    monotonic_us: u64,
    drift_ppm: i64,
    wall_ahead_us: i64,
}

impl Clock {
    /// The clocks of a machine that is switched on at `true_us`.
    pub(crate) fn new(true_us: u64, rng: &mut Rng) -> Self {
        Self {
            true_us,
            monotonic_us: 1 + rng.below(1_000_000_000_000),
            drift_ppm: rng.below(2 * DRIFT_PPM_MAX + 1) as i64 - DRIFT_PPM_MAX as i64,
            wall_ahead_us: rng.below(2 * WALL_OFF_US_MAX) as i64 - WALL_OFF_US_MAX as i64,
        }
    }

    /// It was off and is on again: the monotonic clock begins anew.
    pub(crate) fn power_on(&mut self, true_us: u64, rng: &mut Rng) {
        (self.true_us, self.monotonic_us) = (true_us, 1 + rng.below(1_000_000_000_000));
    }

    /// Somebody sets the wall clock.
    pub(crate) fn set_wall(&mut self, by_us: i64) {
        self.wall_ahead_us += by_us;
    }

    /// What the machine reads.
    pub(crate) fn read(&self, true_us: u64) -> Now {
        let passed = i128::from(true_us - self.true_us) * (MILLION + i128::from(self.drift_ppm)) / MILLION;
        Now { monotonic_us: self.monotonic_us + passed as u64, wall_us: WALL_US + true_us as i64 + self.wall_ahead_us }
    }

    /// The first true time at which the monotonic clock shows at least this.
    pub(crate) fn when(&self, monotonic_us: u64) -> u64 {
        let wanted = i128::from(monotonic_us) - i128::from(self.monotonic_us);
        let rate = MILLION + i128::from(self.drift_ppm);
        let passed = if wanted <= 0 { 0 } else { (wanted * MILLION + rate - 1) / rate };
        self.true_us + passed as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_is_the_inverse_of_read() {
        let mut rng = Rng::new(1);
        for _ in 0..1_000 {
            let clock = Clock::new(rng.below(1 << 40), &mut rng);
            let at_us = clock.true_us + rng.below(1 << 40);
            let shows = clock.read(at_us).monotonic_us;
            assert!(clock.read(clock.when(shows)).monotonic_us >= shows);
            assert!(clock.when(shows) <= at_us + 1);
            assert_eq!(clock.when(0), clock.true_us);
        }
    }

    #[test]
    fn clocks_drift_within_bounds_and_can_be_set() {
        let mut rng = Rng::new(2);
        for _ in 0..100 {
            let mut clock = Clock::new(0, &mut rng);
            let (first, later) = (clock.read(0), clock.read(1_000_000));
            let passed = later.monotonic_us - first.monotonic_us;
            assert!((980_000..=1_020_000).contains(&passed));
            clock.set_wall(-5_000_000);
            assert_eq!(clock.read(1_000_000).wall_us, later.wall_us - 5_000_000);
        }
    }
}
