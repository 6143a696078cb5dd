//! Why there is no such study.

use std::path::PathBuf;

/// Why there is no such study.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Neither a shipped study nor a file.
    #[error(
        "there is no study `{name}`{}; `tarndb bench list` names those that there are, and a path to a TOML file is a study of your own",
        remedy(nearest)
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The shipped study most like it.
        nearest: Option<String>,
    },
    /// A file that cannot be read.
    #[error("cannot read the study {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No study.
    #[error("{name}, line {line}: {what}")]
    Syntax {
        /// Name or path.
        name: String,
        /// Where.
        line: usize,
        /// Why.
        what: String,
    },
    /// A study that cannot be run.
    #[error("study {name}: {what}")]
    Invalid {
        /// Name or path.
        name: String,
        /// What is wrong, and what would be right.
        what: String,
    },
}

fn remedy(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|nearest| format!(" (did you mean `{nearest}`?)")).unwrap_or_default()
}
