//! What the members of a cluster agree on: who they are, the schema, and who holds each slot; how they come to agree; and the frames between them.
//!
//! A walk through it: [`State`] is what is agreed, changed by a [`Command`] at a time (`state`, `command`). [`Metadata`] is one member's part in the group
//! that decides the commands, keeps them in two blobs, and grants leases (`metadata`, over the consensus library's state machine, with `raft_log` as its
//! storage and `raft_message` as its encoding). [`wire`] has the frames and the first messages of a connection.
//!
//! No clock, socket or file is seen here: time, bytes and what became of writes come in as values, and the same inputs give the same outputs.
//! `docs/internals/metadata.md` has the formats and the argument for leases.

mod codec;
mod command;
mod envelope;
mod metadata;
mod nodes;
mod raft_log;
mod raft_message;
mod state;
mod version_codec;
mod versions;
pub mod wire;

pub use codec::CodecError;
pub use command::{COMMAND_BYTES_MAX, Command, Outcome, PROPOSAL_TIMEOUT, Refused, SlotEpochs};
pub use envelope::GroupMessage;
pub use metadata::{Blobs, DOWN_AFTER_US, Event, HEARTBEAT_US, LEASE_US, Metadata, ProposalId, RestoreError, Stored, TRANSFER_WAIT_US};
pub use nodes::{Learners, NodeSet};
pub use raft_log::{Identity, LOG_BLOB, SNAPSHOT_BLOB};
pub use state::{Assignment, FACTOR_MAX, KEYSPACES_MAX, MEMBERS_MAX, Member, MemberState, MemberStatus, Profile, SlotMap, State, Status};
pub use versions::Versions;
