//! Why a command of `tarndb bench` failed.

use crate::report::ReportError;
use crate::run::RunError;
use crate::study::StudyError;
use crate::target::SpecError;
use base::ParseSizeError;
use std::path::PathBuf;

/// Why a command of `tarndb bench` failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The study.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// A target.
    #[error(transparent)]
    Target(#[from] SpecError),
    /// A flag.
    #[error("--{flag} {given}: {why}")]
    Flag {
        /// Its name.
        flag: &'static str,
        /// What was given.
        given: String,
        /// What is wrong.
        why: String,
    },
    /// A size.
    #[error("--memory: {0}")]
    Size(#[from] ParseSizeError),
    /// A report.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The signal handler.
    #[error("cannot handle Ctrl-C: {0}")]
    Signals(#[from] ctrlc::Error),
    /// A secret that cannot be read.
    #[error("cannot read the secret in {}: {source}", path.display())]
    Secret {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// An agent that cannot serve.
    #[error("cannot listen on {listen}: {source}")]
    Agent {
        /// Where.
        listen: String,
        /// Why.
        source: std::io::Error,
    },
    /// Reports whose figures have nothing to do with each other.
    #[error(
        "the reports are not of one study, so that ratios between them say nothing: {0}; --force sets them beside each other all the same"
    )]
    DifferentStudies(String),
    /// A page that cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Page {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl BenchError {
    /// Whether the command line or a file of the user's is wrong, rather than the environment.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Study(StudyError::File { .. }) | Self::Report(ReportError::Read { .. } | ReportError::Write { .. }) => false,
            Self::Study(_) | Self::Target(_) | Self::Flag { .. } | Self::Size(_) | Self::Report(_) | Self::DifferentStudies(_) => true,
            Self::Run(error) => matches!(error, RunError::OtherRun { .. } | RunError::Finished { .. }),
            Self::Signals(_) | Self::Page { .. } | Self::Secret { .. } | Self::Agent { .. } => false,
        }
    }
}

pub(super) fn flag(flag: &'static str, given: &str, why: &str) -> BenchError {
    BenchError::Flag { flag, given: given.to_owned(), why: why.to_owned() }
}
