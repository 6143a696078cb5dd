//! Why something could not be looked at.

use crate::layout::LayoutError;
use crate::size::Size;
use io_linux::{DataDirError, DeviceError};
use model::schema_blob::SchemaBlobError;
use std::path::PathBuf;

/// Why something could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InspectError {
    /// Nothing was named.
    #[error("nothing to inspect: name devices or files, or give --data-dir")]
    Nothing,
    /// A device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A server has the data directory, or it cannot be read.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// What the data directory says of itself.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The schema.
    #[error("the schema cannot be read: {0}")]
    Schema(#[from] SchemaBlobError),
    /// A directory was named as a device.
    #[error("{} is a directory: write --data-dir {}", path.display(), path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// A change of the number of cores was cut off at its end.
    #[error("{} was laid out for another number of cores, and the files are not all in their places yet: start the node once, which ends that", path.display())]
    Relaid {
        /// The directory.
        path: PathBuf,
    },
    /// No node was ever started there.
    #[error("{} is not a data directory: it has no layout.toml or no identity", path.display())]
    NoDataDir {
        /// The directory.
        path: PathBuf,
    },
    /// It cannot be read without the data directory.
    #[error("{} is encrypted: its key is in the data directory; write --data-dir DIR --encryption-key-file FILE", path.display())]
    Encrypted {
        /// The device.
        path: PathBuf,
    },
    /// Another device is where one of the store should be.
    #[error("{} is not device {number} of the store in {}", path.display(), directory.display())]
    NotTheDevice {
        /// The device.
        path: PathBuf,
        /// The number it should have.
        number: usize,
        /// The data directory.
        directory: PathBuf,
    },
    /// There is nothing of TarnDB in it.
    #[error("{} holds nothing of TarnDB: neither a superblock nor a segment was found", path.display())]
    NothingOfOurs {
        /// The device.
        path: PathBuf,
    },
    /// A newer version made it.
    #[error("{} has device format {version}, and this version knows only 1", path.display())]
    Version {
        /// The device.
        path: PathBuf,
        /// Its format.
        version: u16,
    },
    /// Both copies of the superblock are damaged.
    #[error("both copies of the superblock of {} are damaged, so its segments cannot be found", path.display())]
    Superblock {
        /// The device.
        path: PathBuf,
    },
    /// The device is shorter than its superblock says.
    #[error("{} has {there}, and {needed} of it are in use: its end is missing", path.display())]
    CutShort {
        /// The device.
        path: PathBuf,
        /// How long it is.
        there: Size,
        /// How long it was.
        needed: Size,
    },
    /// The operating system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
