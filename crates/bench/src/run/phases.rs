//! One phase of a target: what each kind does, and how what it measured gets into the report.

use super::console::{Extent, Progress};
use super::drive::Load;
use super::error::TargetError;
use super::failing::{FILL_FAILED_MAX, RUN_FAILED_MAX};
use super::state::{Context, Run};
use super::{failing, measures, resume};
use crate::report::figures::duration;
use crate::report::model::{PhaseKind, PhaseReport, Verified};
use crate::study::Phase;
use crate::target::{SystemError, TargetSpec};
use load::workload::{End, KeyChoice, Mix, OperationKind, Pace};
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Run<'_> {
    /// One phase: its report is in place whether it ended well or not.
    pub(super) fn phase(&mut self, context: &mut Context<'_>, at: usize, phase: &Phase) -> Result<(), TargetError> {
        let started_s = context.began.elapsed().as_secs_f64();
        let started = Instant::now();
        let place = self.report.targets[at].phases.len();
        self.report.targets[at].phases.push(PhaseReport::begun(phase.name(), phase.kind, started_s));
        let outcome = context.driver.follow(context.system).and_then(|()| match phase.kind {
            PhaseKind::Check => self.check(context, at),
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
    fn check(&mut self, context: &mut Context<'_>, at: usize) -> Result<(), TargetError> {
        let progress = self.console.begin(&self.title(at), "check", Extent::Unknown);
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
        let progress = self.console.begin(&self.title(at), phase.name(), Extent::Unknown);
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
                    "{}: it could not be told when its background work was done, so phase {} did not wait",
                    context.spec.name(),
                    phase.name()
                ));
            }
        }
        Ok(())
    }

    fn drop_caches(&mut self, context: &mut Context<'_>, at: usize) -> Result<(), TargetError> {
        let progress = self.console.begin(&self.title(at), "drop caches", Extent::Unknown);
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
        let name = self.name(at);
        let extent = match (load.end.operations, load.end.seconds) {
            (_, Some(seconds)) => Extent::Seconds(seconds),
            (Some(operations), None) => Extent::Operations(operations),
            (None, None) => Extent::Unknown,
        };
        let mut progress: Progress = self.console.begin(&self.title(at), title, extent);
        let log = self.log_name(at, load.phase.name());
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
            let what = format!("{}: its metrics could not always be read, so its resources are not whole: ", context.spec.name());
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

fn pace(phase: &Phase) -> Pace {
    phase.rate.map_or(Pace::Closed, Pace::Open)
}
