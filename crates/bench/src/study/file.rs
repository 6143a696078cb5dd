//! The schema of a study's file.

#[cfg(test)]
mod tests;

use super::error::StudyError;
use crate::report::model::{PaperResult, PhaseKind};
use load::Routing;
use load::cql::OwnStatements;
use load::workload::{Clients, Mix, Rows};
use serde::{Deserialize, Serialize};

/// The longest a settle phase waits unless told.
const SETTLE_SECONDS: f64 = 3600.0;
/// Nodes that the tool starts at most.
pub(crate) const NODES_MAX: u32 = 64;
/// Rows of a request at most: as many as a connection may have in flight.
pub(crate) const BATCH_MAX: u32 = 1 << 14;

/// Rounds of a study at most.
pub(crate) const REPEATS_MAX: u32 = 99;

/// Rows of a validation unless told.
const VALIDATE_ROWS: u64 = 1000;

/// A study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Name, as `tarndb bench run` takes it.
    pub name: String,
    /// One line.
    pub title: String,
    /// What it asks and how.
    pub description: String,
    /// Replicas of each row, where the target has nodes enough.
    #[serde(default = "one")]
    pub replication: u32,
    /// Nodes of a private target: its size, or one size after the other.
    #[serde(default, skip_serializing_if = "Sizes::is_one")]
    pub nodes: Sizes,
    /// Memory of each server as a part of the data, unless `--memory` says how much.
    pub memory_of_data: Option<f64>,
    /// Names of the targets that ratios are for: the one that should win and the one it is compared with. Otherwise the first and each other.
    pub compare: Option<[String; 2]>,
    /// Consistency level of reads and writes, if not the target's own.
    pub consistency: Option<String>,
    /// Which node of a cluster a request is sent to, in CQL.
    #[serde(default)]
    pub routing: Routing,
    /// Rows of a request, in GridDB's protocol; a connection has as many in flight.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub batch: u32,
    /// How often all phases are run on each target: its rounds.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub repeats: u32,
    /// Statements of its own.
    #[serde(default, skip_serializing_if = "OwnStatements::is_empty")]
    pub cql: OwnStatements,
    /// What it is run against unless `--target` says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The publication.
    pub paper: Option<PaperFile>,
    /// What a node costs.
    pub cost: Option<CostModel>,
    /// The dataset.
    pub rows: Rows,
    /// Who asks, unless a phase says otherwise.
    pub clients: Clients,
    /// What happens, in order.
    pub phases: Vec<Phase>,
}

fn one() -> u32 {
    1
}

// By reference: serde asks so.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_one(number: &u32) -> bool {
    *number == 1
}

/// Numbers of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number of nodes, or a list of such numbers")]
pub enum Sizes {
    /// One.
    One(u32),
    /// A target each.
    Several(Vec<u32>),
}

impl Default for Sizes {
    fn default() -> Self {
        Self::One(1)
    }
}

impl Sizes {
    /// Each of them.
    #[must_use]
    pub fn each(&self) -> &[u32] {
        match self {
            Self::One(nodes) => std::slice::from_ref(nodes),
            Self::Several(each) => each,
        }
    }

    fn is_one(&self) -> bool {
        *self == Self::One(1)
    }
}

/// A publication.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperFile {
    /// Title, publisher, date.
    pub citation: String,
    /// Where it is.
    pub url: String,
    /// What it ran on.
    pub setup: String,
    /// How many times better its winner was.
    #[serde(default)]
    pub ratios: Vec<PaperRatio>,
    /// Its result table.
    #[serde(default)]
    pub results: Vec<PaperResult>,
}

/// How many times better a paper's winner was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperRatio {
    /// `PHASE throughput`, `PHASE throughput with settling`, or `PHASE OPERATION p50|p95|p99|p99.9|max`.
    pub measure: String,
    /// How many times.
    pub value: f64,
}

/// What a node costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostModel {
    /// Dollars for a node and an hour.
    pub node_hour: f64,
}

/// A step of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// What is done.
    pub kind: PhaseKind,
    /// Name in reports; the kind's if there is none.
    pub name: Option<String>,
    /// Ends after so many operations. A load writes every row of the dataset.
    pub operations: Option<u64>,
    /// Ends after so long.
    pub seconds: Option<f64>,
    /// Waits no longer (settle).
    pub timeout_s: Option<f64>,
    /// Rows of the small dataset of its own (validate).
    pub rows: Option<u64>,
    /// Operations a second whatever comes back (open loop); without it the next request follows a reply (closed loop).
    pub rate: Option<f64>,
    /// Operations and keys.
    pub mix: Option<Mix>,
    /// Who asks.
    pub clients: Option<Clients>,
    /// What is done to the target meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
}

/// Something that is done to the target under load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Seconds after the start of the phase.
    pub at_s: f64,
    /// What.
    #[serde(rename = "do")]
    pub disturbance: Disturbance,
    /// To which node.
    #[serde(default, skip_serializing_if = "Which::is_last")]
    pub node: Which,
}

/// Which of the nodes that run is killed or stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Which {
    /// The one that was added last.
    #[default]
    Last,
    /// The one that leads the cluster.
    Leader,
}

impl Which {
    /// As studies spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Leader => "leader",
        }
    }

    // By reference: serde asks so.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_last(&self) -> bool {
        *self == Self::Last
    }
}

/// What can be done to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// Kills a node without warning.
    KillNode,
    /// Stops a node as an operator does.
    StopNode,
    /// Starts the node that was killed or stopped.
    StartNode,
    /// Adds a node.
    AddNode,
}

impl Event {
    /// What happens, as reports say it.
    #[must_use]
    pub fn what(&self) -> String {
        match self.node {
            Which::Last => self.disturbance.name().to_owned(),
            Which::Leader => format!("{} ({})", self.disturbance.name(), Which::Leader.name()),
        }
    }
}

impl Disturbance {
    /// As studies and the flag `--on` spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KillNode => "kill-node",
            Self::StopNode => "stop-node",
            Self::StartNode => "start-node",
            Self::AddNode => "add-node",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::KillNode, Self::StopNode, Self::StartNode, Self::AddNode].into_iter().find(|one| one.name() == name)
    }
}

impl Phase {
    /// Its name in reports.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.kind.name())
    }

    /// How long a settle phase waits.
    #[must_use]
    pub fn timeout_s(&self) -> f64 {
        self.timeout_s.unwrap_or(SETTLE_SECONDS)
    }

    /// Rows of a validation.
    #[must_use]
    pub fn validate_rows(&self) -> u64 {
        self.rows.unwrap_or(VALIDATE_ROWS)
    }
}

impl Study {
    /// The file that repeats it.
    #[must_use]
    pub fn file(&self) -> String {
        toml::to_string(self).expect("a study is made of tables, numbers and texts")
    }

    /// Takes so many times the rows and operations; durations and rates stay.
    ///
    /// # Errors
    /// When the factor is no positive number or leaves no rows.
    pub fn scale(&mut self, factor: f64) -> Result<(), StudyError> {
        if !(factor.is_finite() && factor > 0.0) {
            return Err(self.invalid(format!("a scale of {factor} makes no sense; 0.01 takes a hundredth of the rows and operations")));
        }
        let measured = self.phases.iter_mut().filter(|phase| phase.kind == PhaseKind::Run);
        let counts = measured.filter_map(|phase| phase.operations.as_mut());
        for count in counts.chain([&mut self.rows.count]) {
            *count = ((*count as f64 * factor).round() as u64).max(1);
        }
        Ok(())
    }

    /// Lets every phase that is measured last so long; what happens meanwhile happens at the same parts of it.
    pub fn last(&mut self, seconds: f64) {
        for phase in self.phases.iter_mut().filter(|phase| phase.kind == PhaseKind::Run) {
            if let Some(before) = phase.seconds.replace(seconds) {
                phase.events.iter_mut().for_each(|event| event.at_s *= seconds / before);
            }
            phase.operations = None;
        }
    }

    /// Has phases that are measured send so many requests a second: those that have a rate, or all if none has.
    pub fn at_rate(&mut self, rate: f64) {
        let all = self.phases.iter().all(|phase| phase.kind != PhaseKind::Run || phase.rate.is_none());
        let measured = self.phases.iter_mut().filter(|phase| phase.kind == PhaseKind::Run);
        measured.filter(|phase| all || phase.rate.is_some()).for_each(|phase| phase.rate = Some(rate));
    }

    /// Bytes of all values and keys once loaded.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        const KEY_BYTES: u64 = 24;
        self.rows.count * (u64::from(self.rows.fields) * u64::from(self.rows.field_bytes) + KEY_BYTES)
    }

    fn invalid(&self, what: String) -> StudyError {
        StudyError::Invalid { name: self.name.clone(), what }
    }
}
