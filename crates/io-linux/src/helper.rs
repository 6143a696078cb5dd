//! Threads besides the cores, one a process for each kind of work that no core can stop for; each does it in order, at less priority than the cores have.
//!
//! - New memory is touched before it is needed: the first touch of a page has the kernel find and clear one, and under a hypervisor that host as well, milliseconds for a huge page. At the least
//!   priority there is: who finds the memory not there yet touches it himself.
//! - Computing, such as comparing passwords with their hashes. A storm of logins takes longer then, and not the time of requests.
#![allow(unsafe_code, reason = "a thread's priority is a system call")]

use crate::control::Control;
use base::{AlignedBuffer, BLOCK_BYTES, CoreId};
use io::{DiskCompletion, DiskTag, Work};
use std::sync::{Arc, mpsc};
use std::thread;

/// What there is to do, and who wants to know when it is done.
pub(crate) struct Task {
    pub(crate) core: CoreId,
    pub(crate) tag: DiskTag,
    pub(crate) job: Job,
}

/// What there is to do.
pub(crate) enum Job {
    /// Touch this memory, and give it back.
    Touch(AlignedBuffer),
    Compute(Work),
}

/// Where cores send tasks to. The thread ends when the last sender is gone.
pub(crate) type TaskSender = mpsc::Sender<Task>;

/// A helper's name and its niceness.
pub(crate) const MEMORY: (&str, i32) = ("tarndb-memory", 19);
/// Where it has a CPU for itself that is as good as none; beside a busy core it is about a quarter of one.
pub(crate) const COMPUTING: (&str, i32) = ("tarndb-compute", 5);

/// Starts a helper.
pub(crate) fn start((name, nice): (&str, i32), control: Arc<Control>) -> std::io::Result<(TaskSender, thread::JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel::<Task>();
    let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
        // SAFETY: no pointers are passed. 0 is the calling thread; if it fails, the priority stays.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
        for Task { core, tag, job } in receiver {
            // Nobody waits for it any more once the node has stopped.
            if control.is_stopped() {
                continue;
            }
            let buffer = job.run();
            control.cores[usize::from(core.0)].complete(DiskCompletion { tag, result: Ok(()), buffer });
        }
    })?;
    Ok((sender, thread))
}

impl Job {
    fn run(self) -> Option<AlignedBuffer> {
        match self {
            Self::Touch(mut buffer) => {
                buffer.chunks_mut(BLOCK_BYTES).for_each(|page| page[0] = 0);
                Some(buffer)
            }
            Self::Compute(work) => {
                work.run();
                None
            }
        }
    }
}
