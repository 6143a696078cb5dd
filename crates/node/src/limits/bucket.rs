//! A rate that several cores keep together, without a lock: the virtual scheduling form of the leaky bucket (GCRA, ITU-T I.371).
//!
//! The bucket is one number: the time up to which what was taken pays for itself at the allowed rate. It may be ahead of now by [`BURST_NS`].

use std::sync::atomic::{AtomicU64, Ordering};

/// So much may come at once, as time at the allowed rate; one is always possible.
pub(super) const BURST_NS: u64 = 100_000_000;
const SECOND_NS: u128 = 1_000_000_000;
/// A core takes what it needs in so long, at the allowed rate, from the bucket at once.
const STASHES_PER_SECOND: u64 = 100;
/// And at most so many.
const STASH_MAX: u64 = 256;
/// What it has not used by then is lost.
const STASH_LASTS_NS: u64 = 100_000_000;

/// What all cores take from.
#[derive(Debug, Default)]
pub(super) struct Bucket(AtomicU64);

impl Bucket {
    /// Takes `amount` if the bucket is not overdrawn, at `rate` in a second.
    fn take(&self, amount: u64, rate: u64, now_ns: u64) -> bool {
        let cost = cost_ns(amount, rate);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |paid| {
            let paid = paid.max(now_ns);
            (paid - now_ns <= BURST_NS).then_some(paid.saturating_add(cost))
        });
        taken.is_ok()
    }

    /// Takes `amount` in any case: it was used already.
    pub(super) fn charge(&self, amount: u64, rate: u64, now_ns: u64) {
        let cost = cost_ns(amount, rate);
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |paid| Some(paid.max(now_ns).saturating_add(cost)));
    }

    /// Forgets what was taken.
    pub(super) fn empty(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether more may be taken.
    pub(super) fn has_some(&self, now_ns: u64) -> bool {
        self.0.load(Ordering::Relaxed).saturating_sub(now_ns) <= BURST_NS
    }
}

fn cost_ns(amount: u64, rate: u64) -> u64 {
    u64::try_from(u128::from(amount) * SECOND_NS / u128::from(rate.max(1))).unwrap_or(u64::MAX)
}

/// What a core has taken from a bucket and not used yet.
#[derive(Debug, Default)]
pub(super) struct Stash {
    left: u64,
    taken_ns: u64,
}

impl Stash {
    /// Takes one, of a rate that so many cores share.
    pub(super) fn take(&mut self, bucket: &Bucket, rate: u64, cores: u16, now_ns: u64) -> bool {
        if self.left > 0 && now_ns.saturating_sub(self.taken_ns) <= STASH_LASTS_NS {
            self.left -= 1;
            return true;
        }
        let several = (rate / STASHES_PER_SECOND / u64::from(cores.max(1))).clamp(1, STASH_MAX);
        if !bucket.take(several, rate, now_ns) {
            return false;
        }
        (self.left, self.taken_ns) = (several - 1, now_ns);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// How many of `tries`, evenly over a second on two cores, get one.
    fn served(rate: u64, tries: u64, from_ns: u64, bucket: &Bucket) -> u64 {
        let mut stashes = [Stash::default(), Stash::default()];
        (0..tries).filter(|number| stashes[(number % 2) as usize].take(bucket, rate, 2, from_ns + number * SECOND / tries)).count() as u64
    }

    #[test]
    fn cores_share_a_rate() {
        for rate in [1, 3, 10, 100, 1_000, 50_000, 1_000_000] {
            let bucket = Bucket::default();
            let first = served(rate, 200_000, SECOND, &bucket);
            let burst = rate / 10 + 2 + 2 * (rate / 100).min(2 * STASH_MAX);
            assert!(first >= rate.min(200_000) && first <= (rate + burst).min(200_000), "{rate}: {first}");
            let seconds: u64 = (2..6).map(|second| served(rate, 200_000, second * SECOND, &bucket)).sum();
            let most = rate.min(200_000) * 4;
            assert!(seconds.abs_diff(most) <= most / 20 + burst + 4, "{rate}: {seconds}");
        }
    }

    #[test]
    fn who_is_within_the_rate_is_never_refused() {
        let bucket = Bucket::default();
        assert_eq!(served(100, 100, SECOND, &bucket), 100);
        assert_eq!(served(100, 100, 2 * SECOND, &bucket), 100);
    }

    #[test]
    fn what_was_used_has_to_be_paid_for() {
        let bucket = Bucket::default();
        bucket.charge(5_000, 1_000, SECOND);
        assert!(!bucket.has_some(5 * SECOND) && bucket.has_some(6 * SECOND));
        bucket.charge(u64::MAX, 1, 6 * SECOND);
        assert!(!bucket.has_some(u64::MAX - BURST_NS - 1), "it does not wrap");
    }

    #[test]
    fn an_old_stash_is_lost() {
        let (bucket, mut stash) = (Bucket::default(), Stash::default());
        assert!(stash.take(&bucket, 10_000, 1, SECOND));
        assert_eq!(stash.left, 99);
        assert!(stash.take(&bucket, 10_000, 1, 3 * SECOND));
        assert_eq!((stash.left, stash.taken_ns), (99, 3 * SECOND));
    }
}
