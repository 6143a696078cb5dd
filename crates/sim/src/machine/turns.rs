//! One core's batch of events and its turn: which of them it has now, chance decides.

use super::Machine;
use crate::connection::{Connection, Flushed, Phase};
use crate::reactor::SimReactor;
use base::{CoreId, checksum};
use io::{DiskCompletion, DiskError, Handler, Now, Turn};
use std::collections::VecDeque;

/// The core gets no more bytes of a connection at once, as from a real one.
const RECEIVE_BYTES_MAX: usize = 64 << 10;
/// Time passes in steps of this when nothing is to be done ever.
const IDLE_US: u64 = 10_000;

/// Whether there is anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Yes, now.
    None,
    /// Not before this monotonic time.
    Until(u64),
    /// Not before somebody else does something.
    Forever,
}

impl<H: Handler<SimReactor>> Machine<H> {
    /// Time passes, and one core has a batch of events and its turn. Without a network nobody answers a request for a connection.
    pub fn step(&mut self) {
        if self.dead {
            return;
        }
        self.pass_time();
        self.run_a_core();
        for (core, kernel_requests) in self.take_kernel_requests() {
            self.disconnect((core, kernel_requests.connection));
        }
    }

    /// As [`Machine::step`], at a time that somebody else has decided.
    pub(crate) fn step_at(&mut self, now: Now) {
        if self.dead {
            return;
        }
        self.now = Now { monotonic_us: now.monotonic_us.max(self.now.monotonic_us), ..now };
        self.run_a_core();
    }

    fn run_a_core(&mut self) {
        let core = self.rng.below(self.stations.len() as u64) as usize;
        self.stations[core].reactor.set_now(self.now);
        self.trace.add("step", &[core as u64, self.now.monotonic_us]);
        self.deliver_completions(core);
        self.deliver_mail(core);
        self.deliver_arrivals(core);
        self.deliver_bytes(core);
        let turn = self.call(core, |core, reactor| core.turn(reactor));
        self.stations[core].turn = turn.unwrap_or(Turn::Idle);
        self.flush(core);
    }

    /// Time passes in small steps, and to the next deadline when nothing else is left.
    fn pass_time(&mut self) {
        let mut passed = self.rng.below(self.step_us);
        let next_us = match self.rest() {
            Rest::None => None,
            Rest::Until(next_us) => Some(next_us),
            Rest::Forever => Some(self.now.monotonic_us + IDLE_US),
        };
        if let Some(next_us) = next_us {
            passed = next_us.saturating_sub(self.now.monotonic_us) + 1;
        }
        self.now.monotonic_us += passed;
        self.now.wall_us += passed as i64;
    }

    /// When something happens next by itself.
    pub(crate) fn rest(&self) -> Rest {
        let now_us = self.now.monotonic_us;
        if !self.mail.values().all(VecDeque::is_empty) || !self.blob_queue.is_empty() || !self.arrivals.is_empty() {
            return Rest::None;
        }
        let mut next_us = None;
        for station in &self.stations {
            if station.turn == Turn::Again || !station.reactor.connections.iter().all(Connection::waits) {
                return Rest::None;
            }
            let turn_us = if let Turn::At(at_us) = station.turn { Some(at_us) } else { None };
            for at_us in turn_us.into_iter().chain(station.reactor.disk.next_us(now_us)) {
                next_us = Some(next_us.map_or(at_us, |next: u64| next.min(at_us)));
            }
        }
        match next_us {
            None => Rest::Forever,
            Some(next_us) if next_us > now_us => Rest::Until(next_us),
            Some(_) => Rest::None,
        }
    }

    fn deliver_completions(&mut self, core: usize) {
        for _ in 0..self.rng.below(5) {
            let Some(completion) = self.stations[core].reactor.disk.step_at(self.now.monotonic_us, &mut self.rng) else { break };
            let digest = completion.buffer.as_ref().map_or(0, |buffer| checksum(buffer));
            self.trace.add("disk", &[core as u64, completion.tag.0, u64::from(completion.result.is_ok()), u64::from(digest)]);
            self.call(core, |core, reactor| core.completed(reactor, completion));
        }
        // Blobs are written one after another, whichever core requests it.
        while self.blob_queue.front().is_some_and(|(asker, ..)| usize::from(*asker) == core) && self.rng.below(3) == 0 {
            let Some((_, tag, name, bytes)) = self.blob_queue.pop_front() else { break };
            let fails = self.blob_failures > 0 && self.rng.below(100) < self.blob_failures;
            self.trace.add("blob", &[core as u64, u64::from(checksum(&bytes)), u64::from(fails)]);
            if fails {
                self.blobs.refuse(&name, &bytes);
            } else {
                self.store_blob(name, bytes);
            }
            let result = if fails { Err(DiskError::Full) } else { Ok(()) };
            self.call(core, |core, reactor| core.completed(reactor, DiskCompletion { tag, result, buffer: None }));
        }
    }

    fn deliver_mail(&mut self, core: usize) {
        for from in 0..self.stations.len() as u16 {
            let waiting = self.mail.get(&(from, core as u16)).map_or(0, VecDeque::len) as u64;
            for _ in 0..self.rng.below(waiting + 1) {
                let Some(message) = self.mail.get_mut(&(from, core as u16)).and_then(VecDeque::pop_front) else { break };
                self.trace.add("mail", &[u64::from(from), core as u64]);
                self.call(core, |core, reactor| core.message(reactor, CoreId(from), message));
            }
        }
    }

    pub(super) fn deliver_arrivals(&mut self, core: usize) {
        let (here, elsewhere) = std::mem::take(&mut self.arrivals).into_iter().partition(|arrival| usize::from(arrival.core) == core);
        self.arrivals = elsewhere;
        let here: VecDeque<_> = here;
        for arrival in here {
            self.trace.add("accepted", &[core as u64, arrival.link]);
            let (core, id) = self.accept_from(arrival.core, arrival.listener, arrival.peer);
            self.accepted.push((arrival.link, core, id));
        }
    }

    fn deliver_bytes(&mut self, core: usize) {
        for index in 0..self.stations[core].reactor.connections.len() {
            let most = match self.rng.below(4) {
                0 => continue,
                1 => 1 + self.rng.below(40) as usize,
                _ => RECEIVE_BYTES_MAX,
            };
            let connection = &mut self.stations[core].reactor.connections[index];
            let id = connection.id;
            if connection.is_made() {
                self.trace.add("connected", &[core as u64, index as u64]);
                self.call(core, |core, reactor| core.connected(reactor, id));
                continue;
            }
            if connection.phase != Phase::Open || !connection.reading {
                continue;
            }
            if connection.to_core.is_empty() {
                if connection.ended {
                    connection.cut();
                }
                continue;
            }
            let length = most.min(connection.to_core.len());
            let bytes: Vec<u8> = connection.to_core.drain(..length).collect();
            self.trace.add("received", &[core as u64, index as u64, u64::from(checksum(&bytes))]);
            self.call(core, |core, reactor| core.received(reactor, id, &bytes));
        }
    }

    pub(super) fn flush(&mut self, core: usize) {
        for index in 0..self.stations[core].reactor.connections.len() {
            if self.dead {
                return;
            }
            let connection = &mut self.stations[core].reactor.connections[index];
            let id = connection.id;
            if !connection.output.is_empty() {
                self.trace.add("reply", &[core as u64, index as u64, u64::from(checksum(&connection.output))]);
            }
            match connection.flush() {
                Flushed::Nothing => {}
                Flushed::Drained => drop(self.call(core, |core, reactor| core.drained(reactor, id))),
                Flushed::Gone => drop(self.call(core, |core, reactor| core.closed(reactor, id))),
            }
        }
    }
}
