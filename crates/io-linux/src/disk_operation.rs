//! One disk operation: what was asked, how much of it is done, and the next step in the kernel's terms.

use crate::files::DataFile;
use base::{AlignedBuffer, BLOCK_BYTES};
use io::{DiskCompletion, DiskError, DiskRequest, DiskTag, FileId, WriteSource};
use std::os::fd::RawFd;

/// The longest transfer: the kernel counts in 32 bits and itself stops below 2 GiB.
const BYTES_MAX: usize = 1 << 30;

/// What an operation does.
pub(crate) enum Action {
    Read { offset: u64, buffer: AlignedBuffer },
    Write { offset: u64, source: WriteSource },
    Sync,
    Extend { length: u64 },
}

/// An operation that was asked for.
pub(crate) struct Operation {
    tag: DiskTag,
    pub(crate) file: FileId,
    pub(crate) action: Action,
    /// Bytes transferred so far.
    pub(crate) done: usize,
}

/// One call to the kernel.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) descriptor: RawFd,
    pub(crate) kind: StepKind,
}

/// Which call. The pointers stay valid until the step completes: see `DiskQueue::launch`.
#[derive(Debug)]
pub(crate) enum StepKind {
    Read { target: *mut u8, length: u32, offset: u64 },
    Write { source: *const u8, length: u32, offset: u64 },
    Sync,
    Reserve { offset: u64, length: u64 },
}

impl Operation {
    /// # Panics
    /// When a transfer is not one of whole blocks inside its buffer: the asker's bug.
    pub(crate) fn new(tag: DiskTag, request: DiskRequest) -> Self {
        let (file, action) = match request {
            DiskRequest::Read { file, offset, buffer } => (file, Action::Read { offset, buffer }),
            DiskRequest::Write { file, offset, source } => (file, Action::Write { offset, source }),
            DiskRequest::Sync { file } => (file, Action::Sync),
            DiskRequest::Extend { file, length } => (file, Action::Extend { length }),
            DiskRequest::ReplaceBlob { .. } => unreachable!("blobs go to their own thread"),
        };
        let operation = Self { tag, file, action, done: 0 };
        operation.check();
        operation
    }

    fn check(&self) {
        let offset = match &self.action {
            Action::Read { offset, .. } => *offset,
            Action::Write { offset, source } => {
                let (buffer, range) = match source {
                    WriteSource::Owned(buffer, length) => (buffer, 0..*length),
                    WriteSource::Shared(buffer, range) => (&**buffer, range.clone()),
                };
                assert!(range.start <= range.end && range.end <= buffer.len(), "a write of {range:?} from a buffer of {}", buffer.len());
                assert!(range.start.is_multiple_of(BLOCK_BYTES), "a write starts at a whole block of its buffer");
                *offset
            }
            Action::Sync | Action::Extend { .. } => return,
        };
        let length = self.length();
        let whole = offset.is_multiple_of(BLOCK_BYTES as u64) && length.is_multiple_of(BLOCK_BYTES) && length > 0;
        assert!(whole && length <= BYTES_MAX, "a transfer of {length} bytes at {offset} is not one of whole blocks");
    }

    /// How many bytes it transfers.
    pub(crate) fn length(&self) -> usize {
        match &self.action {
            Action::Read { buffer, .. } => buffer.len(),
            Action::Write { source: WriteSource::Owned(_, length), .. } => *length,
            Action::Write { source: WriteSource::Shared(_, range), .. } => range.len(),
            Action::Sync | Action::Extend { .. } => 0,
        }
    }

    /// What is left to do, as one call.
    pub(crate) fn step(&mut self, file: &DataFile) -> Step {
        let (done, left) = (self.done, (self.length() - self.done) as u32);
        let kind = match &mut self.action {
            Action::Read { offset, buffer } => {
                StepKind::Read { target: buffer[done..].as_mut_ptr(), length: left, offset: *offset + done as u64 }
            }
            Action::Write { offset, source } => {
                let bytes = match source {
                    WriteSource::Owned(buffer, length) => &buffer[done..*length],
                    WriteSource::Shared(buffer, range) => &buffer[range.start + done..range.end],
                };
                StepKind::Write { source: bytes.as_ptr(), length: left, offset: *offset + done as u64 }
            }
            Action::Sync => StepKind::Sync,
            Action::Extend { length } => {
                let offset = file.length.min(*length);
                StepKind::Reserve { offset, length: *length - offset }
            }
        };
        Step { descriptor: file.descriptor(), kind }
    }

    /// The completion that the asker gets, with its buffer.
    pub(crate) fn complete(self, result: Result<(), DiskError>) -> DiskCompletion {
        let buffer = match self.action {
            Action::Read { buffer, .. } | Action::Write { source: WriteSource::Owned(buffer, _), .. } => Some(buffer),
            _ => None,
        };
        DiskCompletion { tag: self.tag, result, buffer }
    }
}
