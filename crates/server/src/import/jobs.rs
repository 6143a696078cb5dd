//! Pieces of what is to be done, done by several threads.

use super::error::ImportError;
use crate::meter::Meter;
use crate::patience::patiently_until;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// For so long a side may be away.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// What jobs are told.
pub(super) struct Jobs<'a> {
    count: usize,
    pub(super) meter: &'a Meter,
    is_over: AtomicBool,
}

impl<'a> Jobs<'a> {
    pub(super) fn new(count: u16, meter: &'a Meter) -> Self {
        Self { count: usize::from(count), meter, is_over: AtomicBool::new(false) }
    }

    /// Does all pieces. The first failure ends all jobs.
    pub(super) fn run<P: Sync, W>(
        &self,
        pieces: &[P],
        start: impl Fn(usize) -> W + Sync,
        work: impl Fn(&mut W, &P) -> Result<(), ImportError> + Sync,
    ) -> Result<(), ImportError> {
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        let fail = |error: ImportError| {
            self.is_over.store(true, Ordering::Relaxed);
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        };
        let job = |number: usize| {
            let mut worker = start(number);
            while !self.is_over.load(Ordering::Relaxed)
                && let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed))
            {
                match work(&mut worker, piece) {
                    Ok(()) => self.meter.add_done(1),
                    Err(error) => fail(error),
                }
            }
        };
        std::thread::scope(|scope| {
            for number in 0..self.count.min(pieces.len()) {
                let (thread, job) = (std::thread::Builder::new().name("tarndb-import".to_owned()), &job);
                if let Err(error) = thread.spawn_scoped(scope, move || job(number)) {
                    fail(ImportError::Thread(error));
                }
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Tries again while a side is away, unless all is over.
    pub(super) fn patiently<R>(&self, what: impl FnMut() -> Result<R, ImportError>) -> Result<R, ImportError> {
        let gives_up = |since: Duration| since > PATIENCE || self.is_over.load(Ordering::Relaxed);
        patiently_until(gives_up, |text| self.meter.say(text), what)
    }
}
