//! Coming back: headers, mirrors, records, and ready.
//!
//! 1. The first block of every segment says whether it is in use and of which generation (`headers`), and which generations other segments had.
//! 2. The stable memory may hold newer images of a few segments (`mirrors`). A segment that has neither what others say it has
//!    has lost its header (`witnesses`).
//! 3. If there is a complete checkpoint it is loaded (`checkpoint`).
//!    Then recovery knows what must be there and is not, and whether it may go on (`losses`).
//! 4. All used segments, or those since the checkpoint, are read in the order of their generations, several at once, and their records put
//!    into the index in the order in which they were appended, so that the last version of a key wins (`segments`, `records`). Rows alone in their
//!    partitions are gathered until there are enough to be put in slot by slot (`gather`).
//! 5. Partition keys that share a token with others are read once (`collisions`).
//! 6. The file is made long enough to write on.
//! 7. What the mirrors had and the device had not is written and synced; then the mirrors are free.
//! 8. This run's mark is written and synced (`marks`).
//!
//! Everything happens in `complete`; the engine is ready when there is no `Recovery` any more.
//!
//! Invariants: of an atomic group all records are taken or none, unless the device has damaged a part of a group that was complete; a
//! damaged record costs no other record of a finished segment; a mirror slot is cleared only after a sync that covers what it held, so
//! recovery may be cut off and begun again at any point.

mod checkpoint;
mod collisions;
mod gather;
mod headers;
mod losses;
mod mirrors;
mod records;
mod segments;
mod witnesses;

use crate::engine::Engine;
use crate::error::OpenError;
use crate::format::checkpoint::Commit;
use crate::format::record::mix;
use crate::format::segment_header::HeaderBlock;
use crate::index::{Collision, UNKNOWN_HASH};
use crate::key::Sequence;
use crate::location::SegmentId;
use crate::log::Point;
use crate::witness::Vouched;
use base::TableId;
use checkpoint::Loading;
use gather::Gather;
use losses::Evidence;
use mirrors::Image;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Damage reports that are kept; further ones are only counted.
pub(crate) const REPORTS_MAX: usize = 1024;

/// How far recovery has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryProgress {
    /// Segments whose records have to be read.
    pub segments_total: u64,
    /// Segments whose records are in the index.
    pub segments_done: u64,
    /// Valid records seen.
    pub records: u64,
    /// Damaged places seen.
    pub damaged: u64,
    /// Rows that came from a checkpoint; `None` if there was none to be used, so that all of the log is read.
    pub checkpoint_rows: Option<u64>,
    /// How long recovery took, 0 while it goes on.
    pub elapsed_us: u64,
}

/// A place that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamageReport {
    /// Which segment.
    pub segment: SegmentId,
    /// Where in the segment, in bytes.
    pub offset: usize,
    /// How many bytes are affected; 0 if unknown.
    pub bytes: usize,
}

/// What recovery is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Headers,
    /// The file has to be longer for an image.
    Extend,
    /// A checkpoint is loaded if there is one.
    Checkpoint,
    /// The file has to be as long as it was.
    Regrow,
    Segments,
    Collisions,
    /// The file has to be longer for new writes.
    Space,
    /// What was found goes to the device and is synced.
    Flush,
    /// The mark of this run goes to the device and is synced.
    Mark,
    Failed,
}

/// A segment to be read.
struct Item {
    segment: SegmentId,
    generation: u64,
    /// Whether the device has this generation.
    on_device: bool,
    image: Option<Image>,
    load: Option<u64>,
}

/// The state of recovery.
pub(crate) struct Recovery {
    phase: Phase,
    tables: BTreeMap<TableId, Sequence>,
    headers: Vec<HeaderBlock>,
    next_header: usize,
    headers_in_flight: usize,
    /// Segments whose header was read as blank once.
    blank_once: BTreeSet<u64>,
    images: Vec<Image>,
    /// Mirror slots whose images count for nothing, or for no more than the device has.
    stale_slots: Vec<usize>,
    items: VecDeque<Item>,
    /// Commit records, by the segments that have them.
    commits: Vec<(SegmentId, Commit)>,
    /// Segments of checkpoints: number of the checkpoint, number within it.
    parts: Vec<(u64, u32, SegmentId)>,
    looked_for_checkpoint: bool,
    loading: Option<Loading>,
    /// What was appended before is in the index: from a checkpoint.
    start: Point,
    started_us: u64,
    collisions: BTreeSet<Collision>,
    settling: Vec<Collision>,
    gather: Gather,
    /// What headers say of other segments.
    vouched: Vouched,
    /// Records of tables that nobody knows, by table.
    unknown: BTreeMap<TableId, u64>,
    /// The same, said in the stable memory.
    vouched_in_stable: Vouched,
    evidence: Evidence,
    /// The segment being read has an image in the stable memory that no loss of power can have torn.
    imaged: Option<SegmentId>,
    error: Option<OpenError>,
}

impl Recovery {
    pub(crate) fn new(tables: BTreeMap<TableId, Sequence>, memory_limit_bytes: usize, now_us: u64) -> Self {
        Self {
            phase: Phase::Headers,
            tables,
            headers: Vec::new(),
            next_header: 0,
            headers_in_flight: 0,
            blank_once: BTreeSet::new(),
            images: Vec::new(),
            stale_slots: Vec::new(),
            items: VecDeque::new(),
            commits: Vec::new(),
            parts: Vec::new(),
            looked_for_checkpoint: false,
            loading: None,
            start: Point::default(),
            started_us: now_us,
            collisions: BTreeSet::new(),
            settling: Vec::new(),
            gather: Gather::new(memory_limit_bytes),
            vouched: Vouched::default(),
            unknown: BTreeMap::new(),
            vouched_in_stable: Vouched::default(),
            evidence: Evidence::default(),
            imaged: None,
            error: None,
        }
    }

    /// Memory of rows on their way into the index.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.gather.bytes()
    }
}

/// A hash of a partition key that nobody outside can foresee.
fn keyed_hash(store: u64, partition: &[u8]) -> u64 {
    let mut hash = mix(store ^ partition.len() as u64);
    for chunk in partition.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    // No key has the hash that stands for not knowing.
    hash.max(UNKNOWN_HASH + 1)
}

impl Engine {
    /// Whether recovery is done and the engine takes reads and writes.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.recovery.is_none()
    }

    /// Why recovery cannot go on, if it cannot.
    #[must_use]
    pub fn recovery_error(&self) -> Option<&OpenError> {
        self.recovery.as_ref()?.error.as_ref()
    }

    /// How far recovery has come; stays as it was at its end.
    #[must_use]
    pub fn recovery_progress(&self) -> RecoveryProgress {
        self.progress
    }

    /// Places that could not be read, at the start or since; the first thousand of them.
    #[must_use]
    pub fn damage_reports(&self) -> &[DamageReport] {
        &self.damage_reports
    }

    pub(crate) fn report_damage(&mut self, segment: SegmentId, offset: usize, bytes: usize) {
        self.counters.damaged_records += 1;
        self.progress.damaged += 1;
        // What is there may be anything, and another read may find it.
        if segment.index() < self.segments.len() {
            self.segments.set_lasting(segment);
        }
        if self.damage_reports.len() < REPORTS_MAX {
            self.damage_reports.push(DamageReport { segment, offset, bytes });
        }
    }

    fn recovery_failed(&mut self, error: OpenError) {
        if let Some(recovery) = &mut self.recovery {
            recovery.error.get_or_insert(error);
            recovery.phase = Phase::Failed;
        }
    }

    /// Does what can be done without waiting, until the engine is ready or has to wait.
    pub(crate) fn recover(&mut self, now_us: u64) {
        while let Some(phase) = self.recovery.as_ref().map(|recovery| recovery.phase) {
            let next = match phase {
                Phase::Headers => self.recover_headers(now_us),
                Phase::Extend => self.recover_extend(now_us),
                Phase::Checkpoint => match self.recover_checkpoint() {
                    Some(_) => self.judge_losses(),
                    None => None,
                },
                Phase::Regrow => self.recover_regrow(),
                Phase::Segments => self.recover_segments(),
                Phase::Collisions => self.recover_collisions(),
                Phase::Space => self.recover_space(now_us),
                Phase::Flush => self.recover_flush(now_us),
                Phase::Mark => self.recover_end(now_us),
                Phase::Failed => None,
            };
            let Some(recovery) = &mut self.recovery else { return };
            match next {
                Some(next) if recovery.phase != Phase::Failed => recovery.phase = next,
                _ => return,
            }
        }
    }

    /// Makes the file long enough for writers, if the file system gives it.
    fn recover_space(&mut self, now_us: u64) -> Option<Phase> {
        if self.growth.is_extending() {
            return None;
        }
        if self.segments.free_count() < 2 * crate::write::RESERVE_PUT && self.growth.may_grow() {
            self.grow_file(now_us, 0);
            if self.growth.is_extending() {
                return None;
            }
        }
        // What was found may not be durable yet: the process may have died between a write and its sync.
        self.log.position += 1;
        self.flush.sync_anyway = true;
        self.flush.due_at(now_us);
        self.flush_tick(now_us);
        Some(Phase::Flush)
    }

    /// Whether the device has everything; goes on with bringing it there. A device that fails ends recovery.
    fn is_flushed(&mut self, now_us: u64) -> bool {
        if let Some(error) = self.poisoned.clone() {
            self.recovery_failed(OpenError::Device { error });
            return false;
        }
        self.flush_tick(now_us);
        self.flush.durable_position >= self.log.position
    }

    /// Waits until the device has everything; only then the mirrors are not needed any more.
    fn recover_flush(&mut self, now_us: u64) -> Option<Phase> {
        if !self.is_flushed(now_us) {
            return None;
        }
        self.recover_mark(now_us)
    }

    /// Waits until the device knows of this run.
    fn recover_end(&mut self, now_us: u64) -> Option<Phase> {
        if !self.is_flushed(now_us) {
            return None;
        }
        // Those that were written back have been freed by the flush.
        let stale = std::mem::take(&mut self.recovery.as_mut()?.stale_slots);
        self.log.slots_free.extend(stale);
        self.clear_mirrors();
        self.index.drop_hashes();
        self.recovered_sequence = self.log.last_sequence();
        self.forget_purged();
        self.progress.elapsed_us = now_us - self.recovery.as_ref()?.started_us;
        self.recovery = None;
        None
    }
}
