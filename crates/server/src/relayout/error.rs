//! Why data could not be laid out for another number of cores: what was found, and what to do.

use crate::layout::LayoutError;
use crate::node::NodeError;
use crate::size::Size;
use engine::OpenError;
use io_linux::{MappedMemoryError, StartError};
use shard::ShardError;
use std::path::PathBuf;

/// A size as it is given on a command line.
fn setting(size: &Size) -> String {
    format!("{}MiB", size.0.div_ceil(1 << 20))
}

/// The data is as it was before when one of these is returned; only [`RelayoutError::Finish`] leaves something to the next start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RelayoutError {
    /// The file system has too little space for a copy.
    #[error(
        "to lay the data out for {cores} cores instead of {former}, a copy of it needs {needed} beside it, and {} has {free} free: {missing} are \
         missing. Make room and start again, or start without --cores to go on with {former}",
        path.display()
    )]
    Space {
        /// The directory.
        path: PathBuf,
        /// What is free.
        free: Size,
        /// What is needed.
        needed: Size,
        /// What is missing.
        missing: Size,
        /// The number of cores before.
        former: u16,
        /// The number asked for.
        cores: u16,
    },
    /// A core's share of the capacity cannot hold its share of the data.
    #[error(
        "with {cores} cores each has {there} of the capacity, and needs {needed} for its share of the data: start with --capacity {} at least, or \
         with another --cores",
        setting(capacity)
    )]
    Capacity {
        /// The number asked for.
        cores: u16,
        /// A core's share.
        there: Size,
        /// What it needs.
        needed: Size,
        /// What all need.
        capacity: Size,
    },
    /// The index is needed twice.
    #[error(
        "while the data is laid out for {cores} cores its index is in memory twice, which takes {needed}, and the memory limit is {limit}: start with \
         --memory-limit {} at least; once this is done, less is enough",
        setting(needed)
    )]
    Memory {
        /// The number asked for.
        cores: u16,
        /// What is needed.
        needed: Size,
        /// The limit.
        limit: Size,
    },
    /// Stored data is damaged, so not all of it could be copied.
    #[error(
        "the data of core {core} is damaged in {places} places, and a copy would lack what is there: start without --cores, and have it repaired by \
         the other members, or restore the node from a backup, before the number of cores is changed"
    )]
    Damaged {
        /// The core.
        core: u16,
        /// How many places.
        places: u64,
    },
    /// The device failed under a shard.
    #[error("the data of core {core} cannot be {done}: {error}; nothing has changed, start without --cores to go on as before")]
    Shard {
        /// The core.
        core: u16,
        /// What was to be done with it.
        done: &'static str,
        /// Why not.
        error: ShardError,
    },
    /// A shard of the new layout cannot be opened.
    #[error("the new data of core {core} cannot be made: {error}; nothing has changed, start without --cores to go on as before")]
    Open {
        /// The core.
        core: u16,
        /// Why.
        error: OpenError,
    },
    /// A file cannot be opened.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The stable memory.
    #[error(transparent)]
    StableMemory(#[from] MappedMemoryError),
    /// A file cannot be moved or removed.
    #[error("cannot use {}: {source}; start again, and the node goes on where it was", path.display())]
    Finish {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What the node would be made from.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The layout or a small file cannot be written.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Another thread has failed, and says why.
    #[error("another core could not be copied")]
    GivenUp,
}
