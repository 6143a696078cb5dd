//! One core's disk operations, through its io_uring.
//!
//! At most a bounded number is in flight; the rest waits here in order. Transfers that the kernel cuts short are continued. An operation
//! owns its buffer until its completion, and the queue is not dropped before the kernel has given all of them back.

use crate::control::open_event_counter;
use crate::files::DataFile;
use base::BLOCK_BYTES;
use io::{DiskCompletion, DiskError, DiskRequest, DiskTag, FileId, WriteSource};
use io_uring::{IoUring, opcode, squeue, types};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// What an operation in flight does.
enum Action {
    Read { offset: u64, buffer: base::AlignedBuffer },
    Write { offset: u64, source: WriteSource },
    Sync,
    Extend { length: u64 },
}

struct Operation {
    tag: DiskTag,
    file: FileId,
    action: Action,
    /// Bytes transferred so far.
    done: usize,
}

/// The operations of one core's files.
pub(crate) struct DiskQueue {
    /// Made only for a core that has files.
    ring: Option<IoUring>,
    /// Signalled by the kernel when completions wait. The ring itself cannot be watched for this: deferred completions, which run when this
    /// thread asks for them, do not make it readable. Watched edge-triggered and never read.
    signal: Option<OwnedFd>,
    files: Vec<DataFile>,
    operations: Vec<Option<Operation>>,
    free: Vec<u32>,
    waiting: VecDeque<Operation>,
    finished: VecDeque<DiskCompletion>,
    /// Entries are in the submission queue that the kernel has not been told of.
    unsubmitted: bool,
}

impl DiskQueue {
    /// Opens the ring on the thread that will use it.
    pub(crate) fn new(files: Vec<DataFile>, in_flight_max: u32) -> std::io::Result<Self> {
        let (mut ring, mut signal) = (None, None);
        if !files.is_empty() {
            let (opened, counter) = (open_ring(in_flight_max)?, open_event_counter().map_err(std::io::Error::from)?);
            opened.submitter().register_eventfd(counter.as_raw_fd())?;
            (ring, signal) = (Some(opened), Some(counter));
        }
        Ok(Self {
            ring,
            signal,
            files,
            operations: (0..in_flight_max).map(|_| None).collect(),
            free: (0..in_flight_max).rev().collect(),
            waiting: VecDeque::new(),
            finished: VecDeque::new(),
            unsubmitted: false,
        })
    }

    /// What to watch, edge-triggered, for completions that wait.
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        self.signal.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Takes an operation on a file; the kernel hears of it at the next [`DiskQueue::submit`].
    ///
    /// # Panics
    /// When the file does not exist or the request is not one of whole blocks: the caller's bug.
    pub(crate) fn start(&mut self, tag: DiskTag, request: DiskRequest) {
        let (file, action) = match request {
            DiskRequest::Read { file, offset, buffer } => (file, Action::Read { offset, buffer }),
            DiskRequest::Write { file, offset, source } => (file, Action::Write { offset, source }),
            DiskRequest::Sync { file } => (file, Action::Sync),
            DiskRequest::Extend { file, length } => (file, Action::Extend { length }),
            DiskRequest::ReplaceBlob { .. } => unreachable!("blobs go to their own thread"),
        };
        let operation = Operation { tag, file, action, done: 0 };
        operation.check();
        if let Action::Extend { length } = operation.action
            && let Some(result) = self.files[file.0 as usize].extend_at_once(length)
        {
            self.finished.push_back(DiskCompletion { tag, result, buffer: None });
        } else if self.waiting.is_empty() && !self.free.is_empty() {
            self.launch(operation);
        } else {
            self.waiting.push_back(operation);
        }
    }

    /// Whether sleeping would miss something that is already here.
    pub(crate) fn is_ready(&mut self) -> bool {
        if !self.finished.is_empty() || self.unsubmitted {
            return true;
        }
        let Some(ring) = &mut self.ring else { return false };
        let submission = ring.submission();
        let deferred = submission.taskrun() || submission.cq_overflow();
        drop(submission);
        deferred || !ring.completion().is_empty()
    }

    /// The next completion, oldest first.
    pub(crate) fn next_completion(&mut self) -> Option<DiskCompletion> {
        self.finished.pop_front()
    }

    /// Tells the kernel of new operations and collects what has completed.
    pub(crate) fn submit(&mut self) {
        let Some(ring) = &mut self.ring else { return };
        let submission = ring.submission();
        let deferred = submission.taskrun() || submission.cq_overflow();
        drop(submission);
        if self.unsubmitted || deferred {
            match ring.submit() {
                Ok(_) => self.unsubmitted = !ring.submission().is_empty(),
                Err(error) if is_transient(&error) => {}
                Err(error) => panic!("io_uring_enter failed: {error}"),
            }
        }
        self.collect();
    }

    /// Waits until the kernel holds none of our buffers any more.
    pub(crate) fn finish(&mut self) {
        self.waiting.clear();
        while self.free.len() < self.operations.len() {
            let ring = self.ring.as_ref().expect("only a ring has operations in flight");
            match ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if is_transient(&error) => {}
                // Leaking them is safe; freeing memory that the device may still write to is not.
                Err(_) => {
                    std::mem::forget(std::mem::take(&mut self.operations));
                    return;
                }
            }
            self.collect();
            self.waiting.clear();
        }
    }

    fn collect(&mut self) {
        loop {
            let Some(entry) = self.ring.as_mut().and_then(|ring| ring.completion().next()) else { return };
            let index = entry.user_data() as usize;
            let operation = self.operations[index].take().expect("the kernel completes what is in flight, once");
            self.free.push(index as u32);
            self.advance(operation, entry.result());
            while !self.free.is_empty()
                && let Some(operation) = self.waiting.pop_front()
            {
                self.launch(operation);
            }
        }
    }

    /// One step of an operation ended with the kernel's `result`: end it or launch the rest.
    fn advance(&mut self, mut operation: Operation, result: i32) {
        if result == -libc::EINTR || result == -libc::EAGAIN {
            self.launch(operation);
            return;
        }
        if result < 0 {
            let outcome = self.failed(&operation, -result);
            self.end(operation, outcome);
            return;
        }
        let wanted = operation.length();
        operation.done += result as usize;
        match operation.action {
            Action::Sync => self.end(operation, Ok(())),
            Action::Extend { length } => {
                let file = &mut self.files[operation.file.0 as usize];
                file.length = file.length.max(length);
                self.end(operation, Ok(()));
            }
            Action::Read { .. } | Action::Write { .. } if operation.done == wanted => self.end(operation, Ok(())),
            // Nothing more is there, or what is left cannot be transferred directly: the end of the file.
            Action::Read { .. } | Action::Write { .. } if result == 0 || !operation.done.is_multiple_of(BLOCK_BYTES) => {
                let got = operation.done;
                self.end(operation, Err(DiskError::Short { got, wanted }));
            }
            Action::Read { .. } | Action::Write { .. } => self.launch(operation),
        }
    }

    fn failed(&mut self, operation: &Operation, code: i32) -> Result<(), DiskError> {
        match (&operation.action, code) {
            (_, libc::ENOSPC | libc::EDQUOT) => Err(DiskError::Full),
            (Action::Extend { length }, libc::EOPNOTSUPP) => {
                let file = &mut self.files[operation.file.0 as usize];
                tracing::warn!("the filesystem cannot reserve space: a full disk will show at a write instead of before it");
                file.grow_without_reserving(*length).map_err(|errno| DiskError::Device { code: errno.0 })
            }
            _ => Err(DiskError::Device { code }),
        }
    }

    fn end(&mut self, operation: Operation, result: Result<(), DiskError>) {
        let buffer = match operation.action {
            Action::Read { buffer, .. } | Action::Write { source: WriteSource::Owned(buffer, _), .. } => Some(buffer),
            _ => None,
        };
        self.finished.push_back(DiskCompletion { tag: operation.tag, result, buffer });
    }

    fn launch(&mut self, mut operation: Operation) {
        let index = self.free.pop().expect("callers launch only when a place is free");
        let file = &self.files[operation.file.0 as usize];
        let entry = operation.entry(file).user_data(u64::from(index));
        self.operations[index as usize] = Some(operation);
        let ring = self.ring.as_mut().expect("a core with files has a ring");
        // SAFETY: the buffer lives on the heap and is owned by the operation, which stays in `operations` until the completion; `finish`
        // keeps it there when the queue ends.
        let pushed = unsafe { ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the submission queue has room for all that may be in flight");
        self.unsubmitted = true;
    }
}

impl Drop for DiskQueue {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Operation {
    fn check(&self) {
        let (offset, length) = match &self.action {
            Action::Read { offset, buffer } => (*offset, buffer.len()),
            Action::Write { offset, source: WriteSource::Owned(buffer, length) } => {
                assert!(*length <= buffer.len(), "a write of {length} bytes from a buffer of {}", buffer.len());
                (*offset, *length)
            }
            Action::Write { offset, source: WriteSource::Shared(buffer, range) } => {
                assert!(range.start <= range.end && range.end <= buffer.len(), "a write of {range:?} from a buffer of {}", buffer.len());
                assert!(range.start.is_multiple_of(BLOCK_BYTES), "a write starts at a whole block of its buffer");
                (*offset, range.len())
            }
            Action::Sync | Action::Extend { .. } => return,
        };
        let whole = offset.is_multiple_of(BLOCK_BYTES as u64) && length.is_multiple_of(BLOCK_BYTES) && length > 0;
        assert!(whole && length <= BYTES_MAX, "a transfer of {length} bytes at {offset} is not one of whole blocks");
    }

    fn length(&self) -> usize {
        match &self.action {
            Action::Read { buffer, .. } => buffer.len(),
            Action::Write { source: WriteSource::Owned(_, length), .. } => *length,
            Action::Write { source: WriteSource::Shared(_, range), .. } => range.len(),
            Action::Sync | Action::Extend { .. } => 0,
        }
    }

    /// The kernel's form of what is left to do.
    fn entry(&mut self, file: &DataFile) -> squeue::Entry {
        let descriptor = types::Fd(file.descriptor());
        let left = (self.length() - self.done) as u32;
        match &mut self.action {
            Action::Read { offset, buffer } => {
                let target = buffer[self.done..].as_mut_ptr();
                opcode::Read::new(descriptor, target, left).offset(*offset + self.done as u64).build()
            }
            Action::Write { offset, source } => {
                let bytes = match source {
                    WriteSource::Owned(buffer, length) => &buffer[self.done..*length],
                    WriteSource::Shared(buffer, range) => &buffer[range.start + self.done..range.end],
                };
                opcode::Write::new(descriptor, bytes.as_ptr(), left).offset(*offset + self.done as u64).build()
            }
            Action::Sync => opcode::Fsync::new(descriptor).flags(types::FsyncFlags::DATASYNC).build(),
            Action::Extend { length } => {
                opcode::Fallocate::new(descriptor, *length - file.length.min(*length)).offset(file.length.min(*length)).build()
            }
        }
    }
}

/// The longest transfer: the kernel counts in 32 bits and itself stops below 2 GiB.
const BYTES_MAX: usize = 1 << 30;

fn is_transient(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

/// Opens a ring with the cheapest way to run completions that the kernel has.
fn open_ring(in_flight_max: u32) -> std::io::Result<IoUring> {
    let entries = in_flight_max.next_power_of_two();
    // Linux 6.1: completions run only when this thread asks for them.
    let deferred = IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().dontfork().build(entries);
    // Linux 5.19: completions do not interrupt this thread.
    let cooperative = deferred.or_else(|_| IoUring::builder().setup_coop_taskrun().setup_taskrun_flag().dontfork().build(entries));
    cooperative.or_else(|_| IoUring::builder().dontfork().build(entries))
}
