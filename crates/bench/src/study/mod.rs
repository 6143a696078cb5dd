//! A study: which rows, which load on them in which phases, and what a publication found. A TOML file, `docs/reference/bench-study.md`.
//!
//! Unknown keys are errors. What a person may change from the command line (scale, duration, rate, repeats) is applied to the study itself, so that
//! the study in a report repeats the run without flags.

mod error;
mod file;
mod parse;
mod shipped;
mod validate;

pub use error::StudyError;
pub(crate) use file::{BATCH_MAX, NODES_MAX, REPEATS_MAX};
pub use file::{CostModel, Disturbance, Event, PaperFile, PaperRatio, Phase, Sizes, Study, Which};
pub use shipped::{Shipped, shipped};

use std::path::Path;

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
