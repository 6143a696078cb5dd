//! How far a restore has come: what it goes on by after it was interrupted.

use super::error::BackupError;
use super::files::replace;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name without `--progress`, in the backup's directory.
pub(crate) const PROGRESS: &str = "restore.progress";

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RestoreProgress {
    /// Names this restore: its tables have ids that follow from it.
    pub(crate) restore: String,
    /// What is restored; all without.
    pub(crate) tables: Vec<String>,
    pub(crate) step: Step,
    /// In a step of rows: the file, and how many of its chunks are stored.
    pub(crate) file: usize,
    pub(crate) chunks: u64,
}

/// What is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    Tables,
    Rows,
    /// Batches that were unfinished at the cut; once they are there they are run again.
    Batches,
    Views,
}

impl RestoreProgress {
    /// Of a restore that is under way here.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, BackupError> {
        let failed = |source| BackupError::File { path: path.to_owned(), source };
        match std::fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => serde_json::from_slice(&read.map_err(failed)?).map(Some).map_err(|error| failed(error.into())),
        }
    }

    /// The restore is done.
    pub(crate) fn remove(path: &Path) -> Result<(), BackupError> {
        std::fs::remove_file(path).map_err(|source| BackupError::File { path: path.to_owned(), source })
    }

    /// Written before the next step begins.
    pub(crate) fn write(&self, path: &Path) -> Result<(), BackupError> {
        let bytes = serde_json::to_vec_pretty(self).expect("numbers and texts are always JSON");
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        replace(folder, &name, &bytes)
    }
}
