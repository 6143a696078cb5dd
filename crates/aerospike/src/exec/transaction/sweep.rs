//! Ends transactions that their clients have left.
//!
//! What is over is found by monitors and by entries of locks. Each transaction's monitor is asked what becomes of it, which decides that for ever; one that has no monitor any more was ended
//! by its client, and what is locked late comes to nothing. Then its records are rolled, and the monitor notes that none is left. Every step may be done
//! twice, by this member and another: what is done is not found again, and what was not is found by the next sweep.

use super::find::{Digest, Ended, Find, Found};
use crate::ResultCode;
use crate::exec::batch::BatchCoordinator;
use crate::exec::options::{Namespace, Options};
use crate::exec::work::RecordCoordinator;
use crate::transaction::monitor_digest;
use crate::wire::{Attributes, BatchWriter, field, for_each_message, info2, info4};
use model::operation::{Coordinator, Part, Step};
use model::record_set::MONITOR_SET;
use model::{Schema, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Looks through the slots of a core, which are in order.
struct Sweep {
    schema: Arc<Schema>,
    namespace: Namespace,
    cores: u16,
    table: Arc<Table>,
    slots: Arc<[u16]>,
    after: Option<Digest>,
    phase: Phase,
    ended: Vec<Ended>,
    /// What was sent, in the order of its numbers.
    asked: Vec<(u64, Digest)>,
    codes: Vec<Option<ResultCode>>,
    running: Option<BatchCoordinator>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Start,
    Looking,
    Asking,
    Rolling,
    Closing,
}

/// Ends what is left of transactions of a namespace whose monitors and locks are in these slots of one core, as their primary; none if there are none.
#[must_use]
pub fn sweep(schema: &Arc<Schema>, namespace: &str, slots: Vec<u16>, options: &Options<'_>) -> Option<Box<dyn RecordCoordinator>> {
    let table = Arc::clone(schema.record_set(namespace, MONITOR_SET).ok().flatten()?);
    let namespace = options.namespaces.iter().find(|known| known.name == namespace)?.clone();
    let (schema, cores) = (Arc::clone(schema), options.cores);
    (!slots.is_empty()).then(|| {
        Box::new(Sweep {
            schema,
            namespace,
            cores,
            table,
            slots: slots.into(),
            after: None,
            phase: Phase::Start,
            ended: Vec::new(),
            asked: Vec::new(),
            codes: Vec::new(),
            running: None,
        }) as Box<dyn RecordCoordinator>
    })
}

impl Sweep {
    fn look(&mut self) -> Step {
        self.phase = Phase::Looking;
        let find = Find { table: Arc::clone(&self.table), slots: Arc::clone(&self.slots), after: self.after };
        let slot = base::Slot(self.slots[0]);
        let token = base::Token::from_biased((u64::from(slot.0) << 52).max(1));
        Step::Run(vec![Part { table: find.table(), token, operation: Box::new(find) }])
    }

    /// Sends requests about records of monitors' set.
    fn send(&mut self, phase: Phase, requests: Vec<(u64, Digest, Attributes)>) {
        let mut batch = BatchWriter::default();
        for (id, digest, attributes) in &requests {
            let id = id.to_le_bytes();
            let fields = [
                (field::NAMESPACE, self.namespace.name.as_bytes()),
                (field::SET, MONITOR_SET.as_bytes()),
                (field::TRANSACTION_ID, id.as_slice()),
            ];
            batch.push(digest, *attributes, &fields, std::iter::empty());
        }
        self.phase = phase;
        self.codes = vec![None; requests.len()];
        self.asked = requests.into_iter().map(|(id, digest, _)| (id, digest)).collect();
        let options = Options {
            namespaces: std::slice::from_ref(&self.namespace),
            cores: self.cores,
            record_bytes_max: u32::MAX,
            is_primary: None,
            jobs: None,
            may_read: None,
            is_forwarded: false,
        };
        self.running = BatchCoordinator::of_batch(&self.schema, batch.data(), &options);
    }

    /// What the sweep does next, once all requests of a phase were answered.
    fn next_phase(&mut self) {
        let write = |info2, info4| Attributes { info2: info2::WRITE | info2, info4, ..Attributes::default() };
        match self.phase {
            Phase::Looking => {
                let ids: BTreeSet<u64> = self.ended.iter().filter(|ended| !ended.is_forgotten).map(|ended| ended.id).collect();
                let ask = |id| (id, monitor_digest(id), write(0, info4::VERIFY));
                self.send(Phase::Asking, ids.into_iter().map(ask).collect());
            }
            Phase::Asking => {
                let becomes: BTreeMap<u64, u8> = self.answers().filter_map(|((id, _), code)| Some((id, direction(code?)?))).collect();
                self.ended.retain(|ended| ended.is_forgotten || becomes.contains_key(&ended.id));
                let of_one = |ended: &Ended| {
                    let direction = becomes.get(&ended.id).copied().unwrap_or_default();
                    let id = ended.id;
                    ended.records.iter().map(move |digest| (id, *digest, write(0, direction))).collect::<Vec<_>>()
                };
                let rolls = self.ended.iter().flat_map(of_one).collect();
                self.send(Phase::Rolling, rolls);
            }
            Phase::Rolling => {
                let failed: BTreeSet<u64> =
                    self.answers().filter(|(_, code)| *code != Some(ResultCode::OK)).map(|((id, _), _)| id).collect();
                let closes = self.ended.iter().filter(|ended| ended.is_monitor && !failed.contains(&ended.id));
                let close = |ended: &Ended| {
                    let attributes = if ended.is_forgotten { write(info2::DELETE, 0) } else { write(0, info4::DONE) };
                    (ended.id, monitor_digest(ended.id), attributes)
                };
                let closes = closes.map(close).collect();
                self.send(Phase::Closing, closes);
            }
            Phase::Start | Phase::Closing => self.phase = Phase::Start,
        }
    }

    fn answers(&self) -> impl Iterator<Item = ((u64, Digest), Option<ResultCode>)> + '_ {
        self.asked.iter().copied().zip(self.codes.iter().copied())
    }

    /// Notes what messages in frames say.
    fn take_answers(&mut self, frames: &[u8]) {
        for_each_message(frames, |message| {
            if let Some(code) = self.codes.get_mut(message.number as usize) {
                *code = Some(message.result);
            }
        });
    }
}

/// How records are rolled whose monitor has said this; none if nothing is known.
fn direction(code: ResultCode) -> Option<u8> {
    match code {
        ResultCode::MRT_COMMITTED => Some(info4::ROLL_FORWARD),
        ResultCode::MRT_ABORTED | ResultCode::NOT_FOUND => Some(info4::ROLL_BACK),
        _ => None,
    }
}

impl Coordinator for Sweep {
    type Error = ResultCode;

    fn step(&mut self, mut results: Vec<Vec<u8>>, _: &mut Vec<u8>) -> Result<Step, ResultCode> {
        if self.phase == Phase::Start {
            return Ok(self.look());
        }
        if self.phase == Phase::Looking {
            // What could not be looked for is looked for by the next sweep.
            let found = results.pop().and_then(|result| Found::read(&result)).unwrap_or_default();
            (self.after, self.ended) = (found.reached, found.ended);
            if self.ended.is_empty() {
                return Ok(if self.after.is_some() { self.look() } else { Step::Done });
            }
            results.clear();
            self.next_phase();
        }
        loop {
            if let Some(running) = &mut self.running {
                let mut said = Vec::new();
                let step = running.step(std::mem::take(&mut results), &mut said)?;
                self.take_answers(&said);
                if !matches!(step, Step::Done) {
                    return Ok(step);
                }
                self.running = None;
            }
            self.next_phase();
            if self.phase == Phase::Start {
                return Ok(if self.after.is_some() { self.look() } else { Step::Done });
            }
        }
    }
}

impl RecordCoordinator for Sweep {
    fn part_failed(&self, part: usize, code: ResultCode) -> Option<Vec<u8>> {
        match &self.running {
            Some(running) => running.part_failed(part, code),
            None => Some(Vec::new()),
        }
    }

    fn writes(&self) -> bool {
        true
    }
}
