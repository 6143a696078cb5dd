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
use crate::witness::Vouched;

impl Engine {
    /// Compares what headers say of other segments with those segments.
    pub(super) fn check_witnesses(&mut self) {
        // If that is accepted, the file may be an older copy: what is newer than it must not cost what it has.
        let is_older = self.config.accepts_loss && self.lacks_data();
        let Some(recovery) = &mut self.recovery else { return };
        let (vouched, in_stable) = (std::mem::take(&mut recovery.vouched), std::mem::take(&mut recovery.vouched_in_stable));
        let mut all = Vouched::default();
        let file_segments = self.segments.len();
        let counts = |witness: &Witness| !is_older || witness.segment.index() >= file_segments;
        vouched.iter().chain(in_stable.iter().filter(counts)).for_each(|witness| all.add(witness));
        let imaged: Vec<(u32, u64)> = recovery.images.iter().map(|image| (image.header.segment, image.header.generation)).collect();
        for Witness { segment, generation, free } in all.iter() {
            self.log.saw_generation(generation);
            if segment.index() >= self.segments.len() {
                // The file has lost its end. If the stable memory has what was there, that is written anew.
                let has_image = imaged.iter().any(|image| image.0 == segment.0 && image.1 >= generation);
                if let Some(recovery) = self.recovery.as_mut().filter(|_| !free && !has_image) {
                    recovery.evidence.beyond.push(Witness { segment, generation, free });
                }
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
