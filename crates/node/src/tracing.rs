//! What a core notes of requests for which a trace was asked, and what their replies get at the end. Without any trace, a core that runs a part looks at one number.

use crate::core::Core;
use crate::message::{Message, PartId};
use crate::requests::Request;
use base::CoreId;
use io::Reactor;
use shard::Outcome;

impl Core {
    /// Notes what this core does for a request of `origin`, if that has a trace.
    #[inline]
    pub(crate) fn trace_part<R: Reactor<Message = Message>>(
        &self,
        reactor: &R,
        origin: CoreId,
        part: PartId,
        activity: impl FnOnce() -> String,
    ) {
        let Some(board) = &self.config.board else { return };
        if let Some(trace) = board.traces().of(origin, part.request) {
            trace.note(reactor.clock_us(), self.core.0, activity());
        }
    }

    /// Notes what happens to the request that is being started, if it has a trace.
    #[inline]
    pub(crate) fn trace_start<R: Reactor<Message = Message>>(&self, reactor: &R, activity: impl FnOnce() -> String) {
        if let Some(traced) = &self.requests.traced {
            traced.note(reactor.clock_us(), activity());
        }
    }
}

/// Completes the reply of a request, which begins at `start`: with what it warns of and, if it has a trace, with its number.
#[inline]
pub(crate) fn complete_reply<R: Reactor<Message = Message>>(request: &mut Request, reactor: &R, frames: &mut Vec<u8>, start: usize) {
    if let Some(warnings) = request.warnings.take() {
        cql::wire::add_warnings(frames, start, &warnings);
    }
    if let Some(traced) = request.traced.take() {
        traced.end(reactor.clock_us(), frames, start);
    }
}

/// What a request waits for, as traces tell it.
pub(crate) fn waiting_for(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Unsynced(_) => "has run it; the reply waits until the device or other replicas have what it wrote or saw",
        _ => "does not have all rows in memory: it reads them from the device",
    }
}
