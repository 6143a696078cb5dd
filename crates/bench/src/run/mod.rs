//! Runs a study: each target in turn, phase by phase, with `report.json` written after each.
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
mod ratios;
mod resume;
mod watch;

pub use console::Console;
pub use error::RunError;
pub use files::{html_path, json_path, write_html};
pub use options::{Agents, Options};

use crate::report;
use crate::report::figures::duration;
use crate::report::model::{Cost, Paper, PhaseKind, PhaseReport, Report, Resources, SCHEMA, StudyInfo, TargetReport, Verified};
use crate::study::Phase;
use crate::target::{Means, System, SystemError, TargetSpec, system};
use console::{Extent, Progress};
use drive::{Driver, Load};
use error::TargetError;
use failing::{FILL_FAILED_MAX, RUN_FAILED_MAX};
use files::make_directory;
use load::workload::{End, KeyChoice, Mix, OperationKind, Pace};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Bytes on the device for each byte of data: room for what is being rewritten.
const DISK_BY_DATA: u64 = 3;

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
    let mut failure = None;
    for at in 0..options.targets.len() {
        failure = run.target(at).err();
        if failure.is_some() || stop.load(Ordering::Relaxed) {
            break;
        }
    }
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
        environment: environment::environment(&options.out, &options.server_cpus, &options.load_cpus),
        targets: Vec::new(),
        ratios: Vec::new(),
        settings: resume::settings(options),
    }
}

/// Why the data does not fit on the device, if it doesn't. Targets run one after the other and leave nothing behind.
fn room_for(options: &Options) -> Result<Option<RunError>, RunError> {
    if options.targets.iter().all(|target| matches!(target, TargetSpec::Server { .. })) {
        return Ok(None);
    }
    let free = io_linux::free_bytes(&options.out).map_err(|source| RunError::File { path: options.out.clone(), source })?;
    let replicas = options.targets.iter().map(|target| target.nodes().min(options.study.replication)).max().unwrap_or(1);
    let data = options.study.data_bytes().saturating_mul(replicas.into());
    let needed = data.saturating_mul(DISK_BY_DATA).saturating_add(1 << 30);
    if free >= needed {
        return Ok(None);
    }
    let fits = options.scale * free.saturating_sub(1 << 30) as f64 / needed as f64 * 0.9;
    let suggestion = if fits > 0.0 { format!("{fits:.2e}") } else { "of less".to_owned() };
    Ok(Some(RunError::Room { path: options.out.clone(), free, needed, suggestion }))
}

/// A run under way.
struct Run<'a> {
    options: &'a Options,
    console: Console,
    stop: &'a Arc<AtomicBool>,
    report: &'a mut Report,
    started: Instant,
    /// What earlier attempts took.
    seconds_before: f64,
}

impl Run<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn save(&mut self) -> Result<(), RunError> {
        self.report.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        report::write_json(&json_path(&self.options.out), self.report)?;
        Ok(())
    }

    fn work_directory(&self, name: &str) -> PathBuf {
        self.options.out.join("work").join(plain(name))
    }

    /// Everything on one target; its failure goes into the report.
    fn target(&mut self, at: usize) -> Result<(), RunError> {
        let spec = &self.options.targets[at];
        let at = match self.report.targets.iter().position(|target| target.name == spec.name()) {
            Some(at) => at,
            None => {
                self.report.targets.push(TargetReport {
                    name: spec.name().to_owned(),
                    given: resume::given(spec),
                    protocol: spec.protocol().name().to_owned(),
                    address: String::new(),
                    server: String::new(),
                    nodes: spec.nodes(),
                    settings: BTreeMap::new(),
                    phases: Vec::new(),
                    costs: Vec::new(),
                    failure: None,
                });
                self.report.targets.len() - 1
            }
        };
        let directory = self.work_directory(spec.name());
        let keep = match self.phases(at, spec, &directory) {
            Ok(()) => false,
            Err(TargetError::Run(error)) => {
                self.report.targets[at].failure = Some(error.to_string());
                return Err(error);
            }
            Err(error) => {
                self.console.say(&format!("{}: {error}", spec.name()));
                self.report.targets[at].failure = Some(error.to_string());
                true
            }
        };
        if !keep && directory.exists() {
            fs::remove_dir_all(&directory).map_err(|source| RunError::File { path: directory, source })?;
        }
        self.save()
    }

    fn phases(&mut self, at: usize, spec: &TargetSpec, directory: &Path) -> Result<(), TargetError> {
        let study = &self.options.study;
        if study.phases.iter().all(|phase| self.report.targets[at].phases.iter().any(|done| done.name == phase.name())) {
            return Ok(());
        }
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
        self.console.say(&format!("{}: starting", spec.name()));
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

    /// One phase: its report is in place whether it ended well or not.
    fn phase(&mut self, context: &mut Context<'_>, at: usize, phase: &Phase) -> Result<(), TargetError> {
        let started_s = context.began.elapsed().as_secs_f64();
        let started = Instant::now();
        let place = self.report.targets[at].phases.len();
        self.report.targets[at].phases.push(PhaseReport {
            name: phase.name().to_owned(),
            kind: phase.kind,
            started_s,
            seconds: 0.0,
            complete: false,
            unknown: false,
            settings: BTreeMap::new(),
            throughput: 0.0,
            operations: Vec::new(),
            errors: Vec::new(),
            verified: Verified::default(),
            variation: None,
            drift: None,
            resources: Resources::default(),
            timeline: Vec::new(),
            events: Vec::new(),
            histogram_log: None,
            histogram_log_failure: None,
        });
        let outcome = context.driver.follow(context.system).and_then(|()| match phase.kind {
            PhaseKind::Check => self.check(context),
            PhaseKind::Validate => self.validate(context, at, phase),
            PhaseKind::Load => self.load(context, at, phase),
            PhaseKind::Run => self.measured_run(context, at, phase),
            PhaseKind::Verify => self.verify(context, at, phase),
            PhaseKind::Settle => self.settle(context, at, phase),
            PhaseKind::DropCaches => self.drop_caches(context, at),
        });
        let report = &mut self.report.targets[at].phases[place];
        let has_settled = phase.kind == PhaseKind::Settle && outcome.is_ok();
        if report.seconds == 0.0 && !has_settled {
            report.seconds = started.elapsed().as_secs_f64();
        }
        report.complete = outcome.is_ok() && !self.stop.load(Ordering::Relaxed);
        outcome
    }

    /// The server was looked at when it was started; here it must still be there.
    fn check(&mut self, context: &mut Context<'_>) -> Result<(), TargetError> {
        let progress = self.console.begin(context.spec.name(), "check", Extent::Unknown);
        progress.end(&context.driver.check()?);
        Ok(())
    }

    fn validate(&mut self, context: &mut Context<'_>, at: usize, phase: &Phase) -> Result<(), TargetError> {
        let mut rows = self.options.study.rows.clone();
        rows.count = phase.validate_rows();
        context.driver.create(&rows)?;
        let end = End { operations: Some(rows.count), seconds: None };
        let fill = Load { mix: &insert_all(), phase, pace: Pace::Closed, end, failed_max: FILL_FAILED_MAX };
        self.drive(context, at, "validate: inserts", &fill)?;
        let mut mix = phase.mix.clone().expect("a study without it is refused");
        mix.verify = true;
        let end = End { operations: phase.operations, seconds: phase.seconds };
        let load = Load { mix: &mix, phase, pace: Pace::Closed, end, failed_max: RUN_FAILED_MAX };
        self.drive(context, at, "validate", &load)?;
        let verified = self.last_phase(at).verified;
        context.driver.drop_dataset()?;
        all_right(verified)
    }

    fn load(&mut self, context: &mut Context<'_>, at: usize, phase: &Phase) -> Result<(), TargetError> {
        let rows = &self.options.study.rows;
        context.driver.create(rows)?;
        let end = End { operations: Some(rows.count), seconds: None };
        let load = Load { mix: &insert_all(), phase, pace: pace(phase), end, failed_max: FILL_FAILED_MAX };
        self.drive(context, at, phase.name(), &load)
    }

    fn measured_run(&mut self, context: &mut Context<'_>, at: usize, phase: &Phase) -> Result<(), TargetError> {
        let mix = phase.mix.clone().expect("a study without it is refused");
        let end = End { operations: phase.operations, seconds: phase.seconds };
        let load = Load { mix: &mix, phase, pace: pace(phase), end, failed_max: RUN_FAILED_MAX };
        self.drive(context, at, phase.name(), &load)
    }

    /// Reads every row that was loaded.
    fn verify(&mut self, context: &mut Context<'_>, at: usize, phase: &Phase) -> Result<(), TargetError> {
        let end = End { operations: Some(self.options.study.rows.count), seconds: None };
        let load = Load { mix: &reading(), phase, pace: pace(phase), end, failed_max: FILL_FAILED_MAX };
        self.drive(context, at, phase.name(), &load)?;
        all_right(self.last_phase(at).verified)
    }

    fn settle(&mut self, context: &mut Context<'_>, at: usize, phase: &Phase) -> Result<(), TargetError> {
        let name = self.report.targets[at].name.clone();
        let progress = self.console.begin(&name, phase.name(), Extent::Unknown);
        match context.system.settle(phase.timeout_s()) {
            Err(error) => {
                progress.end(&error.to_string());
                return Err(error.into());
            }
            Ok(Some(seconds)) => {
                progress.end(&format!("background work was done after {}", duration(seconds)));
                self.report.targets[at].phases.last_mut().expect("the phase was begun").seconds = seconds;
            }
            Ok(None) => {
                self.report.targets[at].phases.last_mut().expect("the phase was begun").unknown = true;
                progress.end("nothing is known of its background work; not waited for");
                self.warn(format!(
                    "{name}: it could not be told when its background work was done, so phase {} did not wait",
                    phase.name()
                ));
            }
        }
        Ok(())
    }

    fn drop_caches(&mut self, context: &mut Context<'_>, at: usize) -> Result<(), TargetError> {
        let name = self.report.targets[at].name.clone();
        let progress = self.console.begin(&name, "drop caches", Extent::Unknown);
        let of_target = context.system.drop_caches();
        let of_kernel = fs::write("/proc/sys/vm/drop_caches", "1");
        match (&of_target, &of_kernel) {
            (Ok(()), Ok(())) => progress.end("the caches of target and kernel are empty"),
            (Err(error), _) => progress.end(&error.to_string()),
            (_, Err(error)) => progress.end(&format!("the kernel's cache stays: {error}")),
        }
        if let Err(SystemError::Interrupted) = of_target {
            return Err(TargetError::Interrupted);
        }
        if let Err(error) = &of_target {
            self.warn(error.to_string());
        } else if let Err(error) = &of_kernel {
            self.warn(format!("the kernel's cache could not be emptied: {error}"));
        }
        // A restart may have failed, in which case there is nothing to go on with.
        context.system.start()?;
        Ok(())
    }

    /// Sends a load and files what came of it under the phase that is last in the report.
    fn drive(&mut self, context: &mut Context<'_>, at: usize, title: &str, load: &Load<'_>) -> Result<(), TargetError> {
        let name = self.report.targets[at].name.clone();
        let extent = match (load.end.operations, load.end.seconds) {
            (_, Some(seconds)) => Extent::Seconds(seconds),
            (Some(operations), None) => Extent::Operations(operations),
            (None, None) => Extent::Unknown,
        };
        let mut progress: Progress = self.console.begin(&name, title, extent);
        let log = format!("{}-{}.hlog", plain(&name), load.phase.name());
        let driven = context.driver.drive(load, context.system, self.options, self.stop, &self.options.out.join(&log), &mut progress);
        let measured = match driven {
            Ok(measured) => measured,
            Err(error) => {
                progress.end(&error.to_string());
                return Err(error);
            }
        };
        let ours = !matches!(context.spec, TargetSpec::Server { .. }) && !self.options.server_cpus.is_empty();
        let report = self.report.targets[at].phases.last_mut().expect("the phase was begun");
        measures::file(report, &measured, ours.then_some(self.options.server_cpus.len()));
        report.histogram_log = Some(log);
        progress.end(&measures::line(report));
        for (kind, example) in &measured.outcome.error_examples {
            self.console.say(&format!("{name}: {kind}, for example: {example}"));
        }
        report.histogram_log_failure = measured.log_failure.as_ref().map(ToString::to_string);
        if let Some(warning) = resume::log_warning(&name, report) {
            self.console.say(&warning);
            self.warn(warning);
        }
        if let Some(error) = &measured.metrics_failure {
            // Once a target, with the first reason.
            let what = format!("{name}: its metrics could not always be read, so its resources are not whole: ");
            if !self.report.warnings.iter().any(|warning| warning.starts_with(&what)) {
                self.warn(format!("{what}{error}"));
            }
        }
        match (measured.failure, &measured.outcome.ended) {
            (Some(failure), _) => Err(failure.into()),
            (None, load::Ended::TargetDied(why)) => Err(TargetError::Died(why.clone())),
            (None, load::Ended::AgentLost(why)) => Err(TargetError::AgentLost(why.clone())),
            (None, load::Ended::Stopped) => Err(TargetError::Interrupted),
            (None, load::Ended::Finished) => Ok(failing::check(title, &measured.outcome, load.failed_max)?),
        }
    }

    fn last_phase(&self, at: usize) -> &PhaseReport {
        self.report.targets[at].phases.last().expect("the phase was begun")
    }

    /// Warns of the same thing once, with the names of all targets that it is about.
    fn caution(&mut self, name: &str, caveat: &str) {
        let about = |warning: &String| warning.strip_suffix(caveat).and_then(|names| names.strip_suffix(": ")).map(str::to_owned);
        match self.report.warnings.iter_mut().find_map(|warning| about(warning).map(|names| (names, warning))) {
            Some((names, _)) if names.split(", ").any(|other| other == name) => {}
            Some((names, warning)) => *warning = format!("{names}, {name}: {caveat}"),
            None => self.report.warnings.push(format!("{name}: {caveat}")),
        }
    }

    fn warn(&mut self, warning: String) {
        if !self.report.warnings.contains(&warning) {
            self.report.warnings.push(warning);
        }
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
        let whole = |target: &TargetReport| target.failure.is_none() && target.phases.iter().all(|phase| phase.complete);
        self.report.complete =
            is_whole && !self.stopped() && self.report.targets.len() == self.options.targets.len() && self.report.targets.iter().all(whole);
        let failures: Vec<String> = self.report.targets.iter().filter_map(resume::failure_warning).collect();
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

/// What the phases of a target share.
struct Context<'a> {
    system: &'a mut dyn System,
    driver: &'a mut Driver,
    spec: &'a TargetSpec,
    began: Instant,
}

fn all_right(verified: Verified) -> Result<(), TargetError> {
    let Verified { lost, stale, wrong, .. } = verified;
    if lost + stale + wrong > 0 { Err(TargetError::Invalid(verified)) } else { Ok(()) }
}

/// Reads every row once, in order, and compares it with what was acknowledged.
fn reading() -> Mix {
    Mix { operations: BTreeMap::from([(OperationKind::Read, 1.0)]), verify: true, ..insert_all() }
}

/// Writes every row once, in order.
fn insert_all() -> Mix {
    Mix {
        operations: BTreeMap::from([(OperationKind::Insert, 1.0)]),
        keys: KeyChoice::Sequential,
        scan_rows_max: 1,
        update_all_fields: true,
        verify: false,
    }
}

/// A target's name as a part of a file's.
fn plain(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

fn pace(phase: &Phase) -> Pace {
    phase.rate.map_or(Pace::Closed, Pace::Open)
}
