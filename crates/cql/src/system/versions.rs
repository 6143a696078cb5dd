//! What the node claims to be: drivers choose their behaviour by it.

/// The version that drivers, cqlsh and tools are told, and choose their queries by.
pub const RELEASE_VERSION: &str = "5.0.0";
/// The version of the language that goes with it.
pub const CQL_VERSION: &str = "3.4.7";
/// The newest version of the native protocol.
pub const NATIVE_PROTOCOL_VERSION: &str = "5";
/// The class whose tokens drivers compute.
pub const PARTITIONER: &str = "org.apache.cassandra.dht.Murmur3Partitioner";
