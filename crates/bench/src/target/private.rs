//! A TarnDB node of this very binary, with data of its own, started for the run and stopped after it.

use super::process::wait_until_quiet;
use super::{Means, Protocol, System, SystemError};
use crate::study::Disturbance;
use base::format_size;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const START_SECONDS_MAX: u64 = 120;
const STOP_SECONDS_MAX: u64 = 120;
/// Bytes of the log for each byte of data: half of it is free to write on.
const CAPACITY_BY_DATA: u64 = 2;
const CAPACITY_MIN: u64 = 1 << 30;
const CAPACITY_GRAIN: u64 = 64 << 20;

/// A node.
pub(super) struct PrivateNode {
    /// What clients speak to it.
    protocol: Protocol,
    means: Means,
    child: Option<Child>,
    address: String,
    port: Option<u16>,
}

impl PrivateNode {
    pub(super) fn new(protocol: Protocol, means: Means) -> Self {
        Self { protocol, means, child: None, address: String::new(), port: None }
    }

    fn capacity(&self) -> u64 {
        (self.means.data_bytes.saturating_mul(CAPACITY_BY_DATA)).max(CAPACITY_MIN).next_multiple_of(CAPACITY_GRAIN)
    }

    /// What `tarndb start` is told, besides where its data is and on which port.
    fn flags(&self) -> Vec<(String, String)> {
        let mut flags = vec![
            ("--capacity".to_owned(), format_size(self.capacity()).replace(' ', "")),
            ("--cores".to_owned(), self.means.cpus.len().max(1).to_string()),
        ];
        if let Some(bytes) = self.means.memory_bytes {
            flags.push(("--memory-limit".to_owned(), format_size(bytes).replace(' ', "")));
        }
        flags
    }

    fn fails(&self, why: impl Into<String>) -> SystemError {
        SystemError::Start { name: "the private node".to_owned(), why: why.into() }
    }

    fn log_path(&self) -> PathBuf {
        self.means.directory.join("log")
    }

    /// The last line of its log, which says why it ended.
    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // A process that has ended already is no error here.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A port that nobody listens on, below those that the kernel gives to outgoing connections: a client that tries to reconnect to a dead
/// node on one of those can be given the very same for its own end, and keeps the node from coming back.
fn free_port() -> Option<u16> {
    let first = 10_000 + (std::process::id() % 20_000) as u16;
    (first..first + 1000).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
}

impl System for PrivateNode {
    fn start(&mut self) -> Result<(), SystemError> {
        if self.child.is_some() {
            return Ok(());
        }
        let data = self.means.directory.join("data");
        std::fs::create_dir_all(&data).map_err(|source| SystemError::File { path: data.clone(), source })?;
        let log = File::options().create(true).append(true).open(self.log_path());
        let log = log.map_err(|source| SystemError::File { path: self.log_path(), source })?;
        let binary = std::env::current_exe().map_err(|error| self.fails(error.to_string()))?;
        let mut command = Command::new(binary);
        // A port that was given once stays: clients find a node that came back.
        let port = self.port.or_else(free_port).unwrap_or(0).to_string();
        let (cql, aerospike) = match self.protocol {
            Protocol::Cql => (port.as_str(), "0"),
            Protocol::Aerospike => ("0", port.as_str()),
        };
        command.args(["start", "--cql-port", cql, "--cql-shard-aware-port", "0", "--aerospike-port", aerospike, "--http-port", "0"]);
        command.args(["--log", "warn", "--data-dir"]).arg(&data);
        command.args(self.flags().into_iter().flat_map(|(flag, value)| [flag, value]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        io_linux::bind_to_this_process(&mut command, &self.means.cpus);
        let mut child = command.spawn().map_err(|error| self.fails(error.to_string()))?;
        let output = child.stdout.take().expect("it was asked for");
        self.child = Some(child);
        let (sender, receiver) = mpsc::channel();
        // Reads to the end, so that the node never waits for a reader.
        std::thread::spawn(move || BufReader::new(output).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
        let ready = receiver.recv_timeout(Duration::from_secs(START_SECONDS_MAX));
        let named = format!("{}=", self.protocol.name());
        let address = ready.ok().and_then(|line| line.split(' ').find_map(|word| word.strip_prefix(&named).map(str::to_owned)));
        match address {
            Some(address) => {
                self.port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
                self.address = address;
                Ok(())
            }
            None => {
                self.kill();
                Err(self.fails(self.last_words()))
            }
        }
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings: BTreeMap<String, String> = self.flags().into_iter().collect();
        settings.insert("cpus".to_owned(), format!("{:?}", self.means.cpus));
        settings.insert(
            "durability".to_owned(),
            "memory: acknowledged writes survive kill -9 at once, loss of power after the flush interval".to_owned(),
        );
        settings.insert("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        settings
    }

    fn settle(&mut self, timeout_s: f64) -> Result<Option<f64>, SystemError> {
        let Some(pid) = self.pid() else { return Ok(None) };
        if let Some(seconds) = wait_until_quiet(pid, timeout_s) {
            return Ok(Some(seconds));
        }
        Err(SystemError::Unable {
            name: "the private node".to_owned(),
            what: "settle".to_owned(),
            why: format!("it still writes after {timeout_s} s"),
        })
    }

    fn drop_caches(&mut self) -> Result<(), SystemError> {
        self.stop();
        self.start()
    }

    fn disturb(&mut self, disturbance: Disturbance) -> Result<(), SystemError> {
        match disturbance {
            Disturbance::KillNode => {
                self.kill();
                Ok(())
            }
            Disturbance::StopNode => {
                self.stop();
                Ok(())
            }
            Disturbance::StartNode => self.start(),
            Disturbance::AddNode => Err(SystemError::Unable {
                name: "the private node".to_owned(),
                what: "add a node".to_owned(),
                why: "it is a single node; give a cluster as --target and the command that adds a node to it with --on add-node='…'"
                    .to_owned(),
            }),
        }
    }

    fn stop(&mut self) {
        let Some(pid) = self.pid() else { return };
        // Asks it to end as an operator does, and does not wait for ever.
        let asked = Command::new("kill").args(["-TERM", &pid.to_string()]).status().is_ok_and(|status| status.success());
        let until = Instant::now() + Duration::from_secs(if asked { STOP_SECONDS_MAX } else { 0 });
        while let Some(child) = &mut self.child {
            match child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
                Ok(Some(_)) => self.child = None,
                _ => self.kill(),
            }
        }
    }
}

impl Drop for PrivateNode {
    fn drop(&mut self) {
        self.stop();
    }
}
