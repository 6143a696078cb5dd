//! Frames that go by newer metadata than this core has: they wait for it.
//!
//! Nobody can tell whether there is any: a member that says so for ever can have so many bytes wait here, and is refused what it sends beyond.

use crate::cluster::links::remote_core::RemoteCore;
use base::NodeId;
use cluster::wire::BODY_BYTES_MAX;
use std::collections::BTreeMap;

/// Bytes of a member's frames that wait, at most: the largest, and as much again.
const WAITING_BYTES_MAX: usize = 2 * BODY_BYTES_MAX;

/// All of a core.
#[derive(Default)]
pub(crate) struct EarlyFrames {
    frames: Vec<EarlyFrame>,
    /// How much that is, of each member that has some.
    bytes: BTreeMap<NodeId, usize>,
}

/// A frame that goes by newer metadata.
pub(crate) struct EarlyFrame {
    pub(crate) version: u64,
    pub(crate) from: From,
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
}

/// By which connection a frame came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// A link of this core's making.
    Link(RemoteCore),
    /// One that this member has made.
    Member(NodeId),
}

impl From {
    fn node(self) -> NodeId {
        match self {
            Self::Link((node, _)) | Self::Member(node) => node,
        }
    }
}

impl EarlyFrame {
    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.body.len()
    }
}

impl EarlyFrames {
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there is room for it.
    pub(crate) fn push(&mut self, frame: EarlyFrame) -> bool {
        let bytes = self.bytes.entry(frame.from.node()).or_default();
        if *bytes + frame.memory_bytes() > WAITING_BYTES_MAX {
            return false;
        }
        *bytes += frame.memory_bytes();
        self.frames.push(frame);
        true
    }

    /// Those that need no newer metadata than this.
    pub(crate) fn take_ripe(&mut self, version: u64) -> Vec<EarlyFrame> {
        let Self { frames, bytes } = self;
        let ripe: Vec<EarlyFrame> = frames.extract_if(.., |frame| frame.version <= version).collect();
        for frame in &ripe {
            if let Some(bytes) = bytes.get_mut(&frame.from.node()) {
                *bytes -= frame.memory_bytes();
            }
        }
        bytes.retain(|_, bytes| *bytes > 0);
        ripe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(node: u32, version: u64, bytes: usize) -> EarlyFrame {
        EarlyFrame { version, from: From::Member(NodeId(node)), kind: 0, body: vec![0; bytes] }
    }

    #[test]
    fn one_member_has_so_many_bytes_wait_and_no_more() {
        let mut early = EarlyFrames::default();
        let mut count = 0;
        while early.push(frame(1, u64::MAX, 1 << 20)) {
            count += 1;
        }
        assert_eq!(count, WAITING_BYTES_MAX / (1 << 20) - 1, "its frames take a little more than their bodies");
        assert!(early.push(frame(2, 7, BODY_BYTES_MAX)), "another's have room of their own");
        assert_eq!(early.take_ripe(6).len(), 0);
        assert_eq!(early.take_ripe(7).len(), 1);
        assert_eq!((early.bytes.len(), early.len()), (1, count));
        assert!(!early.push(frame(1, 8, 1 << 20)), "what waits still counts");
        assert_eq!(early.take_ripe(u64::MAX).len(), count);
        assert!(early.bytes.is_empty() && early.push(frame(1, 8, BODY_BYTES_MAX)));
    }
}
