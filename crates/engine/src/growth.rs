//! The file's length: it grows in steps, up to the capacity, ahead of need.

use crate::engine::Engine;
use crate::location::SegmentId;
use crate::tags::Purpose;
use io::{DiskError, DiskRequest};

const STEP_SEGMENTS_MIN: usize = 8;
const STEP_SEGMENTS_MAX: usize = 128;
/// How long to wait after the file system refused to give more space.
const RETRY_US: u64 = 1_000_000;

/// How long the file is and may become, in segments.
pub(crate) struct Growth {
    capacity: usize,
    /// The length asked for.
    extending: Option<usize>,
    refused: bool,
    retry_us: u64,
    segments: usize,
}

impl Growth {
    pub(crate) fn new(segments: usize, capacity_bytes: u64, segment_bytes: u32) -> Self {
        let capacity = ((capacity_bytes / u64::from(segment_bytes)) as usize).max(segments);
        Self { capacity, extending: None, refused: false, retry_us: 0, segments }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn segments(&self) -> usize {
        self.segments
    }

    /// The file must be allowed to have this many segments.
    pub(crate) fn reserve(&mut self, segments: usize) {
        self.capacity = self.capacity.max(segments);
    }

    pub(crate) fn is_extending(&self) -> bool {
        self.extending.is_some()
    }

    /// Whether a longer file may be asked for: the file system has not refused, or not lately.
    pub(crate) fn may_ask(&self, now_us: u64) -> bool {
        self.extending.is_none() && self.segments < self.capacity && (!self.refused || now_us >= self.retry_us)
    }

    /// Whether waiting for a longer file makes sense.
    pub(crate) fn may_grow(&self) -> bool {
        self.extending.is_some() || (self.segments < self.capacity && !self.refused)
    }
}

impl Engine {
    /// Asks for a longer file, of at least `least` segments, unless that was just refused.
    pub(crate) fn grow_file(&mut self, now_us: u64, least: usize) {
        let growth = &mut self.growth;
        if !growth.may_ask(now_us) {
            return;
        }
        let step = (growth.segments / 4).clamp(STEP_SEGMENTS_MIN, STEP_SEGMENTS_MAX);
        let target = (growth.segments + step).max(least).min(growth.capacity);
        growth.extending = Some(target);
        growth.retry_us = now_us.saturating_add(RETRY_US);
        let length = target as u64 * u64::from(self.config.segment_bytes);
        self.outbox.push((Purpose::Extend.tag(), DiskRequest::Extend { file: self.config.file, length }));
    }

    /// In recovery: makes the file long enough for so many segments, whatever the capacity is.
    pub(crate) fn regrow_file(&mut self, segments: usize) {
        self.growth.reserve(segments);
        self.growth.extending = Some(segments);
        let length = segments as u64 * u64::from(self.config.segment_bytes);
        self.outbox.push((Purpose::Extend.tag(), DiskRequest::Extend { file: self.config.file, length }));
    }

    pub(crate) fn extended(&mut self, result: Result<(), DiskError>) {
        let Some(target) = self.growth.extending.take() else { return };
        if result.is_err() {
            self.growth.refused = true;
            self.counters.growth_refused += 1;
            return;
        }
        self.growth.refused = false;
        let before = self.growth.segments;
        self.growth.segments = target;
        self.segments.grow(target);
        for segment in before..target {
            self.segments.mark_free(SegmentId(segment as u32));
        }
    }
}
