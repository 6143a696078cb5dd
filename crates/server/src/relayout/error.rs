//! Why data could not be laid out for another number of cores: what was found, and what to do.

use crate::devices::DevicesError;
use crate::layout::LayoutError;
use crate::node::NodeError;
use crate::size::Size;
use engine::OpenError;
use io_linux::{DeviceError, MappedMemoryError, StartError};
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
         missing. Make room and start again{elsewhere}, or start without --cores to go on with {former}",
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
        /// Where else it could be.
        elsewhere: &'static str,
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
    /// The same where the capacity is that of devices.
    #[error(
        "the devices cut for {cores} cores give each {there}, and it needs {needed} for its share of the data: start with another --cores, or \
         without to go on as before"
    )]
    CapacityOfDevices {
        /// The number asked for.
        cores: u16,
        /// A core's share.
        there: Size,
        /// What it needs.
        needed: Size,
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
    /// The directory for a copy cannot be used.
    #[error("a copy of the data cannot be made in {}: {source}; name a directory that is there and may be written to as --relayout-dir", path.display())]
    NoDirectory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The directory for a copy does not outlive a loss of power.
    #[error(
        "a copy of the data cannot be made in {}: its files are in memory, and the copy is the data until it is on the devices; name a directory on a \
         disk as --relayout-dir",
        path.display()
    )]
    InMemory {
        /// The directory.
        path: PathBuf,
    },
    /// Somebody else may change what is in the directory.
    #[error(
        "a copy of the data cannot be made in {}: others than the node own it or may write to it; remove it, or name another --relayout-dir",
        path.display()
    )]
    NotOwn {
        /// The directory.
        path: PathBuf,
    },
    /// The copy is the data, and is not there.
    #[error(
        "the data is in {} until it is on the devices, and that cannot be used: {source}. Make it available, for instance by mounting the file system \
         that --relayout-dir named, and start again",
        path.display()
    )]
    CopyLost {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: DeviceError,
    },
    /// The copy is not what was made.
    #[error(
        "the copy of the data in {} has {bytes}, and its core has {most} on the devices: it is not the file that was made; put that one there again",
        path.display()
    )]
    CopyTooLong {
        /// The file.
        path: PathBuf,
        /// How long it is.
        bytes: Size,
        /// How long it can be.
        most: Size,
    },
    /// The devices cannot be cut so.
    #[error(transparent)]
    Devices(#[from] DevicesError),
    /// A device fails.
    #[error(transparent)]
    Device(#[from] DeviceError),
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

/// The first that does not follow from another one.
pub(super) fn reason(mut errors: Vec<RelayoutError>) -> Option<RelayoutError> {
    let first = errors.iter().position(|error| !matches!(error, RelayoutError::GivenUp)).unwrap_or(0);
    (!errors.is_empty()).then(|| errors.swap_remove(first))
}
