//! `tarndb inspect`: shows and checks devices and files offline. Writes nothing.
//!
//! Sources → segment headers → every record of the segments in use → a report.

mod check;
mod live;
mod losses;
mod report;
mod source;

use crate::cli::InspectArguments;
use crate::layout::LayoutError;
use crate::settings::Size;
use io_linux::{DataDirError, DeviceError};
use model::schema_blob::SchemaBlobError;
use report::Report;
use source::Sources;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Something is damaged.
const DAMAGED: u8 = 1;

/// Why something could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InspectError {
    /// Nothing was named.
    #[error("nothing to inspect: name devices or files, or give --data-dir")]
    Nothing,
    /// A device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A server has the data directory, or it cannot be read.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// What the data directory says of itself.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The schema.
    #[error("the schema cannot be read: {0}")]
    Schema(#[from] SchemaBlobError),
    /// A directory was named as a device.
    #[error("{} is a directory: write --data-dir {}", path.display(), path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// No node was ever started there.
    #[error("{} is not a data directory: it has no layout.toml or no identity", path.display())]
    NoDataDir {
        /// The directory.
        path: PathBuf,
    },
    /// Another device is where one of the store should be.
    #[error("{} is not device {number} of the store in {}", path.display(), directory.display())]
    NotTheDevice {
        /// The device.
        path: PathBuf,
        /// The number it should have.
        number: usize,
        /// The data directory.
        directory: PathBuf,
    },
    /// There is nothing of TarnDB in it.
    #[error("{} holds nothing of TarnDB: neither a superblock nor a segment was found", path.display())]
    NothingOfOurs {
        /// The device.
        path: PathBuf,
    },
    /// A newer version made it.
    #[error("{} has device format {version}, and this version knows only 1", path.display())]
    Version {
        /// The device.
        path: PathBuf,
        /// Its format.
        version: u16,
    },
    /// Both copies of the superblock are damaged.
    #[error("both copies of the superblock of {} are damaged, so its segments cannot be found", path.display())]
    Superblock {
        /// The device.
        path: PathBuf,
    },
    /// The device is shorter than its superblock says.
    #[error("{} has {there}, and {needed} of it are in use: its end is missing", path.display())]
    CutShort {
        /// The device.
        path: PathBuf,
        /// How long it is.
        there: Size,
        /// How long it was.
        needed: Size,
    },
    /// The operating system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Looks at what the arguments name, and prints a report.
pub(crate) fn run(arguments: &InspectArguments) -> Result<ExitCode, InspectError> {
    let sources = match &arguments.data_dir {
        Some(path) => Sources::of_data_dir(path)?,
        None if arguments.paths.is_empty() => return Err(InspectError::Nothing),
        None => Sources::of_paths(&arguments.paths)?,
    };
    let now_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let (segments, losses, bytes_read) = check::check(&sources, now_s);
    let report = Report::new(&sources, segments, losses, bytes_read);
    let text = if arguments.json {
        serde_json::to_string_pretty(&report).expect("a report has only text keys") + "\n"
    } else {
        report.text(arguments.segments)
    };
    // A reader that has seen enough is no error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(DAMAGED) })
}
