//! What requests go by besides what they say.

/// A keyspace that clients know as a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// How long records last whose writer leaves that to the server, in seconds; 0 is for ever.
    pub default_ttl_s: u32,
}

/// What a node decides.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The namespaces there are.
    pub namespaces: &'a [Namespace],
    /// How many cores the node has: scans make a part for each.
    pub cores: u16,
    /// The size a record may have.
    pub record_bytes_max: u32,
}
