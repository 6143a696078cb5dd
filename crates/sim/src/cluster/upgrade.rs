//! Programs that know a later version of the nodes' protocol take the place of older ones.
//!
//! In some seeds of clusters each process that starts again is one of a newer program, whatever else goes wrong. [`run_upgrade_seed`] does what operators
//! are told to do: a member at a time, each whole before the next one; and what they must not do, which is refused and harms nobody.

use super::run::{ClusterOutcome, POLL_US, Run, SETTLE_US_MAX};
use super::setups::{choose_setup, joining, member};
use super::state::{describe, is_settled, newest_state};
use super::versions::{NEWER, OLDER, set_versions};
use crate::durable_state::Loss;
use crate::machine::Machine;
use crate::network::Network;
use crate::setup::Setup;
use base::Rng;
use cluster::{MemberState, Versions};
use shard::Durability;

/// What is refused stays so for this long.
const REFUSED_US: u64 = 4_000_000;
/// A process that was told to shut down has done so by then.
const SHUTDOWN_US_MAX: u64 = 20_000_000;

/// Runs a seed of three members that get another program, one at a time, while clients go on.
///
/// # Panics
/// When a promise is broken, or what must be refused is not.
#[must_use]
pub fn run_upgrade_seed(seed: u64) -> ClusterOutcome {
    let mut rng = Rng::new(seed ^ 0x00F6_4ADE);
    let mut setup = choose_setup(seed, None, &mut rng);
    set_versions(&mut setup, OLDER);
    let mut network = Network::new(seed, Box::new(Machine::boot));
    for node in 0..3 {
        network.add(&member(&setup, node));
    }
    let mut run = Run::new(seed, &setup, vec![3], network, &mut rng);
    run.bootstrap();
    let mut upgrade = Upgrade { run, setup, rng };
    upgrade.upgrade_all();
    upgrade.try_to_go_back();
    upgrade.try_to_join();
    let mut run = upgrade.run;
    run.finish();
    run.outcome()
}

struct Upgrade {
    run: Run,
    setup: Setup,
    rng: Rng,
}

impl Upgrade {
    fn upgrade_all(&mut self) {
        let first = self.rng.below(3) as usize;
        for node in (0..3).map(|number| (first + number) % 3) {
            let before_us = self.rng.below(1_000_000);
            self.run.work(before_us);
            self.replace(node, NEWER);
            if node == first && self.rng.below(2) == 0 {
                // There is a way back as long as not all know more.
                self.replace(node, OLDER);
                self.replace(node, NEWER);
            }
            let is_last = (node + 1) % 3 == first;
            let expected = if is_last { NEWER } else { OLDER };
            assert_eq!(self.agreed(), expected.latest(), "after machine {node}, the first of which was {first}");
        }
        self.run.work(1_000_000);
    }

    /// The older program on a member of a cluster in which all know more: it takes no part, and the others go on without it.
    fn try_to_go_back(&mut self) {
        let node = self.rng.below(3) as usize;
        self.end(node);
        self.start(node, OLDER);
        let acknowledged = self.run.workload.history.acknowledged;
        self.run.work(REFUSED_US);
        assert!(!self.run.network.machine(node).unwrap().takes_part(), "machine {node} takes part with an older program");
        let state = newest_state(&mut self.run.network).unwrap();
        let known = state.members.values().find(|member| member.profile.host_id == node as u128 + 1).unwrap();
        assert_eq!((known.state, known.profile.protocol_versions), (MemberState::Down, NEWER));
        assert!(self.run.workload.history.acknowledged > acknowledged, "the others do not go on");
        self.replace(node, NEWER);
    }

    /// An older program that asks to be taken in, and one that knows only what is to come.
    fn try_to_join(&mut self) {
        let too_new = Versions::new(NEWER.latest() + 1, NEWER.latest() + 1);
        for (node, versions) in [(3, OLDER), (4, too_new)] {
            let mut setup = joining(&self.setup, node, 3, node as u128 + 1, None);
            set_versions(&mut setup, versions);
            self.run.network.add(&setup);
            self.run.work(REFUSED_US);
            let state = newest_state(&mut self.run.network).unwrap();
            assert_eq!((state.members.len(), state.protocol_version()), (3, NEWER.latest()));
            // After healing it comes back with a program that fits, and is taken in.
            self.run.network.kill(node, Loss::Process);
            set_versions(self.run.network.setup(node), NEWER);
        }
    }

    /// Another program, on what the one before has left.
    fn replace(&mut self, node: usize, versions: Versions) {
        self.end(node);
        let away_us = self.rng.below(1_500_000);
        self.run.work(away_us);
        self.start(node, versions);
        let until_us = self.run.network.now_us() + SETTLE_US_MAX;
        while !is_settled(&mut self.run.network) {
            self.run.work(POLL_US);
            let now_us = self.run.network.now_us();
            assert!(now_us < until_us, "not whole with another program on machine {node}: {}", describe(&mut self.run.network));
        }
    }

    /// Mostly by an orderly shutdown, as operators do.
    fn end(&mut self, node: usize) {
        let loss = match self.rng.below(4) {
            0 => Loss::Process,
            1 if self.setup.durability == Durability::Device => Loss::Power,
            _ => {
                self.run.network.machine(node).unwrap().request_shutdown();
                let until_us = self.run.network.now_us() + SHUTDOWN_US_MAX;
                while self.run.network.machine(node).is_some_and(|machine| !machine.has_shut_down()) && self.run.network.now_us() < until_us
                {
                    self.run.step();
                }
                Loss::Process
            }
        };
        self.run.network.kill(node, loss);
    }

    fn start(&mut self, node: usize, versions: Versions) {
        set_versions(self.run.network.setup(node), versions);
        self.run.network.start(node);
    }

    fn agreed(&mut self) -> u16 {
        newest_state(&mut self.run.network).unwrap().protocol_version()
    }
}
