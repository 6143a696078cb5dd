//! Where the figures of a target come from while a phase runs.

use super::prometheus;
use crate::target::{ProcessSample, System, sum_of_processes};

/// Processes, metrics, or nothing.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// Processes of this machine.
    Processes(Vec<u32>),
    /// Metrics.
    Metrics(String),
    /// Nowhere.
    None,
}

impl Source {
    /// The one of a system as it is now: after a restart its processes are others.
    pub(super) fn of(system: &dyn System) -> Self {
        match (system.metrics(), system.pids()) {
            (Some(url), _) => Self::Metrics(url.to_owned()),
            (None, pids) if pids.is_empty() => Self::None,
            (None, pids) => Self::Processes(pids),
        }
    }

    /// A reading; what cannot be read is absent.
    pub(super) fn sample(&self) -> ProcessSample {
        match self {
            Self::Processes(pids) => sum_of_processes(pids),
            Self::Metrics(url) => prometheus::sample(url).unwrap_or_default(),
            Self::None => ProcessSample::default(),
        }
    }
}

/// A reading and when it was made, seconds after the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) second: f64,
    pub(super) sample: ProcessSample,
}
