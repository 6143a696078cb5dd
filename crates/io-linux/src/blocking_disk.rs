//! A shard's file for one thread that has nothing else to do: it asks, and waits for what completes. For work before the cores start.

use crate::clock;
use crate::disk::{DiskPath, DiskQueue};
use crate::machine::StartError;
use crate::volume::{FileLayout, Volume};
use io::{DiskCompletion, DiskRequest, DiskTag, Now};
use std::collections::VecDeque;

/// How many operations the kernel has at once.
const IN_FLIGHT_MAX: u32 = 128;

/// A file, used by the thread that opened it.
pub struct BlockingDisk {
    queue: DiskQueue,
    /// What needed no work.
    finished: VecDeque<DiskCompletion>,
    bytes: u64,
    read_unit: usize,
}

impl BlockingDisk {
    /// Opens a file; one that is missing is made.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn open(layout: &FileLayout) -> Result<Self, StartError> {
        let volume = Volume::open(layout)?;
        let (bytes, read_unit) = (volume.length(), volume.read_unit());
        let queue = DiskQueue::new(vec![volume], IN_FLIGHT_MAX, DiskPath::Ring).map_err(|source| StartError::Core { source })?;
        Ok(Self { queue, finished: VecDeque::new(), bytes, read_unit })
    }

    /// How long it was when it was opened.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Offsets and lengths of reads are multiples of it.
    #[must_use]
    pub fn read_unit(&self) -> usize {
        self.read_unit
    }

    /// The time.
    #[must_use]
    pub fn now() -> Now {
        clock::read()
    }

    /// Takes an operation; it begins at the next [`BlockingDisk::next`] or [`BlockingDisk::wait`].
    ///
    /// # Panics
    /// When it is not one on the file: the caller's bug.
    pub fn start(&mut self, tag: DiskTag, request: DiskRequest) {
        match request {
            // The memory comes when it is touched: nobody waits for this thread.
            DiskRequest::Populate { buffer } => self.finished.push_back(DiskCompletion { tag, result: Ok(()), buffer: Some(buffer) }),
            request => self.queue.start(tag, request),
        }
    }

    /// The next completion, if one is there.
    #[expect(clippy::should_implement_trait, reason = "more may come after none")]
    pub fn next(&mut self) -> Option<DiskCompletion> {
        self.finished.pop_front().or_else(|| {
            self.queue.submit();
            self.queue.next_completion()
        })
    }

    /// Waits until there is a completion; `false` if nothing is under way.
    pub fn wait(&mut self) -> bool {
        !self.finished.is_empty() || self.queue.wait()
    }
}
