//! A connection between two machines: what is under way in each direction, and how each end finds out that the other is gone.

use base::Rng;
use io::{ConnectionId, ListenerId};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// An attempt is repeated after so long, ...
pub(super) const RETRY_US: u64 = 1_000_000;
/// ... and given up after this.
pub(super) const CONNECT_US_MAX: u64 = 3_000_000;

/// One end.
pub(super) struct End {
    /// Which machine.
    pub(super) node: usize,
    /// Which of its processes: an end does not outlive its own.
    pub(super) boot: u64,
    pub(super) core: u16,
    /// Known once the core has it.
    pub(super) connection: Option<ConnectionId>,
    /// This end gives up when nothing has got through for so long.
    pub(super) timeout_us: u64,
}

/// What is under way from one end to the other.
#[derive(Default)]
pub(super) struct Flow {
    /// Bytes with the time of their arrival, in order.
    pub(super) in_flight: VecDeque<(u64, Vec<u8>)>,
    pub(super) bytes: usize,
    /// Its sender is gone: after the last byte comes the end, not before this time.
    pub(super) end_us: Option<u64>,
    /// The end destroys what has arrived and was not read.
    pub(super) resets: bool,
}

impl Flow {
    /// Sends bytes; none overtakes others.
    pub(super) fn send(&mut self, bytes: Vec<u8>, due_us: u64) {
        let last_us = self.in_flight.back().map_or(0, |(last_us, _)| *last_us);
        self.bytes += bytes.len();
        self.in_flight.push_back((due_us.max(last_us), bytes));
    }

    /// The next bytes that have arrived.
    pub(super) fn arrived(&mut self, now_us: u64) -> Option<Vec<u8>> {
        if self.in_flight.front()?.0 > now_us {
            return None;
        }
        let (_, bytes) = self.in_flight.pop_front()?;
        self.bytes -= bytes.len();
        Some(bytes)
    }

    /// What was under way is lost.
    pub(super) fn lose(&mut self) {
        self.in_flight.clear();
        self.bytes = 0;
    }

    /// Nothing arrives before this time: what was sent in vain is sent again.
    pub(super) fn delay(&mut self, until_us: u64) {
        for (due_us, _) in &mut self.in_flight {
            *due_us = (*due_us).max(until_us);
        }
        self.end_us = self.end_us.map(|end_us| end_us.max(until_us));
    }

    /// When something arrives next.
    pub(super) fn next_us(&self) -> Option<u64> {
        self.in_flight.front().map(|(due_us, _)| *due_us).or(self.end_us)
    }
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Requested; the request arrives at this time.
    KernelRequest(u64),
    /// Both machines have it.
    Made,
}

/// A connection between two machines.
pub(super) struct Link {
    /// The end that requested, and the end that was requested.
    pub(super) ends: [End; 2],
    /// From the requesting end, and to it.
    pub(super) flows: [Flow; 2],
    pub(super) stage: Stage,
    pub(super) requested_us: u64,
    pub(super) listener: ListenerId,
    /// The address of the requesting end.
    pub(super) peer: SocketAddr,
    /// Since when one direction at least does not work.
    pub(super) obstructed_us: Option<u64>,
}

impl Link {
    pub(super) fn timeout(asks: bool, rng: &mut Rng) -> u64 {
        // The connecting end sets a short timeout; the accepting end has the system's default.
        if asks { 4_000_000 + rng.below(3_000_000) } else { 4_000_000 + rng.below(60_000_000) }
    }
}
