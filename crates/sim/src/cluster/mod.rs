//! Clusters under faults: nodes of a [`Network`], clients of any of them, faults; then the faults end, and the promises are checked.
//!
//! 1. **Faults**: processes die, power goes, a disk is lost, machines pause, directions are cut, links and disks are slow, clocks are set; members
//!    join, are drained, removed and replaced, replication factors change. Clients read and write all the while, and record each invocation and its answer.
//! 2. **Settling**: all faults are healed. The cluster must bring every replica in sync by itself, in bounded time; then every row is read,
//!    and must be the same at every member.
//!
//! Promised: the history of each row is linearizable, the last reads included, so no acknowledged write is lost; batches of a partition are
//! done whole or not at all, and so are logged ones over several in the end; a read at ONE gives something that was written.

mod faults;
mod history;
mod members;
mod rot;
mod run;
mod setups;
mod state;
mod upgrade;
mod versions;
mod worker;
mod workload;

pub use rot::run_rot_seed;
pub use run::ClusterOutcome;
pub use upgrade::run_upgrade_seed;

use crate::machine::Machine;
use crate::network::Network;
use base::Rng;
use run::Run;
use setups::{choose_setup, member};

/// Runs a seed, with a bug or without.
///
/// # Panics
/// When a promise is broken.
#[must_use]
pub fn run_cluster_seed(seed: u64, planted: Option<node::Planted>) -> ClusterOutcome {
    let mut rng = Rng::new(seed ^ 0xC1_057E);
    let setup = choose_setup(seed, planted, &mut rng);
    let nodes = [1, 2, 3, 3, 3, 3, 3, 5][rng.below(8) as usize];
    let factors = match rng.below(4) {
        0 if nodes > 1 => vec![1, nodes.min(3)],
        1 => vec![1 + rng.below(u64::from(nodes)) as u8],
        _ => vec![nodes.min(3)],
    };
    let mut network = Network::new(seed, Box::new(Machine::boot));
    for node in 0..usize::from(nodes) {
        network.add(&member(&setup, node));
    }
    let mut run = Run::new(seed, &setup, factors, network, &mut rng);
    run.bootstrap();
    run.progress("founded");
    run.run_with_faults(3_000_000 + rng.below(12_000_000));
    run.progress("has suffered");
    run.finish();
    run.outcome()
}
