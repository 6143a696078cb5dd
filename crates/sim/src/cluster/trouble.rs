//! What goes wrong in a cluster, and how it is mended.

use super::members::Members;
use super::shop::Shop;
use crate::machine::Machine;
use crate::network::Network;
use crate::remains::Loss;
use crate::setup::Setup;
use base::Rng;
use node::Core;
use shard::Durability;
use sim_disk::{Fault, Faults};
use std::collections::{BTreeMap, BTreeSet};

/// Something happens after so long at most.
const QUIET_US_MAX: u64 = 1_500_000;

/// Trouble, by seed.
pub(super) struct Trouble {
    dice: Rng,
    durability: Durability,
    next_us: u64,
    members: Members,
    /// Nodes that were asked to end.
    ending: BTreeSet<usize>,
    /// How often what happened.
    pub(super) counts: BTreeMap<&'static str, u64>,
}

impl Trouble {
    pub(super) fn new(setup: &Setup, seed: u64) -> Self {
        let members = Members::new(setup.clone(), seed ^ 0x3E3B);
        Self { dice: Rng::new(seed), durability: setup.durability, next_us: 0, members, ending: BTreeSet::new(), counts: BTreeMap::new() }
    }

    /// Makes trouble when it is time.
    pub(super) fn advance(&mut self, network: &mut Network, shop: &Shop) {
        self.members.advance(network);
        self.bury(network, |machine| machine.has_ended());
        if network.now_us() < self.next_us {
            return;
        }
        self.next_us = network.now_us() + self.dice.below(QUIET_US_MAX);
        let count = network.len() as u64;
        let node = self.dice.below(count) as usize;
        let other = (node + 1 + self.dice.below(count.max(2) - 1) as usize) % network.len();
        let name = match self.dice.below(28) {
            0 | 1 => self.kill(network, node, Loss::Process),
            // What is acknowledged with this durability may be lost with the power.
            2 | 3 if self.durability == Durability::Device => self.kill(network, node, Loss::Power),
            4 | 5 => self.start(network),
            6 | 7 => {
                network.pause(node);
                "pause"
            }
            8 => {
                network.resume(node);
                "resume"
            }
            9 => {
                network.cut(node, other);
                "cut one way"
            }
            10 => {
                network.cut(node, other);
                network.cut(other, node);
                "cut"
            }
            11 => self.isolate(network, node),
            12 => {
                network.slow(node, other, self.dice.below(400_000));
                "slow link"
            }
            13 => {
                network.set_wall_clock(node, self.dice.below(20_000_000) as i64 - 10_000_000);
                "clock set"
            }
            14 => self.slow_disk(network, node),
            15 => self.light_fuse(network, node),
            16 | 17 => {
                network.mend_all();
                "mend"
            }
            18..=20 => self.ask_to_end(network, node),
            21..=25 => self.members.change(network, shop),
            _ => self.heal(network),
        };
        *self.counts.entry(name).or_default() += 1;
    }

    /// Everything works again.
    pub(super) fn end(&mut self, network: &mut Network) {
        self.heal(network);
    }

    fn kill(&mut self, network: &mut Network, node: usize, loss: Loss) -> &'static str {
        network.kill(node, loss);
        if loss == Loss::Power { "power" } else { "kill" }
    }

    fn ask_to_end(&mut self, network: &mut Network, node: usize) -> &'static str {
        if let Some(machine) = network.machine(node)
            && self.ending.insert(node)
        {
            machine.ask_to_end();
        }
        "end"
    }

    /// Takes processes away that were asked to end, if `is_due`.
    fn bury(&mut self, network: &mut Network, is_due: impl Fn(&mut Machine<Core>) -> bool) {
        let over: Vec<usize> = self.ending.iter().copied().filter(|node| network.machine(*node).is_none_or(&is_due)).collect();
        for node in over {
            self.ending.remove(&node);
            network.kill(node, Loss::Process);
        }
    }

    fn start(&mut self, network: &mut Network) -> &'static str {
        if let Some(node) = (0..network.len()).find(|node| network.machine(*node).is_none()) {
            network.start(node);
        }
        "start"
    }

    fn isolate(&mut self, network: &mut Network, node: usize) -> &'static str {
        let both = self.dice.below(3) > 0;
        for other in (0..network.len()).filter(|other| *other != node) {
            network.cut(node, other);
            if both {
                network.cut(other, node);
            }
        }
        "isolate"
    }

    fn slow_disk(&mut self, network: &mut Network, node: usize) -> &'static str {
        let slow_us = 1_000 + self.dice.below(100_000);
        if let Some(machine) = network.machine(node) {
            for core in 0..machine.cores() {
                machine.disk(core).faults = Faults::none().with(Fault::Slow, 300).slow_by(slow_us);
            }
        }
        "slow disk"
    }

    fn light_fuse(&mut self, network: &mut Network, node: usize) -> &'static str {
        let bytes = 1 + self.dice.below(20_000) as usize;
        if let Some(machine) = network.machine(node) {
            let core = self.dice.below(u64::from(machine.cores())) as u16;
            machine.light_fuse(core, bytes);
        }
        "kill in a write"
    }

    fn heal(&mut self, network: &mut Network) -> &'static str {
        network.mend_all();
        self.bury(network, |_| true);
        for node in 0..network.len() {
            if network.machine(node).is_some_and(|machine| machine.is_dead()) {
                network.kill(node, Loss::Process);
            }
            if let Some((_, remains)) = network.remains(node) {
                remains.repair();
                network.start(node);
            }
            network.resume(node);
            if let Some(machine) = network.machine(node) {
                for core in 0..machine.cores() {
                    machine.disk(core).faults = Faults::none();
                    machine.quench_fuse(core);
                }
            }
        }
        "heal"
    }
}
