//! The faults of a cluster, and how they are healed.

use super::members::Members;
use super::versions::Upgrades;
use super::workload::Workload;
use crate::durable_state::Loss;
use crate::machine::Machine;
use crate::network::Network;
use crate::setup::Setup;
use base::Rng;
use shard::Durability;
use sim_disk::{Fault, Faults};
use std::collections::{BTreeMap, BTreeSet};

/// Something happens after so long at most.
const QUIET_US_MAX: u64 = 1_500_000;
/// What ends by itself lasts so long at most: less than a failover takes, about as long, or longer than the timeout of connections.
const LASTS_US_MAX: [u64; 3] = [500_000, 5_000_000, 10_000_000];
/// A slow link takes so much longer at most; the second is more than a failover takes.
const SLOW_US_MAX: [u64; 2] = [400_000, 2_500_000];

/// What ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// Nothing gets through from one to the other, or only slowly.
    Obstruction(usize, usize),
    Pause(usize),
    /// There is no room on the file system.
    FullDisk(usize),
    /// There is no process; somebody watches over it, and starts it again.
    Absence(usize),
}

/// Injects faults, by seed.
pub(super) struct FaultInjector {
    rng: Rng,
    durability: Durability,
    next_us: u64,
    members: Members,
    upgrades: Upgrades,
    /// What ends by itself, by its time.
    ends: BTreeSet<(u64, End)>,
    /// Nodes that were told to shut down.
    shutting_down: BTreeSet<usize>,
    /// How often each fault occurred.
    pub(super) counts: BTreeMap<&'static str, u64>,
}

impl FaultInjector {
    pub(super) fn new(setup: &Setup, seed: u64) -> Self {
        let upgrades = Upgrades::new(seed);
        let mut joining = setup.clone();
        upgrades.prepare(&mut joining);
        let members = Members::new(joining, seed ^ 0x3E3B);
        Self {
            rng: Rng::new(seed),
            durability: setup.durability,
            next_us: 0,
            members,
            upgrades,
            ends: BTreeSet::new(),
            shutting_down: BTreeSet::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Injects a fault when one is due.
    pub(super) fn advance(&mut self, network: &mut Network, workload: &Workload) {
        self.members.advance(network);
        self.reap(network, |machine| machine.has_shut_down());
        self.end_some(network);
        if network.now_us() < self.next_us {
            return;
        }
        self.next_us = network.now_us() + self.rng.below(QUIET_US_MAX);
        let count = network.len() as u64;
        let node = self.rng.below(count) as usize;
        let other = (node + 1 + self.rng.below(count.max(2) - 1) as usize) % network.len();
        let name = match self.rng.below(29) {
            0 | 1 => self.kill(network, node, Loss::Process),
            // What is acknowledged with this durability may be lost with the power.
            2 | 3 if self.durability == Durability::Device => self.kill(network, node, Loss::Power),
            4 | 5 => self.pause(network, node),
            6 => {
                self.cut(network, &[(node, other)]);
                "cut one way"
            }
            7 => {
                self.cut(network, &[(node, other), (other, node)]);
                "cut"
            }
            8..=11 => self.isolate(network, node),
            12 => self.slow(network, node, other),
            13 => self.slow_disk(network, node),
            14 => self.crash_in_write(network, node),
            15..=17 => self.request_shutdown(network, node),
            18 => self.start(network),
            19 => {
                network.resume(node);
                "resume"
            }
            20 => {
                network.set_wall_clock(node, self.rng.below(20_000_000) as i64 - 10_000_000);
                "clock set"
            }
            21 => {
                network.heal_links();
                "heal_link"
            }
            22..=26 => self.members.change(network, workload),
            27 => self.fill_disk(network, node),
            _ => self.heal(network),
        };
        self.count(name);
    }

    pub(super) fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    /// Everything works again.
    pub(super) fn end(&mut self, network: &mut Network) {
        self.heal(network);
    }

    /// What was to end by now ends.
    fn end_some(&mut self, network: &mut Network) {
        while let Some((_, end)) = self.ends.first().copied().filter(|(at_us, _)| *at_us <= network.now_us()) {
            self.ends.pop_first();
            match end {
                End::Obstruction(from, to) => network.heal_link(from, to),
                End::Pause(node) => network.resume(node),
                End::FullDisk(node) => empty_disk(network, node),
                End::Absence(node) if network.machine(node).is_none() => self.start_one(network, node),
                End::Absence(_) => {}
            }
        }
    }

    /// Most of what happens ends by itself; the rest when somebody mends it.
    fn end_later(&mut self, network: &Network, ends: impl IntoIterator<Item = End>) {
        if self.rng.below(4) == 0 {
            return;
        }
        let most_us = LASTS_US_MAX[self.rng.below(LASTS_US_MAX.len() as u64) as usize];
        let at_us = network.now_us() + self.rng.below(most_us);
        self.ends.extend(ends.into_iter().map(|end| (at_us, end)));
    }

    fn kill(&mut self, network: &mut Network, node: usize, loss: Loss) -> &'static str {
        network.kill(node, loss);
        self.end_later(network, [End::Absence(node)]);
        if loss == Loss::Power { "power" } else { "kill" }
    }

    fn request_shutdown(&mut self, network: &mut Network, node: usize) -> &'static str {
        if let Some(machine) = network.machine(node)
            && self.shutting_down.insert(node)
        {
            machine.request_shutdown();
        }
        "end"
    }

    /// Ends processes that were told to shut down, if `is_due`.
    fn reap(&mut self, network: &mut Network, is_due: impl Fn(&mut Machine) -> bool) {
        let over: Vec<usize> = self.shutting_down.iter().copied().filter(|node| network.machine(*node).is_none_or(&is_due)).collect();
        for node in over {
            self.shutting_down.remove(&node);
            network.kill(node, Loss::Process);
        }
    }

    fn start(&mut self, network: &mut Network) -> &'static str {
        if let Some(node) = (0..network.len()).find(|node| network.machine(*node).is_none()) {
            self.start_one(network, node);
        }
        "start"
    }

    fn start_one(&self, network: &mut Network, node: usize) {
        self.upgrades.prepare(network.setup(node));
        network.start(node);
    }

    fn pause(&mut self, network: &mut Network, node: usize) -> &'static str {
        network.pause(node);
        self.end_later(network, [End::Pause(node)]);
        "pause"
    }

    fn cut(&mut self, network: &mut Network, directions: &[(usize, usize)]) {
        for (from, to) in directions {
            network.cut(*from, *to);
        }
        self.end_later(network, directions.iter().map(|(from, to)| End::Obstruction(*from, *to)));
    }

    fn slow(&mut self, network: &mut Network, from: usize, to: usize) -> &'static str {
        let most_us = SLOW_US_MAX[self.rng.below(2) as usize];
        network.slow(from, to, self.rng.below(most_us));
        self.end_later(network, [End::Obstruction(from, to)]);
        "slow link"
    }

    fn isolate(&mut self, network: &mut Network, node: usize) -> &'static str {
        let both = self.rng.below(3) > 0;
        let others = (0..network.len()).filter(|other| *other != node);
        let directions = others.flat_map(|other| [Some((node, other)), both.then_some((other, node))]).flatten();
        self.cut(network, &directions.collect::<Vec<_>>());
        "isolate"
    }

    fn slow_disk(&mut self, network: &mut Network, node: usize) -> &'static str {
        let slow_us = 1_000 + self.rng.below(100_000);
        if let Some(machine) = network.machine(node) {
            for core in 0..machine.cores() {
                machine.disk(core).faults = Faults::none().with(Fault::Slow, 300).slow_by(slow_us);
            }
        }
        "slow disk"
    }

    /// Blobs cannot be stored; the log has the room that it has taken. Now and then there is enough for one.
    fn fill_disk(&mut self, network: &mut Network, node: usize) -> &'static str {
        let of_hundred = if self.rng.below(3) == 0 { 60 } else { 100 };
        if let Some(machine) = network.machine(node) {
            machine.fail_blobs(of_hundred);
        }
        self.end_later(network, [End::FullDisk(node)]);
        "full disk"
    }

    fn crash_in_write(&mut self, network: &mut Network, node: usize) -> &'static str {
        let bytes = 1 + self.rng.below(20_000) as usize;
        if let Some(machine) = network.machine(node) {
            let core = self.rng.below(u64::from(machine.cores())) as u16;
            machine.crash_in_write(core, bytes);
        }
        "kill in a write"
    }

    fn heal(&mut self, network: &mut Network) -> &'static str {
        network.heal_links();
        self.ends.clear();
        self.reap(network, |_| true);
        for node in 0..network.len() {
            if network.machine(node).is_some_and(|machine| machine.is_dead()) {
                network.kill(node, Loss::Process);
            }
            if let Some((_, remains)) = network.durable_state(node) {
                remains.repair();
                self.start_one(network, node);
            }
            network.resume(node);
            if let Some(machine) = network.machine(node) {
                for core in 0..machine.cores() {
                    machine.disk(core).faults = Faults::none();
                    machine.cancel_crash(core);
                }
            }
            empty_disk(network, node);
        }
        "heal"
    }
}

/// There is room again.
fn empty_disk(network: &mut Network, node: usize) {
    if let Some(machine) = network.machine(node) {
        machine.fail_blobs(0);
    }
}
