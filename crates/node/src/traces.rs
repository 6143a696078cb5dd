//! The traces of a node: those of requests that are under way, to which every core adds what it does for them, and those that have ended, until there are
//! too many or they are too old.

use crate::request_id::RequestId;
use base::CoreId;
use cql::Trace;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many traces are kept, each of which takes some 40 KiB at most.
const KEPT_MAX: usize = 128;
/// And for so long.
const KEPT_FOR_US: i64 = 24 * 3600 * 1_000_000;

/// All traces of a node.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// How many requests with a trace are under way. While there is none, cores look no further.
    active: AtomicUsize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Requests that wait, by the core that holds the connection.
    waiting: HashMap<(u16, u32, u32), Arc<Trace>>,
    /// Oldest first.
    kept: VecDeque<Arc<Trace>>,
}

impl Traces {
    /// Those that are kept at this time of the wall clock.
    pub(crate) fn kept(&self, now_us: i64) -> Vec<Arc<Trace>> {
        let mut inner = self.lock();
        while inner.kept.front().is_some_and(|trace| trace.began.wall_us < now_us - KEPT_FOR_US) {
            inner.kept.pop_front();
        }
        inner.kept.iter().cloned().collect()
    }

    /// The trace of a request that waits on a core, if it has one.
    #[inline]
    pub(crate) fn of(&self, core: CoreId, request: RequestId) -> Option<Arc<Trace>> {
        if self.active.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.find(core, request)
    }

    #[cold]
    fn find(&self, core: CoreId, request: RequestId) -> Option<Arc<Trace>> {
        self.lock().waiting.get(&key(core, request)).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(core: CoreId, request: RequestId) -> (u16, u32, u32) {
    let (index, generation) = request.to_parts();
    (core.0, index, generation)
}

/// A request with a trace, on the core that holds its connection.
#[derive(Debug)]
pub(crate) struct TracedRequest {
    trace: Arc<Trace>,
    traces: Arc<Traces>,
    core: CoreId,
    waits_as: Option<RequestId>,
}

impl TracedRequest {
    /// It begins.
    pub(crate) fn begin(traces: &Arc<Traces>, core: CoreId, trace: Trace) -> Self {
        let trace = Arc::new(trace);
        traces.active.fetch_add(1, Ordering::Relaxed);
        let mut inner = traces.lock();
        if inner.kept.len() == KEPT_MAX {
            inner.kept.pop_front();
        }
        inner.kept.push_back(Arc::clone(&trace));
        drop(inner);
        Self { trace, traces: Arc::clone(traces), core, waits_as: None }
    }

    /// It waits: other cores find its trace by this id.
    pub(crate) fn waits(&mut self, id: RequestId) {
        self.waits_as = Some(id);
        self.traces.lock().waiting.insert(key(self.core, id), Arc::clone(&self.trace));
    }

    /// Notes what happens on its core.
    pub(crate) fn note(&self, clock_us: u64, activity: String) {
        self.trace.note(clock_us, self.core.0, activity);
    }

    /// It is answered by the frame that begins at `start`.
    pub(crate) fn end(self, clock_us: u64, frames: &mut Vec<u8>, start: usize) {
        self.trace.end(clock_us, self.core.0);
        cql::wire::add_tracing_id(frames, start, &self.trace.id);
    }
}

impl Drop for TracedRequest {
    fn drop(&mut self) {
        if let Some(id) = self.waits_as {
            self.traces.lock().waiting.remove(&key(self.core, id));
        }
        self.traces.active.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Now;

    fn trace(wall_us: i64) -> Trace {
        Trace::new((Now { monotonic_us: 7, wall_us }, wall_us as u64), [127, 0, 0, 1].into(), "Execute CQL3 query", Vec::new())
    }

    #[test]
    fn traces_are_kept_for_a_day_and_up_to_a_number() {
        let traces = Arc::new(Traces::default());
        for wall_us in 0..300 {
            drop(TracedRequest::begin(&traces, CoreId(0), trace(wall_us)));
        }
        let kept: Vec<i64> = traces.kept(300).iter().map(|trace| trace.began.wall_us).collect();
        assert_eq!(kept, (300 - KEPT_MAX as i64..300).collect::<Vec<_>>());
        assert_eq!(traces.kept(298 + KEPT_FOR_US).len(), 2);
        assert!(traces.kept(300 + KEPT_FOR_US).is_empty());
    }

    #[test]
    fn other_cores_find_a_request_as_long_as_it_waits() {
        let (traces, id) = (Arc::new(Traces::default()), RequestId::from_parts(3, 9));
        assert!(traces.of(CoreId(1), id).is_none());
        let mut request = TracedRequest::begin(&traces, CoreId(1), trace(5));
        assert!(traces.of(CoreId(1), id).is_none());
        request.waits(id);
        traces.of(CoreId(1), id).expect("it waits").note(9, 2, "read".to_owned());
        assert!(traces.of(CoreId(0), id).is_none() && traces.of(CoreId(1), RequestId::from_parts(3, 8)).is_none());
        request.end(11, &mut Vec::new(), 0);
        assert!(traces.of(CoreId(1), id).is_none());
        let kept = traces.kept(5);
        assert_eq!((kept.len(), kept[0].duration_us()), (1, Some(4)));
        let events: Vec<(u32, u16, String)> =
            kept[0].events().into_iter().map(|(_, event)| (event.elapsed_us, event.core, event.activity)).collect();
        assert_eq!(events, [(2, 2, "read".to_owned()), (4, 1, "Request complete".to_owned())]);
    }
}
