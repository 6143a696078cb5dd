//! What the caller's thread does beside the load: progress, readings of the target, events, Ctrl-C.

use crate::report::model::Event as EventReport;
use crate::run::aftermath::Aftermath;
use crate::run::console::Progress;
use crate::run::watch::{Reading, Source};
use crate::study::Event;
use crate::target::{MetricsError, System, SystemError};
use load::{Control, Histogram};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Between two looks at progress, events and Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What the caller's thread does beside the load.
pub(super) struct Attendant<'a> {
    pub(super) control: &'a Control,
    pub(super) began: &'a OnceLock<Instant>,
    /// Latencies of seconds that are over and not shown yet.
    pub(super) recent: &'a Mutex<Histogram>,
    pub(super) over: &'a AtomicBool,
    pub(super) stop: &'a AtomicBool,
    pub(super) progress: &'a mut Progress,
    pub(super) system: &'a mut dyn System,
    pub(super) events: &'a [Event],
}

/// What it saw and did.
#[derive(Default)]
pub(super) struct Attended {
    pub(super) readings: Vec<Reading>,
    pub(super) events: Vec<EventReport>,
    pub(super) failure: Option<SystemError>,
    pub(super) metrics_failure: Option<MetricsError>,
}

impl Attendant<'_> {
    pub(super) fn attend(self) -> Attended {
        let mut attended = Attended::default();
        let mut source = Source::of(self.system);
        let mut events = self.events.iter().peekable();
        let mut aftermath: Option<Aftermath> = None;
        let mut next_reading = 0.0;
        while !self.over.load(Relaxed) {
            std::thread::sleep(LOOK_EVERY);
            if self.stop.load(Relaxed) {
                self.control.stop();
            }
            if let Err(error) = self.system.look() {
                attended.failure.get_or_insert(error);
            }
            if attended.failure.is_some() {
                self.control.stop();
            }
            let Some(began) = self.began.get() else { continue };
            let second = began.elapsed().as_secs_f64();
            if second >= next_reading {
                attended.readings.push(Reading { second, sample: source.sample() });
                next_reading = second.floor() + 1.0;
            }
            let mut recent = self.recent.lock().expect("whoever holds it does not panic");
            if !recent.is_empty() {
                self.progress.see(&recent);
                recent.reset();
            }
            drop(recent);
            let done = self.control.progress();
            self.progress.update(done.replies, done.errors);
            if let Some(event) = events.next_if(|event| event.at_s <= second) {
                attended.events.push(EventReport { second, what: event.what(), figures: BTreeMap::new() });
                if let Err(error) = self.system.disturb(event.disturbance, event.node) {
                    attended.failure.get_or_insert(error);
                }
                source.follow(self.system);
                aftermath = Some(Aftermath::of(event.disturbance));
            }
            if let (Some(after), Some(event)) = (&mut aftermath, attended.events.last_mut())
                && let Some(health) = self.system.health()
                && after.see(began.elapsed().as_secs_f64() - event.second, health, &mut event.figures)
            {
                aftermath = None;
            }
        }
        let second = self.began.get().map_or(0.0, |began| began.elapsed().as_secs_f64());
        attended.readings.push(Reading { second, sample: source.sample() });
        attended.metrics_failure = source.failure();
        attended
    }
}
