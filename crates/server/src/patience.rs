//! Trying again what fails for now: a node is away, or overloaded.

use std::fmt::Display;
use std::time::{Duration, Instant};

const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(5);
/// What runs for so long before it fails has found the other side: it is another failure than the one before.
const RAN_LONG: Duration = Duration::from_secs(60);
/// How far apart the same failure is said.
const SAY_AGAIN: Duration = Duration::from_secs(30);

/// An error that may be no more when it is tried again.
pub(crate) trait Passing: Display {
    /// Whether it may be otherwise then.
    fn may_pass(&self) -> bool;
}

/// Tries until it is done, or cannot be done.
pub(crate) fn patiently<R, E: Passing>(note: impl Fn(&str), what: impl FnMut() -> Result<R, E>) -> Result<R, E> {
    patiently_until(|_| false, note, what)
}

/// As [`patiently`], until `gives_up` says so of the time since the first failure. That time begins anew with a failure of what has run for long.
pub(crate) fn patiently_until<R, E: Passing>(
    gives_up: impl Fn(Duration) -> bool,
    note: impl Fn(&str),
    what: impl FnMut() -> Result<R, E>,
) -> Result<R, E> {
    try_until(RAN_LONG, gives_up, note, what)
}

fn try_until<R, E: Passing>(
    ran_long: Duration,
    gives_up: impl Fn(Duration) -> bool,
    note: impl Fn(&str),
    mut what: impl FnMut() -> Result<R, E>,
) -> Result<R, E> {
    let (mut wait, mut said, mut since) = (RETRY_FIRST, None::<Instant>, None::<Instant>);
    loop {
        let begun = Instant::now();
        let done = what();
        if begun.elapsed() >= ran_long {
            (wait, since) = (RETRY_FIRST, None);
        }
        match done {
            Err(error) if error.may_pass() && !gives_up(since.get_or_insert_with(Instant::now).elapsed()) => {
                if said.is_none_or(|said| said.elapsed() >= SAY_AGAIN) {
                    note(&format!("{error}; trying again"));
                    said = Some(Instant::now());
                }
                std::thread::sleep(wait);
                wait = (wait * 2).min(RETRY_MAX);
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error, PartialEq)]
    #[error("failed {0}")]
    struct Failed(u32, bool);

    impl Passing for Failed {
        fn may_pass(&self) -> bool {
            self.1
        }
    }

    #[test]
    fn what_passes_is_tried_again() {
        let mut tries = 0;
        let done = patiently(
            |_| {},
            || {
                tries += 1;
                if tries < 3 { Err(Failed(tries, true)) } else { Ok(tries) }
            },
        );
        assert_eq!(done, Ok(3));
        assert_eq!(patiently(|_| {}, || Err::<(), _>(Failed(1, false))), Err(Failed(1, false)));
        assert_eq!(patiently_until(|_| true, |_| {}, || Err::<(), _>(Failed(1, true))), Err(Failed(1, true)));
    }
    #[test]
    fn patience_begins_anew_after_what_has_run_for_long() {
        let run = |ran_long| {
            let mut tries = 0;
            let gives_up = |since: Duration| since >= RETRY_FIRST;
            let done = try_until(
                ran_long,
                gives_up,
                |_| {},
                || {
                    tries += 1;
                    if tries < 4 { Err(Failed(tries, true)) } else { Ok(tries) }
                },
            );
            done.map_err(|Failed(tries, _)| tries)
        };
        // Each attempt has run for long, or none has.
        assert_eq!((run(Duration::ZERO), run(Duration::MAX)), (Ok(4), Err(2)));
    }
}
