//! Which segment is emptied next: the one that gives the most space for what is copied, or the oldest one when rows wait to be purged.

use super::{PACE, Victim};
use crate::engine::Engine;
use crate::key::Sequence;
use crate::location::SegmentId;
use crate::segments::{Expired, Segment, Usage};
use base::BLOCK_BYTES;
use io::Now;
use std::rc::Rc;

/// Segments with more live eighths of what usually fits into a segment are not worth moving.
const LIVE_EIGHTHS_MAX: u64 = 7;

/// What there is to choose from.
struct Survey {
    /// The segment that gives the most, with its benefit.
    best: Option<(u64, SegmentId)>,
    /// The segment that was opened first, with the last sequence before it.
    oldest: Option<(Sequence, SegmentId)>,
    in_use: u64,
    /// The oldest of the segments that can never be emptied.
    quarantined_base: Sequence,
    /// Segments with nothing live.
    dead: Vec<SegmentId>,
}

impl Engine {
    /// Whether many rows' time has passed. Those above the floor do not count: they would be moved for nothing.
    pub(super) fn rows_wait_to_be_purged(&self, now: Now) -> bool {
        let purgeable_generation = self.purgeable_generation();
        let may_go = |segment: &&Segment| {
            let is_stored = segment.usage == Usage::Stored && segment.expired != Expired::Dropping;
            is_stored && segment.purge_after_s < now.wall_s() && segment.generation < purgeable_generation
        };
        let waiting = self.segments.iter().map(|(_, segment)| segment).filter(may_go);
        waiting.map(|segment| u64::from(segment.purgeable_bytes.min(segment.live_bytes))).sum::<u64>() * 8 > self.segments.live_bytes()
    }

    pub(super) fn choose_victim(&mut self, now: Now) {
        let available = self.segments.free_count() + self.segments.soon_free_count();
        let short = available < self.low_water();
        self.look_for_expired(now, short);
        if !self.drops.is_empty() {
            // Entries of detached tables still name places: nothing may be emptied yet.
            if short {
                self.grow_file(now.monotonic_us, 0);
            }
            return;
        }
        let Survey { best, oldest, in_use, quarantined_base, dead } = self.survey();
        let segment_bytes = u64::from(self.config.segment_bytes);
        let live = self.segments.live_bytes();
        let rows_wait = self.rows_wait_to_be_purged(now);
        self.defrag.hopeful = !dead.is_empty() || best.is_some() || self.expiry.is_dropping() || self.cold.is_hopeful();
        for id in dead {
            self.empty_segment(now, id);
        }
        if short && (live * 2 > in_use * segment_bytes || !self.defrag.hopeful || in_use < 8) {
            self.grow_file(now.monotonic_us, 0);
            if self.growth.may_grow() {
                return;
            }
        }
        if short && let Some((_, victim)) = best {
            if !self.cold.waits() {
                self.start_victim(victim, true);
            }
        } else if rows_wait && self.cold.is_hopeful() {
            // What was gathered holds back the point before which nothing old can be left, and may wait for writers for ever.
            self.cold.hurry(now.monotonic_us);
        } else if rows_wait && self.segments.soon_free_count() == 0 {
            // Many rows wait to be purged: move on that point. Segments that are about to become free still hold it back, as this one does until
            // it is gone: its records are not gathered.
            if let Some((_, victim)) = oldest.filter(|(base, _)| *base <= quarantined_base) {
                self.start_victim(victim, false);
            }
        } else if short {
            self.cold.end_gathering();
        }
    }

    fn survey(&self) -> Survey {
        let mut best: Option<(u64, SegmentId)> = None;
        let mut oldest: Option<(Sequence, SegmentId)> = None;
        let mut in_use = 0u64;
        let mut quarantined_base = Sequence(u64::MAX);
        let mut dead = Vec::new();
        for (id, segment) in self.segments.iter() {
            if matches!(segment.usage, Usage::Free | Usage::Checkpoint) {
                continue;
            }
            in_use += 1;
            if segment.usage == Usage::Quarantined {
                quarantined_base = quarantined_base.min(segment.base_sequence);
            }
            if segment.usage != Usage::Stored || segment.expired == Expired::Dropping {
                continue;
            }
            if segment.live_bytes == 0 {
                dead.push(id);
                continue;
            }
            if let Some(benefit) = self.benefit(segment).filter(|benefit| best.is_none_or(|(best, _)| *benefit > best)) {
                best = Some((benefit, id));
            }
            if oldest.is_none_or(|(base, _)| segment.base_sequence < base) {
                oldest = Some((segment.base_sequence, id));
            }
        }
        Survey { best, oldest, in_use, quarantined_base, dead }
    }

    /// What reclaiming a segment is worth, `None` if next to nothing: the space gained for each byte that is read or written, times its age in
    /// writes. What has been left alone for long will go on being so, and what is left of it is as good as it gets; of a young segment
    /// more will be dead soon (Rosenblum and Ousterhout, "The design and implementation of a log-structured file system", 1991).
    fn benefit(&self, segment: &Segment) -> Option<u64> {
        let (live, fill) = (u64::from(segment.live_bytes), self.log.usual_fill);
        let age = self.log.last_sequence().0.saturating_sub(segment.base_sequence.0) + 1;
        let benefit = u128::from(fill.saturating_sub(live)) * u128::from(age) * 1024 / u128::from(fill + live);
        (live * 8 <= fill * LIVE_EIGHTHS_MAX).then(|| u64::try_from(benefit).unwrap_or(u64::MAX))
    }

    fn start_victim(&mut self, segment: SegmentId, may_gather: bool) {
        self.segments.set_usage(segment, Usage::Draining);
        let oldest_base = self.segments.oldest_base(Some(segment));
        let gathered = may_gather && self.may_gather();
        let mut victim = Victim {
            segment,
            loading: None,
            image: None,
            staged: false,
            gathered,
            waited_for: false,
            offset: BLOCK_BYTES,
            done: false,
            oldest_base,
        };
        if let Some(frame) = self.memory.frame(segment) {
            victim.image = Some(Rc::clone(&frame.bytes));
        } else {
            let staging = self.take_log_frame();
            victim.staged = true;
            let used = self.segments.get(segment).used as usize;
            victim.loading = Some(self.load(segment, used, staging, PACE));
        }
        self.defrag.victim = Some(victim);
    }
}
