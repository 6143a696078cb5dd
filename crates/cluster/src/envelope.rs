//! What members of the metadata group send each other: the body of a `Metadata` frame.

use crate::codec::{CodecError, Reader, Writer};
use crate::command::{COMMAND_BYTES_MAX, Command};
use crate::raft_message;
use crate::versions::Versions;
use base::NodeId;
use raft::eraftpb::Message;

/// One message between members of the metadata's group: [`crate::Metadata::take_messages`] gives it, and the link that it goes by says in which version it is
/// written.
#[derive(Debug, PartialEq)]
pub struct GroupMessage(pub(crate) Envelope);

impl GroupMessage {
    /// The body of a `METADATA` frame for a link that speaks `version`.
    #[must_use]
    pub fn encode(&self, version: u16) -> Vec<u8> {
        self.0.encode(version)
    }
}

/// What it says.
#[derive(Debug, PartialEq)]
pub(crate) enum Envelope {
    /// Between the consensus state machines.
    Group(Box<Message>),
    /// A member to the leader: it is there.
    Heartbeat(Heartbeat),
    /// The leader to a member, as the answer.
    Grant(Grant),
    /// A member's proposal, for the leader.
    Forward(Vec<u8>),
}

/// A member is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heartbeat {
    /// The process that sends it.
    pub(crate) incarnation: u64,
    /// When, on its own clock.
    pub(crate) sent_us: u64,
    /// The newest entry that it acts by.
    pub(crate) applied: u64,
    /// The term that it is in, if the newest grant was from that term's leader; else 0.
    pub(crate) echo_term: u64,
    /// When that grant was sent, on the leader's clock.
    pub(crate) echo_us: u64,
}

/// The leader has heard a heartbeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The leader's term.
    pub(crate) term: u64,
    /// The process that it is for.
    pub(crate) incarnation: u64,
    /// When the heartbeat was sent, on the member's clock.
    pub(crate) heartbeat_us: u64,
    /// How long from then on the member holds a lease; 0 is no lease.
    pub(crate) lease_us: u64,
    /// The lease holds once the member acts by this entry.
    pub(crate) index: u64,
    /// When this was sent, on the leader's clock.
    pub(crate) sent_us: u64,
    /// The newest entry that every member that is up acts by.
    pub(crate) all_applied: u64,
}

/// A command with its proposer: the data of a log entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// The version that it is written in: every member knows it.
    pub(crate) version: u16,
    /// Who proposes.
    pub(crate) node: NodeId,
    /// Its process.
    pub(crate) incarnation: u64,
    /// Which of its proposals; 0 for one whose outcome nobody waits for.
    pub(crate) number: u64,
    /// What.
    pub(crate) command: Command,
}

impl Proposal {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.varint(u64::from(self.version));
        writer.node(self.node);
        writer.u64(self.incarnation);
        writer.varint(self.number);
        self.command.encode(&mut writer, self.version);
        writer.bytes
    }

    /// Whether its version is one of those that are `known`.
    pub(crate) fn check_version(bytes: &[u8], known: Versions) -> Result<u16, CodecError> {
        known.decode_one(&mut Reader::new(bytes), "a command")
    }

    pub(crate) fn decode(bytes: &[u8], known: Versions) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes);
        let proposal = Self {
            version: known.decode_one(&mut reader, "a command")?,
            node: reader.node("proposer")?,
            incarnation: reader.u64("incarnation")?,
            number: reader.varint("proposal")?,
            command: Command::decode(&mut reader)?,
        };
        reader.end()?;
        Ok(proposal)
    }
}

impl Envelope {
    /// For a link that speaks `version`.
    pub(crate) fn encode(&self, version: u16) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.varint(u64::from(version));
        match self {
            Self::Group(message) => {
                writer.u8(1);
                raft_message::encode_message(message, &mut writer);
            }
            Self::Heartbeat(heartbeat) => {
                writer.u8(2);
                writer.u64(heartbeat.incarnation);
                for number in [heartbeat.sent_us, heartbeat.applied, heartbeat.echo_term, heartbeat.echo_us] {
                    writer.varint(number);
                }
            }
            Self::Grant(grant) => {
                writer.u8(3);
                writer.u64(grant.incarnation);
                for number in [grant.term, grant.heartbeat_us, grant.lease_us, grant.index, grant.sent_us, grant.all_applied] {
                    writer.varint(number);
                }
            }
            Self::Forward(proposal) => {
                writer.u8(4);
                writer.bytes(proposal);
            }
        }
        writer.bytes
    }

    pub(crate) fn decode(bytes: &[u8], known: Versions) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes);
        known.decode_one(&mut reader, "a message of the metadata's group")?;
        let envelope = match reader.u8("envelope's kind")? {
            1 => Self::Group(Box::new(raft_message::decode_message(&mut reader)?)),
            2 => Self::Heartbeat(Heartbeat {
                incarnation: reader.u64("incarnation")?,
                sent_us: reader.varint("time")?,
                applied: reader.varint("entry")?,
                echo_term: reader.varint("term")?,
                echo_us: reader.varint("time")?,
            }),
            3 => Self::Grant(Grant {
                incarnation: reader.u64("incarnation")?,
                term: reader.varint("term")?,
                heartbeat_us: reader.varint("time")?,
                lease_us: reader.varint("lease")?,
                index: reader.varint("entry")?,
                sent_us: reader.varint("time")?,
                all_applied: reader.varint("entry")?,
            }),
            4 => Self::Forward(reader.bytes(COMMAND_BYTES_MAX + 1024, "proposal")?.to_vec()),
            found => return Err(CodecError::Unknown { what: "envelope's kind", found: u64::from(found) }),
        };
        reader.end()?;
        Ok(envelope)
    }
}
