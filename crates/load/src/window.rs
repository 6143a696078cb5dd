//! Up to which of a sequence of numbers all are done, when they are done in any order: what YCSB's AcknowledgedCounterGenerator is for.

use std::sync::Mutex;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// Numbers that may be under way at the same time.
pub(crate) const WINDOW: u64 = 1 << 20;

/// Marks of done numbers beyond the first that is not done.
#[derive(Debug)]
pub(crate) struct Window {
    /// All below are done.
    done_below: AtomicU64,
    marks: Box<[AtomicU64]>,
    /// Only its holder moves `done_below`; others leave that to it or to who comes later.
    mover: Mutex<()>,
}

impl Window {
    /// All below `done_below` are done.
    #[must_use]
    pub(crate) fn new(done_below: u64) -> Self {
        Self { done_below: AtomicU64::new(done_below), marks: (0..WINDOW / 64).map(|_| AtomicU64::new(0)).collect(), mover: Mutex::new(()) }
    }

    /// The first number that is not known to be done.
    #[must_use]
    pub(crate) fn done_below(&self) -> u64 {
        self.done_below.load(Acquire)
    }

    /// `number`, at most [`WINDOW`] above the first that is not done, is done.
    pub(crate) fn done(&self, number: u64) {
        let (word, bit) = Self::place(number);
        self.marks[word].fetch_or(bit, AcqRel);
        self.advance();
    }

    /// Counts what others have marked meanwhile.
    pub(crate) fn advance(&self) {
        let Ok(_mover) = self.mover.try_lock() else { return };
        let mut next = self.done_below.load(Relaxed);
        loop {
            let (word, bit) = Self::place(next);
            if self.marks[word].fetch_and(!bit, AcqRel) & bit == 0 {
                break;
            }
            next += 1;
        }
        self.done_below.store(next, Release);
    }

    fn place(number: u64) -> (usize, u64) {
        let place = number % WINDOW;
        ((place / 64) as usize, 1 << (place % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_done_without_a_gap_counts() {
        let window = Window::new(10);
        window.done(11);
        window.done(12);
        assert_eq!(window.done_below(), 10);
        window.done(10);
        assert_eq!(window.done_below(), 13);
        for number in 13..3 * WINDOW {
            window.done(number);
        }
        assert_eq!(window.done_below(), 3 * WINDOW);
    }

    #[test]
    fn threads_lose_no_number() {
        let window = Window::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let window = &window;
                scope.spawn(move || (0..50_000).for_each(|number| window.done(number * 4 + thread)));
            }
        });
        window.advance();
        assert_eq!(window.done_below(), 200_000);
    }
}
