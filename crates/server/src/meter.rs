//! How far a command has come, on the line of a terminal where the cursor is. Elsewhere nothing is shown.

use base::format_size;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_millis(500);

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Rows,
}

impl Unit {
    fn text(self, amount: u64) -> String {
        match self {
            Self::Bytes => format_size(amount),
            Self::Rows => format!("{amount} rows"),
        }
    }
}

/// Counts, and shows the counts until it is dropped.
pub(crate) struct Meter {
    counts: Arc<Counts>,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

#[derive(Default)]
struct Counts {
    amount: AtomicU64,
    done: AtomicU64,
}

impl Meter {
    /// `done` counts up to `most` of `what`; those that an earlier command has done are `before`.
    pub(crate) fn start(unit: Unit, before: u64, most: u64, what: &'static str) -> Self {
        let counts = Arc::new(Counts { done: AtomicU64::new(before), ..Counts::default() });
        let shown = std::io::stderr().is_terminal().then(|| {
            let ((end, ends), counts) = (channel(), Arc::clone(&counts));
            (end, std::thread::spawn(move || show(&counts, unit, (before, most, what), &ends)))
        });
        Self { counts, shown }
    }

    pub(crate) fn add(&self, amount: usize) {
        self.counts.amount.fetch_add(amount as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_done(&self, done: u64) {
        self.counts.done.fetch_add(done, Ordering::Relaxed);
    }

    /// Bytes or rows until now.
    pub(crate) fn amount(&self) -> u64 {
        self.counts.amount.load(Ordering::Relaxed)
    }

    /// A line that stays, above the one that changes.
    pub(crate) fn say(&self, line: &str) {
        let clear = if self.shown.is_some() { "\r\x1b[K" } else { "" };
        eprintln!("{clear}{line}");
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.shown.take() {
            drop(end);
            // It shows, and does nothing else.
            let _ = thread.join();
        }
    }
}

fn show(counts: &Counts, unit: Unit, (before, most, what): (u64, u64, &str), ends: &Receiver<()>) {
    let (begun, mut last) = (Instant::now(), (Instant::now(), 0));
    while ends.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        let (amount, done) = (counts.amount.load(Ordering::Relaxed), counts.done.load(Ordering::Relaxed));
        let rate = (amount - last.1) as f64 / last.0.elapsed().as_secs_f64();
        last = (Instant::now(), amount);
        let (amount, rate, seconds) = (unit.text(amount), unit.text(rate as u64), begun.elapsed().as_secs());
        let left = left_s(done - before, most - before, seconds).map_or(String::new(), |left| format!(", about {left} s left"));
        // \x1b[K clears what was longer before. Nobody may be looking any more.
        let _ = write!(std::io::stderr(), "\r{amount}, {rate}/s, {done} of {most} {what}, {seconds} s{left}\x1b[K");
    }
    let _ = write!(std::io::stderr(), "\r\x1b[K");
}

/// What is left takes as long for each as what is done.
fn left_s(done: u64, most: u64, seconds: u64) -> Option<u64> {
    (seconds * most.saturating_sub(done)).checked_div(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_for_each() {
        assert_eq!(left_s(25, 100, 10), Some(30));
        assert_eq!(left_s(0, 100, 10), None, "nobody knows yet");
        assert_eq!(left_s(100, 100, 10), Some(0));
    }
}
