//! What a study is run against: a private TarnDB node, a peer that a script starts, or a server that is there already.

mod peer;
mod private;
mod process;
mod prometheus;
mod remote;
mod spec;

pub use process::sum_of_processes;
pub(crate) use prometheus::sample as metrics_sample;
#[cfg(test)]
pub(crate) use prometheus::tests::serve as serve_metrics;
pub use prometheus::{MetricsError, MetricsUrl, read_metrics};
pub use spec::{Access, Protocol, SpecError, TargetSpec};

use crate::study::{Disturbance, Which};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// What a system that the tool starts may use.
#[derive(Clone, Debug)]
pub struct Means {
    /// Where its data and logs go.
    pub directory: PathBuf,
    /// CPUs it runs on; none: all.
    pub cpus: Vec<usize>,
    /// Its memory limit, if the study or a flag sets one.
    pub memory_bytes: Option<u64>,
    /// Bytes of keys and values that it is to hold, a replica of each.
    pub data_bytes: u64,
    /// Replicas of each row.
    pub replication: u32,
    /// Where peers' scripts are.
    pub peers: Option<PathBuf>,
    /// What the user has said to run for a disturbance.
    pub commands: BTreeMap<Disturbance, String>,
    /// Set when the run is to end: nothing waits for a system then, except to stop it.
    pub stop: Arc<AtomicBool>,
}

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// It did not start.
    #[error("{name} did not start: {why}")]
    Start {
        /// Which.
        name: String,
        /// What it said last.
        why: String,
    },
    /// It has ended, which nobody asked it to.
    #[error("{name} ended: {why}")]
    Ended {
        /// Which.
        name: String,
        /// What it said last.
        why: String,
    },
    /// It cannot do this.
    #[error("{name} cannot {what}: {why}")]
    Unable {
        /// Which.
        name: String,
        /// What was asked.
        what: String,
        /// Why, and what to do.
        why: String,
    },
    /// It has no metrics where it was said to have.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// A command failed.
    #[error("`{command}` failed: {why}")]
    Command {
        /// What was run.
        command: String,
        /// How it ended.
        why: String,
    },
    /// The file system.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The run is to end.
    #[error("interrupted")]
    Interrupted,
}

/// What the nodes of a cluster say of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Whether all that were started are ready.
    pub ready: bool,
    /// Members that some node takes for dead.
    pub down: usize,
    /// Slots that nobody serves.
    pub unserved: u64,
    /// Whether all nodes say that nothing is missing, and hold something.
    pub whole: bool,
}

/// A database under test, as far as it has to be started, watched, disturbed and stopped. Its protocol is crate `load`'s.
pub trait System: Send {
    /// Starts it, or sees that it runs. To be called again after [`System::stop`].
    ///
    /// # Errors
    /// When it does not run afterwards; what was begun is stopped then.
    fn start(&mut self) -> Result<(), SystemError>;

    /// Where clients connect, once started: HOST:PORT of each node, comma between them.
    fn address(&self) -> String;

    /// Its processes on this machine that are known.
    fn pids(&self) -> Vec<u32>;

    /// What a reader of its figures must know first: a sentence that follows its name.
    fn caveat(&self) -> Option<String> {
        None
    }

    /// Addresses of its metrics in Prometheus's text format, if known: of each node, say.
    fn metrics(&self) -> &[MetricsUrl] {
        &[]
    }

    /// Options of the table that its makers advise.
    fn table_options(&self) -> Option<&str> {
        None
    }

    /// Everything needed to set it up again.
    fn settings(&self) -> BTreeMap<String, String>;

    /// Waits until its background work is done, if it can tell, and how many seconds that took: without those for which it was looked at,
    /// quiet already, to be sure. `None`: it can't tell.
    ///
    /// # Errors
    /// When it did not settle in time, or the run is to end.
    fn settle(&mut self, timeout_s: f64) -> Result<Option<f64>, SystemError>;

    /// Empties its caches, by a restart where nothing else does.
    ///
    /// # Errors
    /// When it can't.
    fn drop_caches(&mut self) -> Result<(), SystemError>;

    /// Does something to it under load; a node that is started need not be ready when this returns.
    ///
    /// # Errors
    /// When it can't.
    fn disturb(&mut self, disturbance: Disturbance, which: Which) -> Result<(), SystemError>;

    /// Sees whether all that the tool has started still runs. To be called a few times a second.
    ///
    /// # Errors
    /// When it does not.
    fn look(&mut self) -> Result<(), SystemError> {
        Ok(())
    }

    /// What its nodes say of their cluster now; `None` if they are not asked.
    fn health(&self) -> Option<Health> {
        None
    }

    /// Stops what was started; data stays.
    fn stop(&mut self);
}

/// The system that a target names.
///
/// # Errors
/// When it can't be made with these means.
pub fn system(spec: &TargetSpec, means: Means) -> Result<Box<dyn System>, SystemError> {
    Ok(match spec {
        TargetSpec::Private { name, protocol, nodes } => Box::new(private::PrivateNodes::new(name, *protocol, nodes.unwrap_or(1), means)?),
        TargetSpec::Peer { name, options } => Box::new(peer::Peer::new(name, options, means)?),
        TargetSpec::Server { name, address, pid, metrics, .. } => {
            Box::new(remote::Remote::new(name, address, *pid, metrics.clone(), means.commands, means.stop))
        }
    })
}

/// Between two looks at whether the run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A command that was asked to end has this long to end by itself.
const INTERRUPTED_TIME_MAX: Duration = Duration::from_secs(5);

fn unless_stopped(stop: &AtomicBool) -> Result<(), SystemError> {
    if stop.load(Relaxed) { Err(SystemError::Interrupted) } else { Ok(()) }
}

fn failed(command: &Command, why: String) -> SystemError {
    SystemError::Command { command: command.get_program().to_string_lossy().into_owned(), why }
}

/// What a command prints; its failure is told by the last line of its error output.
fn run(command: &mut Command) -> Result<String, SystemError> {
    let done = command.output().map_err(|error| failed(command, error.to_string()))?;
    said(command, &done)
}

/// The same for a command that may take long: it is asked to end when the run is to end. It has a process group of its own: Ctrl-C on a
/// terminal does not reach it, this does, and what it has started as well. With SIGTERM: what a shell starts in the background ignores SIGINT.
fn run_unless_stopped(command: &mut Command, stop: &AtomicBool) -> Result<String, SystemError> {
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
