//! What must be there and is not: the end of the data file, its newest segments, or the stable memory that the last run had.
//!
//! | what says so | of what |
//! |---|---|
//! | the mark in the stable memory, and marks on the device | how long the file was, and the latest generation that the device had |
//! | witnesses, on the device and in the stable memory | segments beyond the end of the file |
//! | cells of the checkpoint | records beyond the end of the file |
//! | marks on the device | whether the last run ended in order; if not, which run the stable memory must be of |
//!
//! Anything of that is a reason not to start. If losses are accepted (`Config::accepts_loss`) recovery goes on with what is left: without the
//! checkpoint if the file lacks something, for it names what is gone; segments that are gone are free.
//!
//! Invariant: nothing is written before the operator has accepted what is lost.

use super::{Engine, Phase};
use crate::error::{DataLoss, OpenError, StableLoss};
use crate::format::mark::{Mark, RunState};
use crate::format::witness::Witness;
use crate::key::Sequence;
use crate::location::SegmentId;
use crate::segments::Usage;

/// What is known of the runs before this one.
#[derive(Default)]
pub(super) struct Evidence {
    /// The last mark on the device, and the block that it is in, with what that says of other segments.
    device: Option<(Mark, SegmentId, Vec<Witness>)>,
    /// The last mark in the stable memory.
    stable: Option<Mark>,
    /// Whose marks or headers the stable memory has besides.
    foreign: Option<(u64, u32)>,
    /// The latest generation that a header on the device has.
    pub(super) newest_on_device: u64,
    /// The latest generation of which the stable memory has a header.
    pub(super) newest_in_stable: u64,
    /// The last sequence that headers on the device tell of.
    pub(super) sequence_in_headers: u64,
    pub(super) damaged_headers: u64,
    /// Generations of the images in the stable memory.
    pub(super) images: Vec<u64>,
    /// Segments in use that lie beyond the end of the file.
    pub(super) beyond: Vec<Witness>,
    /// Records beyond the end of the file that a checkpoint names; `None` while no checkpoint has been loaded.
    pub(super) records_beyond: Option<u64>,
    /// Whether images in the stable memory are what the last run left in them, and no power was lost since.
    pub(super) trusts_images: bool,
}

impl Evidence {
    /// A header block of this shard has a mark.
    pub(super) fn saw_on_device(&mut self, mark: Mark, segment: SegmentId, witnesses: Vec<Witness>) {
        if self.device.as_ref().is_none_or(|(last, ..)| (last.run, last.state) < (mark.run, mark.state)) {
            self.device = Some((mark, segment, witnesses));
        }
    }

    /// A mirror slot has a mark of this shard.
    pub(super) fn saw_in_stable(&mut self, mark: Mark) {
        let order = |mark: &Mark| (mark.run, mark.state, mark.generation, mark.bytes, mark.segments);
        if self.stable.is_none_or(|last| order(&last) < order(&mark)) {
            self.stable = Some(mark);
        }
    }

    pub(super) fn saw_foreign(&mut self, store: u64, shard: u32) {
        self.foreign = Some((store, shard));
    }

    fn device_mark(&self) -> Option<Mark> {
        self.device.as_ref().map(|(mark, ..)| *mark)
    }

    /// The marks of the last run.
    fn last(&self) -> impl Iterator<Item = Mark> + '_ {
        let marks = [self.device_mark(), self.stable];
        let run = marks.iter().flatten().map(|mark| mark.run).max();
        marks.into_iter().flatten().filter(move |mark| Some(mark.run) == run)
    }

    fn run(&self) -> u32 {
        self.last().map(|mark| mark.run).max().unwrap_or(0)
    }

    /// Generation and bytes of the latest segment that the device had.
    pub(super) fn newest(&self) -> (u64, u32) {
        self.last().map(|mark| (mark.generation, mark.bytes)).max().unwrap_or_default()
    }

    /// How many segments the file had at least.
    pub(super) fn file_segments(&self) -> usize {
        let beyond = self.beyond.iter().map(|witness| witness.segment.index() + 1).max();
        self.last().map(|mark| mark.segments as usize).max().max(beyond).unwrap_or(0)
    }

    /// Whether the stable memory is not the one that the last run had, as far as that matters.
    fn stable_loss(&self, bytes_found: usize, bytes: usize, boot: u64) -> Option<StableLoss> {
        let device = self.device_mark();
        if self.newest_on_device == 0 || device.is_some_and(|mark| mark.state == RunState::Ended) {
            return None;
        }
        if bytes_found == 0 {
            return Some(StableLoss::Missing);
        }
        if bytes_found < bytes {
            return Some(StableLoss::CutShort { bytes: bytes_found as u64, known_bytes: bytes as u64 });
        }
        if let (None, Some((store, shard))) = (self.stable, self.foreign) {
            return Some(StableLoss::Foreign { store, shard });
        }
        // After a loss of power it may be of any age, which `Config` warns of.
        let device = device.filter(|mark| boot != 0 && mark.boot == boot)?;
        if self.stable.is_none() && self.newest_in_stable == 0 {
            return Some(StableLoss::Blank);
        }
        // Versions without marks overwrite them.
        let stable = self.stable.unwrap_or(Mark { generation: 0, ..device });
        let (run, last_run) = (stable.run, device.run);
        let newest = self.newest_in_stable.max(stable.generation);
        let is_older = run < last_run || (run == last_run && newest < self.newest_on_device);
        is_older.then_some(StableLoss::Older { run, last_run, generation: newest, last_generation: self.newest_on_device })
    }
}

impl Engine {
    /// Whether the file lacks something that it had.
    pub(super) fn lacks_data(&self) -> bool {
        self.data_loss().is_some()
    }

    fn data_loss(&self) -> Option<DataLoss> {
        let recovery = self.recovery.as_ref()?;
        let evidence = &recovery.evidence;
        let (newest, _) = evidence.newest();
        // Images that are to be written yet stand in for segments of the device, and so may segments whose headers are damaged.
        let in_between = |generation: &u64| *generation > evidence.newest_on_device && *generation <= newest;
        let imaged = evidence.images.iter().filter(|generation| in_between(generation)).count() as u64;
        let gone = newest.saturating_sub(evidence.newest_on_device).saturating_sub(imaged + evidence.damaged_headers);
        let segment_bytes = u64::from(self.config.segment_bytes);
        let known_bytes = evidence.file_segments() as u64 * segment_bytes;
        let is_short = self.config.file_bytes < known_bytes;
        let names_more = evidence.records_beyond.is_some_and(|records| records > 0);
        let is_missing = self.config.has_run && self.config.file_bytes == 0;
        (is_short || names_more || gone > 0 || is_missing).then(|| DataLoss {
            file_bytes: self.config.file_bytes,
            known_bytes,
            segments: evidence.beyond.len() as u64,
            records: evidence.records_beyond,
            writes: evidence.last().map(|mark| mark.sequence).max().unwrap_or(0).saturating_sub(evidence.sequence_in_headers),
            generation: evidence.newest_on_device,
            known_generation: newest,
        })
    }

    /// Refuses to go on when something is lost, or does so if that is accepted.
    pub(super) fn judge_losses(&mut self) -> Option<Phase> {
        let data = self.data_loss();
        let recovery = self.recovery.as_mut()?;
        let (found, bytes) = (self.config.stable_bytes_found, self.stable.len());
        let stable = recovery.evidence.stable_loss(found, bytes, self.config.boot);
        let same_boot = self.config.boot != 0 && recovery.evidence.last().any(|mark| mark.boot == self.config.boot);
        recovery.evidence.trusts_images = same_boot && stable.is_none();
        let (file, lost) = (recovery.evidence.file_segments(), data.is_some());
        let losses = [data.map(|loss| OpenError::Data { loss }), stable.map(|loss| OpenError::Stable { loss })];
        for loss in losses.into_iter().flatten() {
            if !self.config.accepts_loss {
                self.recovery_failed(loss);
                return None;
            }
            self.accepted_losses.push(loss);
            self.report_loss();
        }
        let state = self.recovery.as_ref()?.evidence.last().map(|mark| mark.state).max();
        if state == Some(RunState::RunningAfterLoss) && self.accepted_losses.is_empty() {
            // It ended before it could be told to end: perhaps nobody else has heard of it.
            self.report_loss();
        }
        if lost {
            self.log.saw_generation(self.recovery.as_ref()?.evidence.newest().0);
            self.regrow_file(file.max(self.segments.len()));
            return Some(Phase::Regrow);
        }
        Some(Phase::Segments)
    }

    /// Rows may be missing, and nobody knows where.
    pub(super) fn report_loss(&mut self) {
        self.counters.damaged_records += 1;
        self.progress.damaged += 1;
        self.lacks_rows = true;
    }

    /// The file is as long as it was: what it had in the part that was gone is given up.
    pub(super) fn recover_regrow(&mut self) -> Option<Phase> {
        if self.growth.is_extending() {
            return None;
        }
        if !self.growth.may_grow() && self.segments.len() < self.recovery.as_ref()?.evidence.file_segments() {
            self.recovery_failed(OpenError::Device { error: io::DiskError::Full });
            return None;
        }
        let beyond = std::mem::take(&mut self.recovery.as_mut()?.evidence.beyond);
        for Witness { segment, generation, .. } in beyond {
            if self.segments.get(segment).usage != Usage::Free {
                // The stable memory has a later use of it.
                continue;
            }
            self.segments.claim(segment);
            self.segments.adopt(segment, Usage::Stored, generation, 0, Sequence(0));
            self.segments.set_usage(segment, Usage::Emptied { until: 0 });
        }
        Some(Phase::Segments)
    }

    /// Everything found is on the device: this run begins.
    pub(super) fn recover_mark(&mut self, now_us: u64) -> Option<Phase> {
        let evidence = std::mem::take(&mut self.recovery.as_mut()?.evidence);
        let run = evidence.run().saturating_add(1);
        let state = if self.lacks_rows { RunState::RunningAfterLoss } else { RunState::Running };
        let can_be_marked = |segment: SegmentId| {
            let usage = self.segments.get(segment).usage;
            matches!(usage, Usage::Stored | Usage::Free)
        };
        let last = evidence.device.filter(|(_, segment, _)| can_be_marked(*segment)).map(|(_, segment, witnesses)| (segment, witnesses));
        self.begin_run(run, state, last);
        self.log.position += 1;
        self.flush.sync_anyway = true;
        self.flush.due_at(now_us);
        self.flush_tick(now_us);
        Some(Phase::Mark)
    }

    /// Losses that the configuration accepts and that recovery has found.
    #[must_use]
    pub fn accepted_losses(&self) -> &[OpenError] {
        &self.accepted_losses
    }

    /// Whether rows may be missing that were acknowledged: damage was found, or a loss was accepted, now or by a run before that did not end in order.
    #[must_use]
    pub fn may_lack_rows(&self) -> bool {
        self.lacks_rows || !self.damage_reports.is_empty()
    }
}
