//! Core dumps have all that a process has in memory.

use std::io::{Error, Result};

/// Less than any core file needs, and what the kernel takes for "no dump" where a program takes them, whatever other limits say (core(5)).
const NO_DUMP: libc::rlim_t = 1;

/// From now on this process leaves no core dump.
///
/// # Errors
/// When the operating system refuses.
pub fn forbid_core_dumps() -> Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: it writes one structure.
    check(unsafe { libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit) })?;
    if limit.rlim_max < NO_DUMP {
        // It cannot be raised. This also hides much of the process's figures from its own user, and so is second choice.
        // SAFETY: it takes numbers.
        return check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) });
    }
    limit = libc::rlimit { rlim_cur: NO_DUMP, rlim_max: NO_DUMP };
    // SAFETY: it reads one structure.
    check(unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const limit) })
}

fn check(result: libc::c_int) -> Result<()> {
    if result == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}
