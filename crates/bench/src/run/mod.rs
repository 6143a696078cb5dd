//! Runs a study: each target in turn, phase by phase, with `report.json` written after each. A study with `repeats` does so in rounds: what
//! changes on the machine meanwhile meets all targets alike. A round begins with an empty dataset, and a new process of what the tool starts.
//!
//! What ends a run early (a signal, a target that dies, a full disk) never takes what was measured with it: phases that are over stand in
//! the report, and the phase that was cut short does, too, marked as incomplete, as does one whose operations mostly failed. A run whose
//! report is incomplete goes on where it stopped when it is started again with the same directory and flags. When the report cannot be written
//! the run ends, and the caller gets what was measured.

mod aftermath;
mod console;
mod drive;
mod environment;
mod error;
mod failing;
mod files;
mod measures;
mod options;
mod phases;
mod ratios;
mod resume;
mod room;
mod state;
mod watch;

pub use console::Console;
pub use error::RunError;
pub use files::{html_path, json_path, write_html};
pub use options::{Agents, Options};

use crate::report;
use crate::report::model::{Cost, Paper, PhaseKind, PhaseReport, Report, SCHEMA, StudyInfo, TargetReport};
use crate::target::{Means, TargetSpec, system};
use drive::Driver;
use error::TargetError;
use files::{make_directory, remove_directory};
use room::room_for;
use state::{Context, Run};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

/// A run that has ended, wholly or not.
#[derive(Debug)]
pub struct Ran {
    /// What was measured.
    pub report: Report,
    /// Why the run ended before its time, or why the files in its directory do not tell all of the report: a full disk, for example.
    pub failure: Option<RunError>,
}

/// Runs a study; `stop` ends it early.
///
/// # Errors
/// When nothing could be measured. A target that failed is no error here: its report says so.
pub fn run(options: &Options, console: Console, stop: &Arc<AtomicBool>) -> Result<Ran, RunError> {
    let started = Instant::now();
    make_directory(&options.out)?;
    let mut report = match resume::resumed(options)? {
        Some(report) => {
            console.say(&format!("going on with the run in {}", options.out.display()));
            report
        }
        None => blank(options),
    };
    let before = report.seconds;
    let room = room_for(options)?;
    if let Some(refusal) = room {
        return Err(refusal);
    }
    report::write_json(&json_path(&options.out), &report)?;
    let mut run = Run { options, console, stop, report: &mut report, started, seconds_before: before };
    let failure = run.rounds().err();
    run.conclude(failure.is_none());
    // There may be room again: what was measured last is then not only in the caller's hands.
    let written = run.write();
    Ok(Ran { failure: failure.or(written.err()), report })
}

fn blank(options: &Options) -> Report {
    let study = &options.study;
    Report {
        schema: SCHEMA,
        study: StudyInfo {
            name: study.name.clone(),
            title: study.title.clone(),
            description: study.description.trim().to_owned(),
            paper: study.paper.as_ref().map(|paper| Paper {
                citation: paper.citation.clone(),
                url: paper.url.clone(),
                setup: paper.setup.clone(),
                results: paper.results.clone(),
            }),
            file: study.file(),
        },
        tool: options.tool.clone(),
        command: options.command.clone(),
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        seconds: 0.0,
        scale: options.scale,
        complete: false,
        warnings: Vec::new(),
        repeats: study.repeats,
        environment: environment::environment(&options.out, &options.server_cpus, &options.load_cpus),
        targets: Vec::new(),
        ratios: Vec::new(),
        settings: resume::settings(options),
    }
}

impl Run<'_> {
    /// All targets, in each round.
    fn rounds(&mut self) -> Result<(), RunError> {
        for round in 1..=self.options.study.repeats {
            for spec in &self.options.targets {
                self.target(spec, round)?;
                if self.stopped() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// A round on one target; its failure goes into the report.
    fn target(&mut self, spec: &TargetSpec, round: u32) -> Result<(), RunError> {
        let at = match self.report.targets.iter().position(|target| target.name == spec.name() && target.round == round) {
            Some(at) => at,
            None => {
                self.report.targets.push(TargetReport {
                    name: spec.name().to_owned(),
                    given: resume::given(spec),
                    protocol: spec.protocol().name().to_owned(),
                    address: String::new(),
                    server: String::new(),
                    nodes: spec.nodes(),
                    round,
                    settings: BTreeMap::new(),
                    phases: Vec::new(),
                    costs: Vec::new(),
                    failure: None,
                });
                self.report.targets.len() - 1
            }
        };
        if resume::is_finished(&self.report.targets[at], &self.options.study) {
            return Ok(());
        }
        let directory = self.work_directory(spec.name());
        if self.report.targets[at].phases.is_empty() {
            // What an earlier round has left is not this one's.
            remove_directory(&directory)?;
        }
        let keep = match self.phases(at, spec, &directory) {
            Ok(()) => false,
            Err(TargetError::Run(error)) => {
                self.report.targets[at].failure = Some(error.to_string());
                return Err(error);
            }
            Err(error) => {
                self.console.say(&format!("{}: {error}", self.name(at)));
                self.report.targets[at].failure = Some(error.to_string());
                true
            }
        };
        if !keep {
            remove_directory(&directory)?;
        }
        self.save()
    }

    fn phases(&mut self, at: usize, spec: &TargetSpec, directory: &Path) -> Result<(), TargetError> {
        let study = &self.options.study;
        if !matches!(spec, TargetSpec::Server { .. }) {
            make_directory(directory)?;
        }
        let memory_bytes = self.options.memory_bytes.or_else(|| {
            let replicas = f64::from(study.replication.min(spec.nodes())) / f64::from(spec.nodes());
            let of_data = study.memory_of_data? * study.data_bytes() as f64 * replicas;
            Some((of_data as u64).next_multiple_of(1 << 20))
        });
        let means = Means {
            directory: directory.to_owned(),
            cpus: self.options.server_cpus.clone(),
            memory_bytes,
            data_bytes: study.data_bytes(),
            replication: study.replication,
            peers: self.options.peers.clone(),
            commands: self.options.commands.clone(),
            stop: Arc::clone(self.stop),
        };
        let mut system = system(spec, means)?;
        self.console.say(&format!("{}: starting", self.title(at)));
        system.start()?;
        if let Some(caveat) = system.caveat() {
            self.caution(spec.name(), &caveat);
        }
        let mut driver = Driver::new(spec, system.as_ref(), study, &self.options.agents)?;
        let server = driver.check()?;
        let target = &mut self.report.targets[at];
        target.server = server;
        target.address = system.address();
        target.settings = system.settings();
        target.settings.extend(driver.settings(&study.rows));
        if target.phases.iter().any(|phase| phase.kind == PhaseKind::Load) {
            let runs = target.phases.iter().filter(|phase| phase.kind == PhaseKind::Run);
            let inserts = runs.flat_map(|phase| &phase.operations).filter(|operation| operation.operation == "insert");
            driver.resume(&study.rows, inserts.map(|operation| operation.replies).sum())?;
        }
        let began = Instant::now() - Duration::from_secs_f64(target.phases.last().map_or(0.0, |phase| phase.started_s + phase.seconds));
        let mut context = Context { system: system.as_mut(), driver: &mut driver, spec, began };
        for phase in &study.phases {
            if self.report.targets[at].phases.iter().any(|done| done.name == phase.name()) {
                continue;
            }
            if self.stopped() {
                return Err(TargetError::Interrupted);
            }
            let outcome = self.phase(&mut context, at, phase);
            self.price(at);
            self.save()?;
            outcome?;
            if self.stopped() {
                return Err(TargetError::Interrupted);
            }
        }
        Ok(())
    }

    /// What 100 million operations of each phase cost.
    fn price(&mut self, at: usize) {
        let Some(cost) = self.options.study.cost else { return };
        let target = &mut self.report.targets[at];
        let measured =
            target.phases.iter().filter(|phase| matches!(phase.kind, PhaseKind::Load | PhaseKind::Run) && phase.throughput > 0.0);
        let price = |phase: &PhaseReport| Cost {
            phase: phase.name.clone(),
            node_hour: cost.node_hour,
            per_100m: 1e8 / phase.throughput / 3600.0 * cost.node_hour * f64::from(target.nodes),
        };
        target.costs = measured.map(price).collect();
    }

    /// What the report says of the run as a whole.
    fn conclude(&mut self, is_whole: bool) {
        let rounds = self.options.targets.len() * self.options.study.repeats as usize;
        let whole = |target: &TargetReport| target.failure.is_none() && target.phases.iter().all(|phase| phase.complete);
        self.report.complete = is_whole && !self.stopped() && self.report.targets.len() == rounds && self.report.targets.iter().all(whole);
        let repeats = self.options.study.repeats;
        let failures: Vec<String> = self.report.targets.iter().filter_map(|target| resume::failure_warning(target, repeats)).collect();
        self.report.warnings.retain(|warning| !failures.contains(warning));
        failures.into_iter().rev().for_each(|failure| self.report.warnings.insert(0, failure));
        self.report.ratios = ratios::ratios(&self.options.study, &self.report.targets);
        if self.report.complete {
            // Only what is resumed needs it.
            let _ = fs::remove_dir_all(self.options.out.join("work"));
        }
    }

    fn write(&mut self) -> Result<(), RunError> {
        self.save()?;
        write_html(&self.options.out, self.report)
    }
}
