//! How far a restore has come: what it goes on by after it was interrupted.

use super::error::BackupError;
use super::files::replace_private;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name without `--progress`, in the backup's directory.
pub(crate) const PROGRESS: &str = "restore.progress";

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RestoreProgress {
    /// Names this restore: its tables have ids that follow from it.
    pub(crate) restore: String,
    /// The SHA-256 of the manifest of the backup: of another one other rows would be passed over as stored.
    pub(crate) backup: String,
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
    /// Whether it is of a restore of these tables of this backup.
    pub(crate) fn is_of(&self, backup: &str, tables: &[String]) -> bool {
        self.tables == tables && self.backup == backup
    }

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
        replace_private(folder, &name, &bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_of_one_backup_and_its_tables() {
        let folder = Folder::made("progress");
        let (path, tables) = (folder.join(PROGRESS), ["k.t".to_owned()]);
        let (restore, backup) = ("r".to_owned(), "b".to_owned());
        let progress = RestoreProgress { restore, backup, tables: tables.to_vec(), step: Step::Rows, file: 1, chunks: 2 };
        progress.write(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "it is nobody else's");
        assert_eq!(RestoreProgress::read(&path).unwrap().as_ref(), Some(&progress));
        assert!(progress.is_of("b", &tables) && !progress.is_of("c", &tables) && !progress.is_of("b", &[]));
        // One that does not say of which backup it is.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"backup\"", "\"former\"")).unwrap();
        assert!(RestoreProgress::read(&path).unwrap_err().to_string().contains("missing field `backup`"));
        RestoreProgress::remove(&path).unwrap();
        assert_eq!(RestoreProgress::read(&path).unwrap(), None);
    }
}
