//! Starting and ending the binary under test.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

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

/// A node that has said that it is ready; killed when it goes out of scope.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) lines: Option<BufReader<ChildStdout>>,
    ready: String,
}

impl Server {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        lines.read_line(&mut ready).unwrap();
        assert!(ready.starts_with("tarndb ready "), "{ready}");
        Self { child, lines: Some(lines), ready }
    }

    pub(crate) fn field(&self, name: &str) -> &str {
        let start = format!("{name}=");
        self.ready.split_whitespace().find_map(|field| field.strip_prefix(start.as_str())).unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status().unwrap();
        assert!(status.success());
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
