//! Blobs go to the disk and come back as stored, full or failed.

use crate::metadata::event::{Event, Stored};
use crate::metadata::member::Metadata;
use crate::metadata::timing::STORE_AGAIN_US;
use crate::raft_log::LOG_BLOB;
use base::Now;

impl Metadata {
    /// The blobs to store, each in place of the one of its name; [`Metadata::written`] answers each.
    pub fn take_writes(&mut self) -> Vec<(String, Vec<u8>)> {
        match (&mut self.group, &self.identity) {
            (Some(group), Some(identity)) => {
                let write = group.take_write(identity, self.now_us);
                write.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What became of the blob `name`.
    pub fn written(&mut self, now: Now, name: &str, stored: Stored) {
        self.observe(now);
        let Some(group) = self.group.as_mut().filter(|group| !group.has_failed()) else { return };
        match stored {
            Stored::Yes => {
                if group.written(name == LOG_BLOB) {
                    self.events.push(Event::StorageWorks);
                }
                self.progress();
            }
            Stored::Full => self.wait_for_room(name),
            Stored::Failed => self.fall_silent(Event::StorageFailed { blob: name.to_owned() }),
        }
    }

    /// Until there is room this member stands still, as if its process were stopped: what it has learned and cannot store, it must not act by. One that is alone
    /// goes on: nothing is decided without it.
    fn wait_for_room(&mut self, blob: &str) {
        let is_alone = self.is_alone();
        let again_us = self.now_us + STORE_AGAIN_US;
        if self.group.as_mut().is_some_and(|group| group.not_stored(again_us, !is_alone)) {
            self.events.push(Event::StorageFull { blob: blob.to_owned() });
        }
        // What was proposed may be decided later.
        self.proposals.fail(&mut self.events);
        if !is_alone {
            self.stand_still();
        }
    }

    /// A leader keeps what it knows of the others: for one, whom it has proposed to take for down.
    fn stand_still(&mut self) {
        self.lease.lose();
        self.messages.clear();
    }

    /// This node cannot act by the newest state, as it cannot store what belongs to it; it looks again at `until_us`. Others take over what it serves meanwhile: by
    /// what it acted by before, it must not go on. One that is alone does.
    pub fn hold(&mut self, until_us: u64) {
        if self.is_alone() {
            return;
        }
        if let Some(group) = &mut self.group {
            group.hold(Some(until_us));
        }
        self.proposals.fail(&mut self.events);
        self.stand_still();
    }

    /// After [`Metadata::hold`]: it can.
    pub fn go_on(&mut self) {
        if let Some(group) = &mut self.group {
            group.hold(None);
        }
    }

    /// This member neither votes nor holds a lease from now on, nor says or decides anything.
    pub(crate) fn fall_silent(&mut self, why: Event) {
        if let Some(group) = &mut self.group {
            group.fail();
        }
        self.lease.lose();
        self.leading = None;
        self.messages.clear();
        self.proposals.fail(&mut self.events);
        self.events.push(why);
    }
}
