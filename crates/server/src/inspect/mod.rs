//! `tarndb inspect`: shows and checks devices and files offline. Writes nothing.
//!
//! Sources → segment headers → every record of the segments in use → a report.

mod check;
mod error;
mod head;
mod live;
mod losses;
mod report;
mod source;

pub(crate) use error::InspectError;

use crate::at_rest::KeySource;
use crate::cli::InspectArguments;
use report::Report;
use source::Sources;
use std::io::Write;
use std::process::ExitCode;

/// Something is damaged.
const DAMAGED: u8 = 1;

/// Looks at what the arguments name, and prints a report.
pub(crate) fn run(arguments: &InspectArguments) -> Result<ExitCode, InspectError> {
    // The command line allows no two.
    let master_key = KeySource::new(arguments.encryption_key_file.clone(), arguments.encryption_key_command.clone()).flatten();
    let sources = match &arguments.data_dir {
        Some(path) => Sources::of_data_dir(path, master_key.as_ref())?,
        None if arguments.paths.is_empty() => return Err(InspectError::Nothing),
        None => Sources::of_paths(&arguments.paths)?,
    };
    let now_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let (segments, losses, bytes_read) = check::check(&sources, now_s)?;
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
