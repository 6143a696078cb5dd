//! What a person sees while a study runs: bars with rate and time left on a terminal, plain lines otherwise. All of it goes to standard
//! error; standard output is for the closing table.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Between two plain lines.
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
                Some(ProgressBar::new_spinner().with_style(style("{prefix:.bold}  {spinner} {elapsed}  {msg}")))
            }
            (Self::Bars, Extent::Operations(count)) => Some(
                ProgressBar::new(count)
                    .with_style(style("{prefix:.bold}  {wide_bar} {percent:>3} %  {human_pos}/{human_len}  {eta} left  {msg}")),
            ),
            (Self::Bars, Extent::Seconds(seconds)) => Some(
                ProgressBar::new(seconds.ceil() as u64)
                    .with_style(style("{prefix:.bold}  {wide_bar} {percent:>3} %  {elapsed}  {eta} left  {msg}")),
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
        Progress { bar, title, end, started: now, line_at: now, looked_at: now, done: 0 }
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
    line_at: Instant,
    looked_at: Instant,
    done: u64,
}

impl Progress {
    /// So many operations are done, so many of them failed. To be called a few times a second.
    pub(super) fn update(&mut self, done: u64, errors: u64) {
        let now = Instant::now();
        let since = now - self.looked_at;
        if since >= Duration::from_millis(900) {
            let rate = (done - self.done) as f64 / since.as_secs_f64();
            let failed = if errors > 0 { format!(", {errors} errors") } else { String::new() };
            let message = format!("{} ops/s{failed}", indicatif::HumanCount(rate as u64));
            (self.looked_at, self.done) = (now, done);
            match &self.bar {
                Some(bar) => bar.set_message(message),
                None if now - self.line_at >= LINE_EVERY => {
                    self.line_at = now;
                    eprintln!("{}: {} operations, {message}{}", self.title, indicatif::HumanCount(done), self.left(done));
                }
                None => {}
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
