//! Why a run, or a target of it, ends early.

use super::failing::Failing;
use crate::report;
use crate::report::model::Verified;
use crate::target::SystemError;
use base::format_size;
use load::cql::UnknownConsistency;
use std::path::PathBuf;

/// Why a run gave no whole report.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The directory of an earlier run.
    #[error("{} holds the report of another run: {differences}; choose another --out, or remove it", out.display())]
    OtherRun {
        /// Which.
        out: PathBuf,
        /// What is other.
        differences: String,
    },
    /// The directory of a run that is finished.
    #[error("{} holds a finished report: `tarndb bench report {}` shows it; choose another --out to run again", out.display(), out.display())]
    Finished {
        /// Which.
        out: PathBuf,
    },
    /// A report that cannot be written or read.
    #[error(transparent)]
    Report(#[from] report::ReportError),
    /// A file or directory of the run.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not enough disk.
    #[error("{} has {} free, the data of this study needs about {}; --scale {suggestion} fits, --out chooses another place", path.display(), format_size(*free), format_size(*needed))]
    Room {
        /// Where.
        path: PathBuf,
        /// Bytes that are free.
        free: u64,
        /// Bytes that are needed.
        needed: u64,
        /// A scale that fits, on top of the one in force.
        suggestion: String,
    },
}

/// Why a target was given up.
#[derive(Debug, thiserror::Error)]
pub(super) enum TargetError {
    #[error(transparent)]
    System(#[from] SystemError),
    #[error(transparent)]
    Load(#[from] load::LoadError),
    #[error(transparent)]
    Target(#[from] load::target::TargetError),
    #[error("acknowledged writes are not there: {lost} rows lost, {stale} stale, {wrong} wrong among {compared} that were compared", lost = .0.lost, stale = .0.stale, wrong = .0.wrong, compared = .0.compared)]
    Invalid(Verified),
    #[error(transparent)]
    Failing(#[from] Failing),
    #[error("the target died: {0}")]
    Died(String),
    #[error("a load machine was lost: {0}")]
    AgentLost(String),
    #[error(transparent)]
    Agents(#[from] load::AgentsError),
    #[error(transparent)]
    Consistency(#[from] UnknownConsistency),
    #[error("cannot make the histogram log: {0}")]
    HistogramLog(#[from] std::io::Error),
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Run(#[from] RunError),
}
