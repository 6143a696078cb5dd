//! A member of the cluster, and what its process says of itself.

use crate::codec::{CodecError, Reader, Writer};
use crate::versions::Versions;
use base::NodeId;

/// The version in which profiles have GridDB's addresses.
const GRIDDB_ADDRESS_SINCE: u16 = 17;
/// Of a profile's bytes: which addresses follow.
const HAS_AEROSPIKE: u8 = 1;
const HAS_GRIDDB: u8 = 2;

/// What a process says of itself when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Of the data directory, made at its first start.
    pub host_id: u128,
    /// Of the process: random at each start.
    pub incarnation: u64,
    /// Where other nodes reach it, `host:port`.
    pub node_address: String,
    /// Where CQL's clients reach it, `host:port`.
    pub cql_address: String,
    /// CQL's shard-aware port; 0 without.
    pub shard_aware_port: u16,
    /// Where Aerospike's clients reach it, `host:port`.
    pub aerospike_address: Option<String>,
    /// Where GridDB's clients reach it, `host:port`.
    pub griddb_address: Option<String>,
    /// How many shards it has.
    pub cores: u16,
    /// What fails together with it.
    pub rack: String,
    /// The data centre's name.
    pub data_center: String,
    /// The program's version.
    pub version: String,
    /// What its program knows of the nodes' protocol.
    pub protocol_versions: Versions,
    /// The start of the machine under it; 0 if that is not known, [`Profile::DAMAGED`] if stored data was found damaged. What a process left in memory is there for
    /// the next one under the same start.
    pub boot: u128,
    /// Whether what it acknowledges is on the device by then: no loss of power takes any of it.
    pub is_durable: bool,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub id: NodeId,
    /// What its newest process said.
    pub profile: Profile,
    /// Of the process before; 0 if there was none. A connection from it is refused.
    pub previous_incarnation: u64,
    /// Where it stands.
    pub state: MemberState,
    /// Whether it is to be emptied. It stays so while it is down.
    pub leaving: bool,
    /// What its place among the slots is drawn from: its own id, or the place of the member that it replaced.
    pub place: u64,
}

/// Where a member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberState {
    /// It is heard.
    Up,
    /// It is not, and all its leases are over.
    Down,
    /// It is heard, and being emptied.
    Draining,
    /// Its process is about to end, and to start again some time: it is no replica any more, but where it has not transferred the primary yet.
    ShuttingDown,
    /// It is no member any more. Its id is never used again.
    Removed,
}

impl MemberState {
    /// The word for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Draining => "draining",
            Self::ShuttingDown => "shutting_down",
            Self::Removed => "removed",
        }
    }
}

impl Member {
    /// Whether it is heard and may serve.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(self.state, MemberState::Up | MemberState::Draining | MemberState::ShuttingDown)
    }

    /// Whether it is heard and means to stay.
    #[must_use]
    pub fn stays(&self) -> bool {
        self.is_up() && self.state != MemberState::ShuttingDown
    }

    /// Whether slots are placed on it.
    #[must_use]
    pub fn is_placeable(&self) -> bool {
        !self.leaving && matches!(self.state, MemberState::Up | MemberState::Down | MemberState::ShuttingDown)
    }

    /// What it is when it is heard again.
    pub(super) fn heard(&self) -> MemberState {
        if self.leaving { MemberState::Draining } else { MemberState::Up }
    }

    pub(super) fn encode(&self, writer: &mut Writer, version: u16) {
        writer.node(self.id);
        self.profile.encode(writer, version);
        writer.u64(self.previous_incarnation);
        writer.u8(match self.state {
            MemberState::Up => 0,
            MemberState::Down => 1,
            MemberState::Draining => 2,
            MemberState::Removed => 3,
            MemberState::ShuttingDown => 4,
        });
        writer.u8(u8::from(self.leaving));
        writer.varint(self.place);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            id: reader.node("member")?,
            profile: Profile::decode(reader)?,
            previous_incarnation: reader.u64("incarnation")?,
            state: match reader.u8("member's state")? {
                0 => MemberState::Up,
                1 => MemberState::Down,
                2 => MemberState::Draining,
                3 => MemberState::Removed,
                4 => MemberState::ShuttingDown,
                found => return Err(CodecError::Unknown { what: "member's state", found: u64::from(found) }),
            },
            leaving: reader.flag("leaving")?,
            place: reader.varint("place")?,
        })
    }
}

impl Profile {
    /// In place of the name of the machine's start: this process has found stored data damaged, and may have lost anything.
    pub const DAMAGED: u128 = u128::MAX;

    /// Whether this process has found all that `before`, the process before it on the same data directory, had acknowledged.
    pub(super) fn has_all_of(&self, before: &Self) -> bool {
        self.boot != Self::DAMAGED && (before.is_durable || (self.boot != 0 && self.boot == before.boot))
    }

    /// What of it is told in `version`.
    pub(super) fn as_told_by(&self, version: u16) -> Self {
        let griddb_address = self.griddb_address.clone().filter(|_| version >= GRIDDB_ADDRESS_SINCE);
        Self { griddb_address, ..self.clone() }
    }

    /// For who speaks `version`.
    pub(crate) fn encode(&self, writer: &mut Writer, version: u16) {
        let griddb_address = self.griddb_address.as_ref().filter(|_| version >= GRIDDB_ADDRESS_SINCE);
        writer.u128(self.host_id);
        writer.u64(self.incarnation);
        writer.text(&self.node_address);
        writer.text(&self.cql_address);
        writer.varint(u64::from(self.shard_aware_port));
        writer.u8(u8::from(self.aerospike_address.is_some()) * HAS_AEROSPIKE + u8::from(griddb_address.is_some()) * HAS_GRIDDB);
        for address in self.aerospike_address.iter().chain(griddb_address) {
            writer.text(address);
        }
        writer.varint(u64::from(self.cores));
        writer.text(&self.rack);
        writer.text(&self.data_center);
        writer.text(&self.version);
        self.protocol_versions.encode(writer);
        writer.u128(self.boot);
        writer.u8(u8::from(self.is_durable));
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (host_id, incarnation) = (reader.u128("host id")?, reader.u64("incarnation")?);
        let (node_address, cql_address) = (reader.text("node address")?, reader.text("CQL address")?);
        let shard_aware_port = reader.varint_up_to(u64::from(u16::MAX), "shard-aware port")? as u16;
        let others = reader.u8("clients' addresses")?;
        if others & !(HAS_AEROSPIKE | HAS_GRIDDB) != 0 {
            return Err(CodecError::Unknown { what: "clients' addresses", found: u64::from(others) });
        }
        let mut address = |flag: u8, what| (others & flag != 0).then(|| reader.text(what)).transpose();
        Ok(Self {
            host_id,
            incarnation,
            node_address,
            cql_address,
            shard_aware_port,
            aerospike_address: address(HAS_AEROSPIKE, "Aerospike address")?,
            griddb_address: address(HAS_GRIDDB, "GridDB address")?,
            cores: match reader.varint_up_to(u64::from(base::SLOT_COUNT), "cores")? {
                0 => return Err(CodecError::Inconsistent { what: "cores" }),
                cores => cores as u16,
            },
            rack: reader.text("rack")?,
            data_center: reader.text("data centre")?,
            version: reader.text("version")?,
            protocol_versions: Versions::decode(reader)?,
            boot: reader.u128("machine's start")?,
            is_durable: reader.flag("durability")?,
        })
    }
}
