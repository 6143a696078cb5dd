//! A network of machines: one true time, and for each machine clocks that are wrong; connections between them that take time, stall and break.
//!
//! ```text
//! Machine ─output─► Flow: bytes with the time of their arrival ─► to_core of the other Machine
//!    ▲ one of them has a step, at its own time         ▲ Weather: delays, directions that are cut
//!    └── killed, without power, paused, started again, its clock set: by whoever holds the network
//! ```
//! A connection is as TCP has it: bytes arrive in order or not at all; what cannot get through is sent again later, until an end loses its
//! patience; then each end finds out by itself, at another time. A dead process's kernel says so, a machine without power does not. A machine
//! that is paused keeps its connections. Invariant: the same seed gives the same trace.

mod clock;
mod hosts;
mod link;
mod weather;
mod wires;

use crate::machine::Machine;
use crate::reactor::SimReactor;
use crate::remains::Remains;
use crate::setup::Setup;
use crate::sim_core::SimCore;
use crate::trace::Trace;
use base::Rng;
use hosts::Host;
use io::Handler;
use link::Link;
use std::collections::BTreeMap;
use weather::Weather;

/// The wall clock's time when the true time is 0.
const WALL_US: i64 = 1_700_000_000_000_000;
/// Time passes in steps of at most this when nothing is to be done.
const IDLE_US: u64 = 50_000;
/// Whoever waits for something waits no longer than this.
const STEPS_MAX: u32 = 2_000_000;

/// How a machine of the network starts: on what it was set up with, and what is left of it.
type Boot<H> = Box<dyn FnMut(&Setup, Remains) -> Machine<H>>;

/// Machines and what is between them.
pub struct Network<H = SimCore> {
    hosts: Vec<Host<H>>,
    links: BTreeMap<u64, Link>,
    links_made: u64,
    weather: Weather,
    now_us: u64,
    wire_bytes_max: usize,
    bite_us: u64,
    dice: Rng,
    trace: Trace,
    boot: Boot<H>,
}

impl<H: Handler<SimReactor>> Network<H> {
    /// No machines yet.
    #[must_use]
    pub fn new(seed: u64, boot: Boot<H>) -> Self {
        let mut dice = Rng::new(seed ^ 0x4E_E7);
        Self {
            hosts: Vec::new(),
            links: BTreeMap::new(),
            links_made: 0,
            weather: Weather::default(),
            now_us: 1,
            wire_bytes_max: [4 << 10, 64 << 10, 1 << 20][dice.below(3) as usize],
            bite_us: [1_000, 3_000, 8_000][dice.below(3) as usize],
            dice,
            trace: Trace::new(),
            boot,
        }
    }

    /// The true time in microseconds.
    #[must_use]
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// What happened so far.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The network's die, for whoever needs chance that belongs to the seed.
    pub fn dice(&mut self) -> &mut Rng {
        &mut self.dice
    }

    /// From now on nothing of `from` gets through to `to`; the other direction is as it was.
    pub fn cut(&mut self, from: usize, to: usize) {
        self.trace.add("cut", &[from as u64, to as u64]);
        self.weather.cut(from, to);
    }

    /// From now on everything of `from` takes longer to `to`.
    pub fn slow(&mut self, from: usize, to: usize, by_us: u64) {
        self.trace.add("slow", &[from as u64, to as u64, by_us]);
        self.weather.slow(from, to, by_us);
    }

    /// The direction works again.
    pub fn mend(&mut self, from: usize, to: usize) {
        self.trace.add("mend", &[from as u64, to as u64]);
        self.weather.mend(from, to);
    }

    /// All directions work again.
    pub fn mend_all(&mut self) {
        self.trace.add("mend", &[]);
        self.weather.clear();
    }

    /// Time passes, and one machine has a step.
    pub fn step(&mut self) {
        self.pass_time();
        if let Some(node) = self.choose() {
            self.step_host(node);
        }
        self.move_bytes();
    }

    /// Takes steps until `holds`; false if it never does.
    pub fn run_until(&mut self, mut holds: impl FnMut(&mut Self) -> bool) -> bool {
        (0..STEPS_MAX).any(|_| {
            self.step();
            holds(self)
        })
    }

    /// Lets time pass.
    pub fn sleep(&mut self, us: u64) {
        let until_us = self.now_us + us;
        while self.now_us < until_us {
            self.step();
        }
    }

    /// Time passes in small bites, and to the next event when nothing is to be done.
    fn pass_time(&mut self) {
        let hosts_us = self.hosts.iter().map(|host| host.due_us(self.now_us)).min();
        let links_us = self.links.values().filter_map(|link| self.link_due_us(link)).min();
        let next_us = hosts_us.into_iter().chain(links_us).min().unwrap_or(u64::MAX);
        self.now_us = if next_us > self.now_us { next_us.min(self.now_us + IDLE_US) } else { self.now_us + self.dice.below(self.bite_us) };
    }

    /// Which machine has a step: mostly one that has something to do.
    fn choose(&mut self) -> Option<usize> {
        let awake: Vec<usize> = (0..self.hosts.len()).filter(|node| self.hosts[*node].is_awake()).collect();
        let busy: Vec<usize> = awake.iter().copied().filter(|node| self.hosts[*node].due_us(self.now_us) <= self.now_us).collect();
        let from = if busy.is_empty() || self.dice.below(8) == 0 { awake } else { busy };
        from.get(self.dice.below(from.len() as u64) as usize).copied()
    }
}

#[cfg(test)]
mod tests;
