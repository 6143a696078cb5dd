//! Tags of disk requests: what a completion is for. All are below 2^63; the rest is the caller's.

use io::DiskTag;

const SHIFT: u32 = 56;
const MASK: u64 = (1 << SHIFT) - 1;

/// Why a request was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A write of the current flush cycle.
    FlushWrite,
    /// The sync that ends a flush cycle.
    FlushSync,
    /// The file grows.
    Extend,
    /// A record for waiting operations, by place in the table of reads.
    Fetch(u64),
    /// The first block of a segment, in recovery.
    Header(u64),
    /// A piece of a segment that is read as a whole: serial of the load and number of the piece.
    Load(u64),
    /// A write of a checkpoint.
    CheckpointWrite,
    /// A sync of a checkpoint.
    CheckpointSync,
    /// A chunk of a checkpoint by its index, in recovery.
    CheckpointRead(u64),
    /// A slice of a segment that is verified.
    Scrub,
    /// Memory for the next frame.
    Populate,
}

impl Purpose {
    pub(crate) fn tag(self) -> DiskTag {
        let (kind, id) = match self {
            Self::FlushWrite => (1, 0),
            Self::FlushSync => (2, 0),
            Self::Extend => (3, 0),
            Self::Fetch(id) => (4, id),
            Self::Header(id) => (5, id),
            Self::Load(id) => (6, id),
            Self::CheckpointWrite => (7, 0),
            Self::CheckpointSync => (8, 0),
            Self::CheckpointRead(id) => (9, id),
            Self::Scrub => (10, 0),
            Self::Populate => (11, 0),
        };
        assert!(id <= MASK);
        DiskTag(kind << SHIFT | id)
    }

    /// `None` for a tag that is not the engine's.
    pub(crate) fn of(tag: DiskTag) -> Option<Self> {
        let id = tag.0 & MASK;
        Some(match tag.0 >> SHIFT {
            1 => Self::FlushWrite,
            2 => Self::FlushSync,
            3 => Self::Extend,
            4 => Self::Fetch(id),
            5 => Self::Header(id),
            6 => Self::Load(id),
            7 => Self::CheckpointWrite,
            8 => Self::CheckpointSync,
            9 => Self::CheckpointRead(id),
            10 => Self::Scrub,
            11 => Self::Populate,
            _ => return None,
        })
    }
}
