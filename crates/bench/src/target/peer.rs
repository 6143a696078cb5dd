//! A peer: another database on this machine that a script starts, settles and stops. `peers/README.md` is the contract.

use super::command::{run, run_unless_stopped};
use super::system::{Means, System, SystemError};
use crate::study::{Disturbance, Which};
use base::format_size;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a script prints once its server answers.
#[derive(Debug, Deserialize)]
struct Started {
    pid: u32,
    address: String,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    /// Options of the table that its makers advise for the benchmark's rows.
    #[serde(default)]
    table: Option<String>,
}

/// What a script prints once its server has settled.
#[derive(Debug, Deserialize)]
struct Settled {
    seconds: f64,
}

/// A peer.
pub(super) struct Peer {
    name: String,
    script: PathBuf,
    options: Vec<(String, String)>,
    means: Means,
    started: Option<Started>,
    /// Whether there may be something to stop: from before `start`, which may fail half-way, until `stop`.
    is_begun: bool,
    address: String,
}

impl Peer {
    pub(super) fn new(name: &str, options: &[(String, String)], means: Means) -> Result<Self, SystemError> {
        let script = means.peers.as_deref().map(|peers| peers.join(name).join(format!("{name}.sh"))).filter(|script| script.is_file());
        let Some(script) = script else {
            let known = means.peers.as_deref().map(known_peers).unwrap_or_default();
            return Err(SystemError::Unable {
                name: name.to_owned(),
                what: "be started".to_owned(),
                why: if known.is_empty() {
                    "there is no directory of peers; --peers names it (`peers` in TarnDB's source)".to_owned()
                } else {
                    format!(
                        "it is none of the peers: {}; a server that runs already is given as [NAME=]cql://HOST:PORT, [NAME=]aerospike://HOST:PORT/NAMESPACE or [NAME=]griddb://HOST:PORT/CLUSTER",
                        known.join(", ")
                    )
                },
            });
        };
        Ok(Self { name: name.to_owned(), script, options: options.to_vec(), means, started: None, is_begun: false, address: String::new() })
    }

    fn other_words(&self, error: &serde_json::Error) -> SystemError {
        let why = format!("it said something else than peers/README.md asks for: {error}");
        SystemError::Command { command: self.script.display().to_string(), why }
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.script);
        command.arg(verb).arg("--dir").arg(&self.means.directory);
        // What stops a server must not be ended by the Ctrl-C that asked for it.
        command.process_group(0);
        command
    }

    fn launch(&self) -> Result<Started, SystemError> {
        let mut command = self.command("start");
        if !self.means.cpus.is_empty() {
            let cpus: Vec<String> = self.means.cpus.iter().map(ToString::to_string).collect();
            command.args(["--cpus", &cpus.join(",")]);
        }
        if let Some(bytes) = self.means.memory_bytes {
            command.args(["--memory", &format_size(bytes).replace(' ', "")]);
        }
        command.args(self.options.iter().flat_map(|(key, value)| [format!("--{key}"), value.clone()]));
        let said = run_unless_stopped(&mut command, &self.means.stop)?;
        serde_json::from_str(said.trim()).map_err(|error| self.other_words(&error))
    }
}

fn known_peers(peers: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(peers).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut known: Vec<String> = names.filter(|name| peers.join(name).join(format!("{name}.sh")).is_file()).collect();
    known.sort();
    known
}

impl System for Peer {
    fn start(&mut self) -> Result<(), SystemError> {
        if self.started.is_some() {
            return Ok(());
        }
        self.is_begun = true;
        let started = match self.launch() {
            Ok(started) => started,
            Err(error) => {
                self.stop();
                return Err(error);
            }
        };
        self.address.clone_from(&started.address);
        self.started = Some(started);
        Ok(())
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    fn pids(&self) -> Vec<u32> {
        self.started.iter().map(|started| started.pid).collect()
    }

    fn table_options(&self) -> Option<&str> {
        self.started.as_ref().and_then(|started| started.table.as_deref())
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.started.as_ref().map(|started| started.settings.clone()).unwrap_or_default()
    }

    fn settle(&mut self, timeout_s: f64) -> Result<Option<f64>, SystemError> {
        let said = run_unless_stopped(self.command("settle").args(["--timeout", &format!("{timeout_s:.0}")]), &self.means.stop)?;
        let settled: Settled = serde_json::from_str(said.trim()).map_err(|error| self.other_words(&error))?;
        Ok(Some(settled.seconds))
    }

    fn drop_caches(&mut self) -> Result<(), SystemError> {
        run_unless_stopped(&mut self.command("drop-caches"), &self.means.stop).map(drop)
    }

    fn disturb(&mut self, disturbance: Disturbance, _: Which) -> Result<(), SystemError> {
        match disturbance {
            Disturbance::KillNode => {
                for pid in self.pids() {
                    run(Command::new("kill").args(["-KILL", &pid.to_string()]))?;
                }
                self.started = None;
                Ok(())
            }
            Disturbance::StopNode => {
                self.stop();
                Ok(())
            }
            Disturbance::StartNode => self.start(),
            Disturbance::AddNode => Err(SystemError::Unable {
                name: self.name.clone(),
                what: "add a node".to_owned(),
                why: "a peer is a single node; give a cluster as --target".to_owned(),
            }),
        }
    }

    fn stop(&mut self) {
        self.started = None;
        if std::mem::take(&mut self.is_begun)
            && let Err(error) = run(&mut self.command("stop"))
        {
            eprintln!("tarndb bench: {error}");
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop();
    }
}
