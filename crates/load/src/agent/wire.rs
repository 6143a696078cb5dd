//! What a controller and its agents say to each other: JSON texts in a [`super::channel`].
//!
//! ```text
//! controller                         agent
//!                                    after the greeting, at most five seconds for
//! hello                    ──────►
//!                          ◄──────  welcome
//! assignment               ──────►
//!                          ◄──────  ready, when all its connections can be used
//! go                       ──────►
//!                          ◄──────  part, each second, with whole histograms
//! stop (perhaps)           ──────►
//!                          ◄──────  ended
//! ```
//! `refused` may come instead of anything an agent says, with the reason; the connection then ends.

use crate::collector::Tail;
use crate::dataset::Share;
use crate::latency::{decoded, encoded};
use crate::outcome::Ended;
use crate::plan::Plan;
use crate::recorder::{Errors, Part};
use crate::settings::TargetSettings;
use crate::workload::{OperationKind, Rows};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Longest text: a second's histograms are some kilobytes.
pub(super) const TEXT_BYTES_MAX: u32 = 16 << 20;

/// From the controller.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// Shows that it is there now: the greeting alone could be an old one, sent again.
    Hello,
    Assignment(Box<Assignment>),
    Go,
    Stop,
}

/// One agent's part of a load.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assignment {
    pub(super) target: TargetSettings,
    pub(super) rows: Rows,
    pub(super) share: Share,
    /// Rows that are there.
    pub(super) there: u64,
    /// With this agent's part of operations, rate and clients.
    pub(super) plan: Plan,
}

/// From an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Report {
    Welcome,
    Ready,
    Part(PartText),
    Ended { ended: Ended, tail: Tail, there: u64 },
    Refused { why: String },
}

/// A [`Part`] as text.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PartText {
    second: u64,
    length_s: f64,
    /// Histograms as in interval logs.
    latencies: BTreeMap<OperationKind, String>,
    failed: BTreeMap<OperationKind, u64>,
    errors: BTreeMap<String, (u64, String)>,
}

impl PartText {
    pub(super) fn of(part: &Part) -> Self {
        Self {
            second: part.second,
            length_s: part.length_s,
            latencies: part.latencies.iter().map(|(kind, histogram)| (*kind, encoded(histogram))).collect(),
            failed: part.failed.clone(),
            errors: part.errors.iter().map(|(kind, errors)| (kind.clone(), (errors.count, errors.example.clone()))).collect(),
        }
    }

    /// The part; none when a histogram is none.
    pub(super) fn part(self) -> Option<Part> {
        let latencies = self.latencies.into_iter().map(|(kind, text)| Some((kind, decoded(&text)?))).collect::<Option<_>>()?;
        let errors = self.errors.into_iter().map(|(kind, (count, example))| (kind, Errors { count, example })).collect();
        Some(Part { second: self.second, length_s: self.length_s, latencies, failed: self.failed, errors })
    }
}
