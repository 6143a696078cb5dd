//! One load: what is asked for, by whom, how fast and until when.

use crate::workload::{Clients, End, Mix, Pace};
use serde::{Deserialize, Serialize};

/// One load on a dataset that exists, or that it fills.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Operations and keys.
    pub mix: Mix,
    /// Threads, connections, requests in flight.
    pub clients: Clients,
    /// When the next request is sent.
    #[serde(default)]
    pub pace: Pace,
    /// When it is over.
    pub end: End,
    /// Of every choice: the same seed chooses the same keys.
    pub seed: u64,
    /// How long things may take.
    #[serde(default)]
    pub limits: Limits,
}

/// How long things may take, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// A connection until it can be used.
    pub connect_s: f64,
    /// A request until it is given up and counted as `timeout`.
    pub request_s: f64,
    /// Without any reply until the target is said to have died. Longer than a restart that a study causes.
    pub silence_s: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect_s: 10.0, request_s: 10.0, silence_s: 60.0 }
    }
}
