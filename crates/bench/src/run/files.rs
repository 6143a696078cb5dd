//! The files of a run.

use super::error::RunError;
use crate::report;
use crate::report::model::Report;
use std::fs;
use std::path::{Path, PathBuf};

/// The truth of a run.
#[must_use]
pub fn json_path(out: &Path) -> PathBuf {
    out.join("report.json")
}

/// The page that is drawn from it.
#[must_use]
pub fn html_path(out: &Path) -> PathBuf {
    out.join("report.html")
}

/// Draws the page.
///
/// # Errors
/// When it cannot be written.
pub fn write_html(out: &Path, report: &Report) -> Result<(), RunError> {
    let path = html_path(out);
    fs::write(&path, report::html(report)).map_err(|source| RunError::File { path, source })
}

pub(super) fn remove_directory(path: &Path) -> Result<(), RunError> {
    if !path.exists() {
        return Ok(());
    }
    fs::remove_dir_all(path).map_err(|source| RunError::File { path: path.to_owned(), source })
}

pub(super) fn make_directory(path: &Path) -> Result<(), RunError> {
    fs::create_dir_all(path).map_err(|source| RunError::File { path: path.to_owned(), source })
}
