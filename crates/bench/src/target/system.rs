//! The seam of a system under test: how it is started, watched, disturbed and stopped.

use super::prometheus::{MetricsError, MetricsUrl};
use crate::study::{Disturbance, Which};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
