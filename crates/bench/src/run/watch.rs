//! Where the figures of a target come from while a phase runs.

use super::prometheus;
use crate::target::{ProcessSample, System, process_sample};

/// A process, metrics, or nothing.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A process of this machine.
    Process(u32),
    /// Metrics.
    Metrics(String),
    /// Nowhere.
    None,
}

impl Source {
    /// The one of a system as it is now: after a restart its process is another.
    pub(super) fn of(system: &dyn System) -> Self {
        match (system.metrics(), system.pid()) {
            (Some(url), _) => Self::Metrics(url.to_owned()),
            (None, Some(pid)) => Self::Process(pid),
            (None, None) => Self::None,
        }
    }

    /// A reading; what cannot be read is absent.
    pub(super) fn sample(&self) -> ProcessSample {
        match self {
            Self::Process(pid) => process_sample(*pid),
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
