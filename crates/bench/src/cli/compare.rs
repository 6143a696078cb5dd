//! `tarndb bench compare`: reports beside each other.

use super::error::{BenchError, flag};
use super::output::print;
use crate::report::{self, Comparison, Difference, Kind, Report, ReportError};
use crate::run::json_path;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn compare(dirs: &[PathBuf], out: &Path, force: bool) -> Result<ExitCode, BenchError> {
    let json = out.with_extension("json");
    if json == out {
        return Err(flag(
            "out",
            &out.display().to_string(),
            "the page needs another name: the figures for programs go beside it, to the same name with .json",
        ));
    }
    let read = |(dir, label): (&PathBuf, String)| Ok::<_, ReportError>((label, report::read_json(&json_path(dir))?));
    let reports = dirs.iter().zip(directory_labels(dirs)).map(read).collect::<Result<Vec<_>, _>>()?;
    let comparison = Comparison::of(&reports);
    let other_studies = comparison.differences.iter().filter(|difference| difference.kind == Kind::Study);
    let said: Vec<String> = other_studies.map(|difference| in_words(difference, &reports)).collect();
    if !said.is_empty() && !force {
        return Err(BenchError::DifferentStudies(said.join("; ")));
    }
    let write = |path: &Path, text: String| std::fs::write(path, text).map_err(|source| BenchError::Page { path: path.to_owned(), source });
    write(out, report::compare_html(&reports))?;
    write(&json, serde_json::to_string_pretty(&comparison).expect("a comparison is text and numbers") + "\n")?;
    print(&report::compare_text(&reports));
    print(&format!("page:    {}\nfigures: {}", out.display(), json.display()));
    Ok(ExitCode::SUCCESS)
}

/// What directories are called: by their last part, or as they were given where two would have the same name.
fn directory_labels(dirs: &[PathBuf]) -> Vec<String> {
    let last = |dir: &PathBuf| dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned());
    let short: Vec<String> = dirs.iter().map(last).collect();
    let is_unique = |label: &String| short.iter().filter(|other| *other == label).count() == 1;
    dirs.iter().zip(&short).map(|(dir, label)| if is_unique(label) { label.clone() } else { dir.display().to_string() }).collect()
}

/// `study: ycsb-a (monday), ycsb-b (tuesday)`.
fn in_words(difference: &Difference, reports: &[(String, Report)]) -> String {
    let each: Vec<String> = difference.values.iter().zip(reports).map(|(value, (label, _))| format!("{value} ({label})")).collect();
    format!("{}: {}", difference.what, each.join(", "))
}
