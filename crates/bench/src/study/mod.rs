//! A study: which rows, which load on them in which phases, and what a publication found. A TOML file, `docs/reference/bench-study.md`.
//!
//! Unknown keys are errors. What a person may change from the command line (scale, duration, rate) is applied to the study itself, so that
//! the study in a report repeats the run without flags.

mod file;
mod sense;
mod shipped;

pub(crate) use file::NODES_MAX;
pub use file::{CostModel, Disturbance, Event, PaperFile, PaperRatio, Phase, Sizes, Study, Which};
pub use shipped::{Shipped, shipped};

use std::path::{Path, PathBuf};

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

/// Finds a study by its name or the path of its file.
///
/// # Errors
/// When there is none, or it is wrong.
pub fn find(name: &str) -> Result<Study, StudyError> {
    if let Some(shipped) = shipped().find(|shipped| shipped.name == name) {
        return Study::parse(name, shipped.file);
    }
    let path = Path::new(name);
    if path.extension().is_some_and(|extension| extension == "toml") || path.components().count() > 1 {
        let file = std::fs::read_to_string(path).map_err(|source| StudyError::File { path: path.to_owned(), source })?;
        return Study::parse(name, &file);
    }
    let nearest = base::nearest(name, shipped().map(|shipped| shipped.name)).map(str::to_owned);
    Err(StudyError::Unknown { name: name.to_owned(), nearest })
}
