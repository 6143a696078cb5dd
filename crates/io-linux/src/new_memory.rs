//! Memory that is new to the process, touched before it is needed.
//!
//! The first touch of a page has the kernel find and clear one, and under a hypervisor that host as well: milliseconds for a huge page, in which a core would serve nobody. One background thread a
//! process does it, with the least priority there is: who finds the memory not there yet touches it himself.
#![allow(unsafe_code, reason = "a thread's priority is a system call")]

use crate::control::Control;
use base::{AlignedBuffer, BLOCK_BYTES, CoreId};
use io::{DiskCompletion, DiskTag};
use std::sync::{Arc, mpsc};
use std::thread;

/// A buffer to touch, and who wants it back.
pub(crate) struct NewMemory {
    pub(crate) core: CoreId,
    pub(crate) tag: DiskTag,
    pub(crate) buffer: AlignedBuffer,
}

/// Where cores send buffers to. The thread ends when the last sender is gone.
pub(crate) type NewMemorySender = mpsc::Sender<NewMemory>;

const NICE_MOST: i32 = 19;

/// Starts the thread.
pub(crate) fn start(control: Arc<Control>) -> std::io::Result<(NewMemorySender, thread::JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel::<NewMemory>();
    let thread = thread::Builder::new().name("tarndb-memory".to_owned()).spawn(move || {
        // SAFETY: no pointers are passed. 0 is the calling thread; if it fails, the priority stays.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE_MOST) };
        for NewMemory { core, tag, mut buffer } in receiver {
            buffer.chunks_mut(BLOCK_BYTES).for_each(|page| page[0] = 0);
            control.cores[usize::from(core.0)].complete(DiskCompletion { tag, result: Ok(()), buffer: Some(buffer) });
        }
    })?;
    Ok((sender, thread))
}
