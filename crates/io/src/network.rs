//! Names of connections and listeners.

/// A connection of one core. Never used twice: a late event for a closed connection finds nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId {
    /// Index in the core's connection table.
    pub index: u32,
    /// How often this index was used before.
    pub generation: u32,
}

/// A listening socket, dense from 0 in the order in which the node asked for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(pub u16);

/// Which core gets an accepted connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Whichever the kernel chose: connections spread over all cores.
    Spread,
    /// The core whose number is the client's port modulo the number of cores (ScyllaDB's shard-aware port).
    ByClientPort,
}
