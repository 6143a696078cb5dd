//! Commands and waits that end when the run is to end.

use super::system::SystemError;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Between two looks at whether the run is to end.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A command that was asked to end has this long to end by itself.
const INTERRUPTED_TIME_MAX: Duration = Duration::from_secs(5);

pub(super) fn unless_stopped(stop: &AtomicBool) -> Result<(), SystemError> {
    if stop.load(Relaxed) { Err(SystemError::Interrupted) } else { Ok(()) }
}

fn failed(command: &Command, why: String) -> SystemError {
    SystemError::Command { command: command.get_program().to_string_lossy().into_owned(), why }
}

/// What a command prints; its failure is told by the last line of its error output.
pub(super) fn run(command: &mut Command) -> Result<String, SystemError> {
    let done = command.output().map_err(|error| failed(command, error.to_string()))?;
    said(command, &done)
}

/// The same for a command that may take long: it is asked to end when the run is to end. It has a process group of its own: Ctrl-C on a
/// terminal does not reach it, this does, and what it has started as well. With SIGTERM: what a shell starts in the background ignores SIGINT.
pub(super) fn run_unless_stopped(command: &mut Command, stop: &AtomicBool) -> Result<String, SystemError> {
    unless_stopped(stop)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().map_err(|error| failed(command, error.to_string()))?;
    let group = child.id();
    let (sender, ended) = channel();
    // Nobody hears it once this has returned.
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    loop {
        match ended.recv_timeout(LOOK_EVERY) {
            Ok(done) => {
                unless_stopped(stop)?;
                let done = done.map_err(|error| failed(command, error.to_string()))?;
                return said(command, &done);
            }
            Err(RecvTimeoutError::Timeout) if !stop.load(Relaxed) => {}
            Err(_) => break,
        }
    }
    signal_group(group, "TERM");
    if ended.recv_timeout(INTERRUPTED_TIME_MAX).is_err() {
        signal_group(group, "KILL");
    }
    Err(SystemError::Interrupted)
}

/// One that has ended by now is no error here.
fn signal_group(group: u32, signal: &str) {
    let _ = Command::new("kill").args([&format!("-{signal}"), "--", &format!("-{group}")]).stderr(Stdio::null()).status();
}

fn said(command: &Command, done: &Output) -> Result<String, SystemError> {
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&done.stderr);
    let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(failed(command, format!("{}: {last}", done.status)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_command_says_something_or_why_not() {
        let stop = AtomicBool::new(false);
        assert_eq!(run_unless_stopped(Command::new("sh").args(["-c", "echo yes; echo no >&2"]), &stop).unwrap(), "yes\n");
        let refused = run_unless_stopped(Command::new("sh").args(["-c", "echo first >&2; echo last >&2; exit 3"]), &stop).unwrap_err();
        assert_eq!(refused.to_string(), "`sh` failed: exit status: 3: last");
    }

    #[test]
    fn a_command_and_what_it_has_started_end_when_the_run_is_to_end() {
        let file = std::env::temp_dir().join(format!("tarndb-bench-group-{}", std::process::id()));
        let stop = Arc::new(AtomicBool::new(false));
        let waiting = {
            let (stop, file) = (Arc::clone(&stop), file.clone());
            std::thread::spawn(move || {
                let script = "sleep 100000 & echo $! > \"$1.partial\"; mv \"$1.partial\" \"$1\"; wait";
                run_unless_stopped(Command::new("sh").args(["-c", script, "sh"]).arg(file), &stop)
            })
        };
        while !file.exists() {
            std::thread::yield_now();
        }
        let child = std::fs::read_to_string(&file).unwrap();
        stop.store(true, Relaxed);
        assert!(matches!(waiting.join().unwrap(), Err(SystemError::Interrupted)));
        let is_alive = || std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).is_ok_and(|stat| !stat.contains(") Z "));
        while is_alive() {
            std::thread::yield_now();
        }
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn no_command_is_begun_once_the_run_is_to_end() {
        let stop = AtomicBool::new(true);
        assert!(matches!(run_unless_stopped(&mut Command::new("there is no such program"), &stop), Err(SystemError::Interrupted)));
    }
}
