//! Frames that go by newer metadata than this core has: they wait for it.

use super::ClusterCore;
use super::frames::split_version;
use super::roles::Target;
use crate::core::Core;
use crate::message::Message;
use base::NodeId;
use cluster::wire::Kind;
use io::Reactor;

/// Frames that wait for newer metadata, at most.
const EARLY_FRAMES_MAX: usize = 10_000;

/// A frame that goes by newer metadata.
pub(super) struct EarlyFrame {
    version: u64,
    from: From,
    kind: u8,
    body: Vec<u8>,
}

/// By which connection a frame came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// A link of this core's making.
    Link(Target),
    /// One that this member has made.
    Member(NodeId),
}

impl ClusterCore {
    /// Keeps a frame that goes by newer metadata than this core's; whether it is one.
    pub(super) fn is_early(&mut self, from: From, kind: Kind, body: &[u8]) -> bool {
        let Some((version, _)) = split_version(kind.0, body).filter(|(version, _)| *version > self.view.version()) else { return false };
        if self.early_frames.len() < EARLY_FRAMES_MAX {
            self.early_frames.push(EarlyFrame { version, from, kind: kind.0, body: body.to_vec() });
        }
        true
    }
}

impl Core {
    /// Takes up frames for which the metadata has come.
    pub(super) fn run_early_frames<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        let version = cluster.view.version();
        let ripe: Vec<EarlyFrame> = cluster.early_frames.extract_if(.., |frame| frame.version <= version).collect();
        for frame in ripe {
            // Those that make no sense would have closed the connection, which may not be there any more.
            let _ = match frame.from {
                From::Link(target) => self.request_of_replica(reactor, target, Kind(frame.kind), &frame.body),
                From::Member(node) => self.word_of_primary(node, Kind(frame.kind), &frame.body),
            };
        }
    }
}
