//! One disk operation: what was asked, how much of it is done, and the next step in the kernel's terms.

use crate::volume::Volume;
use base::{AlignedBuffer, BLOCK_BYTES, SECTOR_BYTES};
use io::{DiskCompletion, DiskError, DiskRequest, DiskTag, FileId, WriteSource};
use std::os::fd::RawFd;

/// The longest transfer: the kernel counts in 32 bits and itself stops below 2 GiB.
const BYTES_MAX: usize = 1 << 30;

/// What an operation does. Offsets are those of the device.
pub(crate) enum Action {
    Read {
        offset: u64,
        buffer: AlignedBuffer,
    },
    Write {
        offset: u64,
        source: WriteSource,
    },
    /// One device's part of a sync.
    Sync {
        group: u64,
    },
    Extend {
        length: u64,
    },
}

/// An operation that was asked for.
pub(crate) struct Operation {
    tag: DiskTag,
    pub(crate) file: FileId,
    /// Which device of the volume.
    pub(crate) part: usize,
    pub(crate) action: Action,
    /// Bytes transferred so far.
    pub(crate) done: usize,
    /// When it was asked for.
    pub(crate) begun_us: u64,
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
    /// A transfer, or a longer file.
    ///
    /// # Panics
    /// When a transfer is not one of whole blocks, or sectors if it is a read, inside its buffer and on one device: the asker's bug.
    pub(crate) fn new(tag: DiskTag, request: DiskRequest, volumes: &[Volume]) -> Self {
        let (file, action) = match request {
            DiskRequest::Read { file, offset, buffer } => (file, Action::Read { offset, buffer }),
            DiskRequest::Write { file, offset, source } => (file, Action::Write { offset, source }),
            DiskRequest::Extend { file, length } => (file, Action::Extend { length }),
            DiskRequest::Sync { .. } => unreachable!("a sync is an operation a device"),
            DiskRequest::Populate { .. } | DiskRequest::Compute { .. } | DiskRequest::ReplaceBlob { .. } => {
                unreachable!("other threads do these")
            }
        };
        let mut operation = Self { tag, file, part: 0, action, done: 0, begun_us: 0 };
        operation.check();
        operation.place(&volumes[file.0 as usize]);
        operation
    }

    /// One device's part of a sync.
    pub(crate) fn sync(tag: DiskTag, file: FileId, part: usize, group: u64) -> Self {
        Self { tag, file, part, action: Action::Sync { group }, done: 0, begun_us: 0 }
    }

    /// Turns the offset in the volume into a device and the offset on it.
    fn place(&mut self, volume: &Volume) {
        let length = self.length() as u64;
        let (Action::Read { offset, .. } | Action::Write { offset, .. }) = &mut self.action else { return };
        let (part, start) = volume.locate(*offset);
        assert!(
            volume.locate(*offset + length - 1) == (part, start + length - 1),
            "a transfer of {length} bytes at {offset} leaves its stripe"
        );
        (self.part, *offset) = (part, start);
    }

    fn check(&self) {
        let (offset, unit) = match &self.action {
            Action::Read { offset, .. } => (*offset, SECTOR_BYTES),
            Action::Write { offset, source } => {
                let (buffer, range) = match source {
                    WriteSource::Owned(buffer, length) => (buffer, 0..*length),
                    WriteSource::Shared(buffer, range) => (&**buffer, range.clone()),
                };
                assert!(range.start <= range.end && range.end <= buffer.len(), "a write of {range:?} from a buffer of {}", buffer.len());
                assert!(range.start.is_multiple_of(BLOCK_BYTES), "a write starts at a whole block of its buffer");
                (*offset, BLOCK_BYTES)
            }
            Action::Sync { .. } | Action::Extend { .. } => return,
        };
        let length = self.length();
        let whole = offset.is_multiple_of(unit as u64) && length.is_multiple_of(unit) && length > 0;
        assert!(whole && length <= BYTES_MAX, "a transfer of {length} bytes at {offset} is not one of whole units of {unit}");
    }

    /// How many bytes it transfers.
    pub(crate) fn length(&self) -> usize {
        match &self.action {
            Action::Read { buffer, .. } => buffer.len(),
            Action::Write { source: WriteSource::Owned(_, length), .. } => *length,
            Action::Write { source: WriteSource::Shared(_, range), .. } => range.len(),
            Action::Sync { .. } | Action::Extend { .. } => 0,
        }
    }

    /// What is left to do, as one call.
    pub(crate) fn step(&mut self, volume: &Volume) -> Step {
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
            Action::Sync { .. } => StepKind::Sync,
            Action::Extend { length } => {
                let offset = volume.length().min(*length);
                StepKind::Reserve { offset, length: *length - offset }
            }
        };
        Step { descriptor: volume.descriptor(self.part), kind }
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
