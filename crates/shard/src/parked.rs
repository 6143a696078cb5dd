//! Operations that wait for rows from the device, for the device to catch up with writers, or for locks.

use crate::{Access, Ticket};
use base::{TableId, Token};
use model::operation::Operation;
use std::collections::VecDeque;

/// A reply's buffer has so many bytes at first, at most.
const REPLY_BYTES_MAX: usize = 16 << 10;

/// A waiting operation.
pub(crate) struct Parked {
    pub(crate) ticket: Ticket,
    pub(crate) operation: Box<dyn Operation>,
    /// The partition that it missed a row of.
    pub(crate) missed_in: Option<(TableId, Token)>,
    pub(crate) access: Access,
    /// How often it has run.
    pub(crate) runs: u32,
}

/// An operation that waits for a lock.
pub(crate) struct Locked {
    pub(crate) number: u64,
    /// When it is run again at the latest.
    pub(crate) due_us: u64,
}

/// All of them, by the number the engine knows them by.
#[derive(Default)]
pub(crate) struct ParkedOperations {
    pub(crate) slots: Vec<Option<Parked>>,
    free: Vec<u32>,
    /// Waiting for the device to take writes, oldest first.
    pub(crate) writers: VecDeque<u64>,
    /// Waiting for a lock, oldest first.
    pub(crate) locked: VecDeque<Locked>,
    /// Those whose rows are in memory now.
    pub(crate) ready: Vec<u64>,
    /// The size of recent replies: a decaying maximum.
    pub(crate) reply_bytes: usize,
}

impl ParkedOperations {
    pub(crate) fn insert(&mut self, parked: Parked) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[index as usize] = Some(parked);
        u64::from(index)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Parked> {
        self.slots.get(number as usize)?.as_ref()
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Parked> {
        let parked = self.slots.get_mut(number as usize)?.take()?;
        self.free.push(number as u32);
        Some(parked)
    }

    /// One has ended with a reply of so many bytes.
    pub(crate) fn note_reply(&mut self, bytes: usize) {
        self.reply_bytes = bytes.min(REPLY_BYTES_MAX).max(self.reply_bytes - self.reply_bytes / 16);
    }
}
