//! What the engine knows as one file: a file that grows, or areas of several devices as one linear space.
//!
//! Invariants: a transfer lies within one stripe; a sync reaches every device that was written to since that device's last sync began, and
//! every device at the first sync, because the process before may have died between a write and its sync.

use crate::files::{DataFile, FileError};
use crate::stripes::{Extent, Stripes};
use base::BLOCK_BYTES;
use io::DiskError;
use std::os::fd::RawFd;
use std::path::PathBuf;

/// What one of a core's files is made of.
#[derive(Clone, Debug)]
pub enum FileLayout {
    /// A file that is created when missing and grows; or a whole block device.
    Whole(PathBuf),
    /// Areas of files and block devices that are there, used in turn, a stripe each. Transfers must lie within a stripe.
    Striped {
        /// Bytes in a stripe.
        stripe_bytes: u64,
        /// The areas, in an order that must not change.
        areas: Vec<(PathBuf, Extent)>,
    },
}

impl From<PathBuf> for FileLayout {
    fn from(path: PathBuf) -> Self {
        Self::Whole(path)
    }
}

/// One device of a volume.
struct Part {
    file: DataFile,
    /// Written to since the last sync began.
    dirty: bool,
    /// Syncs in flight: what they cover is not durable yet.
    syncing: u32,
}

/// A file of one core, open.
pub(crate) struct Volume {
    parts: Vec<Part>,
    stripes: Option<Stripes>,
}

impl Volume {
    pub(crate) fn open(layout: &FileLayout) -> Result<Self, FileError> {
        let part = |file| Part { file, dirty: true, syncing: 0 };
        match layout {
            FileLayout::Whole(path) => Ok(Self { parts: vec![part(DataFile::open_or_create(path)?)], stripes: None }),
            FileLayout::Striped { stripe_bytes, areas } => {
                let extents = areas.iter().map(|(_, extent)| *extent).collect();
                let parts = areas.iter().map(|(path, _)| DataFile::open_existing(path).map(part)).collect::<Result<_, _>>()?;
                Ok(Self { parts, stripes: Some(Stripes::new(*stripe_bytes, extents)) })
            }
        }
    }

    /// How long it is.
    pub(crate) fn length(&self) -> u64 {
        self.stripes.as_ref().map_or_else(|| self.parts[0].file.length, Stripes::bytes)
    }

    /// Offsets and lengths of reads are multiples of it.
    pub(crate) fn read_unit(&self) -> usize {
        self.parts.iter().map(|part| part.file.read_unit).max().unwrap_or(BLOCK_BYTES)
    }

    /// The device that holds a byte, and where.
    ///
    /// # Panics
    /// When areas end before it: the asker's bug. A file says so itself.
    pub(crate) fn locate(&self, offset: u64) -> (usize, u64) {
        match &self.stripes {
            Some(stripes) => stripes.locate(offset),
            None => (0, offset),
        }
    }

    pub(crate) fn descriptor(&self, part: usize) -> RawFd {
        self.parts[part].file.descriptor()
    }

    /// Data was written to a device.
    pub(crate) fn wrote(&mut self, part: usize) {
        self.parts[part].dirty = true;
    }

    /// The devices that a sync has to reach now.
    pub(crate) fn begin_sync(&mut self) -> Vec<usize> {
        let mut reached = Vec::new();
        for (index, part) in self.parts.iter_mut().enumerate() {
            if part.dirty || part.syncing > 0 {
                part.dirty = false;
                part.syncing += 1;
                reached.push(index);
            }
        }
        reached
    }

    /// A device's sync ended. One that failed leaves the device as it was.
    pub(crate) fn end_sync(&mut self, part: usize, succeeded: bool) {
        self.parts[part].syncing -= 1;
        self.parts[part].dirty |= !succeeded;
    }

    /// The outcome of extending that needs no work.
    pub(crate) fn extend_at_once(&self, length: u64) -> Option<Result<(), DiskError>> {
        match &self.stripes {
            Some(stripes) => Some(if length <= stripes.bytes() { Ok(()) } else { Err(DiskError::Full) }),
            None => self.parts[0].file.extend_at_once(length),
        }
    }

    /// The one file of a volume that grows.
    pub(crate) fn growing(&mut self) -> &mut DataFile {
        debug_assert!(self.stripes.is_none(), "areas do not grow");
        &mut self.parts[0].file
    }
}
