//! Whole nodes on a machine that does not exist: production code from received bytes to the device, everything around it by seed.
//!
//! ```text
//! Workload ─ Client ─bytes─► Machine ─any cut─► node::Core (over SimReactor) ─► Disk, Stable, blobs
//!    │                          │ picks by seed which core has which events when ◄─ messages between cores
//!    │ every acknowledged       └ ends at any moment: DurableState ─ the power may go, too ─► Machine again
//!    ▼ write
//! Cells: what each row may be ◄── what is read after the end
//! ```
//! [`run_seed`] makes of one number a configuration, a workload, faults and ends, and panics when a promise is broken. Nothing here reads a
//! clock or draws a random number but from the machine's own generator: the same seed gives the same [`Trace`], byte for byte.
//! `docs/internals/simulator.md` says which faults there are and what is promised under each.

#![allow(clippy::unwrap_used, reason = "a surprise here is the failure of the test that runs the simulation")]

mod blobs;
mod cells;
mod client;
mod cluster;
mod connection;
mod durable_state;
mod explain;
mod linearizability;
mod machine;
mod network;
mod planted;
mod reactor;
mod run;
mod seeds;
mod setup;
mod sim_core;
mod statement;
mod timed;
mod trace;
mod workload;

pub use cells::{Cells, Least};
pub use client::{Client, Reply};
pub use cluster::{ClusterOutcome, run_cluster_seed, run_rot_seed, run_upgrade_seed};
pub use connection::{Connection, Phase};
pub use durable_state::{DurableState, Loss};
pub use explain::{Explainer, Reported};
pub use linearizability::{Event, Operation, Value, Verdict, Violation, check};
pub use machine::{CoreEnv, Machine};
pub use network::Network;
pub use planted::Planted;
pub use reactor::SimReactor;
pub use run::{Outcome, run_seed};
pub use seeds::{Seeded, first_seed, run_seeds, seeds};
pub use setup::{ClusterSetup, NODE_PORT, Setup};
pub use sim_core::SimCore;
pub use sim_disk::{Disk, Fault, FaultEvent, Faults, Stable};
pub use statement::{Bound, Statement, bigint, int, text};
pub use timed::{Costs, TimedNetwork};
pub use trace::Trace;
pub use workload::{DamagedReads, ExpectedErrors, Workload};
