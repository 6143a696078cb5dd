//! What the first block of a segment says.

use engine::{Mark, SegmentHead, SegmentInfo, Witness};

/// What the first block of a segment says.
#[derive(Default)]
pub(super) struct Head {
    pub(super) head: SegmentHead,
    pub(super) witnesses: Vec<Witness>,
    pub(super) mark: Option<Mark>,
}

impl Head {
    /// Its header, if that is valid.
    pub(super) fn info(&self) -> Option<&SegmentInfo> {
        match &self.head {
            SegmentHead::Valid(info) => Some(info),
            SegmentHead::Blank | SegmentHead::Unknown { .. } | SegmentHead::Damaged => None,
        }
    }
}
