//! What the first block of a segment says.

use engine::{Mark, SegmentHead, Witness};

/// What the first block of a segment says.
#[derive(Default)]
pub(super) struct Head {
    pub(super) head: SegmentHead,
    pub(super) witnesses: Vec<Witness>,
    pub(super) mark: Option<Mark>,
}
