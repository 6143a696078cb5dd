//! A stream function over a scan or query: each part calls it for the records of a slice, on their core, and gives the values that it makes.
//!
//! A function that joins values in the end (`reduce`) has those of slices joined here, too, so that a client gets few: it joins those of all members itself. A slice for which the
//! function takes too much is halved, until it is one record.

use super::super::options::Options;
use super::super::work::{RecordCoordinator, Work};
use super::job::about;
use super::pace::NEXT_TURN_US;
use super::part::Found;
use super::piece::Piece;
use super::rows::{Gives, Target};
use super::slice::{Outcome, Said};
use super::walk::Walk;
use crate::ResultCode;
use crate::jobs::{Ending, JobKind};
use crate::udf::{StreamCall, StreamFailure};
use crate::value::{Particle, ParticleType};
use crate::wire::{Kind, Message, MessageWriter, Proto, info3};
use model::operation::{Coordinator, Step};
use std::collections::VecDeque;

/// How many records a slice has at most.
const SLICE_RECORDS_MAX: u32 = 128;

/// How many slices run at a time: each may take some milliseconds of a core. Where nothing is found there is nothing to run.
const PARTS_MIN: usize = 4;
const PARTS_MAX: usize = 64;

/// So many values, or bytes of values, are joined at a time.
const JOINED_MAX: usize = 64;
const JOINED_BYTES_MAX: usize = 128 << 10;

struct StreamCoordinator {
    /// A queue of pieces for each core.
    walk: Walk,
    call: StreamCall,
    parts: usize,
    slice_records: u32,
    /// Values that may be joined.
    values: Vec<Particle<'static>>,
    now_us: u64,
    log: Vec<(i64, String)>,
    /// What it ends with.
    failure: Option<String>,
}

pub(super) fn start<'a>(
    message: &Message<'_>,
    (target, pieces): (Target, Vec<VecDeque<Piece>>),
    options: &Options<'_>,
) -> Result<Work<'a>, ResultCode> {
    let Gives::Stream(call) = &target.gives else { return Err(ResultCode::PARAMETER) };
    let fields = &message.fields;
    let about = about(message, JobKind::Aggregation, &target.namespace, pieces.iter().flatten());
    let job = fields.query_id.and_then(|_| options.jobs?.start(about).ok());
    Ok(Work::Coordinate(Box::new(StreamCoordinator {
        call: call.clone(),
        walk: Walk::new(target, pieces, fields.records_per_second, job),
        parts: PARTS_MIN,
        slice_records: SLICE_RECORDS_MAX,
        values: Vec::new(),
        now_us: 0,
        log: Vec::new(),
        failure: None,
    })))
}

impl StreamCoordinator {
    fn take_results(&mut self, results: &[Vec<u8>], reply: &mut Vec<u8>) {
        let (mut found_records, mut fewer) = (0, false);
        for (core, result) in self.walk.take_running().into_iter().zip(results) {
            let Some(found) = Found::read(result) else { continue };
            self.now_us = self.now_us.max(found.now_us);
            if let Some(Said { log, outcome }) = Said::read(found.messages) {
                if matches!(outcome, Outcome::TooMuch(_)) && found.records > 1 {
                    // The piece stays where it is.
                    fewer = true;
                    continue;
                }
                self.log.extend(log);
                self.take_outcome(outcome, reply);
            }
            found_records += found.records;
            self.walk.tell(|job| job.succeeded(found.records.into()));
            self.walk.pass(core, &found);
        }
        if fewer {
            self.slice_records = (self.slice_records / 2).max(1);
        }
        self.parts = if found_records == 0 && !fewer { (2 * self.parts).min(PARTS_MAX) } else { PARTS_MIN };
        self.walk.tell_progress(self.now_us);
    }

    fn take_outcome(&mut self, outcome: Outcome, reply: &mut Vec<u8>) {
        match outcome {
            Outcome::Joinable(values) => {
                self.values.extend(values);
                let bytes: usize = self.values.iter().map(|value| value.bytes.len()).sum();
                if self.values.len() >= JOINED_MAX || bytes >= JOINED_BYTES_MAX {
                    self.join(reply);
                }
            }
            Outcome::Values(values) => give(&values, reply),
            Outcome::TooMuch(message) | Outcome::Failed(message) => self.failure = Some(message),
        }
    }

    /// Joins values, or gives them as they are if that takes too much: the client joins them.
    fn join(&mut self, reply: &mut Vec<u8>) {
        if self.values.len() < 2 {
            return;
        }
        let values = std::mem::take(&mut self.values);
        let (joined, log) = self.call.join(&values, 0);
        self.log.extend(log);
        match joined {
            Ok(given) => {
                self.values = given.values;
                let bytes: usize = self.values.iter().map(|value| value.bytes.len()).sum();
                if bytes >= JOINED_BYTES_MAX / 2 {
                    give(&std::mem::take(&mut self.values), reply);
                }
            }
            Err(StreamFailure::TooMuch(_)) => give(&values, reply),
            Err(StreamFailure::Other(message)) => self.failure = Some(message),
        }
    }

    fn finish(&mut self, reply: &mut Vec<u8>) {
        self.join(reply);
        if self.failure.is_none() {
            give(&self.values, reply);
        }
        self.walk.tell(|job| job.end(self.failure.as_ref().map_or(Ending::Done, |_| Ending::Failed(ResultCode::UDF_BAD_RESPONSE))));
        // In one frame: a client that is told of a failure reads no further, and uses the connection again.
        let proto = Proto::begin(reply, Kind::Message);
        if let Some(message) = &self.failure {
            write_bin(b"FAILURE", ParticleType::String, message.as_bytes(), reply);
        }
        let mut last = MessageWriter::begin(reply);
        last.attributes.info3 = info3::LAST;
        last.end(reply, ResultCode::OK);
        proto.end(reply);
    }
}

/// Appends values for the client.
fn give(values: &[Particle<'_>], reply: &mut Vec<u8>) {
    let proto = Proto::begin(reply, Kind::Message);
    values.iter().for_each(|value| write_bin(b"SUCCESS", value.kind, &value.bytes, reply));
    proto.end_unless_empty(reply);
}

fn write_bin(name: &[u8], kind: ParticleType, bytes: &[u8], reply: &mut Vec<u8>) {
    let mut message = MessageWriter::begin(reply);
    message.bin(reply, name, kind as u8, bytes);
    message.end(reply, ResultCode::OK);
}

impl Coordinator for StreamCoordinator {
    type Error = ResultCode;

    fn step(&mut self, results: Vec<Vec<u8>>, reply: &mut Vec<u8>) -> Result<Step, ResultCode> {
        let has_results = !results.is_empty();
        if has_results {
            self.take_results(&results, reply);
        }
        if self.walk.is_aborted() {
            return Err(ResultCode::QUERY_ABORTED);
        }
        if !self.walk.choose(if self.walk.is_paced() { 1 } else { self.parts }) || self.failure.is_some() {
            self.finish(reply);
            return Ok(Step::Done);
        }
        if has_results && let Some(step) = self.walk.wait() {
            self.walk.tell(|job| job.throttled(1));
            return Ok(step);
        }
        if has_results && self.parts == PARTS_MIN {
            // Calls take long: others are served first.
            return Ok(self.walk.wait_until(NEXT_TURN_US));
        }
        Ok(self.walk.run(self.slice_records))
    }
}

impl RecordCoordinator for StreamCoordinator {
    fn part_failed(&self, _: usize, _: ResultCode) -> Option<Vec<u8>> {
        // What it would give without a part would be wrong.
        None
    }

    fn writes(&self) -> bool {
        false
    }

    fn take_log(&mut self) -> Vec<(i64, String)> {
        std::mem::take(&mut self.log)
    }
}
