//! A job in the background: operations on all records of a scan or query, or a function that is applied to each.
//!
//! It looks for some records, has each written by a part of its own, as those of a batch are ([`JobWrites`]), and looks for the next. A record is looked at again where it is
//! written: one that is gone by then, or no longer has what is asked for, is left alone. What becomes of one record does not stop the job.

use super::super::batch::{BatchCoordinator, JobPlanned, JobWrites};
use super::super::need::Need;
use super::super::options::Options;
use super::super::request::Selection;
use super::super::work::{RecordCoordinator, Work};
use super::pace::{NEXT_TURN_US, Pace};
use super::part::{End, Found, ScanPart};
use super::piece::Piece;
use super::rows::{Target, read_places};
use crate::ResultCode;
use crate::jobs::{About, Ending, JobKind, RunningJob};
use crate::operate;
use crate::wire::{HEADER_BYTES, Header, Message, info2};
use base::TableId;
use model::Schema;
use model::operation::{Coordinator, Part, Step};
use model::record_set::token;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many records are looked for at a time.
const RECORDS_MAX: u32 = 256;

struct JobCoordinator {
    job: RunningJob,
    target: Arc<Target>,
    writes: JobWrites,
    pieces: VecDeque<Piece>,
    /// The part that looks for records is out.
    searches: bool,
    /// The records that were found last.
    writing: Option<BatchCoordinator>,
    pace: Option<Pace>,
    /// How long it is to wait after these.
    waits_until_us: Option<u64>,
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
    let per_second = fields.records_per_second.unwrap_or(0);
    let kind = if is_function { JobKind::Function } else { JobKind::Operations };
    let about = about(&message, kind, &target.namespace, pieces.iter());
    Ok(Work::Background(Box::new(JobCoordinator {
        job: options.jobs.ok_or(ResultCode::UNSUPPORTED_FEATURE)?.start(about)?,
        target: Arc::new(target),
        writes,
        pieces,
        searches: false,
        writing: None,
        pace: (per_second > 0).then(|| Pace::new(per_second)),
        waits_until_us: None,
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
    /// Has what was found written, and moves the piece on.
    fn take_found(&mut self, result: &[u8]) {
        let Some(found) = Found::read(result) else { return };
        if let Some(pace) = &mut self.pace {
            pace.given(found.records, found.now_us);
            self.waits_until_us = pace.waits_until_us();
            self.job.throttled(if self.waits_until_us.is_some() { found.records.into() } else { 0 });
        }
        match found.end {
            End::More(last) => {
                if let Some(piece) = self.pieces.front_mut() {
                    (piece.from, piece.after) = (token(&last), Some(last));
                }
            }
            End::Done => drop(self.pieces.pop_front()),
            End::Failed(code) => {
                self.pieces.pop_front();
                self.failure.get_or_insert(code);
            }
        }
        self.job.reached(self.pieces.iter().map(Piece::slot_count).sum(), found.now_us);
        if found.records > 0 {
            self.writing = Some(self.writes.of(read_places(found.messages)));
        }
    }

    /// Counts what became of records, by the messages about them.
    fn count(&self, mut frames: &[u8]) {
        while let Ok(Some(header)) = Header::read(frames, usize::MAX) {
            let Some((mut body, rest)) = frames[HEADER_BYTES..].split_at_checked(header.body_bytes) else { return };
            while let Ok((message, next)) = Message::read(body) {
                match message.result {
                    ResultCode::OK => self.job.succeeded(1),
                    // It is gone, or another one by now.
                    ResultCode::NOT_FOUND | ResultCode::FILTERED_OUT => self.job.filtered(1),
                    _ => self.job.failed(1),
                }
                body = next;
                if body.is_empty() {
                    break;
                }
            }
            frames = rest;
        }
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
        if let Some(step) = self.held.take().filter(|_| !self.job.is_aborted()) {
            return Ok(step);
        }
        if let Some(writing) = &mut self.writing {
            let mut said = Vec::new();
            let has_called = self.calls_functions && !results.is_empty();
            let step = writing.step(results, &mut said)?;
            self.log.extend(writing.take_log());
            self.count(&said);
            if !matches!(step, Step::Done) && !self.job.is_aborted() {
                if has_called && matches!(step, Step::Run(_)) {
                    self.held = Some(step);
                    return Ok(Step::Wait { until_us: NEXT_TURN_US });
                }
                return Ok(step);
            }
            self.writing = None;
        }
        let Some(piece) = self.pieces.front().filter(|_| !self.job.is_aborted()) else {
            let ending = self.failure.map_or(Ending::Done, Ending::Failed);
            self.job.end(if self.job.is_aborted() { Ending::Aborted } else { ending });
            return Ok(Step::Done);
        };
        if let Some(until_us) = self.waits_until_us.take() {
            self.job.saw(until_us);
            return Ok(Step::Wait { until_us });
        }
        self.searches = true;
        let records_max = self.pace.as_ref().map_or(RECORDS_MAX, |pace| pace.records_max().min(RECORDS_MAX));
        let table = self.target.tables.first().map_or(TableId(0), |set| set.table.id);
        let operation = Box::new(ScanPart::new(&self.target, piece.clone(), records_max));
        Ok(Step::Run(vec![Part { table, token: piece.until, operation }]))
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
