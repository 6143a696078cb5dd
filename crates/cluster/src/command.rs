//! What the metadata group decides: commands, and what becomes of them.
//!
//! Each command is idempotent, or is compared with what it was made from: one that is decided twice does no harm.

use crate::codec::{CodecError, Reader, Writer};
use crate::state::Profile;
use crate::versions::Versions;
use base::{Epoch, NodeId, SLOT_COUNT, Slot};
use std::time::Duration;

/// A command is shorter than this.
pub const COMMAND_BYTES_MAX: usize = 4 << 20;

const KEYSPACES_MAX: usize = 4096;

/// A change of the cluster's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A process asks to be a member. One that is known by its host id keeps its id.
    Join {
        /// What it says of itself.
        profile: Profile,
        /// The member whose place it takes, which is down.
        replaces: Option<NodeId>,
    },
    /// A member's process has started anew.
    Started {
        /// The member.
        node: NodeId,
        /// The incarnation that is known of it: another one refuses the command.
        previous: u64,
        /// What it says of itself.
        profile: Profile,
    },
    /// A member is silent and all its leases are over. Only the leader of the metadata group says so.
    Down {
        /// The member.
        node: NodeId,
    },
    /// A member that was down is heard again. Only the leader of the metadata group says so.
    Up {
        /// The member.
        node: NodeId,
        /// The process that is heard: another one refuses the command.
        incarnation: u64,
    },
    /// Whoever was primary before these epochs knows by now or has no lease any more. Only the leader of the metadata group says so.
    EndTransfers {
        /// Terms up to here have been taken over.
        up_to: Epoch,
    },
    /// A new schema.
    Schema {
        /// The version it was made from: another one refuses the command.
        expected: u128,
        /// `model::schema_blob`.
        document: Vec<u8>,
    },
    /// A learner has all that the slots' primaries have acknowledged.
    InSync {
        /// The learner.
        node: NodeId,
        /// Where.
        slots: Vec<SlotEpochs>,
    },
    /// A replica that is silent is in sync no longer.
    DropReplica {
        /// The replica.
        node: NodeId,
        /// Where.
        slots: Vec<SlotEpochs>,
    },
    /// The primary of slots goes on without those in sync that it need not wait for: see [`crate::State::has_to_release`].
    Release {
        /// The primary.
        node: NodeId,
        /// Its process: another one refuses the command.
        incarnation: u64,
    },
    /// Slots' primary, which has finished what was under way there, gives them to a replica in sync.
    TransferPrimary {
        /// The replica.
        to: NodeId,
        /// Where.
        slots: Vec<SlotEpochs>,
    },
    /// A member's process is about to end.
    ShuttingDown {
        /// The member.
        node: NodeId,
        /// Its process: another one refuses the command.
        incarnation: u64,
    },
    /// A member is to be emptied.
    Drain {
        /// The member.
        node: NodeId,
    },
    /// A member that is down, or has been emptied, is one no longer.
    Remove {
        /// The member.
        node: NodeId,
        /// Even if it alone has some slots' data.
        force: bool,
    },
}

/// Slots of one keyspace, each with the epoch that the proposer knows of: where another one holds, nothing happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotEpochs {
    /// The keyspace.
    pub keyspace: String,
    /// The slots.
    pub slots: Vec<(Slot, Epoch)>,
}

/// What became of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Done,
    /// The process is a member.
    Joined(NodeId),
    /// The members of some slots have changed.
    Slots {
        /// At how many.
        changed: u32,
        /// At how many the epoch was another one, or the member not what the command supposed.
        passed_over: u32,
    },
    /// A member was removed, and with it the only whole copy of some slots.
    Removed {
        /// How many.
        lost: u32,
    },
    /// Nothing was changed.
    Refused(Refused),
    /// It may hold, may not, and may come to hold later.
    Unknown,
}

/// Why a command changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such member.
    #[error("there is no member {}", node.0)]
    NoSuchMember {
        /// The id.
        node: NodeId,
    },
    /// It was removed.
    #[error("member {} was removed; empty its data directory to join as a new one", node.0)]
    Gone {
        /// The id.
        node: NodeId,
    },
    /// Another process of the member was there first.
    #[error("another process of member {} is known", node.0)]
    OtherProcess {
        /// The member.
        node: NodeId,
    },
    /// Its program does not read what the cluster writes.
    #[error(
        "the cluster goes by version {agreed} of the nodes' protocol, as all its members know it; this program knows {known}: start one of a newer release"
    )]
    TooOld {
        /// The cluster's version.
        agreed: u16,
        /// What the program knows.
        known: Versions,
    },
    /// Its program no longer reads what the cluster writes.
    #[error(
        "the cluster goes by version {agreed} of the nodes' protocol, as some member knows no later one; this program knows {known}: start a release that knows \
         {agreed} until all members (tarndb status) know more"
    )]
    TooNew {
        /// The cluster's version.
        agreed: u16,
        /// What the program knows.
        known: Versions,
    },
    /// The schema has changed in between.
    #[error("the schema has changed in between: its version is {found:032x}")]
    SchemaChanged {
        /// The version that holds.
        found: u128,
    },
    /// The document is no schema, or its version is the one it replaces.
    #[error("the document is no new schema")]
    BadSchema,
    /// Nobody who is up has some slots' data besides it.
    #[error("member {} has the only whole copy of {slots} slots that is not down; bring it or another one back, or force this and lose them", node.0)]
    LastHolder {
        /// The member.
        node: NodeId,
        /// How many.
        slots: u32,
    },
    /// It is up and holds slots.
    #[error("member {} is up and holds {slots} slots; drain it first", node.0)]
    InUse {
        /// The member.
        node: NodeId,
        /// How many.
        slots: u32,
    },
    /// There would be nobody left.
    #[error("member {} is the only one that slots can be placed on", node.0)]
    OnlyMember {
        /// The member.
        node: NodeId,
    },
    /// A bound is reached.
    #[error("there are {limit} {what} already")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The bound.
        limit: u32,
    },
    /// The command's bytes are too many.
    #[error("a command of {bytes} bytes is more than {COMMAND_BYTES_MAX}")]
    TooLarge {
        /// How many.
        bytes: u64,
    },
    /// The member's own storage is full or has failed.
    #[error("this member cannot store the cluster's metadata: its file system is full, or its disk has failed; its log says which")]
    StorageFailed,
    /// Some commands are the leader's own.
    #[error("only the leader of the metadata group may propose this")]
    LeaderOnly,
}

/// How long a proposal may wait for its outcome.
pub const PROPOSAL_TIMEOUT: Duration = Duration::from_secs(10);

impl Command {
    /// Whether only the leader may propose it, from what it sees.
    pub(crate) fn is_leaders(&self) -> bool {
        matches!(self, Self::Down { .. } | Self::Up { .. } | Self::EndTransfers { .. })
    }

    /// For members of a cluster that goes by `version`.
    pub(crate) fn encode(&self, writer: &mut Writer, version: u16) {
        match self {
            Self::Join { profile, replaces } => {
                writer.u8(1);
                profile.encode(writer, version);
                writer.optional_node(*replaces);
            }
            Self::Started { node, previous, profile } => {
                writer.u8(2);
                writer.node(*node);
                writer.u64(*previous);
                profile.encode(writer, version);
            }
            Self::Down { node } => {
                writer.u8(3);
                writer.node(*node);
            }
            Self::Up { node, incarnation } => {
                writer.u8(4);
                writer.node(*node);
                writer.u64(*incarnation);
            }
            Self::EndTransfers { up_to } => {
                writer.u8(5);
                writer.varint(up_to.0);
            }
            Self::Schema { expected, document } => {
                writer.u8(6);
                writer.u128(*expected);
                writer.bytes(document);
            }
            Self::InSync { node, slots } => {
                writer.u8(7);
                writer.node(*node);
                encode_slots(slots, writer);
            }
            Self::DropReplica { node, slots } => {
                writer.u8(8);
                writer.node(*node);
                encode_slots(slots, writer);
            }
            Self::Drain { node } => {
                writer.u8(9);
                writer.node(*node);
            }
            Self::Remove { node, force } => {
                writer.u8(10);
                writer.node(*node);
                writer.u8(u8::from(*force));
            }
            Self::TransferPrimary { to, slots } => {
                writer.u8(11);
                writer.node(*to);
                encode_slots(slots, writer);
            }
            Self::ShuttingDown { node, incarnation } => {
                writer.u8(12);
                writer.node(*node);
                writer.u64(*incarnation);
            }
            Self::Release { node, incarnation } => {
                writer.u8(13);
                writer.node(*node);
                writer.u64(*incarnation);
            }
        }
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(match reader.u8("command")? {
            1 => Self::Join { profile: Profile::decode(reader)?, replaces: reader.optional_node("replaced member")? },
            2 => Self::Started { node: reader.node("member")?, previous: reader.u64("incarnation")?, profile: Profile::decode(reader)? },
            3 => Self::Down { node: reader.node("member")? },
            4 => Self::Up { node: reader.node("member")?, incarnation: reader.u64("incarnation")? },
            5 => Self::EndTransfers { up_to: Epoch(reader.varint("epoch")?) },
            6 => Self::Schema { expected: reader.u128("schema version")?, document: reader.bytes(COMMAND_BYTES_MAX, "schema")?.to_vec() },
            7 => Self::InSync { node: reader.node("member")?, slots: decode_slots(reader)? },
            8 => Self::DropReplica { node: reader.node("member")?, slots: decode_slots(reader)? },
            9 => Self::Drain { node: reader.node("member")? },
            10 => Self::Remove { node: reader.node("member")?, force: reader.flag("force")? },
            11 => Self::TransferPrimary { to: reader.node("member")?, slots: decode_slots(reader)? },
            12 => Self::ShuttingDown { node: reader.node("member")?, incarnation: reader.u64("incarnation")? },
            13 => Self::Release { node: reader.node("member")?, incarnation: reader.u64("incarnation")? },
            found => return Err(CodecError::Unknown { what: "command", found: u64::from(found) }),
        })
    }
}

fn encode_slots(keyspaces: &[SlotEpochs], writer: &mut Writer) {
    writer.varint(keyspaces.len() as u64);
    for SlotEpochs { keyspace, slots } in keyspaces {
        writer.text(keyspace);
        writer.varint(slots.len() as u64);
        for (slot, epoch) in slots {
            writer.varint(u64::from(slot.0));
            writer.varint(epoch.0);
        }
    }
}

fn decode_slots(reader: &mut Reader<'_>) -> Result<Vec<SlotEpochs>, CodecError> {
    let mut keyspaces = Vec::new();
    for _ in 0..reader.count(KEYSPACES_MAX, "keyspaces")? {
        let keyspace = reader.text("keyspace")?;
        let mut slots = Vec::new();
        for _ in 0..reader.count(SLOT_COUNT as usize, "slots")? {
            let slot = reader.varint_up_to(u64::from(SLOT_COUNT - 1), "slot")? as u16;
            slots.push((Slot(slot), Epoch(reader.varint("epoch")?)));
        }
        keyspaces.push(SlotEpochs { keyspace, slots });
    }
    Ok(keyspaces)
}
