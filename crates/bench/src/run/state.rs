//! A run under way: what its steps share, and what they tell the report besides their measurements.

use super::console::Console;
use super::drive::Driver;
use super::error::RunError;
use super::files::json_path;
use super::options::Options;
use super::resume;
use crate::report;
use crate::report::model::{PhaseReport, Report, TargetReport};
use crate::target::{System, TargetSpec};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A run under way.
pub(super) struct Run<'a> {
    pub(super) options: &'a Options,
    pub(super) console: Console,
    pub(super) stop: &'a Arc<AtomicBool>,
    pub(super) report: &'a mut Report,
    pub(super) started: Instant,
    /// What earlier attempts took.
    pub(super) seconds_before: f64,
}

/// What the phases of a target share.
pub(super) struct Context<'a> {
    pub(super) system: &'a mut dyn System,
    pub(super) driver: &'a mut Driver,
    pub(super) spec: &'a TargetSpec,
    pub(super) began: Instant,
}

impl Run<'_> {
    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn save(&mut self) -> Result<(), RunError> {
        self.report.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        report::write_json(&json_path(&self.options.out), self.report)?;
        Ok(())
    }

    pub(super) fn work_directory(&self, name: &str) -> PathBuf {
        self.options.out.join("work").join(plain(name))
    }

    /// What a target is called in warnings: with its round, where there are several.
    pub(super) fn name(&self, at: usize) -> String {
        resume::called(&self.report.targets[at], self.options.study.repeats)
    }

    /// What it is called where progress is shown.
    pub(super) fn title(&self, at: usize) -> String {
        let TargetReport { name, round, .. } = &self.report.targets[at];
        match self.options.study.repeats {
            1 => name.clone(),
            repeats => format!("{name} · round {round} of {repeats}"),
        }
    }

    /// The name of a phase's histogram log. Rounds must not write over each other's.
    pub(super) fn log_name(&self, at: usize, phase: &str) -> String {
        let TargetReport { name, round, .. } = &self.report.targets[at];
        match self.options.study.repeats {
            1 => format!("{}-{phase}.hlog", plain(name)),
            _ => format!("{}-round-{round}-{phase}.hlog", plain(name)),
        }
    }

    pub(super) fn last_phase(&self, at: usize) -> &PhaseReport {
        self.report.targets[at].phases.last().expect("the phase was begun")
    }

    /// Warns of the same thing once, with the names of all targets that it is about.
    pub(super) fn caution(&mut self, name: &str, caveat: &str) {
        let about = |warning: &String| warning.strip_suffix(caveat).and_then(|names| names.strip_suffix(": ")).map(str::to_owned);
        match self.report.warnings.iter_mut().find_map(|warning| about(warning).map(|names| (names, warning))) {
            Some((names, _)) if names.split(", ").any(|other| other == name) => {}
            Some((names, warning)) => *warning = format!("{names}, {name}: {caveat}"),
            None => self.report.warnings.push(format!("{name}: {caveat}")),
        }
    }

    pub(super) fn warn(&mut self, warning: String) {
        if !self.report.warnings.contains(&warning) {
            self.report.warnings.push(warning);
        }
    }
}

/// A target's name as a part of a file's.
pub(super) fn plain(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}
