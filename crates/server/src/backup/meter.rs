//! How far a command has come, on the line of a terminal where the cursor is. Elsewhere nothing is shown.

use base::format_size;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_millis(500);

/// Counts, and shows the counts until it is dropped.
pub(crate) struct Meter {
    counts: Arc<Counts>,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

#[derive(Default)]
struct Counts {
    bytes: AtomicU64,
    done: AtomicU64,
}

impl Meter {
    /// `done` counts up to `most` of `what`.
    pub(crate) fn start(most: u64, what: &'static str) -> Self {
        let counts = Arc::<Counts>::default();
        let shown = std::io::stderr().is_terminal().then(|| {
            let ((end, ends), counts) = (channel(), Arc::clone(&counts));
            (end, std::thread::spawn(move || show(&counts, most, what, &ends)))
        });
        Self { counts, shown }
    }

    pub(crate) fn add_bytes(&self, bytes: usize) {
        self.counts.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_done(&self, done: u64) {
        self.counts.done.fetch_add(done, Ordering::Relaxed);
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

fn show(counts: &Counts, most: u64, what: &str, ends: &Receiver<()>) {
    let (begun, mut last) = (Instant::now(), (Instant::now(), 0));
    while ends.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        let (bytes, done) = (counts.bytes.load(Ordering::Relaxed), counts.done.load(Ordering::Relaxed));
        let rate = (bytes - last.1) as f64 / last.0.elapsed().as_secs_f64();
        last = (Instant::now(), bytes);
        let (size, rate, seconds) = (format_size(bytes), format_size(rate as u64), begun.elapsed().as_secs());
        // \x1b[K clears what was longer before. Nobody may be looking any more.
        let _ = write!(std::io::stderr(), "\r{size}, {rate}/s, {done} of {most} {what}, {seconds} s\x1b[K");
    }
    let _ = write!(std::io::stderr(), "\r\x1b[K");
}
