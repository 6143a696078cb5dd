//! A server that somebody else runs: it is neither started nor stopped, and disturbed only by commands that the user has given.

use super::command::run;
use super::process::wait_until_quiet;
use super::prometheus::{self, MetricsUrl};
use super::system::{System, SystemError};
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
    metrics: Vec<MetricsUrl>,
    /// Whether all metrics were there once: from then on a reading that fails is no reason to end.
    is_checked: bool,
    commands: BTreeMap<Disturbance, String>,
    stop: Arc<AtomicBool>,
}

impl Remote {
    pub(super) fn new(
        name: &str,
        address: &str,
        pid: Option<u32>,
        metrics: Vec<MetricsUrl>,
        commands: BTreeMap<Disturbance, String>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self { name: name.to_owned(), address: address.to_owned(), pid, metrics, is_checked: false, commands, stop }
    }
}

impl System for Remote {
    /// Sees that its metrics are there: a run without the figures that were asked for would be in vain.
    fn start(&mut self) -> Result<(), SystemError> {
        if !self.is_checked {
            for url in &self.metrics {
                prometheus::sample(url)?;
            }
            self.is_checked = true;
        }
        Ok(())
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    fn pids(&self) -> Vec<u32> {
        self.pid.into_iter().collect()
    }

    fn metrics(&self) -> &[MetricsUrl] {
        &self.metrics
    }

    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("started by".to_owned(), "somebody else: its settings are not known here".to_owned())])
    }

    fn settle(&mut self, timeout_s: f64) -> Result<Option<f64>, SystemError> {
        let Some(pid) = self.pid else { return Ok(None) };
        if let Some(seconds) = wait_until_quiet(&[pid], timeout_s, &self.stop)? {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::target::serve_metrics;

    const FIGURES: &str = "HTTP/1.0 200 OK\r\n\r\nprocess_cpu_seconds_total 1\n";

    #[test]
    fn a_server_without_the_metrics_that_were_named_is_refused_once() {
        let (good, answers) = serve_metrics(vec![FIGURES, FIGURES]);
        let (bad, wrong) = serve_metrics(vec!["HTTP/1.0 404 Not Found\r\n\r\n", FIGURES]);
        let mut server = Remote::new("x", "127.0.0.1:1", None, vec![good, bad.clone()], BTreeMap::new(), Arc::default());
        let error = server.start().unwrap_err().to_string();
        assert!(error.contains(&bad.to_string()) && error.contains("404") && error.lines().count() == 1, "{error}");
        server.start().unwrap();
        answers.join().unwrap();
        wrong.join().unwrap();
        // Nobody answers any more, which readings find out.
        server.start().unwrap();
    }
}
