//! `report.json` on disk. It is replaced whole or not at all: a run of hours must not be lost to a full disk at its end.

use super::model::{Report, SCHEMA};
use serde::Deserialize;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Why a report could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The environment: full disk, no such directory, no right.
    #[error("cannot write {}: {source}; what was there before is unchanged", path.display())]
    Write {
        /// The report.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No such file, or no right to read it.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The report.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Not a report, or half of one.
    #[error("{} is no report of tarndb bench: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Written by a later version of this tool.
    #[error("{} has schema {schema}, this tarndb reads up to {SCHEMA}: use the version that wrote it, or a later one", path.display())]
    Newer {
        /// The report.
        path: PathBuf,
        /// Its schema.
        schema: u32,
    },
}

/// Writes a report to `path`: beside it first, to the device, then in its place.
///
/// # Errors
/// [`ReportError::Write`]; a report that was there is then still there, unchanged.
pub fn write_json(path: &Path, report: &Report) -> Result<(), ReportError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".partial");
    let beside = PathBuf::from(beside);
    replace(path, &beside, report).map_err(|source| {
        // Best effort: the error that matters is the one at hand.
        let _ = fs::remove_file(&beside);
        ReportError::Write { path: path.to_owned(), source }
    })
}

fn replace(path: &Path, beside: &Path, report: &Report) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(beside)?);
    serde_json::to_writer_pretty(&mut file, report)?;
    file.write_all(b"\n")?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(beside, path)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}

/// Reads a report. Fields that this version does not know are passed over.
///
/// # Errors
/// [`ReportError::Read`], [`ReportError::Malformed`], [`ReportError::Newer`].
pub fn read_json(path: &Path) -> Result<Report, ReportError> {
    // The schema first: a later one may have other fields, and "missing field" would say the wrong thing.
    #[derive(Deserialize)]
    struct Head {
        schema: u32,
    }
    let text = fs::read(path).map_err(|source| ReportError::Read { path: path.to_owned(), source })?;
    let malformed = |source| ReportError::Malformed { path: path.to_owned(), source };
    let head: Head = serde_json::from_slice(&text).map_err(malformed)?;
    if head.schema > SCHEMA {
        return Err(ReportError::Newer { path: path.to_owned(), schema: head.schema });
    }
    serde_json::from_slice(&text).map_err(malformed)
}
