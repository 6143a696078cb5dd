//! Jobs: scans and queries that clients can ask after and end by their number. Those that run in the background have no other sign of life.
//!
//! All cores of a node share one [`Jobs`]; a job is told of from the moment it starts, and for a while after it has ended. Another member has its own part of what a client
//! has started, under the same number. Jobs do not outlive the process.

use crate::ResultCode;
use crate::info::parameter;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Jobs in the background that run at a time.
const BACKGROUND_MAX: usize = 32;

/// Jobs that are told of while they run: a scan in the foreground beyond it runs untold.
const ACTIVE_MAX: usize = 256;

/// Jobs that have ended and are told of.
const ENDED_MAX: usize = 100;

/// What a job does with records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobKind {
    /// It gives them to its client.
    Basic,
    /// It gives them to a stream function.
    Aggregation,
    /// Operations are done on them.
    Operations,
    /// A function is applied to them.
    Function,
}

impl JobKind {
    fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Aggregation => "aggregation",
            Self::Operations => "background-ops",
            Self::Function => "background-udf",
        }
    }

    fn is_background(self) -> bool {
        matches!(self, Self::Operations | Self::Function)
    }
}

/// What a job is.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) id: u64,
    pub(crate) kind: JobKind,
    pub(crate) namespace: String,
    pub(crate) set: String,
    /// The module and the function, of those that have one.
    pub(crate) function: Option<(String, String)>,
    pub(crate) records_per_second: u32,
    pub(crate) partitions: u32,
}

/// How a job has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    /// Somebody has ended it.
    Aborted,
    /// The client of a scan is gone, or what it needed could not be had.
    Abandoned,
    /// Some partitions could not be looked through, or a stream function has failed.
    Failed(ResultCode),
}

#[derive(Debug)]
struct Job {
    about: About,
    is_aborted: AtomicBool,
    partitions_left: AtomicU64,
    succeeded: AtomicU64,
    failed: AtomicU64,
    /// Records that were looked at again before they were written, and did not have any more what the query asks for.
    filtered: AtomicU64,
    /// How often it waited, for it is to be no faster.
    throttled: AtomicU64,
    /// In microseconds of the monotonic clock; 0 before it has looked at anything.
    started_us: AtomicU64,
    seen_us: AtomicU64,
    ending: Mutex<Option<Ending>>,
}

/// All jobs of a node.
#[derive(Debug, Default)]
pub struct Jobs(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    active: Vec<Arc<Job>>,
    /// The oldest first.
    ended: VecDeque<Arc<Job>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Jobs {
    /// Starts a job.
    ///
    /// # Errors
    /// One with this number runs; too many in the background do.
    pub(crate) fn start(self: &Arc<Self>, about: About) -> Result<RunningJob, ResultCode> {
        let mut known = locked(&self.0);
        let is_background = about.kind.is_background();
        if known.active.iter().any(|job| job.about.id == about.id) {
            return Err(ResultCode::PARAMETER);
        }
        let running = known.active.iter().filter(|job| job.about.kind.is_background()).count();
        if if is_background { running >= BACKGROUND_MAX } else { known.active.len() >= ACTIVE_MAX } {
            return Err(ResultCode::FORBIDDEN);
        }
        known.ended.retain(|job| job.about.id != about.id);
        let job = Arc::new(Job {
            partitions_left: AtomicU64::new(about.partitions.into()),
            about,
            is_aborted: AtomicBool::default(),
            succeeded: AtomicU64::default(),
            failed: AtomicU64::default(),
            filtered: AtomicU64::default(),
            throttled: AtomicU64::default(),
            started_us: AtomicU64::default(),
            seen_us: AtomicU64::default(),
            ending: Mutex::default(),
        });
        known.active.push(Arc::clone(&job));
        Ok(RunningJob { jobs: Arc::clone(self), job })
    }

    /// Ends a job, or all; says how many that were.
    pub fn abort(&self, id: Option<u64>) -> usize {
        let known = locked(&self.0);
        let chosen = known.active.iter().filter(|job| id.is_none_or(|id| job.about.id == id));
        chosen.map(|job| job.is_aborted.store(true, Relaxed)).count()
    }

    /// The value of `query-show`, of one job or of all.
    pub(crate) fn show(&self, parameters: &str, now_us: u64) -> String {
        let id = match id_of(parameters) {
            Some(None) => return "ERROR:4:the job's number is no number".to_owned(),
            Some(Some(id)) => Some(id),
            None => None,
        };
        let known = locked(&self.0);
        let mut text = String::new();
        for job in known.active.iter().chain(known.ended.iter().rev()).filter(|job| id.is_none_or(|id| job.about.id == id)) {
            if !text.is_empty() {
                text.push(';');
            }
            job.tell(now_us, &mut text);
        }
        if text.is_empty() && id.is_some() { "ERROR:2:no such job".to_owned() } else { text }
    }
}

impl Job {
    fn tell(&self, now_us: u64, text: &mut String) {
        let About { id, kind, namespace, set, function, records_per_second, partitions } = &self.about;
        let count = |count: &AtomicU64| count.load(Relaxed);
        let ending = *locked(&self.ending);
        let status = match ending {
            None => "active(ok)".to_owned(),
            Some(Ending::Done) => "done(ok)".to_owned(),
            Some(Ending::Aborted) => "done(user-aborted)".to_owned(),
            Some(Ending::Abandoned) => "done(abandoned)".to_owned(),
            Some(Ending::Failed(code)) => format!("done(failed-{})", code.0),
        };
        let (started_us, seen_us) = (count(&self.started_us), count(&self.seen_us));
        let until_us = if ending.is_none() { now_us.max(seen_us) } else { seen_us };
        let run_ms = if started_us == 0 { 0 } else { until_us.saturating_sub(started_us) / 1_000 };
        let since_ms = if ending.is_none() { 0 } else { now_us.saturating_sub(seen_us.max(1)) / 1_000 };
        let progress = match partitions {
            0 => 100.0,
            partitions => 100.0 * (1.0 - count(&self.partitions_left) as f64 / f64::from(*partitions)),
        };
        write!(
            text,
            "trid={id}:job-type={}:ns={namespace}:set={}:n-pids-requested={partitions}:rps={records_per_second}:active-threads={}:\
             status={status}:job-progress={progress:.2}:run-time={run_ms}:time-since-done={since_ms}:recs-throttled={}:recs-filtered-meta=0:\
             recs-filtered-bins={}:recs-succeeded={}:recs-failed={}",
            kind.name(),
            shown(set),
            u8::from(ending.is_none()),
            count(&self.throttled),
            count(&self.filtered),
            count(&self.succeeded),
            count(&self.failed),
        )
        .expect("text takes what is written to it");
        if let Some((module, function)) = function {
            write!(text, ":udf-filename={}:udf-function={}", shown(module), shown(function)).expect("text takes what is written to it");
        }
    }
}

/// A name as a part of the value: what separates parts is left out.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control() && !":;=".contains(*c)).collect()
}

/// A job that runs. Once it is dropped, it has ended.
#[derive(Debug)]
pub(crate) struct RunningJob {
    jobs: Arc<Jobs>,
    job: Arc<Job>,
}

impl RunningJob {
    pub(crate) fn is_aborted(&self) -> bool {
        self.job.is_aborted.load(Relaxed)
    }

    pub(crate) fn succeeded(&self, records: u64) {
        self.job.succeeded.fetch_add(records, Relaxed);
    }

    pub(crate) fn failed(&self, records: u64) {
        self.job.failed.fetch_add(records, Relaxed);
    }

    pub(crate) fn filtered(&self, records: u64) {
        self.job.filtered.fetch_add(records, Relaxed);
    }

    pub(crate) fn throttled(&self, records: u64) {
        self.job.throttled.fetch_add(records, Relaxed);
    }

    /// So many partitions have not been looked through to their end, at this time.
    pub(crate) fn reached(&self, partitions_left: u32, now_us: u64) {
        self.job.partitions_left.store(partitions_left.into(), Relaxed);
        self.saw(now_us);
    }

    /// It is this time.
    pub(crate) fn saw(&self, now_us: u64) {
        if now_us == 0 {
            return;
        }
        let _ = self.job.started_us.compare_exchange(0, now_us, Relaxed, Relaxed);
        self.job.seen_us.fetch_max(now_us, Relaxed);
    }

    pub(crate) fn end(&self, ending: Ending) {
        locked(&self.job.ending).get_or_insert(ending);
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        self.end(if self.is_aborted() { Ending::Aborted } else { Ending::Abandoned });
        let mut known = locked(&self.jobs.0);
        known.active.retain(|job| !Arc::ptr_eq(job, &self.job));
        known.ended.push_back(Arc::clone(&self.job));
        if known.ended.len() > ENDED_MAX {
            known.ended.pop_front();
        }
    }
}

/// The job that parameters name: `trid` or `id`, decimal or hexadecimal; `Some(None)` for what is no number. Java clients before 6.0 write
/// decimals with a sign.
fn id_of(parameters: &str) -> Option<Option<u64>> {
    let text = parameter(parameters, "trid").or_else(|| parameter(parameters, "id"))?;
    let decimal = || if text.starts_with('-') { text.parse().map(i64::cast_unsigned) } else { text.parse() };
    Some(text.strip_prefix("0x").map_or_else(decimal, |digits| u64::from_str_radix(digits, 16)).ok())
}

/// A command that ends jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    /// The job; all without.
    id: Option<u64>,
}

impl Abort {
    /// Reads a request; `None` if it is about something else.
    ///
    /// # Errors
    /// What is answered to one that names no job.
    pub fn of_request(names: &str) -> Option<Result<Self, String>> {
        let name = names.trim_end_matches('\n');
        let (command, parameters) = name.split_once(':').unwrap_or((name, ""));
        let ends_all = match command {
            "query-abort" | "scan-abort" => false,
            "query-abort-all" | "scan-abort-all" => true,
            "jobs" if parameter(parameters, "cmd") == Some("kill-job") => false,
            _ => return None,
        };
        Some(match id_of(parameters) {
            _ if name.contains('\n') => Err("ERROR:4:jobs are ended by a command that comes alone".to_owned()),
            _ if ends_all => Ok(Self { id: None }),
            Some(Some(id)) => Ok(Self { id: Some(id) }),
            Some(None) => Err("ERROR:4:the job's number is no number".to_owned()),
            None => Err("ERROR:4:trid is missing".to_owned()),
        })
    }

    /// Ends them; the value that is answered.
    #[must_use]
    pub fn run(self, jobs: &Jobs) -> String {
        match (self.id, jobs.abort(self.id)) {
            (None, count) => format!("OK - number of queries killed: {count}"),
            (Some(_), 0) => "ERROR:2:no such job".to_owned(),
            (Some(_), _) => "OK".to_owned(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn about(id: u64, kind: JobKind) -> About {
        let function = Some(("m:1".to_owned(), "f".to_owned()));
        About { id, kind, namespace: "test".into(), set: "s".into(), function, records_per_second: 0, partitions: 8 }
    }

    #[test]
    fn a_job_is_told_of_while_it_runs_and_after_it_has_ended() {
        let jobs = Arc::new(Jobs::default());
        let job = jobs.start(about(u64::MAX, JobKind::Function)).unwrap();
        job.reached(8, 1_000_000);
        job.succeeded(5);
        job.failed(2);
        job.reached(2, 1_500_000);
        let told = jobs.show("trid=18446744073709551615", 2_000_000);
        for part in [
            "trid=18446744073709551615:",
            "status=active(ok):",
            "job-progress=75.00:",
            "run-time=1000:",
            "recs-succeeded=5:",
            "udf-filename=m1:",
        ] {
            assert!(told.contains(part), "{part} in {told}");
        }
        assert_eq!(jobs.show("id=0xffffffffffffffff", 2_000_000), told);
        assert_eq!(jobs.show("trid=-1", 2_000_000), told);
        job.end(Ending::Done);
        drop(job);
        let told = jobs.show("", 3_500_000);
        assert!(told.contains("status=done(ok):") && told.contains("run-time=500:time-since-done=2000:"), "{told}");
        assert_eq!(jobs.show("trid=7", 0), "ERROR:2:no such job");
        assert_eq!(jobs.show("trid=x", 0), "ERROR:4:the job's number is no number");
    }

    #[test]
    fn a_number_is_one_jobs_at_a_time_and_jobs_are_bounded() {
        let jobs = Arc::new(Jobs::default());
        let running: Vec<_> = (0..BACKGROUND_MAX as u64).map(|id| jobs.start(about(id, JobKind::Operations)).unwrap()).collect();
        assert_eq!(jobs.start(about(3, JobKind::Basic)).unwrap_err(), ResultCode::PARAMETER);
        assert_eq!(jobs.start(about(99, JobKind::Function)).unwrap_err(), ResultCode::FORBIDDEN);
        drop(jobs.start(about(99, JobKind::Basic)).unwrap());
        drop(running);
        for id in 0..2 * ENDED_MAX as u64 {
            drop(jobs.start(about(id, JobKind::Function)).unwrap());
        }
        assert_eq!(jobs.show("", 0).split(';').count(), ENDED_MAX);
    }

    #[test]
    fn commands_that_end_jobs() {
        let jobs = Arc::new(Jobs::default());
        let running: Vec<_> = (1..4).map(|id| jobs.start(about(id, JobKind::Function)).unwrap()).collect();
        let run = |command| Abort::of_request(command).unwrap().map_or_else(|refusal| refusal, |abort| abort.run(&jobs));
        assert_eq!(run("query-abort:trid=2"), "OK");
        assert_eq!(running.iter().map(RunningJob::is_aborted).collect::<Vec<_>>(), [false, true, false]);
        assert_eq!(run("jobs:module=query;cmd=kill-job;trid=9"), "ERROR:2:no such job");
        assert_eq!(run("query-abort"), "ERROR:4:trid is missing");
        for command in ["query-abort:trid=-", "query-abort:trid=-9223372036854775809", "query-abort:trid=0x-1"] {
            assert_eq!(run(command), "ERROR:4:the job's number is no number", "{command}");
        }
        // Signed, as Java clients before 6.0 write it.
        let signed = jobs.start(about(12_418_716_168_806_594_659, JobKind::Function)).unwrap();
        assert_eq!(run("scan-abort:id=-6028027904902956957"), "OK");
        assert!(signed.is_aborted());
        drop(signed);
        assert!(run("query-abort:trid=1\nnode").starts_with("ERROR:4"));
        assert_eq!(run("query-abort-all:"), "OK - number of queries killed: 3");
        assert_eq!(Abort::of_request("jobs:module=query"), None);
        drop(running);
        assert!(jobs.show("trid=2", 0).contains("status=done(user-aborted)"));
    }
}
