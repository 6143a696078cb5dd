//! What is run, and with what.

use crate::study::{Disturbance, Study};
use crate::target::TargetSpec;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is run, and with what.
#[derive(Clone, Debug)]
pub struct Options {
    /// The study, scale and other flags applied.
    pub study: Study,
    /// The factor that was applied, for the report.
    pub scale: f64,
    /// In this order.
    pub targets: Vec<TargetSpec>,
    /// Where the report goes, and the data of what the tool starts.
    pub out: PathBuf,
    /// CPUs of servers that the tool starts; none: all.
    pub server_cpus: Vec<usize>,
    /// CPUs of the load generator; none: all.
    pub load_cpus: Vec<usize>,
    /// Memory of each server that the tool starts, instead of what the study says.
    pub memory_bytes: Option<u64>,
    /// Where peers' scripts are.
    pub peers: Option<PathBuf>,
    /// Commands for disturbances of servers that the tool did not start.
    pub commands: BTreeMap<Disturbance, String>,
    /// Load machines besides this one.
    pub agents: Agents,
    /// Where randomness starts.
    pub seed: u64,
    /// The command line, without passwords.
    pub command: Vec<String>,
    /// Version and commit of the tool.
    pub tool: String,
}

/// Load machines besides this one.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    /// Where they listen; none: the load is sent from here.
    pub addresses: Vec<String>,
    /// The secret that they know.
    pub secret: String,
}
