//! Tests of a whole node on the simulated machine: bytes that make no sense, several cores, full devices, restarts.
//!
//! TARNDB_SEEDS says how many seeds each test takes, TARNDB_SEED which is the first.

#![allow(clippy::unwrap_used)]

mod bad_bytes;
mod bad_statements;
mod batches;
mod compression;
mod crash;
mod cross_core;
mod deltas;
mod full;
mod records;
