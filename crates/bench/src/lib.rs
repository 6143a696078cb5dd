//! Benchmarks: frames through a shard in process, and load over sockets.
