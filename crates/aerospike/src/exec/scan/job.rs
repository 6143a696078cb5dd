//! A job in the background: operations on all records of a scan or query, or a function that is applied to each.
//!
//! It looks for some records, has each written by a part of its own, as those of a batch are ([`JobWrites`]), and looks for the next. A record is looked at again where it is
//! written: one that is gone by then, or no longer has what is asked for, is left alone. What becomes of one record does not stop the job.

use super::super::batch::{BatchCoordinator, JobPlanned, JobWrites};
use super::super::need::Need;
use super::super::options::Options;
use super::super::request::Selection;
use super::super::work::{RecordCoordinator, Work};
use super::pace::NEXT_TURN_US;
use super::part::Found;
use super::piece::Piece;
use super::rows::{Target, read_places};
use super::walk::Walk;
use crate::ResultCode;
use crate::jobs::{About, Ending, JobKind};
use crate::operate;
use crate::wire::{Message, for_each_message, info2};
use model::Schema;
use model::operation::{Coordinator, Step};
use std::collections::VecDeque;

/// How many records are looked for at a time.
const RECORDS_MAX: u32 = 256;

struct JobCoordinator {
    /// One queue: a piece after the other.
    walk: Walk,
    writes: JobWrites,
    /// The part that looks for records is out.
    searches: bool,
    /// How many records were found last, until it has waited for its pace.
    found_last: u32,
    writing: Option<BatchCoordinator>,
    calls_functions: bool,
    /// What comes once others have been served: calls take long.
    held: Option<Step>,
    failure: Option<ResultCode>,
    log: Vec<(i64, String)>,
}

/// Starts one over pieces of cores.
pub(super) fn start<'a>(
    schema: &Schema,
    message: &Message<'_>,
    (target, pieces): (Target, Vec<VecDeque<Piece>>),
    options: &Options<'_>,
) -> Result<Work<'a>, ResultCode> {
    let fields = &message.fields;
    let is_function = fields.udf.is_asked();
    let only_writes = message.operations.iter().all(|operation| operate::is_write(operation.code));
    if is_function != message.operations.is_empty() || !only_writes {
        return Err(ResultCode::PARAMETER);
    }
    let mut message = *message;
    // Some clients do not say so of functions.
    message.attributes.info2 |= info2::WRITE;
    let selection = Selection { filter: target.filter.clone() };
    let sets = target.tables.iter().map(|set| set.name.as_str());
    let writes = match JobWrites::plan(schema, &message, sets, selection, options)? {
        JobPlanned::Writes(writes) => writes,
        JobPlanned::Missing(needs) => return Ok(Work::Declare(needs)),
    };
    let pieces: VecDeque<Piece> = pieces.into_iter().flatten().collect();
    let kind = if is_function { JobKind::Function } else { JobKind::Operations };
    let about = about(&message, kind, &target.namespace, pieces.iter());
    let job = options.jobs.ok_or(ResultCode::UNSUPPORTED_FEATURE)?.start(about)?;
    Ok(Work::Background(Box::new(JobCoordinator {
        walk: Walk::new(target, vec![pieces], fields.records_per_second, Some(job)),
        writes,
        searches: false,
        found_last: 0,
        writing: None,
        calls_functions: is_function,
        held: None,
        failure: None,
        log: Vec::new(),
    })))
}

/// What is told of a request about many records.
pub(super) fn about<'p>(message: &Message<'_>, kind: JobKind, namespace: &str, pieces: impl Iterator<Item = &'p Piece>) -> About {
    let fields = &message.fields;
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    About {
        id: fields.query_id.unwrap_or_default(),
        kind,
        namespace: namespace.to_owned(),
        set: text(fields.set.unwrap_or_default()),
        function: fields.udf.module.zip(fields.udf.function).map(|(module, function)| (text(module), text(function))),
        records_per_second: fields.records_per_second.unwrap_or(0),
        partitions: pieces.map(Piece::slot_count).sum(),
    }
}

impl JobCoordinator {
    /// Has what was found written, and goes on behind it.
    fn take_found(&mut self, result: &[u8]) {
        let Some(found) = Found::read(result) else { return };
        self.found_last = found.records;
        for queue in self.walk.take_running() {
            if let Some((_, code)) = self.walk.pass(queue, &found) {
                self.failure.get_or_insert(code);
            }
        }
        self.walk.tell_progress(found.now_us);
        if found.records > 0 {
            self.writing = Some(self.writes.of(read_places(found.messages)));
        }
    }

    /// Counts what became of records, by the messages about them.
    fn count(&self, frames: &[u8]) {
        for_each_message(frames, |message| {
            self.walk.tell(|job| match message.result {
                ResultCode::OK => job.succeeded(1),
                // It is gone, or another one by now.
                ResultCode::NOT_FOUND | ResultCode::FILTERED_OUT => job.filtered(1),
                _ => job.failed(1),
            });
        });
    }
}

impl Coordinator for JobCoordinator {
    type Error = ResultCode;

    fn step(&mut self, mut results: Vec<Vec<u8>>, _: &mut Vec<u8>) -> Result<Step, ResultCode> {
        if std::mem::take(&mut self.searches)
            && let Some(result) = results.pop()
        {
            self.take_found(&result);
        }
        if let Some(step) = self.held.take().filter(|_| !self.walk.is_aborted()) {
            return Ok(step);
        }
        if let Some(writing) = &mut self.writing {
            let mut said = Vec::new();
            let has_called = self.calls_functions && !results.is_empty();
            let step = writing.step(results, &mut said)?;
            self.log.extend(writing.take_log());
            self.count(&said);
            if !matches!(step, Step::Done) && !self.walk.is_aborted() {
                if has_called && matches!(step, Step::Run(_)) {
                    self.held = Some(step);
                    return Ok(Step::Wait { until_us: NEXT_TURN_US });
                }
                return Ok(step);
            }
            self.writing = None;
        }
        if self.walk.is_aborted() || !self.walk.choose(1) {
            let ending = self.failure.map_or(Ending::Done, Ending::Failed);
            self.walk.tell(|job| job.end(if job.is_aborted() { Ending::Aborted } else { ending }));
            return Ok(Step::Done);
        }
        let found_last = std::mem::take(&mut self.found_last);
        if found_last > 0
            && let Some(step) = self.walk.wait()
        {
            self.walk.tell(|job| job.throttled(found_last.into()));
            return Ok(step);
        }
        self.searches = true;
        Ok(self.walk.run(RECORDS_MAX))
    }
}

impl RecordCoordinator for JobCoordinator {
    fn part_failed(&self, part: usize, code: ResultCode) -> Option<Vec<u8>> {
        match &self.writing {
            Some(writing) => writing.part_failed(part, code),
            None => Some(Found::failed(code)),
        }
    }

    fn writes(&self) -> bool {
        true
    }

    fn take_needs(&mut self) -> Vec<Need> {
        self.writing.as_mut().map(RecordCoordinator::take_needs).unwrap_or_default()
    }

    fn take_log(&mut self) -> Vec<(i64, String)> {
        std::mem::take(&mut self.log)
    }
}
