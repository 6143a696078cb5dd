//! Disk operations: direct reads and writes of a shard's files, and small named blobs that are replaced as a whole.

use base::AlignedBuffer;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// A file or block device that a shard was opened with, dense from 0 in the order of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(pub u32);

/// The asker's name for a request, given back with its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DiskTag(pub u64);

/// The bytes of a write. The reactor holds them until the completion.
#[derive(Debug)]
pub enum WriteSource {
    /// The first `usize` bytes of a buffer that the request owns; the buffer comes back with the completion.
    Owned(AlignedBuffer, usize),
    /// A block-aligned range of a buffer that nobody changes any more.
    Shared(Rc<AlignedBuffer>, Range<usize>),
}

/// Work for another thread. What comes of it goes where it puts it.
pub struct Work(Box<dyn FnOnce() + Send>);

impl Work {
    /// This.
    #[must_use]
    pub fn new(work: impl FnOnce() + Send + 'static) -> Self {
        Self(Box::new(work))
    }

    /// Does it.
    pub fn run(self) {
        (self.0)();
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Work")
    }
}

/// What can be asked of a disk. Offsets and lengths of `Read` and `Write` are multiples of [`base::BLOCK_BYTES`].
#[derive(Debug)]
pub enum DiskRequest {
    /// Fill the whole buffer from `offset`. Reading past the end of the file is an error.
    Read {
        /// Which file.
        file: FileId,
        /// Where, in bytes.
        offset: u64,
        /// Where to; comes back with the completion.
        buffer: AlignedBuffer,
    },
    /// Write the source at `offset`. Done means handed to the device, not yet durable: see `Sync`.
    Write {
        /// Which file.
        file: FileId,
        /// Where, in bytes.
        offset: u64,
        /// What.
        source: WriteSource,
    },
    /// All writes of this file that completed before this was asked are durable when it completes.
    Sync {
        /// Which file.
        file: FileId,
    },
    /// Make the file at least `length` bytes long with its space reserved; a full disk is an error now rather than at a later write.
    Extend {
        /// Which file.
        file: FileId,
        /// New length in bytes.
        length: u64,
    },
    /// Have the memory of a new buffer be there: the first touch of it may take milliseconds. Not the disk's work, but nothing that a core can wait for either.
    Populate {
        /// Comes back with the completion, its bytes still zero.
        buffer: AlignedBuffer,
    },
    /// Do this on another thread: it takes milliseconds of computing. Not the disk's work either.
    Compute {
        /// What.
        work: Work,
    },
    /// Atomically and durably replace the small blob `name` of this node (a rename after a sync). Blobs are read at start-up only.
    ReplaceBlob {
        /// A file name: lower-case letters, digits, `-` and `.`.
        name: String,
        /// The whole new content.
        bytes: Vec<u8>,
    },
}

/// Why a disk operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// No space is left on the device that holds the file.
    #[error("no space left on the device")]
    Full,
    /// Fewer bytes than asked for are there.
    #[error("only {got} of {wanted} bytes could be transferred")]
    Short {
        /// Bytes transferred.
        got: usize,
        /// Bytes asked for.
        wanted: usize,
    },
    /// The operating system's error.
    #[error("the device failed: operating system error {code}")]
    Device {
        /// The positive errno value.
        code: i32,
    },
}

/// The outcome of a [`DiskRequest`].
#[derive(Debug)]
pub struct DiskCompletion {
    /// The tag the request was made with.
    pub tag: DiskTag,
    /// Whether it was done.
    pub result: Result<(), DiskError>,
    /// The buffer of a `Read`, of a `Write` with an owned source or of a `Populate`.
    pub buffer: Option<AlignedBuffer>,
}
