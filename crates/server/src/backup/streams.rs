//! The backup that a node is in: who runs it, and what its cores send that nobody has begun to read.

use super::request::{CONFLICT, Refusal, UNAVAILABLE};
use ::node::FrameReceiver;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A backup under way.
pub(crate) struct Running {
    pub(crate) session: u64,
    pub(crate) keyspaces: Vec<String>,
    /// Who has asked for it.
    pub(crate) asker: String,
    pub(crate) begun: Instant,
}

/// At most one backup at a time.
#[derive(Default)]
pub(crate) struct Streams {
    starting: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    /// Whether its tool has begun to read it.
    is_read: bool,
    /// By session and core.
    streams: BTreeMap<(u64, u16), FrameReceiver>,
}

impl Streams {
    /// Held while a backup starts.
    pub(crate) fn lock_start(&self) -> MutexGuard<'_, ()> {
        self.starting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cores have no other backup any more: this one begins.
    pub(crate) fn begin(&self, running: Running) {
        *self.lock() = State { running: Some(running), ..State::default() };
    }

    pub(crate) fn insert(&self, session: u64, core: u16, stream: FrameReceiver) {
        self.lock().streams.insert((session, core), stream);
    }

    pub(crate) fn take(&self, session: u64, core: u16) -> Option<FrameReceiver> {
        let mut state = self.lock();
        let stream = state.streams.remove(&(session, core))?;
        state.is_read = true;
        Some(stream)
    }

    /// The backup under way.
    pub(crate) fn session(&self) -> Option<u64> {
        self.lock().running.as_ref().map(|running| running.session)
    }

    pub(crate) fn end(&self, session: u64) {
        let mut state = self.lock();
        state.running.take_if(|running| running.session == session);
        state.streams.retain(|(of, _), _| *of != session);
    }

    /// What runs, for one who may not begin another; unavailable as long as that may end by itself.
    pub(crate) fn refusal(&self) -> Refusal {
        let state = self.lock();
        let Some(running) = &state.running else {
            return (CONFLICT, "the backup before is still ending; try again".to_owned());
        };
        let (keyspaces, seconds, asker) = (running.keyspaces.join(", "), running.begun.elapsed().as_secs(), &running.asker);
        match state.is_read {
            true => {
                let what = format!("another backup runs on this node: of {keyspaces}, since {seconds} s, asked for {asker}");
                (CONFLICT, format!("{what}; wait for it, or end it by `tarndb backup end`"))
            }
            // Its tool may have been killed meanwhile.
            false => (
                UNAVAILABLE,
                format!("another backup begins on this node: of {keyspaces}, since {seconds} s, asked for {asker}; try again"),
            ),
        }
    }
}
