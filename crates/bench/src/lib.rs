//! Benchmarks: studies that compare databases, frames through a shard in process, and raw load over sockets.
//!
//! `tarndb bench` is [`cli`]: it reads a [`study`], runs it on each [`target`] ([`run`]) and draws a [`report`]. Two binaries stand on the rest:
//! `microbench` drives a node's core without sockets, as a client that speaks the native protocol through `cql::wire` on pre-encoded requests;
//! `loadgen` sends one load of the load generator's (`load`) over TCP, without a study. What is measured and how to read it:
//! `docs/benchmarks.md`.

pub mod cli;
mod http;
pub mod report;
pub mod requests;
pub mod rows;
pub mod run;
pub mod statistics;
pub mod study;
pub mod target;
