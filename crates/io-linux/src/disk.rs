//! One core's disk operations: what is in flight, what waits, what has finished.
//!
//! At most a bounded number is in flight; the rest waits here in order. Transfers that the kernel cuts short are continued. An operation
//! owns its buffer until its completion, and the queue is not dropped before the executor has given all of them back.

use crate::disk_operation::{Action, Operation};
use crate::disk_ring::DiskRing;
use crate::disk_threads::DiskThreads;
use crate::volume::Volume;
use base::BLOCK_BYTES;
use io::{DiskCompletion, DiskError, DiskLatencies, DiskRequest, DiskTag, FileId};
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::RawFd;

/// Who carries operations out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskPath {
    /// The kernel, through io_uring; threads, with a warning, where io_uring is forbidden (as in many containers).
    Ring,
    /// A few threads a core with blocking calls.
    Threads,
}

/// The two executors.
#[expect(clippy::large_enum_variant, reason = "there is one a core, and the larger is the usual one")]
enum Executor {
    Ring(DiskRing),
    Threads(DiskThreads),
}

/// A sync that waits for its devices.
struct SyncGroup {
    tag: DiskTag,
    left: usize,
    result: Result<(), DiskError>,
    begun_us: u64,
}

/// The operations of one core's files.
pub(crate) struct DiskQueue {
    /// Made only for a core that has files.
    executor: Option<Executor>,
    volumes: Vec<Volume>,
    operations: Vec<Option<Operation>>,
    free: Vec<u32>,
    waiting: VecDeque<Operation>,
    finished: VecDeque<DiskCompletion>,
    syncs: BTreeMap<u64, SyncGroup>,
    next_sync: u64,
    /// The time by which operations begin and end until it is set again.
    now_us: u64,
    latencies: DiskLatencies,
}

impl DiskQueue {
    /// Opens the executor on the thread that will use it.
    pub(crate) fn new(volumes: Vec<Volume>, in_flight_max: u32, path: DiskPath) -> std::io::Result<Self> {
        Ok(Self {
            executor: if volumes.is_empty() { None } else { Some(open_executor(in_flight_max, path)?) },
            volumes,
            operations: (0..in_flight_max).map(|_| None).collect(),
            free: (0..in_flight_max).rev().collect(),
            waiting: VecDeque::new(),
            finished: VecDeque::new(),
            syncs: BTreeMap::new(),
            next_sync: 0,
            now_us: 0,
            latencies: DiskLatencies::default(),
        })
    }

    /// Operations begin and end now, for their latencies. Without it all take no time.
    pub(crate) fn set_now(&mut self, now_us: u64) {
        self.now_us = now_us;
    }

    /// How long operations took so far.
    pub(crate) fn latencies(&self) -> DiskLatencies {
        self.latencies
    }

    /// What to watch, edge-triggered, for completions that wait.
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        match self.executor.as_ref()? {
            Executor::Ring(ring) => Some(ring.descriptor()),
            Executor::Threads(threads) => Some(threads.descriptor()),
        }
    }

    /// Takes an operation on a file; it begins at the next [`DiskQueue::submit`].
    ///
    /// # Panics
    /// When the file does not exist or the request is not one of whole blocks: the caller's bug.
    pub(crate) fn start(&mut self, tag: DiskTag, request: DiskRequest) {
        if let DiskRequest::Sync { file } = request {
            return self.start_sync(tag, file);
        }
        let mut operation = Operation::new(tag, request, &self.volumes);
        operation.begun_us = self.now_us;
        if let Action::Extend { length } = operation.action
            && let Some(result) = self.volumes[operation.file.0 as usize].extend_at_once(length)
        {
            self.finished.push_back(DiskCompletion { tag, result, buffer: None });
        } else {
            self.launch_or_wait(operation);
        }
    }

    /// A sync is one operation for each device that was written to.
    fn start_sync(&mut self, tag: DiskTag, file: FileId) {
        let parts = self.volumes[file.0 as usize].begin_sync();
        if parts.is_empty() {
            self.finished.push_back(DiskCompletion { tag, result: Ok(()), buffer: None });
            return;
        }
        let group = self.next_sync;
        self.next_sync += 1;
        self.syncs.insert(group, SyncGroup { tag, left: parts.len(), result: Ok(()), begun_us: self.now_us });
        for part in parts {
            self.launch_or_wait(Operation::sync(tag, file, part, group));
        }
    }

    fn launch_or_wait(&mut self, operation: Operation) {
        if self.waiting.is_empty() && !self.free.is_empty() {
            self.launch(operation);
        } else {
            self.waiting.push_back(operation);
        }
    }

    /// Whether sleeping would miss something that is already here.
    pub(crate) fn is_ready(&mut self) -> bool {
        if !self.finished.is_empty() {
            return true;
        }
        if self.is_idle() {
            return false;
        }
        match &mut self.executor {
            Some(Executor::Ring(ring)) => ring.is_ready(),
            Some(Executor::Threads(threads)) => threads.is_ready(),
            None => false,
        }
    }

    /// The next completion, oldest first.
    pub(crate) fn next_completion(&mut self) -> Option<DiskCompletion> {
        self.finished.pop_front()
    }

    /// Begins new operations and collects what has completed.
    pub(crate) fn submit(&mut self) {
        if self.is_idle() {
            return;
        }
        if let Some(Executor::Ring(ring)) = &mut self.executor {
            ring.submit();
        }
        self.collect();
    }

    /// Waits until something has completed; `false` if nothing is under way that could.
    pub(crate) fn wait(&mut self) -> bool {
        self.submit();
        while self.finished.is_empty() {
            if self.is_idle() {
                return false;
            }
            match &mut self.executor {
                Some(Executor::Threads(threads)) => threads.wait(),
                Some(Executor::Ring(ring)) => assert!(ring.wait(), "io_uring_enter failed"),
                None => return false,
            }
            self.collect();
        }
        true
    }

    /// Waits until nobody holds our buffers any more.
    pub(crate) fn finish(&mut self) {
        self.waiting.clear();
        while !self.is_idle() {
            match &mut self.executor {
                Some(Executor::Threads(threads)) => threads.wait(),
                Some(Executor::Ring(ring)) if ring.wait() => {}
                _ => {
                    // Leaking them is safe; freeing memory that the device may still write to is not.
                    std::mem::forget(std::mem::take(&mut self.operations));
                    self.free.clear();
                    return;
                }
            }
            self.collect();
            self.waiting.clear();
        }
    }

    /// Whether nothing is in flight.
    fn is_idle(&self) -> bool {
        self.free.len() == self.operations.len()
    }

    fn collect(&mut self) {
        loop {
            let completion = match &mut self.executor {
                Some(Executor::Ring(ring)) => ring.next_completion(),
                Some(Executor::Threads(threads)) => threads.next_completion(),
                None => None,
            };
            let Some((index, result)) = completion else { return };
            let operation = self.operations[index as usize].take().expect("what is in flight completes once");
            self.free.push(index);
            self.advance(operation, result);
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
        let outcome = match operation.action {
            Action::Sync { .. } => Ok(()),
            Action::Extend { length } => {
                let file = self.volumes[operation.file.0 as usize].growing();
                file.length = file.length.max(length);
                Ok(())
            }
            Action::Read { .. } | Action::Write { .. } if operation.done == wanted => Ok(()),
            // Nothing more is there, or what is left cannot be transferred directly: the end of the file.
            Action::Read { .. } | Action::Write { .. } if result == 0 || !operation.done.is_multiple_of(BLOCK_BYTES) => {
                Err(DiskError::Short { got: operation.done, wanted })
            }
            Action::Read { .. } | Action::Write { .. } => {
                self.launch(operation);
                return;
            }
        };
        self.end(operation, outcome);
    }

    /// An operation is over: its asker hears of it, of a sync when all its devices are done.
    fn end(&mut self, operation: Operation, outcome: Result<(), DiskError>) {
        let volume = &mut self.volumes[operation.file.0 as usize];
        match operation.action {
            Action::Sync { group } => {
                volume.end_sync(operation.part, outcome.is_ok());
                let sync = self.syncs.get_mut(&group).expect("a sync ends after its last device");
                sync.left -= 1;
                if sync.result.is_ok() {
                    sync.result = outcome;
                }
                if sync.left == 0
                    && let Some(SyncGroup { tag, result, begun_us, .. }) = self.syncs.remove(&group)
                {
                    self.latencies.syncs.add(self.now_us.saturating_sub(begun_us));
                    self.finished.push_back(DiskCompletion { tag, result, buffer: None });
                }
                return;
            }
            Action::Write { .. } => {
                volume.wrote(operation.part);
                self.latencies.writes.add(self.now_us.saturating_sub(operation.begun_us));
            }
            Action::Read { .. } => self.latencies.reads.add(self.now_us.saturating_sub(operation.begun_us)),
            Action::Extend { .. } => {}
        }
        self.finished.push_back(operation.complete(outcome));
    }

    fn failed(&mut self, operation: &Operation, code: i32) -> Result<(), DiskError> {
        match (&operation.action, code) {
            (_, libc::ENOSPC | libc::EDQUOT) => Err(DiskError::Full),
            (Action::Extend { length }, libc::EOPNOTSUPP) => {
                let file = self.volumes[operation.file.0 as usize].growing();
                tracing::warn!("the filesystem cannot reserve space: a full disk will show at a write instead of before it");
                file.grow_without_reserving(*length).map_err(|errno| DiskError::Device { code: errno.0 })
            }
            _ => Err(DiskError::Device { code }),
        }
    }

    fn launch(&mut self, mut operation: Operation) {
        let index = self.free.pop().expect("callers launch only when a place is free");
        let step = operation.step(&self.volumes[operation.file.0 as usize]);
        self.operations[index as usize] = Some(operation);
        // The step's buffer lives on the heap and is owned by the operation, which stays in `operations` until the completion; `finish` keeps
        // it there when the queue ends. This is what the executors rely on.
        match self.executor.as_mut().expect("a core with files has an executor") {
            Executor::Ring(ring) => ring.push(index, &step),
            Executor::Threads(threads) => threads.push(index, step),
        }
    }
}

impl Drop for DiskQueue {
    fn drop(&mut self) {
        self.finish();
    }
}

fn open_executor(in_flight_max: u32, path: DiskPath) -> std::io::Result<Executor> {
    if path == DiskPath::Ring {
        match DiskRing::open(in_flight_max) {
            Ok(ring) => return Ok(Executor::Ring(ring)),
            Err(error) => {
                tracing::warn!(%error, "io_uring is not available: disk operations go through threads, and requests that need the device cost twice the CPU (`tarndb doctor` says what to do, docs/benchmarks.md what it costs)")
            }
        }
    }
    Ok(Executor::Threads(DiskThreads::start()?))
}
