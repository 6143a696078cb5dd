//! Tests of a whole node on the machine in `support`: bytes that make no sense, several cores, crashes, determinism.
//!
//! TARNDB_FUZZ_ITERATIONS says how many seeds each test takes, TARNDB_FUZZ_SEED which is the first.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod bad_bytes;
mod bad_statements;
mod crash;
mod cross_core;
mod model;
mod workload;
