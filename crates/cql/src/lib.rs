//! The Cassandra protocol and language: bytes to frames to messages to operations, without I/O.

pub mod language;
pub mod value;
pub mod wire;
