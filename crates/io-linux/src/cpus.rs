//! The CPUs this process may run on, and pinning of threads to them.

use crate::errno::Errno;
use std::mem::{size_of, zeroed};

/// The CPUs of the process's affinity mask, in order; at least one.
#[must_use]
pub fn available_cpus() -> Vec<usize> {
    // SAFETY: all-zero is a valid, empty cpu_set_t.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: the set is valid for writing and of the size given.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    if result != 0 {
        // More CPUs than a fixed set holds: count them without naming them.
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        return (0..count).collect();
    }
    // SAFETY: the index stays below the set's size.
    let cpus: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// Makes the calling thread run on `cpu` only.
pub(crate) fn pin_this_thread(cpu: usize) -> Result<(), Errno> {
    assert!(cpu < libc::CPU_SETSIZE as usize, "the CPU came from a set of this size");
    // SAFETY: all-zero is a valid, empty cpu_set_t.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: the index is below the set's size.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set is valid and of the size given.
    Errno::check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) })?;
    Ok(())
}
