//! Requests of other cores and members that go by newer metadata than this core has.

use crate::cluster::links::frames::FORWARD_BYTES_MAX;
use crate::cluster::routing::requests::{Asker, PATIENCE_US};
use std::collections::VecDeque;

/// Requests that wait for newer metadata, at most, a core, and their bytes.
const PENDING_MAX: usize = 10_000;

const PENDING_BYTES_MAX: usize = 4 * FORWARD_BYTES_MAX;

/// How long one waits: longer than who has sent it does.
pub(crate) const PENDING_US: u64 = 2 * PATIENCE_US;

/// A request that waits for newer metadata.
pub(crate) struct PendingRequest {
    pub(crate) asker: Asker,
    pub(crate) version: u64,
    pub(crate) until_us: u64,
    pub(crate) part: Option<Vec<u8>>,
    pub(crate) request: Vec<u8>,
}

/// All of a core, in the order in which they came.
#[derive(Default)]
pub(crate) struct PendingRequests {
    pub(crate) queue: VecDeque<PendingRequest>,
    bytes: usize,
}

impl PendingRequest {
    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.request.len() + self.part.as_ref().map_or(0, Vec::len)
    }
}

impl PendingRequests {
    /// Takes one, if there is room; those that nobody waits for any more make some.
    pub(crate) fn push(&mut self, early: PendingRequest, now_us: u64) -> Result<(), PendingRequest> {
        while self.queue.front().is_some_and(|old| old.until_us <= now_us)
            && let Some(old) = self.queue.pop_front()
        {
            self.bytes -= old.memory_bytes();
        }
        let bytes = self.bytes + early.memory_bytes();
        if self.queue.len() >= PENDING_MAX || bytes > PENDING_BYTES_MAX {
            return Err(early);
        }
        self.bytes = bytes;
        self.queue.push_back(early);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_metadata_in_bounded_memory_and_not_for_ever() {
        let early = |now_us: u64, bytes: usize| PendingRequest {
            asker: Asker::Nobody,
            version: u64::MAX,
            until_us: now_us + PENDING_US,
            part: None,
            request: vec![0; bytes],
        };
        let mut requests = PendingRequests::default();
        assert!((0..PENDING_MAX).all(|_| requests.push(early(0, 0), 0).is_ok()));
        assert!(requests.push(early(0, 0), 0).is_err());
        assert!(requests.push(early(PENDING_US, 1), PENDING_US).is_ok(), "nobody waits for the others any more");
        assert_eq!((requests.queue.len(), requests.bytes), (1, size_of::<PendingRequest>() + 1));
        let large = (0..).take_while(|_| requests.push(early(PENDING_US, FORWARD_BYTES_MAX), PENDING_US).is_ok()).count();
        assert_eq!(large, PENDING_BYTES_MAX / FORWARD_BYTES_MAX - 1);
    }
}
