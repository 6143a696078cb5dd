//! What a member of the metadata group takes and gives: blobs, events, names of proposals.

use crate::codec::CodecError;
use crate::command::Outcome;
use crate::state::State;
use base::NodeId;
use std::sync::Arc;

/// Identifies a proposal of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProposalId(pub u64);

/// What has happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// This is the state now.
    Applied {
        /// The newest state; between it and the one before may lie several commands.
        state: Arc<State>,
    },
    /// A proposal of this process has its outcome. The state that it led to was given before.
    Done {
        /// Which.
        proposal: ProposalId,
        /// What became of it.
        outcome: Outcome,
    },
    /// A member has sent something in a version that this program does not know. It is not followed.
    NotFollowed {
        /// The member.
        from: NodeId,
        /// What.
        why: CodecError,
    },
    /// The cluster goes by a version that this program does not know: this member is silent from now on.
    Outdated {
        /// The cluster's version.
        agreed: u16,
    },
    /// A blob could not be stored: this member is silent from now on.
    StorageFailed {
        /// The blob's name.
        blob: String,
    },
    /// There is no room for a blob. It is tried again each second, and nothing is decided here until it is stored.
    StorageFull {
        /// The blob's name.
        blob: String,
    },
    /// There was no room, and all is stored now: this member goes on.
    StorageWorks,
}

/// What became of a blob that was to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is stored.
    Yes,
    /// There is no room for it; the one that it replaces is still there.
    Full,
    /// Neither it nor another one can be stored.
    Failed,
}

/// The blobs as a process finds them when it starts.
#[derive(Clone, Debug, Default)]
pub struct Blobs {
    /// `metadata-log`.
    pub log: Vec<u8>,
    /// `metadata-snapshot`; none before the first state has arrived.
    pub snapshot: Option<Vec<u8>>,
}

/// Why a member cannot start from its blobs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// A blob is damaged.
    #[error("the cluster's metadata cannot be read: {0}; replace this member by one with an empty data directory")]
    Damaged(CodecError),
    /// A blob was written by a program that knew other versions.
    #[error("the cluster's metadata cannot be read: {0}; start the release that wrote it, or one that knows its versions, too")]
    Version(CodecError),
    /// The data directory belongs to another cluster.
    #[error("this data directory belongs to cluster '{found}', not to '{expected}'")]
    OtherCluster {
        /// The configured name.
        expected: String,
        /// The stored name.
        found: String,
    },
    /// The metadata is another data directory's.
    #[error("the cluster's metadata is of host {found:032x}, this is host {expected:032x}")]
    OtherHost {
        /// This data directory's.
        expected: u128,
        /// The stored one.
        found: u128,
    },
}

impl From<CodecError> for RestoreError {
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::Version { .. } => Self::Version(error),
            damaged => Self::Damaged(damaged),
        }
    }
}
