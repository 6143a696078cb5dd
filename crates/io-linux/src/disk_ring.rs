//! Disk operations through one io_uring a core.
//!
//! The kernel signals an event counter when completions wait. The ring itself cannot be watched for this: deferred completions, which run
//! when this thread asks for them, do not make it readable.

use crate::disk_operation::{Step, StepKind};
use crate::event_counter::open_event_counter;
use io_uring::{IoUring, opcode, types};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A ring, used by the thread that opened it.
pub(crate) struct DiskRing {
    ring: IoUring,
    /// Watched edge-triggered and never read.
    signal: OwnedFd,
    /// The kernel has not been told of all pushed steps.
    unsubmitted: bool,
}

impl DiskRing {
    pub(crate) fn open(in_flight_max: u32) -> std::io::Result<Self> {
        let (ring, signal) = (open_ring(in_flight_max)?, open_event_counter()?);
        ring.submitter().register_eventfd(signal.as_raw_fd())?;
        Ok(Self { ring, signal, unsubmitted: false })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.signal.as_raw_fd()
    }

    /// Queues a step; at most as many as the ring was opened for are in flight.
    pub(crate) fn push(&mut self, index: u32, step: &Step) {
        let descriptor = types::Fd(step.descriptor);
        let entry = match step.kind {
            StepKind::Read { target, length, offset } => opcode::Read::new(descriptor, target, length).offset(offset).build(),
            StepKind::Write { source, length, offset } => opcode::Write::new(descriptor, source, length).offset(offset).build(),
            StepKind::Sync => opcode::Fsync::new(descriptor).flags(types::FsyncFlags::DATASYNC).build(),
            StepKind::Reserve { offset, length } => opcode::Fallocate::new(descriptor, length).offset(offset).build(),
        };
        // SAFETY: a step's pointers stay valid until its completion.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(u64::from(index))) };
        assert!(pushed.is_ok(), "the submission queue has room for all that may be in flight");
        self.unsubmitted = true;
    }

    /// Tells the kernel of pushed steps and has it run deferred completions.
    pub(crate) fn submit(&mut self) {
        if self.unsubmitted || self.has_deferred() {
            match self.ring.submit() {
                Ok(_) => self.unsubmitted = !self.ring.submission().is_empty(),
                Err(error) if is_transient(&error) => {}
                Err(error) => panic!("io_uring_enter failed: {error}"),
            }
        }
    }

    /// Whether sleeping would miss something.
    pub(crate) fn is_ready(&mut self) -> bool {
        self.unsubmitted || self.has_deferred() || !self.ring.completion().is_empty()
    }

    /// Blocks until something completes; `false` when the ring is broken.
    pub(crate) fn wait(&self) -> bool {
        match self.ring.submit_and_wait(1) {
            Ok(_) => true,
            Err(error) => is_transient(&error),
        }
    }

    /// A completed step and the kernel's result.
    pub(crate) fn next_completion(&mut self) -> Option<(u32, i32)> {
        let entry = self.ring.completion().next()?;
        Some((entry.user_data() as u32, entry.result()))
    }

    fn has_deferred(&mut self) -> bool {
        let submission = self.ring.submission();
        submission.taskrun() || submission.cq_overflow()
    }
}

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
