//! Benchmarks: studies that compare databases, frames through a shard in process, and raw load over sockets.
//!
//! `tarndb bench` is [`cli`]: it reads a [`study`], runs it on each [`target`] ([`run`]) and draws a [`report`]. Two binaries stand on the rest:
//! `microbench` drives a node's core without sockets, `loadgen` loads a server over TCP. Both speak the
//! native protocol as a client through `cql::wire`, on the same rows and the same pre-encoded requests. What is measured and how to read
//! it: `docs/benchmarks.md`.

pub mod cli;
pub mod report;
pub mod requests;
pub mod rows;
pub mod run;
pub mod statistics;
pub mod study;
pub mod target;
