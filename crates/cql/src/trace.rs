//! Traces of requests, as `system_traces` shows them: cores note what happens to a request for which a trace was asked, and any core reads it.

use crate::value::function::timeuuid_at;
use base::Now;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many events of a request are kept: those that come later are counted.
const EVENTS_MAX: usize = 100;
/// So many bytes of an event are kept.
const ACTIVITY_BYTES_MAX: usize = 256;
/// So many bytes of a parameter are kept.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// What is noted of a request.
#[derive(Debug)]
pub struct Trace {
    /// Its id, a timeuuid, which its reply has.
    pub id: [u8; 16],
    /// Where the client is.
    pub client: IpAddr,
    /// What the client has asked for, in Cassandra's words.
    pub request: &'static str,
    /// What the request says, by ascending name.
    pub parameters: Vec<(String, String)>,
    /// When it began.
    pub began: Now,
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
struct Notes {
    events: Vec<TraceEvent>,
    left_out: usize,
    duration_us: Option<u32>,
}

/// Something that has happened to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// What.
    pub activity: String,
    /// How long after its beginning.
    pub elapsed_us: u32,
    /// On which core.
    pub core: u16,
}

impl Trace {
    /// One that begins. `nonce` tells it from others of the same time.
    #[must_use]
    pub fn new((began, nonce): (Now, u64), client: IpAddr, request: &'static str, mut parameters: Vec<(String, String)>) -> Self {
        parameters.iter_mut().for_each(|(_, value)| shorten(value, VALUE_BYTES_MAX));
        parameters.sort_unstable();
        Self { id: timeuuid_at(began.wall_us * 10, nonce), client, request, parameters, began, notes: Mutex::default() }
    }

    /// Notes what happens now on a core.
    pub fn note(&self, clock_us: u64, core: u16, mut activity: String) {
        shorten(&mut activity, ACTIVITY_BYTES_MAX);
        let elapsed_us = self.elapsed_us(clock_us);
        let mut notes = self.lock();
        if notes.events.len() < EVENTS_MAX {
            notes.events.push(TraceEvent { activity, elapsed_us, core });
        } else {
            notes.left_out += 1;
        }
    }

    /// It has been answered.
    pub fn end(&self, clock_us: u64, core: u16) {
        let elapsed_us = self.elapsed_us(clock_us);
        let mut notes = self.lock();
        let left_out = notes.left_out;
        if left_out > 0 {
            notes.events.push(TraceEvent { activity: format!("{left_out} further events are left out"), elapsed_us, core });
        }
        notes.events.push(TraceEvent { activity: "Request complete".to_owned(), elapsed_us, core });
        notes.duration_us = Some(elapsed_us);
    }

    /// How long the request has taken; none while it is under way.
    #[must_use]
    pub fn duration_us(&self) -> Option<u32> {
        self.lock().duration_us
    }

    /// What has happened so far, each with its id, a timeuuid.
    #[must_use]
    pub fn events(&self) -> Vec<([u8; 16], TraceEvent)> {
        let nonce = u64::from_be_bytes(*self.id.last_chunk().unwrap_or(&[0; 8]));
        let mut last = i64::MIN;
        let identified = |event: &TraceEvent| {
            // Events of one microsecond stay in their order.
            last = ((self.began.wall_us + i64::from(event.elapsed_us)) * 10).max(last + 1);
            (timeuuid_at(last, nonce), event.clone())
        };
        self.lock().events.iter().map(identified).collect()
    }

    fn elapsed_us(&self, clock_us: u64) -> u32 {
        u32::try_from(clock_us.saturating_sub(self.began.monotonic_us)).unwrap_or(u32::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shorten(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max {
        let end = (0..=bytes_max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
}
