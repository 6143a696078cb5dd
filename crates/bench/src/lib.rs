//! Benchmarks: frames through a shard in process, and load over sockets.
//!
//! Two binaries stand on what is here: `microbench` drives a node's core without sockets, `loadgen` loads a server over TCP. Both speak the
//! native protocol as a client through `cql::wire`, on the same rows and the same pre-encoded requests. What is measured and how to read
//! it: `docs/benchmarks.md`.

pub mod report;
pub mod requests;
pub mod rows;
pub mod statistics;
