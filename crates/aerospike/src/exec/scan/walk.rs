//! The way of a request about many records through its pieces: which parts run, how fast, and who is told how far it is.

use super::pace::Pace;
use super::part::{End, Found, ScanPart};
use super::piece::Piece;
use super::rows::Target;
use crate::ResultCode;
use crate::jobs::RunningJob;
use base::TableId;
use model::operation::{Part, Step};
use model::record_set::token;
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) struct Walk {
    target: Arc<Target>,
    /// Of each queue the first piece is looked through, while others are of theirs.
    queues: Vec<VecDeque<Piece>>,
    /// The queues whose first pieces are being looked through.
    running: Vec<usize>,
    pace: Option<Pace>,
    /// Where clients ask after it.
    job: Option<RunningJob>,
}

impl Walk {
    /// At most so many records a second, if that is not 0.
    pub(super) fn new(target: Target, queues: Vec<VecDeque<Piece>>, records_per_second: Option<u32>, job: Option<RunningJob>) -> Self {
        let pace = records_per_second.filter(|records| *records > 0).map(Pace::new);
        Self { target: Arc::new(target), queues, running: Vec::new(), pace, job }
    }

    pub(super) fn is_paced(&self) -> bool {
        self.pace.is_some()
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.job.as_ref().is_some_and(RunningJob::is_aborted)
    }

    /// Tells those who ask after it.
    pub(super) fn tell(&self, what: impl FnOnce(&RunningJob)) {
        if let Some(job) = &self.job {
            what(job);
        }
    }

    /// The queues of the parts that have run.
    pub(super) fn take_running(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.running)
    }

    /// Goes on behind what a part has found; gives the piece that it could not look through, and why.
    pub(super) fn pass(&mut self, queue: usize, found: &Found<'_>) -> Option<(Piece, ResultCode)> {
        if let Some(pace) = &mut self.pace {
            pace.given(found.records, found.now_us);
        }
        match found.end {
            End::More(last) => {
                if let Some(piece) = self.queues[queue].front_mut() {
                    (piece.from, piece.after) = (token(&last), Some(last));
                }
                None
            }
            End::Done => {
                self.queues[queue].pop_front();
                None
            }
            End::Failed(code) => self.queues[queue].pop_front().map(|piece| (piece, code)),
        }
    }

    /// Tells how much is left, at this time.
    pub(super) fn tell_progress(&self, now_us: u64) {
        self.tell(|job| job.reached(self.queues.iter().flatten().map(Piece::slot_count).sum(), now_us));
    }

    /// Chooses the pieces that are looked through next, of at most so many queues; whether there is any.
    pub(super) fn choose(&mut self, queues_max: usize) -> bool {
        let waiting = self.queues.iter().enumerate().filter(|(_, pieces)| !pieces.is_empty());
        self.running = waiting.map(|(queue, _)| queue).take(queues_max).collect();
        !self.running.is_empty()
    }

    /// Waits instead of looking through what was chosen, if it would be too fast.
    pub(super) fn wait(&mut self) -> Option<Step> {
        let until_us = self.pace.as_ref().and_then(Pace::waits_until_us)?;
        self.tell(|job| job.saw(until_us));
        Some(self.wait_until(until_us))
    }

    pub(super) fn wait_until(&mut self, until_us: u64) -> Step {
        self.running.clear();
        Step::Wait { until_us }
    }

    /// Looks through what was chosen, each piece for so many records.
    pub(super) fn run(&self, records_max: u32) -> Step {
        let records_max = self.pace.as_ref().map_or(records_max, |pace| pace.records_max().min(records_max));
        let table = self.target.tables.first().map_or(TableId(0), |set| set.table.id);
        let part = |queue: &usize| {
            let piece = &self.queues[*queue][0];
            Part { table, token: piece.until, operation: Box::new(ScanPart::new(&self.target, piece.clone(), records_max)) }
        };
        Step::Run(self.running.iter().map(part).collect())
    }
}
