//! Drives a batch: sends each core its part, keeps the log's entry of a logged one, and answers.

use super::super::batch_log::{DeleteEntry, LoggedBatch};
use super::super::execution::Options;
use super::super::view::{self, Delivery, Progress, Shapes};
use super::limits::BatchLimits;
use super::operation::{BatchItem, Conditions, Logged, ModifyMany, Run};
use crate::plan::BatchKind;
use crate::wire::{self, FRAME_HEADER_BYTES, Opcode};
use crate::{CqlError, reply};
use base::{SLOT_COUNT, TableId, Token};
use model::operation::{Context, Coordinator, Part, Standing, Step};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sends each core its part, then answers; what it does in the log is told in [`batch_log`](super::super::batch_log).
pub struct BatchCoordinator {
    /// What one core owns; where that depends on the keyspace, each is by itself.
    parts: Vec<Arc<[BatchItem]>>,
    kind: BatchKind,
    timestamp: Option<i64>,
    options: Options,
    conditions: Conditions,
    log: Option<Log>,
    stage: Stage,
    /// The tables with views that it writes.
    views: BTreeMap<TableId, Arc<Shapes>>,
    /// What the views are to get of it.
    delivery: Delivery,
    /// What the client gets once they have it.
    answer: Vec<u8>,
    /// What the client is warned of.
    warnings: Vec<String>,
}

/// The log of a batch that is logged.
struct Log {
    batch: LoggedBatch,
    /// None if the batch runs again, for nobody.
    request: Option<Arc<[u8]>>,
    /// The entry's.
    lane: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    /// All parts are out, and there is no log.
    Unlogged,
    /// All parts are tried out.
    Trial,
    /// The part is out that leaves the entry.
    First,
    /// Other parts are out.
    Others,
    /// All is written, and views get their part of it.
    Views,
    /// The entry is being deleted.
    End,
}

impl BatchCoordinator {
    pub(super) fn new(items: Vec<BatchItem>, kind: BatchKind, timestamp: Option<i64>, options: Options, conditions: Conditions) -> Self {
        let mut parts: BTreeMap<(u16, Option<String>), Vec<BatchItem>> = BTreeMap::new();
        let by_keyspace = u32::from(options.cores) == SLOT_COUNT;
        let mut views = BTreeMap::new();
        for item in items {
            if !item.plan.views.is_empty() {
                views.entry(item.plan.table.id).or_insert_with(|| Arc::new(Shapes::new(&item.plan.table, &item.plan.views)));
            }
            let keyspace = by_keyspace.then(|| item.plan.table.keyspace.clone());
            parts.entry((item.token.slot().core(options.cores).0, keyspace)).or_default().push(item);
        }
        let parts = parts.into_values().map(Arc::from).collect();
        let delivery = Delivery::new(options.cores);
        let (stage, answer, warnings) = (Stage::Start, Vec::new(), Vec::new());
        Self { parts, kind, timestamp, options, conditions, log: None, stage, views, delivery, answer, warnings }
    }

    /// Has a client's batch keep to limits, before it is begun.
    ///
    /// # Errors
    /// It is too large.
    pub fn limit(&mut self, limits: &BatchLimits) -> Result<(), CqlError> {
        self.warnings = limits.check(self.parts.iter().flat_map(|part| part.iter()), self.kind)?;
        Ok(())
    }

    /// Whether it has to be given a log to be done as a whole.
    #[must_use]
    pub fn needs_log(&self) -> bool {
        self.kind == BatchKind::Logged && self.parts.len() > 1
    }

    /// Has the batch leave an entry, with the request as it can be run again.
    pub fn log(&mut self, request: Arc<[u8]>, context: &Context) {
        self.log = Some(Log { batch: LoggedBatch::new(&self.options, context.timestamp_us), request: Some(request), lane: 0 });
    }

    /// Has the batch of an entry run again; it was made with [`LoggedBatch::fix`]ed options.
    pub fn run_again(&mut self, batch: LoggedBatch, lane: u16) {
        self.log = Some(Log { batch, request: None, lane });
    }

    fn run(&mut self, stage: Stage, parts: std::ops::Range<usize>, run: &Run) -> Step {
        self.stage = stage;
        let make = |items: &Arc<[BatchItem]>| Part {
            table: items.first().map_or(TableId(0), |item| item.plan.table.id),
            token: items.first().map_or(Token(0), |item| item.token),
            operation: Box::new(ModifyMany {
                items: Arc::clone(items),
                timestamp: self.timestamp,
                options: self.options,
                conditions: self.conditions,
                logged: self.log.as_ref().map(|log| Logged { batch: log.batch, run: run.clone() }),
            }),
        };
        Step::Run(self.parts[parts].iter().map(make).collect())
    }

    /// All is written: views get their part, then the client its answer.
    fn written(&mut self, reply: &mut Vec<u8>) -> Step {
        if self.delivery.is_empty() {
            return self.end(Vec::new(), reply);
        }
        self.stage = Stage::Views;
        Step::Run(self.delivery.begin())
    }

    /// Answers; what is done once and for all ends with these parts.
    fn end(&mut self, mut parts: Vec<Part>, reply: &mut Vec<u8>) -> Step {
        self.stage = Stage::End;
        wire::add_warnings(&mut self.answer, 0, &self.warnings);
        reply.append(&mut self.answer);
        let first = self.parts.first().and_then(|part| part.first());
        if let (Some(log), Some(place)) = (&self.log, first.map(BatchItem::entry_place)) {
            let operation = Box::new(DeleteEntry { place, lane: log.lane, batch: log.batch });
            parts.push(Part { table: place.table, token: place.token, operation });
        }
        if parts.is_empty() { Step::Done } else { Step::Run(parts) }
    }

    /// Takes from the results of parts that write what they say of changed rows.
    fn take_changed(&mut self, results: &mut [Vec<u8>]) {
        if self.views.is_empty() || !matches!(self.stage, Stage::Unlogged | Stage::Trial | Stage::First | Stage::Others) {
            return;
        }
        for result in results {
            for (table, stretch) in view::take_changed(result) {
                if let Some(shapes) = self.views.get(&table) {
                    self.delivery.add(shapes, stretch);
                }
            }
        }
    }
}

impl Coordinator for BatchCoordinator {
    type Error = CqlError;

    fn step(&mut self, mut results: Vec<Vec<u8>>, reply: &mut Vec<u8>) -> Result<Step, CqlError> {
        self.take_changed(&mut results);
        // Each part's reply is a whole frame: a void, an error, or for conditions the only part's rows. Those of a trial, a timestamp, and of the first
        // part, the entry's lane, are shorter than any frame.
        let error = results.iter().position(|frame| is_error(frame));
        let end = self.parts.len();
        Ok(match (self.stage, &mut self.log) {
            (Stage::Start, _) if self.parts.is_empty() => {
                reply::write_void(reply, self.options.version, self.options.stream);
                Step::Done
            }
            (Stage::Start, None) => self.run(Stage::Unlogged, 0..end, &Run::Other),
            (Stage::Start, Some(Log { request: None, .. })) => self.run(Stage::Others, 0..end, &Run::Other),
            (Stage::Start, Some(_)) => self.run(Stage::Trial, 0..end, &Run::Trial),
            (Stage::Others, Some(Log { request: None, .. })) => self.written(reply),
            (Stage::Unlogged | Stage::Others, _) => {
                self.answer = results.swap_remove(error.unwrap_or(0));
                self.written(reply)
            }
            (Stage::Views, _) => match self.delivery.step(&results) {
                Progress::Run(parts) => Step::Run(parts),
                Progress::Delivered(parts) => self.end(parts, reply),
            },
            (Stage::Trial | Stage::First, _) if let Some(error) = error => {
                let mut answer = results.swap_remove(error);
                wire::add_warnings(&mut answer, 0, &self.warnings);
                reply.append(&mut answer);
                Step::Done
            }
            (Stage::Trial, Some(Log { batch, request: Some(request), .. })) => {
                let needed = results.iter().filter_map(|result| result.as_slice().try_into().ok().map(i64::from_be_bytes)).max();
                batch.timestamp_us = batch.timestamp_us.max(needed.unwrap_or(i64::MIN));
                let run = Run::First(Arc::clone(request));
                self.run(Stage::First, 0..1, &run)
            }
            (Stage::First, log) => {
                let lane = results.first().and_then(|lane| lane.as_slice().try_into().ok().map(u16::from_be_bytes));
                if let (Some(log), Some(lane)) = (log, lane) {
                    log.lane = lane;
                }
                self.run(Stage::Others, 1..end, &Run::Other)
            }
            (Stage::Trial | Stage::End, _) => Step::Done,
        })
    }

    fn standing(&self) -> Standing {
        match self.stage {
            Stage::Start | Stage::Unlogged | Stage::Trial | Stage::First => Standing::Open,
            Stage::Others | Stage::Views => Standing::Decided,
            Stage::End => Standing::Done,
        }
    }
}

/// Whether a whole frame is an ERROR.
fn is_error(frame: &[u8]) -> bool {
    frame.len() >= FRAME_HEADER_BYTES && frame[4] == Opcode::Error as u8
}
