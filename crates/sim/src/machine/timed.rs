//! A turn that takes time: as much as it takes the thread that runs it.

use super::Machine;
use crate::connection::Phase;
use crate::reactor::{SimReactor, Stopwatch};
use base::CoreId;
use io::{ConnectionId, DiskCompletion, Handler, Now, Turn};
use std::collections::VecDeque;
use std::time::Duration;

/// The core gets no more bytes of a connection at once.
const RECEIVE_BYTES_MAX: usize = 64 << 10;

/// What a turn came to.
pub(crate) struct TimedTurn {
    /// What it took the thread.
    pub(crate) took: Duration,
    /// How many reads and writes of sockets a kernel would have seen.
    pub(crate) calls: u32,
    /// What the disk has done, and the blobs that are stored.
    pub(crate) completions: Vec<DiskCompletion>,
}

impl<H: Handler<SimReactor>> Machine<H> {
    /// The only core has everything that has come, and its turn. The core has slept for `slept_us` in all.
    pub(crate) fn timed_turn(&mut self, now: Now, slept_us: u64, completions: Vec<DiskCompletion>) -> TimedTurn {
        assert!(self.stations.len() == 1, "cores would have to run beside each other");
        self.now = now;
        self.stations[0].reactor.set_now(now);
        let mail = self.mail.get_mut(&(0, 0)).map_or_else(VecDeque::new, std::mem::take);
        self.stations[0].reactor.stopwatch = Some(Stopwatch::begin(slept_us));
        for completion in completions {
            self.call(0, |core, reactor| core.completed(reactor, completion));
        }
        for message in mail {
            self.call(0, |core, reactor| core.message(reactor, CoreId(0), message));
        }
        self.deliver_arrivals(0);
        let mut calls = 0;
        for index in 0..self.stations[0].reactor.connections.len() {
            calls += u32::from(self.deliver_all(index));
        }
        self.stations[0].turn = self.call(0, |core, reactor| core.turn(reactor)).unwrap_or(Turn::Idle);
        calls += self.stations[0].reactor.connections.iter().filter(|connection| !connection.output.is_empty()).count() as u32;
        self.flush(0);
        let took = self.stations[0].reactor.stopwatch.as_ref().map_or(Duration::ZERO, Stopwatch::elapsed);
        TimedTurn { took, calls, completions: self.take_completions() }
    }

    /// Whether anything was received.
    fn deliver_all(&mut self, index: usize) -> bool {
        let connection = &mut self.stations[0].reactor.connections[index];
        let id = connection.id;
        if connection.is_made() {
            self.call(0, |core, reactor| core.connected(reactor, id));
            return false;
        }
        if connection.phase != Phase::Open || !connection.reading {
            return false;
        }
        if connection.to_core.is_empty() {
            if connection.ended {
                connection.cut();
            }
            return false;
        }
        let length = connection.to_core.len().min(RECEIVE_BYTES_MAX);
        let bytes: Vec<u8> = connection.to_core.drain(..length).collect();
        self.call(0, |core, reactor| core.received(reactor, id, &bytes));
        true
    }

    fn take_completions(&mut self) -> Vec<DiskCompletion> {
        let mut done = Vec::new();
        while let Some(completion) = self.stations[0].reactor.disk.step_at(self.now.monotonic_us, &mut self.rng) {
            done.push(completion);
        }
        while let Some((_, tag, name, bytes)) = self.blob_queue.pop_front() {
            self.store_blob(name, bytes);
            done.push(DiskCompletion { tag, result: Ok(()), buffer: None });
        }
        done
    }

    /// What connections have to send, each with its connection; those of clients keep theirs.
    pub(crate) fn take_sent(&mut self) -> Vec<(ConnectionId, Vec<u8>)> {
        let connections = self.stations[0].reactor.connections.iter_mut();
        let linked = connections.filter(|connection| connection.linked && !connection.to_client.is_empty());
        linked.map(|connection| (connection.id, std::mem::take(&mut connection.to_client))).collect()
    }
}
