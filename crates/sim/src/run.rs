//! One seed: a node, a workload, faults, ends and restarts, and what is checked after each.
//!
//! Three seeds in four have faults that lose nothing which was acknowledged; there every row must be exactly what the model says. In the fourth
//! the medium breaks what the log assumes of it; there every loss must be explained by a fault in the very segment.

use crate::durable_state::{DurableState, Loss};
use crate::explain::Explainer;
use crate::machine::Machine;
use crate::planted::Planted;
use crate::setup::Setup;
use crate::workload::{DamagedReads, ExpectedErrors, Workload};
use base::Rng;
use shard::Durability;
use sim_disk::{Fault, Faults};
use std::collections::BTreeMap;

/// What a seed came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The digest of its trace.
    pub digest: u64,
    /// Events in the trace.
    pub events: u64,
    /// Statements that were acknowledged.
    pub acknowledged: u64,
    /// Statements whose outcome is unknown.
    pub unknown: u64,
    /// Ends of the process alone, and in order.
    pub kills: u64,
    /// Losses of power.
    pub outages: u64,
    /// Faults that struck.
    pub faults: BTreeMap<Fault, u64>,
    /// Reads after faults that corrupt.
    pub damaged: DamagedReads,
}

impl Outcome {
    /// Adds another seed's figures.
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.acknowledged += other.acknowledged;
        self.unknown += other.unknown;
        self.kills += other.kills;
        self.outages += other.outages;
        for (fault, count) in &other.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
        self.damaged.add(&other.damaged);
    }
}

/// Runs a seed, with a bug or without.
///
/// # Panics
/// When a promise is broken.
#[must_use]
pub fn run_seed(seed: u64, planted: Option<Planted>) -> Outcome {
    let mut rng = Rng::new(seed ^ 0x51_AB1E);
    let setup = choose_setup(seed, planted, &mut rng);
    let mut run = Run { workload: Workload::new(seed), outcome: Outcome::default(), setup, rng };
    run.workload.large_values = [5, 20, 80][run.rng.below(3) as usize];
    let corrupt = planted.is_none() && run.rng.below(4) == 0;
    // Planted bugs look into what is stored.
    run.setup.encrypted = planted.is_none() && seed.is_multiple_of(3);
    // Keys and buffers of ciphertext are a third of the least memory.
    run.setup.memory_bytes += if run.setup.encrypted { 256 << 10 } else { 0 };
    let mut machine = Machine::start(&run.setup);
    run.workload.create(&mut machine);
    let remains = if corrupt { run.corrupt(machine) } else { run.survive(machine) };
    run.finish(&remains)
}

fn choose_setup(seed: u64, planted: Option<Planted>, rng: &mut Rng) -> Setup {
    let segment_bytes = [16 << 10, 32 << 10, 64 << 10][rng.below(3) as usize];
    Setup {
        cores: 1 + rng.below(3) as u16,
        segment_bytes,
        capacity_bytes: u64::from(segment_bytes) * (16 + rng.below(64)),
        memory_bytes: (300 << 10) + segment_bytes as usize * [4, 8, 20][rng.below(3) as usize],
        checkpoint_bytes_min: [16 << 10, 128 << 10, u64::MAX][rng.below(3) as usize],
        durability: match planted {
            // A bug must be found where it breaks the promise.
            Some(Planted::SkippedFlush) => Durability::Device,
            Some(Planted::EarlyAcknowledgement) => Durability::Memory,
            _ if rng.below(2) == 0 => Durability::Device,
            _ => Durability::Memory,
        },
        step_us: [60, 300, 1_500][rng.below(3) as usize],
        planted,
        ..Setup::small(seed)
    }
}

/// A seed on its way.
struct Run {
    setup: Setup,
    rng: Rng,
    workload: Workload,
    outcome: Outcome,
}

/// How a round ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Kill,
    KillInWrite,
    Power,
    /// SIGTERM, and then the power.
    Order,
}

impl Run {
    /// Rounds of work, faults and ends that lose nothing.
    fn survive(&mut self, mut machine: Machine) -> DurableState {
        for _ in 0..2 + self.rng.below(3) {
            let end = [End::Kill, End::KillInWrite, End::Power, End::Power, End::Order][self.rng.below(5) as usize];
            let end = self.inject_faults(&mut machine, end);
            self.work(&mut machine, end);
            let remains = self.end(machine, end);
            machine = self.start_again(remains);
            self.workload.expected_errors = ExpectedErrors::None;
            self.workload.check(&mut machine);
            self.check_no_damage(&machine);
        }
        machine.end(Loss::Process)
    }

    /// Chooses what goes wrong in a round; gives how the round can then end.
    fn inject_faults(&mut self, machine: &mut Machine, end: End) -> End {
        let core = self.rng.below(u64::from(machine.cores())) as u16;
        let (expected_errors, faults, end) = match self.rng.below(13) {
            // A device that is slow for longer than the flush interval cannot keep its promise.
            0 | 1 => {
                let end = if end == End::Power && self.setup.durability == Durability::Memory { End::Kill } else { end };
                (ExpectedErrors::None, Faults::none().with(Fault::Slow, 300).slow_by(1_000 + self.rng.below(40_000)), end)
            }
            2 => (ExpectedErrors::None, Faults::none().with(Fault::Full, 5_000), end),
            3 => {
                let disk = machine.disk(core);
                disk.capacity = disk.len() as usize;
                (ExpectedErrors::None, Faults::none(), end)
            }
            4 => (ExpectedErrors::Reads, Faults::none().with(Fault::FailedRead, 200), if end == End::Order { End::Kill } else { end }),
            5 | 6 => {
                let fault = if self.rng.below(2) == 0 { Fault::FailedWrite } else { Fault::FailedSync };
                // What waits for a device that has gone may wait for ever, and what it has is then in the stable memory only.
                let end = if self.setup.durability == Durability::Device { end } else { End::Kill };
                let end = if end == End::Order { End::Kill } else { end };
                (ExpectedErrors::Writes, Faults::none().with(fault, 200), end)
            }
            7 => {
                machine.fail_blobs(50);
                (ExpectedErrors::Tables, Faults::none(), end)
            }
            _ => (ExpectedErrors::None, Faults::none(), end),
        };
        self.workload.expected_errors = expected_errors;
        if self.setup.planted != Some(Planted::SkippedFlush) {
            machine.disk(core).faults = faults;
        }
        end
    }

    fn work(&mut self, machine: &mut Machine, end: End) {
        if end == End::KillInWrite {
            let core = self.rng.below(u64::from(machine.cores())) as u16;
            machine.crash_in_write(core, 1 + self.rng.below(40_000) as usize);
        }
        let steps = self.rng.below(1_500);
        if end == End::Order {
            self.workload.run_to_the_end(machine, 5, steps);
            machine.drain();
        } else {
            self.workload.run(machine, 5, steps);
        }
    }

    fn end(&mut self, machine: Machine, end: End) -> DurableState {
        let now_us = machine.now().monotonic_us;
        match end {
            End::Kill | End::KillInWrite => {
                self.outcome.kills += 1;
                machine.end(Loss::Process)
            }
            End::Power => {
                self.outcome.outages += 1;
                let loss_us = self.setup.loss_us();
                if loss_us > 0 {
                    self.workload.may_lose(now_us.saturating_sub(loss_us));
                }
                machine.end(Loss::Power)
            }
            End::Order => {
                self.outcome.kills += 1;
                machine.end(Loss::Power)
            }
        }
    }

    /// Starts on what is left, sometimes only to die while it recovers.
    fn start_again(&mut self, mut remains: DurableState) -> Machine {
        remains.repair();
        while self.rng.below(4) == 0 {
            let mut machine = Machine::boot(&self.setup, remains);
            for _ in 0..self.rng.below(60) {
                machine.step();
            }
            self.outcome.kills += 1;
            remains = machine.end(Loss::Process);
        }
        if self.rng.below(3) == 0 {
            remains.shift_clock(self.rng.below(10_000_000) as i64);
        }
        Machine::restart(&self.setup, remains)
    }

    /// Nothing that loses nothing may look like damage.
    fn check_no_damage(&self, machine: &Machine) {
        for core in 0..machine.cores() {
            let engine = machine.engine(core);
            assert_eq!(engine.damage_reports(), [], "core {core} reports damage that is none");
            assert_eq!(engine.accepted_losses(), [], "core {core} misses what is there");
            assert_eq!(engine.stats().damaged_records, 0, "core {core} has found damage that is none");
        }
    }

    /// Work on a medium that does not keep what it was given.
    fn corrupt(&mut self, mut machine: Machine) -> DurableState {
        let chance = 50 + self.rng.below(300) as u16;
        let fault = [Fault::BitRot, Fault::MisdirectedRead, Fault::MisdirectedWrite, Fault::LostWrite, Fault::LyingSync]
            [self.rng.below(5) as usize];
        for core in 0..machine.cores() {
            let disk = machine.disk(core);
            disk.keep_ideal();
            let chance = if fault == Fault::LyingSync { Faults::ALWAYS / 4 } else { chance };
            disk.faults = Faults::none().with(fault, chance);
        }
        self.workload.expected_errors = ExpectedErrors::Reads;
        if fault == Fault::BitRot {
            // While it runs: what is then in memory is right, what is not is an error.
            let steps = self.rng.below(2_000);
            self.workload.run_to_the_end(&mut machine, 5, steps);
            for core in 0..machine.cores() {
                for _ in 0..1 + self.rng.below(20) {
                    machine.disk(core).rot(&mut self.rng);
                }
            }
            self.check_live(&mut machine);
        }
        let end = if fault == Fault::LyingSync || self.rng.below(4) == 0 { End::Power } else { End::Kill };
        let steps = self.rng.below(4_000);
        self.workload.run(&mut machine, 5, steps);
        let mut remains = self.end(machine, end);
        if fault == Fault::BitRot {
            remains.rot(&mut self.rng);
        }
        // In every other run the medium has got better before the restart.
        if self.rng.below(2) == 0 || fault == Fault::LyingSync {
            remains.repair();
        }
        let mut explainer = Explainer::new(remains.disks(), &self.setup);
        let mut machine = Machine::restart(&self.setup, remains);
        for core in 0..machine.cores() {
            machine.disk(core).faults = Faults::none();
        }
        explainer.learn(&mut machine);
        let reads = self.workload.check_damaged(&mut machine, &explainer);
        self.outcome.damaged.add(&reads);
        machine.end(Loss::Process)
    }

    /// As long as the process lives it knows which version is the last one: that, or an error.
    fn check_live(&mut self, machine: &mut Machine) {
        let mut explainer = Explainer::new(machine.disks(), &self.setup);
        explainer.learn(machine);
        let reads = self.workload.check_damaged(machine, &explainer);
        assert!(reads.older == 0 && reads.silent.is_empty(), "a living process has served an older version: {reads:?}");
        self.outcome.damaged.add(&reads);
    }

    fn finish(mut self, remains: &DurableState) -> Outcome {
        for event in remains.disks().iter().flat_map(|disk| disk.events()) {
            *self.outcome.faults.entry(event.fault).or_default() += 1;
        }
        (self.outcome.digest, self.outcome.events) = (remains.trace.digest(), remains.trace.events());
        (self.outcome.acknowledged, self.outcome.unknown) = (self.workload.acknowledged, self.workload.unknown);
        self.outcome
    }
}
