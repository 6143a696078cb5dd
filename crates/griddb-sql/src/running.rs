//! The statement of a connection that runs, and what stops it.

use crate::client::cancelled;
use crate::client::lock;
use crate::request::SqlRequest;
use griddb::GridError;
use sql::{Interrupter, Query};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What stops the statement that runs, from another thread.
#[derive(Default)]
pub(crate) struct Running {
    pub(crate) is_cancelled: Arc<AtomicBool>,
    state: Mutex<RunningState>,
}

#[derive(Default)]
struct RunningState {
    /// Whether nothing is to run any more.
    is_over: bool,
    /// Statements that have arrived and have not ended.
    pending: usize,
    /// The client's number of the query whose statement runs; 0 for none.
    query: i64,
    /// One that was cancelled before it ran.
    cancelled: Option<i64>,
    interrupter: Option<Interrupter>,
    deadline: Option<Instant>,
}

impl Running {
    /// A statement has arrived.
    pub(crate) fn arrived(&self) {
        lock(&self.state).pending += 1;
    }

    /// A statement has been answered.
    pub(crate) fn answered(&self) {
        let mut state = lock(&self.state);
        state.pending = state.pending.saturating_sub(1);
        if state.pending == 0 {
            state.cancelled = None;
        }
    }

    /// Whether a statement has not been answered.
    pub(crate) fn is_busy(&self) -> bool {
        lock(&self.state).pending > 0
    }

    /// Stops the statement of a query: the one that runs, or one that waits to run. One that has ended is nobody's any more.
    pub(crate) fn cancel(&self, query: i64) {
        let mut state = lock(&self.state);
        if state.query == query {
            self.stop(&state);
        } else if state.pending > 0 {
            state.cancelled = Some(query);
        }
    }

    /// Stops whichever runs, and all that would run after it: the client has gone.
    pub(crate) fn cancel_all(&self) {
        let mut state = lock(&self.state);
        state.is_over = true;
        self.stop(&state);
    }

    /// Stops it if it has taken too long.
    pub(crate) fn check_deadline(&self) {
        let state = lock(&self.state);
        if state.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            self.stop(&state);
        }
    }

    fn stop(&self, state: &RunningState) {
        self.is_cancelled.store(true, Ordering::Release);
        if let Some(interrupter) = &state.interrupter {
            interrupter.interrupt();
        }
    }

    pub(crate) fn begin(&self, request: &SqlRequest<'_>) {
        let mut state = lock(&self.state);
        let timeout = (request.timeout_ms > 0).then(|| Duration::from_millis(request.timeout_ms));
        state.deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        state.query = request.query;
        let is_cancelled = state.cancelled.take_if(|query| *query == request.query).is_some();
        self.is_cancelled.store(is_cancelled || state.is_over, Ordering::Release);
    }

    /// Fails if it was cancelled.
    pub(crate) fn check(&self) -> Result<(), GridError> {
        if self.is_cancelled.load(Ordering::Acquire) { Err(cancelled()) } else { Ok(()) }
    }

    pub(crate) fn runs(&self, query: &Query) -> Result<(), GridError> {
        let mut state = lock(&self.state);
        state.interrupter = Some(query.interrupter());
        drop(state);
        self.check()
    }

    pub(crate) fn end(&self) {
        let mut state = lock(&self.state);
        (state.query, state.interrupter, state.deadline) = (0, None, None);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::request::Operation;

    fn request<'a>(query: i64) -> SqlRequest<'a> {
        let (parameters, text) = (None, None);
        SqlRequest { operation: Operation::Execute, query, former: 0, parameters, text, timeout_ms: 0, rows_max: 0, page_rows: 0 }
    }

    #[test]
    fn a_cancellation_stops_the_statement_that_it_means() {
        let running = Running::default();
        running.cancel(1);
        running.arrived();
        running.begin(&request(1));
        assert!(running.check().is_ok(), "it came before the statement");
        running.cancel(2);
        assert!(running.check().is_ok(), "it was for another one");
        running.cancel(1);
        assert!(running.check().is_err());
        running.end();
        running.answered();
        running.arrived();
        running.cancel(3);
        running.begin(&request(3));
        assert!(running.check().is_err(), "it came before the statement ran");
        running.end();
        running.answered();
        running.cancel(3);
        running.arrived();
        running.begin(&request(3));
        assert!(running.check().is_ok(), "it came after the statement had ended");
    }
}
