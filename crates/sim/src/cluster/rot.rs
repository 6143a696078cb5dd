//! The device of one member of three rots, while it serves and while it is away, and the member dies, pauses and is cut off besides. The others stay whole, so
//! nothing may be lost: every promise holds, and in the end every replica has every row.

use super::run::{ClusterOutcome, Run};
use super::setups::{choose_setup, member};
use crate::durable_state::Loss;
use crate::machine::Machine;
use crate::network::Network;
use base::Rng;

/// Each time a slot is damaged again it waits longer before it is copied; clients of the simulator do not wait for so long.
const ROTS_MAX: u32 = 3;
/// So many places of a device rot at once, and as many where something is written.
const PLACES_MAX: u64 = 100;
const TRIES_MAX: u32 = 200;
/// Something happens after so long at most.
const QUIET_US_MAX: u64 = 2_000_000;

/// Runs a seed of three members, one of which has a bad device.
///
/// # Panics
/// When a promise is broken.
#[must_use]
pub fn run_rot_seed(seed: u64) -> ClusterOutcome {
    let mut rng = Rng::new(seed ^ 0x0BAD_D15C);
    let setup = choose_setup(seed, None, &mut rng);
    let mut network = Network::new(seed, Box::new(Machine::boot));
    for node in 0..3 {
        network.add(&member(&setup, node));
    }
    let mut run = Run::new(seed, &setup, vec![3], network, &mut rng);
    run.bootstrap();
    let node = rng.below(3) as usize;
    let mut bad = BadDevice { run, node, rng, rots: 0, repaired: 0 };
    for _ in 0..8 {
        bad.suffer();
        let us = bad.rng.below(QUIET_US_MAX);
        bad.run.work(us);
    }
    bad.run.finish();
    bad.note_repaired();
    let mut outcome = bad.run.outcome();
    outcome.faults.insert("repaired", bad.repaired);
    outcome
}

struct BadDevice {
    run: Run,
    node: usize,
    rng: Rng,
    rots: u32,
    /// Slots that processes which have ended had repaired.
    repaired: u64,
}

impl BadDevice {
    fn suffer(&mut self) {
        let node = self.node;
        let name = match self.rng.below(8) {
            0..=2 if self.rots < ROTS_MAX => self.rot(),
            3 | 4 => self.restart(),
            5 => {
                self.run.network.pause(node);
                "pause"
            }
            6 => {
                for other in (0..3).filter(|other| *other != node) {
                    self.run.network.cut(node, other);
                    self.run.network.cut(other, node);
                }
                "isolate"
            }
            _ => {
                self.run.network.resume(node);
                self.run.network.heal_links();
                "heal"
            }
        };
        self.run.faults.count(name);
    }

    /// Some bytes of each core's device change.
    fn rot(&mut self) -> &'static str {
        self.rots += 1;
        let places = 1 + self.rng.below(PLACES_MAX);
        let machine = self.run.network.machine(self.node).unwrap();
        for core in 0..machine.cores() {
            let disk = machine.disk(core);
            for _ in 0..places {
                disk.rot(&mut self.rng);
                // Most of the file is empty.
                let written = (0..TRIES_MAX).map(|_| self.rng.below(disk.len()) as usize).find(|at| disk.bytes()[*at] != 0);
                if let Some(at) = written {
                    disk.damage(at, 1 << self.rng.below(8));
                }
            }
        }
        "rot"
    }

    /// What is in memory only afterwards is on the device only.
    fn restart(&mut self) -> &'static str {
        self.note_repaired();
        self.run.network.resume(self.node);
        self.run.network.kill(self.node, Loss::Process);
        let away_us = self.rng.below(QUIET_US_MAX);
        self.run.work(away_us);
        if self.rots < ROTS_MAX && self.rng.below(3) == 0 {
            let (_, remains) = self.run.network.durable_state(self.node).unwrap();
            (0..1 + self.rng.below(20)).for_each(|_| remains.rot(&mut self.rng));
            self.rots += 1;
        }
        self.run.network.start(self.node);
        "restart"
    }

    fn note_repaired(&mut self) {
        let machine = self.run.network.machine(self.node).unwrap();
        self.repaired += machine.report().cores.iter().map(|core| core.slots_repaired).sum::<u64>();
    }
}
