//! One process of this very binary, with a directory of its own.

use super::super::command::unless_stopped;
use super::super::spec::Protocol;
use super::super::system::SystemError;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Where a node listens. Ports that were given once stay: clients and other nodes find it when it comes back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) ip: Ipv4Addr,
    pub(super) client_port: u16,
    /// None for a node by itself.
    pub(super) node_port: Option<u16>,
}

impl Place {
    /// Where clients connect.
    pub(super) fn client(&self) -> String {
        format!("{}:{}", self.ip, self.client_port)
    }
}

/// What a process of a node is told.
pub(super) struct Orders<'a> {
    pub(super) protocol: Protocol,
    /// Flags of `tarndb start` besides its place and directory.
    pub(super) flags: &'a [(String, String)],
    /// The node to join.
    pub(super) join: Option<String>,
    /// CPUs it runs on; none: all.
    pub(super) cpus: &'a [usize],
}

/// A node.
pub(super) struct Node {
    pub(super) place: Place,
    directory: PathBuf,
    running: Option<Running>,
}

struct Running {
    child: Child,
    /// What it prints, line by line.
    lines: Receiver<String>,
    ready: Option<Ready>,
}

/// What a process says when it is ready.
#[derive(Debug)]
pub(super) struct Ready {
    /// Its port for operators.
    pub(super) http: String,
}

impl Node {
    pub(super) fn new(place: Place, directory: PathBuf) -> Self {
        Self { place, directory, running: None }
    }

    /// Its name in messages.
    fn name(&self) -> String {
        format!("the private node at {}", self.place.ip)
    }

    fn fails(&self, why: impl Into<String>) -> SystemError {
        SystemError::Start { name: self.name(), why: why.into() }
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.child.id())
    }

    /// Where it listens, once its process is ready.
    pub(super) fn ready(&self) -> Option<&Ready> {
        self.running.as_ref()?.ready.as_ref()
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Starts a process, unless there is one; [`Node::look`] says when it is ready.
    pub(super) fn spawn(&mut self, orders: &Orders<'_>) -> Result<(), SystemError> {
        if self.is_running() {
            return Ok(());
        }
        let data = self.directory.join("data");
        let file_error = |path: &Path| {
            let path = path.to_owned();
            move |source| SystemError::File { path, source }
        };
        std::fs::create_dir_all(&data).map_err(file_error(&data))?;
        let log = File::options().create(true).append(true).open(self.log_path()).map_err(file_error(&self.log_path()))?;
        let binary = std::env::current_exe().map_err(|error| self.fails(error.to_string()))?;
        let mut command = Command::new(binary);
        let port = self.place.client_port.to_string();
        let (cql, aerospike) = match orders.protocol {
            Protocol::Cql => (port.as_str(), "0"),
            Protocol::Aerospike => ("0", port.as_str()),
            Protocol::GridDb => ("0", "0"),
        };
        command.args(["start", "--listen", &self.place.ip.to_string(), "--cql-port", cql, "--cql-shard-aware-port", "0"]);
        command.args(["--aerospike-port", aerospike, "--http-port", "0", "--log", "warn", "--data-dir"]).arg(&data);
        if orders.protocol == Protocol::GridDb {
            command.args(["--griddb-port", &port]);
        }
        if let Some(port) = self.place.node_port {
            command.args(["--node-port", &port.to_string()]);
        }
        if let Some(member) = &orders.join {
            command.args(["--join", member]);
        }
        command.args(orders.flags.iter().flat_map(|(flag, value)| [flag, value]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        io_linux::bind_to_this_process(&mut command, orders.cpus);
        let mut child = command.spawn().map_err(|error| self.fails(error.to_string()))?;
        let output = child.stdout.take().expect("it was asked for");
        let (sender, lines) = channel();
        // Reads to the end, so that the node never waits for a reader.
        std::thread::spawn(move || BufReader::new(output).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
        self.running = Some(Running { child, lines, ready: None });
        Ok(())
    }

    /// Sees whether the process is ready by now.
    ///
    /// # Errors
    /// When it has ended, which nobody asked it to.
    pub(super) fn look(&mut self, protocol: Protocol) -> Result<(), SystemError> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let ended = match running.lines.try_recv() {
            Ok(line) => {
                let words: BTreeMap<&str, &str> = line.split(' ').filter_map(|word| word.split_once('=')).collect();
                if let (true, Some(http)) = (words.contains_key(protocol.name()), words.get("http")) {
                    running.ready = Some(Ready { http: (*http).to_owned() });
                }
                false
            }
            Err(TryRecvError::Empty) => matches!(running.child.try_wait(), Ok(Some(_))),
            Err(TryRecvError::Disconnected) => true,
        };
        if !ended {
            return Ok(());
        }
        let was_ready = running.ready.is_some();
        self.kill();
        let words = self.last_words();
        Err(if was_ready { SystemError::Ended { name: self.name(), why: words } } else { self.fails(words) })
    }

    /// Waits until the process is ready, unless the run is to end.
    pub(super) fn wait_ready(&mut self, protocol: Protocol, until: Instant, stop: &AtomicBool) -> Result<(), SystemError> {
        while self.ready().is_none() {
            unless_stopped(stop)?;
            if Instant::now() > until {
                self.kill();
                return Err(self.fails(format!("it is not ready in time; {} may say why", self.log_path().display())));
            }
            self.look(protocol)?;
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Without warning.
    pub(super) fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            // A process that has ended already is no error here.
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }

    /// Asks the process to end, as an operator does; [`Node::wait_end`] waits.
    pub(super) fn ask_to_end(&mut self) {
        let Some(pid) = self.pid() else { return };
        let asked = Command::new("kill").args(["-TERM", &pid.to_string()]).status().is_ok_and(|status| status.success());
        if !asked {
            self.kill();
        }
    }

    /// Does not wait for ever.
    pub(super) fn wait_end(&mut self, until: Instant) {
        while let Some(running) = &mut self.running {
            match running.child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
                Ok(Some(_)) => self.running = None,
                _ => self.kill(),
            }
        }
    }

    fn log_path(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// The last line of its log, which says why it ended.
    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}
