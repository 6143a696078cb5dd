//! What is stored of the state machine, and what waits for it: one blob is in flight at a time.

use super::{Flight, Group, Storage};
use crate::raft_log::{Identity, LOG_BLOB, SNAPSHOT_BLOB};

impl Group {
    /// Whether what is decided can be stored, as far as is known.
    pub(in crate::metadata) fn can_store(&self) -> bool {
        self.storage == Storage::Works && self.held_until_us.is_none()
    }

    pub(in crate::metadata) fn has_failed(&self) -> bool {
        self.storage == Storage::Failed
    }

    /// Whether nothing is sent, taken or decided, for now or for good.
    pub(in crate::metadata) fn is_silent(&self) -> bool {
        self.held_until_us.is_some() || matches!(self.storage, Storage::Failed | Storage::Full { is_silent: true, .. })
    }

    /// Nothing is sent, taken or decided from now on; none: it goes on.
    pub(in crate::metadata) fn hold(&mut self, until_us: Option<u64>) {
        self.held_until_us = until_us;
    }

    /// When there may be something to do for a member that is silent.
    pub(in crate::metadata) fn look_again_us(&self) -> Option<u64> {
        if self.has_failed() {
            return None;
        }
        self.store_again_us().into_iter().chain(self.held_until_us).min()
    }

    /// Nothing is sent, stored or decided any more.
    pub(in crate::metadata) fn fail(&mut self) {
        self.storage = Storage::Failed;
    }

    /// There is no room for the blob that was handed out: it is handed out again at `again_us`. Whether that was not known yet.
    pub(in crate::metadata) fn not_stored(&mut self, again_us: u64, is_silent: bool) -> bool {
        if let Some(flight) = &mut self.flight {
            flight.handed_out = false;
            self.snapshot_unsaved |= flight.snapshot.take().is_some();
        }
        let before = std::mem::replace(&mut self.storage, Storage::Full { again_us, is_silent });
        before == Storage::Works
    }

    /// When what could not be stored is handed out again, if it waits for that.
    pub(in crate::metadata) fn store_again_us(&self) -> Option<u64> {
        match self.storage {
            Storage::Full { again_us, .. } if self.flight.as_ref().is_none_or(|flight| !flight.handed_out) => Some(again_us),
            _ => None,
        }
    }

    /// What the state machine has asked for is stored.
    pub(super) fn persisted(&mut self, ready: u64) {
        self.raw.on_persist_ready(ready);
        let index = self.raw.store().applied.index;
        if self.lags() && self.raw.raft.raft_log.persisted >= index {
            self.raw.advance_apply_to(index);
        }
    }

    /// Whether the state is from a snapshot of which the state machine does not know that it is applied. Until it is stored it must not be told, and
    /// it must not stand for election: it would look for the entries before.
    pub(super) fn lags(&self) -> bool {
        self.raw.raft.raft_log.applied() < self.raw.store().applied.index
    }

    /// The blob to store now, if there is one.
    pub(in crate::metadata) fn take_write(&mut self, identity: &Identity, now_us: u64) -> Option<(&'static str, Vec<u8>)> {
        if self.has_failed() || self.store_again_us().is_some_and(|again_us| now_us < again_us) {
            return None;
        }
        if self.flight.is_none() && (self.unsaved.is_some() || self.snapshot_unsaved) {
            let unsaved = self.unsaved.take().unwrap_or_default();
            self.flight = Some(Flight { unsaved, snapshot: None, handed_out: false });
        }
        let flight = self.flight.as_mut().filter(|flight| !flight.handed_out)?;
        flight.handed_out = true;
        if std::mem::take(&mut self.snapshot_unsaved) {
            let (index, bytes) = self.raw.store().encode_snapshot();
            flight.snapshot = Some(index);
            return Some((SNAPSHOT_BLOB, bytes));
        }
        // The log goes out as it is now, with what has come since the flight began.
        if let Some(newer) = self.unsaved.take() {
            flight.unsaved.ready = newer.ready.max(flight.unsaved.ready);
            flight.unsaved.messages.extend(newer.messages);
        }
        Some((LOG_BLOB, self.raw.store().encode(identity)))
    }

    /// The blob that was handed out is stored. What waited for it is in the next round. Whether there is room again, after there was none.
    pub(in crate::metadata) fn written(&mut self, is_log: bool) -> bool {
        let Some(flight) = self.flight.as_mut().filter(|flight| flight.handed_out && flight.snapshot.is_none() == is_log) else {
            return false;
        };
        if let Some(index) = flight.snapshot.take() {
            flight.handed_out = false;
            self.raw.mut_store().snapshot_stored(index);
            // The log follows at once: only then is all that was promised stored.
            if let Storage::Full { again_us, .. } = &mut self.storage {
                *again_us = 0;
            }
            return false;
        }
        let stored = self.flight.take().expect("it is there").unsaved;
        if stored.ready > 0 {
            self.persisted(stored.ready);
        }
        self.released.extend(stored.messages);
        let before = std::mem::replace(&mut self.storage, Storage::Works);
        before != Storage::Works
    }
}
