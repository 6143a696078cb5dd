//! A server that somebody else runs: it is neither started nor stopped, and disturbed only by commands that the user has given.

use super::quiet::quiet_unless_stopped;
use super::{System, SystemError, run};
use crate::study::{Disturbance, Which};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A server.
pub(super) struct Remote {
    name: String,
    address: String,
    pid: Option<u32>,
    metrics: Option<String>,
    commands: BTreeMap<Disturbance, String>,
    stop: Arc<AtomicBool>,
}

impl Remote {
    pub(super) fn new(
        name: &str,
        address: &str,
        pid: Option<u32>,
        metrics: Option<String>,
        commands: BTreeMap<Disturbance, String>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self { name: name.to_owned(), address: address.to_owned(), pid, metrics, commands, stop }
    }
}

impl System for Remote {
    fn start(&mut self) -> Result<(), SystemError> {
        Ok(())
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    fn pids(&self) -> Vec<u32> {
        self.pid.into_iter().collect()
    }

    fn metrics(&self) -> Option<&str> {
        self.metrics.as_deref()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("started by".to_owned(), "somebody else: its settings are not known here".to_owned())])
    }

    fn settle(&mut self, timeout_s: f64) -> Result<Option<f64>, SystemError> {
        let Some(pid) = self.pid else { return Ok(None) };
        if let Some(seconds) = quiet_unless_stopped(vec![pid], timeout_s, &self.stop)? {
            return Ok(Some(seconds));
        }
        Err(SystemError::Unable {
            name: self.name.clone(),
            what: "settle".to_owned(),
            why: format!("process {pid} still writes after {timeout_s} s"),
        })
    }

    fn drop_caches(&mut self) -> Result<(), SystemError> {
        Err(SystemError::Unable {
            name: self.name.clone(),
            what: "drop its caches".to_owned(),
            why: "the tool did not start it; leave the phase out or empty them by hand".to_owned(),
        })
    }

    fn disturb(&mut self, disturbance: Disturbance, which: Which) -> Result<(), SystemError> {
        let name = disturbance.name();
        let Some(command) = self.commands.get(&disturbance) else {
            return Err(SystemError::Unable {
                name: self.name.clone(),
                what: format!("do `{name}`"),
                why: format!("the tool did not start it; say how with --on {name}='COMMAND'"),
            });
        };
        run(Command::new("sh").args(["-c", command]).env("TARNDB_BENCH_NODE", which.name())).map(drop)
    }

    fn stop(&mut self) {}
}
