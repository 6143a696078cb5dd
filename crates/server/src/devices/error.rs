//! Why a list of devices cannot be used: what was found, and what to do.

use crate::size::Size;
use io_linux::DeviceError;
use std::path::PathBuf;

/// What is to be done when a device of a store that has data cannot be had any more.
const LOST: &str = "If a device of a node with data is lost, so are rows of every core, for each uses all devices: a member of a cluster is replaced by a node with \
                    an empty data directory and empty devices, a node by itself made anew and its backup restored (docs/reference/operations.md, When a \
                    device is lost)";

/// Nothing was written when one of these is returned for a device that is not empty.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DevicesError {
    /// It could not be opened, claimed, read or written.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// It is not there.
    #[error("there is no {}: check the path (names like /dev/sdb can change, those in /dev/disk/by-id do not) and that the device is attached. {}", path.display(), LOST)]
    Missing {
        /// The device.
        path: PathBuf,
    },
    /// A file that is to be made needs a size.
    #[error("{} is a new file and needs a size: write {}=SIZE, for instance {}=100GiB", path.display(), path.display(), path.display())]
    SizeNeeded {
        /// The file.
        path: PathBuf,
    },
    /// It holds something that is not ours.
    #[error(
        "{} is not empty: it holds {what}; nothing was written. Give another device, or, if nothing on it is needed, empty it \
         (a block device: blkdiscard -z {}, a file: remove it)",
        path.display(),
        path.display()
    )]
    Foreign {
        /// The device.
        path: PathBuf,
        /// What was recognised.
        what: String,
    },
    /// It is of another store.
    #[error(
        "{} is device {number} of {devices} of another store, {store:032x}: start with the data directory that it was made with, or give another \
         device; if that store is not needed any more, empty the device (a block device: blkdiscard -z {}, a file: remove it)",
        path.display(),
        path.display()
    )]
    OtherStore {
        /// The device.
        path: PathBuf,
        /// Its number there.
        number: u16,
        /// How many devices that store has.
        devices: usize,
        /// That store's identity.
        store: u128,
    },
    /// A newer version made it.
    #[error("{} has device format {version}, and this version knows only 1: use the version that made it, or a newer one", path.display())]
    Version {
        /// The device.
        path: PathBuf,
        /// Its format.
        version: u16,
    },
    /// Both copies of the superblock are damaged.
    #[error("both copies of the superblock of {} are damaged, so its data cannot be found. {}", path.display(), LOST)]
    Damaged {
        /// The device.
        path: PathBuf,
    },
    /// It was laid out for another number of cores.
    #[error("{} is laid out for {made} cores, not {asked}: start with --cores {made}", path.display())]
    Cores {
        /// The device.
        path: PathBuf,
        /// What it was made for.
        made: u16,
        /// What was asked for.
        asked: u16,
    },
    /// The list has another length.
    #[error("{} is one of {made} devices, and {given} are given: list all {made} in their first order", path.display())]
    Count {
        /// A device.
        path: PathBuf,
        /// How many the store has.
        made: usize,
        /// How many were given.
        given: usize,
    },
    /// The list has another order.
    #[error("{} is device {made} of its store and stands at place {given} of the list (places count from 0): put the devices in their first order", path.display())]
    Order {
        /// The device.
        path: PathBuf,
        /// Its number.
        made: usize,
        /// Its place in the list.
        given: usize,
    },
    /// It was formatted with another segment size.
    #[error("{} has segments of {made} bytes, and this version uses {wanted}: use the version that made it", path.display())]
    Segments {
        /// The device.
        path: PathBuf,
        /// Its segment size.
        made: u32,
        /// Ours.
        wanted: u32,
    },
    /// Devices of one store that were formatted for different lists.
    #[error("{} was formatted for another list of devices than the first one: give the devices of one list", path.display())]
    Mixed {
        /// The device.
        path: PathBuf,
    },
    /// It should be ours and is empty.
    #[error(
        "{} is new or empty, but it should hold device {number} of this store, whose other devices or data directory are there: its data is missing. \
         Attach the right device. {}",
        path.display(),
        LOST
    )]
    Replaced {
        /// The device.
        path: PathBuf,
        /// Its number in the list.
        number: usize,
    },
    /// It is shorter than what is to be used of it.
    #[error("{} has {there}, and {needed} of it are to be used: give the right device or a smaller size", path.display())]
    Shrunk {
        /// The device.
        path: PathBuf,
        /// How long it is.
        there: Size,
        /// How long it must be.
        needed: Size,
    },
    /// A size is given that is not that of the format.
    #[error("{} was formatted to use {made}, not {asked}: leave the size away (devices cannot be resized yet)", path.display())]
    Resized {
        /// The device.
        path: PathBuf,
        /// What it uses.
        made: Size,
        /// What is asked for.
        asked: Size,
    },
    /// It has no room for a segment of every core.
    #[error("{} gives {bytes}, and each of {cores} cores needs a segment of it: give at least {needed}, or fewer --cores", path.display())]
    TooSmall {
        /// The device.
        path: PathBuf,
        /// What it gives.
        bytes: Size,
        /// How many cores there are.
        cores: u16,
        /// What is needed.
        needed: Size,
    },
    /// All together have too little room.
    #[error("the devices give each of {cores} cores {there}, and it needs {needed}: give larger devices, or fewer --cores")]
    TooLittle {
        /// How many cores there are.
        cores: u16,
        /// What a core gets.
        there: Size,
        /// What it needs.
        needed: Size,
    },
}
