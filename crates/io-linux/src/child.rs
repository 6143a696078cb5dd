//! Processes that this one starts and must not leave behind.

use crate::cpus::run_on_cpus;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the process that `command` starts killed when the thread that starts it ends, whatever ends it; gives it a process group of its own,
/// so that a Ctrl-C at the terminal does not reach it; and has it run on `cpus` only, unless there are none.
pub fn bind_to_this_process(command: &mut Command, cpus: &[usize]) {
    let cpus = cpus.to_vec();
    command.process_group(0);
    let prepare = move || {
        // SAFETY: prctl with this option takes no pointers.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        if cpus.is_empty() { Ok(()) } else { run_on_cpus(&cpus) }
    };
    // SAFETY: between fork and exec the closure makes two system calls on memory of its own; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(prepare) };
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::available_cpus;

    #[test]
    fn a_child_runs_where_it_is_told_and_dies_with_the_thread_that_started_it() {
        let cpu = available_cpus()[0];
        let started = std::thread::spawn(move || {
            let mut command = Command::new("sleep");
            command.arg("600");
            bind_to_this_process(&mut command, &[cpu]);
            let child = command.spawn().unwrap();
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
            assert_eq!(allowed.trim(), cpu.to_string());
            child
        });
        let mut child = started.join().unwrap();
        assert!(!child.wait().unwrap().success(), "killed, long before it would have ended");
    }
}
