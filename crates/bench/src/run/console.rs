//! What a person sees while a study runs: a bar with the time left, and under it rate, latencies and errors, on a terminal; plain lines
//! otherwise. All of it goes to standard error; standard output is for the closing table.

use crate::report::figures::{count, latency};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use load::Histogram;
use load::latency::{Summary, histogram};
use std::time::{Duration, Instant};

/// Between what is shown under a bar.
const BAR_EVERY: Duration = Duration::from_millis(900);
/// Between the first plain lines of a phase, and between all that follow: a short phase says something, too.
const FIRST_LINES_EVERY: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(3)];
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Where progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Console {
    /// A terminal that can draw a line over.
    Bars,
    /// A file, a pipe, or a terminal that only prints (no `TERM`, or `dumb`).
    Lines,
}

impl Console {
    /// What standard error is.
    #[must_use]
    pub fn of_standard_error() -> Self {
        if ProgressDrawTarget::stderr().is_hidden() { Self::Lines } else { Self::Bars }
    }

    /// A line that stays.
    pub fn say(self, line: &str) {
        eprintln!("{line}");
    }

    /// A phase begins.
    pub(super) fn begin(self, target: &str, phase: &str, end: Extent) -> Progress {
        let title = format!("{target} · {phase}");
        let bar = match (self, end) {
            (Self::Lines, _) => None,
            (Self::Bars, Extent::Unknown) => {
                Some(ProgressBar::new_spinner().with_style(style("{prefix:.bold}  {spinner} {elapsed}\n  {wide_msg}")))
            }
            (Self::Bars, Extent::Operations(count)) => Some(
                ProgressBar::new(count)
                    .with_style(style("{prefix:.bold}  {wide_bar} {percent:>3} %  {human_pos}/{human_len}  {eta} left\n  {wide_msg}")),
            ),
            (Self::Bars, Extent::Seconds(seconds)) => Some(
                ProgressBar::new(seconds.ceil() as u64)
                    .with_style(style("{prefix:.bold}  {wide_bar} {percent:>3} %  {elapsed}  {eta} left\n  {wide_msg}")),
            ),
        };
        if let Some(bar) = &bar {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
            bar.set_prefix(title.clone());
            bar.enable_steady_tick(Duration::from_millis(250));
        } else {
            eprintln!("{title}");
        }
        let now = Instant::now();
        Progress { bar, title, end, started: now, shown_at: now, lines: 0, done: 0, recent: histogram() }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is a constant").progress_chars("━╸ ")
}

/// What ends a phase.
#[derive(Clone, Copy, Debug)]
pub(super) enum Extent {
    /// So many operations.
    Operations(u64),
    /// So long.
    Seconds(f64),
    /// Nobody knows when.
    Unknown,
}

/// The progress of a phase.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    title: String,
    end: Extent,
    started: Instant,
    /// When something was shown last.
    shown_at: Instant,
    /// Plain lines until now.
    lines: usize,
    /// Operations that were done then.
    done: u64,
    /// Latencies since then, of all kinds of operations.
    recent: Histogram,
}

impl Progress {
    /// Latencies of a second that is over.
    pub(super) fn see(&mut self, latencies: &Histogram) {
        self.recent.add(latencies).expect("all histograms have one shape");
    }

    /// So many operations are done, and so many have failed. To be called a few times a second.
    pub(super) fn update(&mut self, done: u64, errors: u64) {
        let since = self.shown_at.elapsed();
        if since >= self.every() {
            let message = live((done - self.done) as f64 / since.as_secs_f64(), &self.recent, errors);
            (self.shown_at, self.done, self.lines) = (Instant::now(), done, self.lines + 1);
            self.recent.reset();
            match &self.bar {
                Some(bar) => bar.set_message(message),
                None => eprintln!("{}: {} operations, {message}{}", self.title, count(done), self.left(done)),
            }
        }
        if let Some(bar) = &self.bar {
            match self.end {
                Extent::Operations(_) => bar.set_position(done),
                Extent::Seconds(_) => bar.set_position(self.started.elapsed().as_secs()),
                Extent::Unknown => bar.tick(),
            }
        }
    }

    fn every(&self) -> Duration {
        if self.bar.is_some() { BAR_EVERY } else { FIRST_LINES_EVERY.get(self.lines).copied().unwrap_or(LINE_EVERY) }
    }

    fn left(&self, done: u64) -> String {
        let elapsed = self.started.elapsed().as_secs_f64();
        let seconds = match self.end {
            Extent::Operations(count) if done > 0 => elapsed / done as f64 * count.saturating_sub(done) as f64,
            Extent::Seconds(seconds) => (seconds - elapsed).max(0.0),
            _ => return String::new(),
        };
        format!(", {} left", indicatif::HumanDuration(Duration::from_secs(seconds as u64)))
    }

    /// It is over.
    pub(super) fn end(self, how: &str) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        eprintln!("{}: {how}", self.title);
    }
}

/// What goes on just now: rate and latencies of what was answered since it was said last, errors since the phase began.
fn live(rate: f64, recent: &Histogram, errors: u64) -> String {
    let errors = if errors == 1 { "1 error".to_owned() } else { format!("{} errors", count(errors)) };
    let latencies = if recent.is_empty() {
        "no replies".to_owned()
    } else {
        let Summary { p50_us, p99_us, max_us, .. } = Summary::of(recent);
        format!("p50 {}, p99 {}, max {}", latency(p50_us), latency(p99_us), latency(max_us))
    };
    format!("{} ops/s, {latencies}, {errors}", count(rate as u64))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_told_with_latencies_and_errors() {
        let mut recent = histogram();
        assert_eq!(live(0.0, &recent, 0), "0 ops/s, no replies, 0 errors");
        for us in 1..=1000 {
            recent.record(us * 1_000).unwrap();
        }
        let said = live(12_345.6, &recent, 1);
        assert_eq!(said, "12,345 ops/s, p50 500 µs, p99 990 µs, max 1.00 ms, 1 error");
        assert!(live(1.0, &recent, 4_000).ends_with(", 4,000 errors"));
    }

    #[test]
    fn latencies_are_of_what_was_answered_since_the_last_line() {
        let mut progress = Console::Lines.begin("target", "run", Extent::Seconds(60.0));
        let mut slow = histogram();
        slow.record(9_000_000).unwrap();
        progress.see(&slow);
        progress.see(&slow);
        assert_eq!((progress.recent.len(), progress.every()), (2, FIRST_LINES_EVERY[0]));
        progress.update(2, 0);
        assert_eq!((progress.recent.len(), progress.lines), (2, 0), "it is not time yet");
        progress.shown_at -= FIRST_LINES_EVERY[0];
        progress.update(2, 0);
        assert_eq!((progress.recent.len(), progress.lines, progress.every()), (0, 1, FIRST_LINES_EVERY[1]));
        progress.shown_at -= FIRST_LINES_EVERY[1];
        progress.update(2, 0);
        assert_eq!(progress.every(), LINE_EVERY);
    }
}
