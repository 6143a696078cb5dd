//! The CPUs this process may run on, and pinning of threads to them.

use crate::errno::Errno;
use std::mem::{size_of, zeroed};

/// A tenth of the share of a thread of the usual priority.
const NICE_OF_OTHERS: libc::c_int = 10;

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
    pin(&[cpu])
}

/// Makes the calling thread, and threads and processes that it starts from now on, run on `cpus` only.
///
/// # Errors
/// When this process may not run on any of them.
pub fn run_on_cpus(cpus: &[usize]) -> std::io::Result<()> {
    if cpus.is_empty() || cpus.iter().any(|cpu| *cpu >= libc::CPU_SETSIZE as usize) {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    Ok(pin(cpus)?)
}

fn pin(cpus: &[usize]) -> Result<(), Errno> {
    // SAFETY: all-zero is a valid, empty cpu_set_t.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    for &cpu in cpus {
        assert!(cpu < libc::CPU_SETSIZE as usize, "the CPU came from a set of this size");
        // SAFETY: the index is below the set's size.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the set is valid and of the size given.
    Errno::check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) })?;
    Ok(())
}

/// From now on this thread runs when others of the process leave a CPU, more or less: for work that nobody waits for as long as clients do for a core.
pub fn run_after_others() {
    // SAFETY: no pointers are passed. A failure leaves the thread as it is, which does no harm.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE_OF_OTHERS) };
}
