//! Disk operations through a few threads with blocking calls: for places where io_uring is forbidden.

use crate::disk_operation::{Step, StepKind};
use crate::errno::Errno;
use crate::event_counter::{open_event_counter, raise_event};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

/// How many operations of a core run at once.
const THREADS: usize = 8;

/// A step on its way to a thread.
struct Job {
    index: u32,
    step: Step,
}

// SAFETY: a step's pointers stay valid until its completion, and until then only its thread uses what they point to.
unsafe impl Send for Job {}

/// What threads have done.
struct Done {
    completions: Mutex<VecDeque<(u32, i32)>>,
    changed: Condvar,
    /// Watched edge-triggered and never read.
    signal: OwnedFd,
}

impl Done {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(u32, i32)>> {
        self.completions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads of one core.
pub(crate) struct DiskThreads {
    /// Taken when the queue ends, which ends the threads.
    jobs: Option<mpsc::Sender<Job>>,
    done: Arc<Done>,
    threads: Vec<JoinHandle<()>>,
}

impl DiskThreads {
    pub(crate) fn start() -> std::io::Result<Self> {
        let (jobs, receiver) = mpsc::channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        let done = Arc::new(Done { completions: Mutex::default(), changed: Condvar::new(), signal: open_event_counter()? });
        let threads = (0..THREADS).map(|_| {
            let (receiver, done) = (Arc::clone(&receiver), Arc::clone(&done));
            thread::Builder::new().name("tarndb-disk".to_owned()).spawn(move || work(&receiver, &done))
        });
        let threads = threads.collect::<Result<_, _>>()?;
        Ok(Self { jobs: Some(jobs), done, threads })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.done.signal.as_raw_fd()
    }

    /// Gives a step to the next free thread.
    pub(crate) fn push(&mut self, index: u32, step: Step) {
        let jobs = self.jobs.as_ref().expect("the queue has not ended");
        assert!(jobs.send(Job { index, step }).is_ok(), "the threads live as long as the queue");
    }

    /// Whether sleeping would miss something.
    pub(crate) fn is_ready(&self) -> bool {
        !self.done.lock().is_empty()
    }

    /// Blocks until something completes. Something must be in flight.
    pub(crate) fn wait(&self) {
        let completions = self.done.lock();
        drop(self.done.changed.wait_while(completions, |completions| completions.is_empty()));
    }

    /// A completed step and its result in the kernel's form.
    pub(crate) fn next_completion(&mut self) -> Option<(u32, i32)> {
        self.done.lock().pop_front()
    }
}

impl Drop for DiskThreads {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended the process or is seen by its missing completion.
            let _ = thread.join();
        }
    }
}

fn work(jobs: &Mutex<mpsc::Receiver<Job>>, done: &Done) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let result = carry_out(&job.step);
        done.lock().push_back((job.index, result));
        done.changed.notify_one();
        raise_event(&done.signal);
    }
}

/// The call, and its result as io_uring gives it: a count, or a negative errno.
fn carry_out(step: &Step) -> i32 {
    let descriptor = step.descriptor;
    let result = match step.kind {
        // SAFETY: the target is valid for `length` bytes until the step completes, and used by nobody else.
        StepKind::Read { target, length, offset } => unsafe { libc::pread(descriptor, target.cast(), length as usize, offset as i64) },
        // SAFETY: the source is valid for `length` bytes until the step completes, and changed by nobody.
        StepKind::Write { source, length, offset } => unsafe { libc::pwrite(descriptor, source.cast(), length as usize, offset as i64) },
        // SAFETY: no pointers are passed.
        StepKind::Sync => unsafe { libc::fdatasync(descriptor) as isize },
        // SAFETY: no pointers are passed.
        StepKind::Reserve { offset, length } => unsafe { libc::fallocate(descriptor, 0, offset as i64, length as i64) as isize },
    };
    match Errno::check_length(result) {
        Ok(count) => count as i32,
        Err(errno) => -errno.0,
    }
}
