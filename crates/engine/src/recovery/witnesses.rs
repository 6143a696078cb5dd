//! Segments whose own header never came: others say that it did.
//!
//! A segment with a header older than what is said of it is missing a write that was synced, the one that held its header. It is reported and
//! set aside as one whose header is damaged. If the stable memory has its image, nothing is lost. A segment whose free marker never came is
//! reported, and free: its records were moved away before. What looks like a part of a checkpoint is left to `checkpoint`, which does not use
//! one that is not whole.

use super::Engine;
use crate::format::witness::Witness;
use crate::key::Sequence;
use crate::location::SegmentId;
use crate::segments::Usage;

impl Engine {
    /// Compares what headers say of other segments with those segments.
    pub(super) fn check_witnesses(&mut self) {
        let Some(recovery) = &mut self.recovery else { return };
        let vouched = std::mem::take(&mut recovery.vouched);
        let imaged: Vec<(u32, u64)> = recovery.images.iter().map(|image| (image.header.segment, image.header.generation)).collect();
        for Witness { segment, generation, free } in vouched.iter() {
            self.log.saw_generation(generation);
            if segment.index() >= self.segments.len() {
                // The file has lost its end.
                self.report_damage(segment, 0, 0);
                continue;
            }
            let entry = *self.segments.get(segment);
            let needed = (generation, u64::from(free));
            let has_image = imaged.iter().any(|image| image.0 == segment.0 && (image.1, 0) >= needed);
            let known = (entry.generation, u64::from(entry.usage == Usage::Free)) >= needed;
            if known || has_image || matches!(entry.usage, Usage::Quarantined | Usage::Checkpoint) {
                continue;
            }
            self.miss_header(segment);
            if free {
                self.segments.adopt(segment, Usage::Stored, generation, 0, Sequence(0));
                self.segments.mark_free(segment);
            } else {
                self.segments.adopt(segment, Usage::Quarantined, generation, 0, Sequence(0));
            }
        }
    }

    /// The header of a segment is not the one that it got last.
    pub(super) fn miss_header(&mut self, segment: SegmentId) {
        self.segments.claim(segment);
        self.segments.set_usage(segment, Usage::Quarantined);
        self.report_damage(segment, 0, 0);
    }
}
