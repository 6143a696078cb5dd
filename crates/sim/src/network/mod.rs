//! A network of machines: one true time, and for each machine clocks that are wrong; connections between them that take time, stall and break.
//!
//! ```text
//! Machine ─output─► Flow: bytes with the time of their arrival ─► to_core of the other Machine
//!    ▲ one of them has a step, at its own time         ▲ LinkFaults: delays, directions that are cut
//!    └── killed, without power, paused, started again, its clock set: by whoever holds the network
//! ```
//! A connection is as TCP has it: bytes arrive in order or not at all; what cannot get through is sent again later, until the
//! connection times out; then each end finds out by itself, at another time. A dead process's kernel says so, a machine without power does not. A machine
//! that is paused keeps its connections. Invariant: the same seed gives the same trace.

mod clock;
mod host;
mod hosts;
mod link;
mod link_faults;
mod wires;

use crate::durable_state::DurableState;
use crate::machine::Machine;
use crate::reactor::SimReactor;
use crate::setup::Setup;
use crate::sim_core::SimCore;
use crate::trace::Trace;
use base::Rng;
use host::Host;
use io::Handler;
use link::Link;
use link_faults::LinkFaults;
use std::collections::BTreeMap;

/// Time passes in steps of at most this when nothing is to be done.
const IDLE_US: u64 = 50_000;
/// Whoever waits for something waits no longer than this.
const STEPS_MAX: u32 = 2_000_000;

/// How a machine of the network starts: on what it was set up with, and what is left of it.
type Boot<H> = Box<dyn FnMut(&Setup, DurableState) -> Machine<H>>;

/// Machines and what is between them.
pub struct Network<H = SimCore> {
    hosts: Vec<Host<H>>,
    links: BTreeMap<u64, Link>,
    links_made: u64,
    link_faults: LinkFaults,
    now_us: u64,
    wire_bytes_max: usize,
    step_us: u64,
    rng: Rng,
    trace: Trace,
    boot: Boot<H>,
}

impl<H: Handler<SimReactor>> Network<H> {
    /// No machines yet.
    #[must_use]
    pub fn new(seed: u64, boot: Boot<H>) -> Self {
        let mut rng = Rng::new(seed ^ 0x4E_E7);
        Self {
            hosts: Vec::new(),
            links: BTreeMap::new(),
            links_made: 0,
            link_faults: LinkFaults::default(),
            now_us: 1,
            wire_bytes_max: [4 << 10, 64 << 10, 1 << 20][rng.below(3) as usize],
            step_us: [1_000, 3_000, 8_000][rng.below(3) as usize],
            rng,
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

    /// The network's random numbers, for whoever needs some that belong to the seed.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// From now on nothing of `from` gets through to `to`; the other direction is as it was.
    pub fn cut(&mut self, from: usize, to: usize) {
        self.trace.add("cut", &[from as u64, to as u64]);
        self.link_faults.cut(from, to);
    }

    /// From now on everything of `from` takes longer to `to`.
    pub fn slow(&mut self, from: usize, to: usize, by_us: u64) {
        self.trace.add("slow", &[from as u64, to as u64, by_us]);
        self.link_faults.slow(from, to, by_us);
    }

    /// The direction works again.
    pub fn heal_link(&mut self, from: usize, to: usize) {
        self.trace.add("heal_link", &[from as u64, to as u64]);
        self.link_faults.heal_link(from, to);
    }

    /// All directions work again.
    pub fn heal_links(&mut self) {
        self.trace.add("heal_link", &[]);
        self.link_faults.clear();
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

    /// Time passes in small steps, and to the next event when nothing is to be done.
    fn pass_time(&mut self) {
        let hosts_us = self.hosts.iter().map(|host| host.due_us(self.now_us)).min();
        let links_us = self.links.values().filter_map(|link| self.link_due_us(link)).min();
        let next_us = hosts_us.into_iter().chain(links_us).min().unwrap_or(u64::MAX);
        self.now_us = if next_us > self.now_us { next_us.min(self.now_us + IDLE_US) } else { self.now_us + self.rng.below(self.step_us) };
    }

    /// Which machine has a step: mostly one that has something to do.
    fn choose(&mut self) -> Option<usize> {
        let awake: Vec<usize> = (0..self.hosts.len()).filter(|node| self.hosts[*node].is_awake()).collect();
        let busy: Vec<usize> = awake.iter().copied().filter(|node| self.hosts[*node].due_us(self.now_us) <= self.now_us).collect();
        let from = if busy.is_empty() || self.rng.below(8) == 0 { awake } else { busy };
        from.get(self.rng.below(from.len() as u64) as usize).copied()
    }
}

#[cfg(test)]
mod tests;
