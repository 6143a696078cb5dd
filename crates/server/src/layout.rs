//! The layout of a data directory: what was fixed when it was made, and why a directory cannot be used.

use crate::at_rest::AtRestError;
use crate::devices::DevicesError;
use crate::size::Size;
use io::{BlobFault, BlobsLost};
use io_linux::{BlobError, DataDirError};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The file of the layout.
pub(crate) const LAYOUT: &str = "layout.toml";
/// Its second copy.
pub(crate) const LAYOUT_COPY: &str = "layout-copy.toml";
/// The layout of a node with files of its own.
pub(crate) const FORMAT_FILES: u32 = 1;
/// The layout of a node with devices.
pub(crate) const FORMAT_DEVICES: u32 = 2;
/// The layout of a node with either, encrypted.
pub(crate) const FORMAT_ENCRYPTED: u32 = 3;

/// Whether a node starts that has lost stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Losses {
    Refused,
    /// It starts with what is left, by the operator's order.
    Accepted,
}

/// What to do when small files have no good copy.
const RESTORE: &str = "Nothing was changed. Restore both copies from a backup of this directory; or, if this is a member of a cluster, \
                       move the directory away and replace the member by an empty one (docs/reference/operations.md, `When files of the data directory are lost`)";

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayoutError {
    /// It is locked or not accessible.
    #[error(transparent)]
    Directory(#[from] DataDirError),
    /// A file of it could not be read or written.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The layout file is damaged.
    #[error("{} is damaged: {source}; restore it (it says how many cores and how much space the data was laid out for)", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: Box<toml::de::Error>,
    },
    /// A newer version made the directory.
    #[error("{} has format {found}, and this version knows only 1 to 3: use the version that made it, or a newer one", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The data is in files and shall be on devices.
    #[error(
        "the data in {} is in files of the directory and cannot move to devices: start without --devices, or make a new node with another \
         --data-dir",
        path.display()
    )]
    FilesHaveData {
        /// The directory.
        path: PathBuf,
    },
    /// The data is on devices, whose sizes are fixed.
    #[error("the data of {} is on devices, which have their own sizes: start without --capacity", path.display())]
    CapacityOfDevices {
        /// The directory.
        path: PathBuf,
    },
    /// The devices.
    #[error(transparent)]
    Devices(#[from] DevicesError),
    /// Encryption.
    #[error(transparent)]
    AtRest(#[from] AtRestError),
    /// The small files cannot be read or mended.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// Small files without a good copy.
    #[error("{}: {lost}. {RESTORE}", path.display())]
    BlobsLost {
        /// The directory.
        path: PathBuf,
        /// Which.
        lost: BlobsLost,
    },
    /// There is no identity where there is data.
    #[error("{} has data, and neither blobs/identity nor blobs-copy/identity is there or good: without it the data cannot be read. {RESTORE}", path.display())]
    IdentityLost {
        /// The directory.
        path: PathBuf,
    },
    /// There is no layout where there is data.
    #[error("{} has data, and neither {LAYOUT} nor {LAYOUT_COPY} is there: they say how many cores and how much space the data was laid out for. {RESTORE}", path.display())]
    LayoutLost {
        /// The directory.
        path: PathBuf,
    },
    /// No copy of the layout is good.
    #[error("{} {first}, and its copy {LAYOUT_COPY} {second}. {RESTORE}", path.display())]
    LayoutDamaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        first: BlobFault,
        /// What is wrong with its copy.
        second: BlobFault,
    },
    /// The files of two nodes are mixed.
    #[error("as many small files in {} belong to one node as to another; remove those of the other node", path.display())]
    TwoNodes {
        /// The directory.
        path: PathBuf,
    },
    /// There is too little room for a new node.
    #[error("{} has {free} free, and a new node needs {needed}: make room, choose another --data-dir, or set --capacity", path.display())]
    NoRoom {
        /// The directory.
        path: PathBuf,
        /// What is free.
        free: Size,
        /// What is needed.
        needed: Size,
    },
}

/// What was fixed when the directory was made.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layout {
    pub(crate) format: u32,
    pub(crate) cores: u16,
    pub(crate) capacity: Size,
    /// Absolute paths, in order; empty when the data is in files of the directory.
    #[serde(default)]
    pub(crate) devices: Vec<PathBuf>,
    /// The data has just been copied for `cores`, and what it was before is still there: `relayout` goes on from here.
    #[serde(default)]
    pub(crate) relaid: Option<Relaid>,
}

/// What a copy for another number of cores has left to be done.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Relaid {
    /// The number of cores before.
    pub(crate) former_cores: u16,
    /// For each core: up to this sequence all replicas have its rows.
    pub(crate) committed: Vec<u64>,
    /// The copy is in files and has its place on devices.
    #[serde(default)]
    pub(crate) onto: Option<Onto>,
}

/// A copy that has to be written to devices.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Onto {
    /// Where the copy is; `None`: in the data directory.
    #[serde(default)]
    pub(crate) directory: Option<PathBuf>,
    /// How the devices will be cut: the segments of each core on each of them.
    pub(crate) area_segments: Vec<u64>,
}

impl Layout {
    /// Whether what is stored is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.format == FORMAT_ENCRYPTED
    }

    /// Reads the layout's text.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, LayoutError> {
        let layout: Self =
            toml::from_str(text).map_err(|source| LayoutError::Damaged { path: path.to_owned(), source: Box::new(source) })?;
        match layout.format {
            FORMAT_FILES | FORMAT_DEVICES | FORMAT_ENCRYPTED => Ok(layout),
            found => Err(LayoutError::Format { path: path.to_owned(), found }),
        }
    }
}
