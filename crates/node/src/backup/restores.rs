//! Chunks of restores that a core has not written yet.

use shard::ShardError;
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

/// Where no core is: replies with such a ticket are those of restores.
pub(crate) const RESTORER: u64 = u64::MAX;

/// Chunks that are not done yet.
#[derive(Default)]
pub(crate) struct Restores {
    next: u64,
    waiting: BTreeMap<u64, Sender<Result<(), ShardError>>>,
}

impl Restores {
    /// A chunk's number.
    pub(super) fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A chunk is answered later.
    pub(super) fn wait(&mut self, number: u64, answer: Sender<Result<(), ShardError>>) {
        self.waiting.insert(number, answer);
    }

    /// A chunk is done, or will not be.
    pub(crate) fn finished(&mut self, number: u64, outcome: Result<(), ShardError>) {
        if let Some(answer) = self.waiting.remove(&number) {
            // Who asked may have given up.
            let _ = answer.send(outcome);
        }
    }
}
