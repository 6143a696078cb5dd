//! The flags of `tarndb bench run`.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Flags of `tarndb bench run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Name of a study, or path of a TOML file.
    pub(super) study: String,
    /// What to run it against, several times for several: `tarndb` (private nodes, as many as the study says or `tarndb?nodes=N`;
    /// `tarndb?protocol=aerospike` or `tarndb?protocol=griddb` for these protocols), a peer such as `cassandra`, [NAME=]cql://[USER:PASSWORD@]HOST:PORT[,…][?nodes=N&pid=N&metrics=URL[,URL…]&consistency=LEVEL&table=OPTIONS],
    /// [NAME=]aerospike://HOST:PORT[,…][/NAMESPACE][?nodes=N&pid=N&metrics=URL[,URL…]], or
    /// [NAME=]griddb://[USER:PASSWORD@]HOST:PORT[,…][/CLUSTER][?nodes=N&pid=N&metrics=URL[,URL…]&batch=N]. The study's own unless told, or `tarndb`.
    #[arg(long = "target", value_name = "TARGET")]
    pub(super) targets: Vec<String>,
    /// Factor on the numbers of rows and operations; durations and rates stay.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(super) scale: f64,
    /// How long each measured phase lasts, for example 90s, 10m or 12h.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(super) duration: Option<Duration>,
    /// Requests a second in each measured phase, whatever comes back (open loop).
    #[arg(long, value_name = "PER_SECOND")]
    pub(super) rate: Option<f64>,
    /// How often all phases are run on each target, instead of the study's: figures are then medians, with the lowest and the highest.
    #[arg(long, value_name = "N")]
    pub(super) repeats: Option<u32>,
    /// Directory of the report; a run that was interrupted goes on when it is given again.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Memory limit of each server that is started, instead of the study's.
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<String>,
    /// CPUs of servers that are started, for example 0,2-3; `any` does not pin them. Half of those that there are unless told.
    #[arg(long, value_name = "LIST")]
    pub(super) server_cpus: Option<String>,
    /// CPUs of the load generator; the other half unless told.
    #[arg(long, value_name = "LIST")]
    pub(super) load_cpus: Option<String>,
    /// Directory with the scripts of peers.
    #[arg(long, value_name = "DIR", env = "TARNDB_PEERS")]
    pub(super) peers: Option<PathBuf>,
    /// How to disturb a target that the tool did not start: kill-node, stop-node, start-node or add-node, `=`, a shell command.
    #[arg(long = "on", value_name = "EVENT=COMMAND")]
    pub(super) on: Vec<String>,
    /// A load machine that runs `tarndb bench agent`, several times for several; without any the load is sent from here.
    #[arg(long = "agent", value_name = "HOST:PORT", requires = "secret_file")]
    pub(super) agents: Vec<String>,
    /// File with the secret that agents know.
    #[arg(long, value_name = "FILE")]
    pub(super) secret_file: Option<PathBuf>,
    /// Where randomness starts: the same seed asks for the same rows.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
}
