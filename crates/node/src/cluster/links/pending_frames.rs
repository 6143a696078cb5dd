//! Frames that need newer metadata than this core has wait for it.
//!
//! Such metadata may never come, so the bytes of each member are bounded.

use crate::cluster::links::remote_core::RemoteCore;
use base::NodeId;
use cluster::wire::BODY_BYTES_MAX;
use std::collections::BTreeMap;

/// Bytes of a member's frames that wait, at most: the largest, and as much again.
const WAITING_BYTES_MAX: usize = 2 * BODY_BYTES_MAX;

/// All of a core.
#[derive(Default)]
pub(crate) struct PendingFrames {
    frames: Vec<PendingFrame>,
    /// How much that is, of each member that has some.
    bytes: BTreeMap<NodeId, usize>,
}

/// A frame that goes by newer metadata.
pub(crate) struct PendingFrame {
    pub(crate) version: u64,
    pub(crate) from: Origin,
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
}

/// By which connection a frame came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A link of this core's making.
    Link(RemoteCore),
    /// One that this member has made.
    Member(NodeId),
}

impl Origin {
    fn node(self) -> NodeId {
        match self {
            Self::Link((node, _)) | Self::Member(node) => node,
        }
    }
}

impl PendingFrame {
    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.body.len()
    }
}

impl PendingFrames {
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there is room for it.
    pub(crate) fn push(&mut self, frame: PendingFrame) -> bool {
        let bytes = self.bytes.entry(frame.from.node()).or_default();
        if *bytes + frame.memory_bytes() > WAITING_BYTES_MAX {
            return false;
        }
        *bytes += frame.memory_bytes();
        self.frames.push(frame);
        true
    }

    /// Those that need no newer metadata than this.
    pub(crate) fn take_ready(&mut self, version: u64) -> Vec<PendingFrame> {
        let Self { frames, bytes } = self;
        let ready: Vec<PendingFrame> = frames.extract_if(.., |frame| frame.version <= version).collect();
        for frame in &ready {
            if let Some(bytes) = bytes.get_mut(&frame.from.node()) {
                *bytes -= frame.memory_bytes();
            }
        }
        bytes.retain(|_, bytes| *bytes > 0);
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(node: u32, version: u64, bytes: usize) -> PendingFrame {
        PendingFrame { version, from: Origin::Member(NodeId(node)), kind: 0, body: vec![0; bytes] }
    }

    #[test]
    fn one_member_has_so_many_bytes_wait_and_no_more() {
        let mut early = PendingFrames::default();
        let mut count = 0;
        while early.push(frame(1, u64::MAX, 1 << 20)) {
            count += 1;
        }
        assert_eq!(count, WAITING_BYTES_MAX / (1 << 20) - 1, "its frames take a little more than their bodies");
        assert!(early.push(frame(2, 7, BODY_BYTES_MAX)), "another's have room of their own");
        assert_eq!(early.take_ready(6).len(), 0);
        assert_eq!(early.take_ready(7).len(), 1);
        assert_eq!((early.bytes.len(), early.len()), (1, count));
        assert!(!early.push(frame(1, 8, 1 << 20)), "what waits still counts");
        assert_eq!(early.take_ready(u64::MAX).len(), count);
        assert!(early.bytes.is_empty() && early.push(frame(1, 8, BODY_BYTES_MAX)));
    }
}
