//! Starting and ending the binary under test.

use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything takes on a slow machine.
pub(crate) const BOUND: Duration = Duration::from_secs(120);

/// A node's HTTP port cuts a client that is silent for so long.
const SILENCE: Duration = Duration::from_secs(1);

/// The answer of a node's HTTP port. A client that a slow machine has kept silent was cut, and asks again.
pub(crate) fn answered<T>(mut ask: impl FnMut() -> Result<T, String>) -> T {
    let until = Instant::now() + BOUND;
    loop {
        let begun = Instant::now();
        match ask() {
            Ok(answer) => return answer,
            Err(why) => assert!(begun.elapsed() >= SILENCE && Instant::now() < until, "{why}"),
        }
    }
}

/// Waits until something holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + BOUND;
    while !holds() {
        assert!(Instant::now() < until, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status().unwrap();
    assert!(status.success());
}

/// A data directory of one test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn tarndb(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tarndb"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TARNDB_") || name == "RUST_LOG") {
        command.env_remove(name);
    }
    command
}

/// `start` on free ports with its own data directory.
pub(crate) fn start(folder: &Folder, more: &[&str]) -> Command {
    let mut command =
        tarndb(&["start", "--cql-port", "0", "--cql-shard-aware-port", "0", "--aerospike-port", "0", "--http-port", "0", "--pin", "off"]);
    command.arg("--data-dir").arg(folder.0.join("data")).args(more);
    command
}

/// Has a log hold more than the 64 KiB of a pipe: few tests read it, a slow machine's node tells of many slow requests, and a node waits for the reader of a
/// full one.
#[allow(unsafe_code, reason = "the standard library cannot say how much a pipe holds")]
fn hold_more(log: &ChildStderr) {
    // SAFETY: no pointers are passed.
    unsafe { libc::fcntl(log.as_raw_fd(), libc::F_SETPIPE_SZ, 1 << 20) };
}

/// A node that has said that it is ready; killed when it goes out of scope.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) lines: Option<BufReader<ChildStdout>>,
    ready: String,
}

impl Server {
    pub(crate) fn start(command: Command) -> Self {
        Self::try_start(command).unwrap_or_else(|said| panic!("{said}"))
    }

    /// The node, or what it has said instead of being ready.
    pub(crate) fn try_start(mut command: Command) -> Result<Self, String> {
        let mut child = command.spawn().unwrap();
        child.stderr.iter().for_each(hold_more);
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        lines.read_line(&mut ready).unwrap();
        if ready.starts_with("tarndb ready ") {
            return Ok(Self { child, lines: Some(lines), ready });
        }
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        Err(format!("{ready}{}", String::from_utf8_lossy(&output.stderr)))
    }

    pub(crate) fn field(&self, name: &str) -> &str {
        let start = format!("{name}=");
        self.ready.split_whitespace().find_map(|field| field.strip_prefix(start.as_str())).unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs to the end; the exit code and what was said on standard error.
pub(crate) fn refused(mut command: Command) -> (i32, String) {
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// Ends a node as an operator does.
pub(crate) fn end(mut server: Server) {
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
}

/// Ends a node by `kill -9`.
pub(crate) fn kill(mut server: Server) {
    server.child.kill().unwrap();
    server.wait();
}
