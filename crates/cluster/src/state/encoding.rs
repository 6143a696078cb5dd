//! The state as bytes: what a snapshot of the metadata group holds.

use super::{KEYSPACES_MAX, MEMBERS_MAX, Member, SlotMap, State};
use crate::codec::{CodecError, Reader, Writer};
use crate::versions::Versions;
use model::schema_blob;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A state's bytes are fewer than this.
pub(crate) const STATE_BYTES_MAX: usize = 15 << 20;

impl State {
    /// The bytes, in the version that the cluster goes by; equal states give equal ones.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.varint(u64::from(self.protocol_version()));
        writer.u128(self.cluster_id);
        writer.text(&self.cluster_name);
        writer.varint(self.version);
        writer.varint(self.members.len() as u64);
        for member in self.members.values() {
            member.encode(&mut writer, self.protocol_version());
        }
        writer.bytes(&schema_blob::encode(&self.schema));
        writer.varint(self.keyspaces.len() as u64);
        for (name, map) in &self.keyspaces {
            writer.text(name);
            map.encode(&mut writer);
        }
        writer.bytes
    }

    /// The state in `bytes`, by a program that knows the versions `known`.
    ///
    /// # Errors
    /// When they are not what [`State::encode`] gives.
    pub fn decode(bytes: &[u8], known: Versions) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes);
        let protocol_version = known.decode_one(&mut reader, "the cluster's state")?;
        let mut state = Self { cluster_id: reader.u128("cluster id")?, ..Self::empty() };
        state.cluster_name = reader.text("cluster name")?;
        state.version = reader.varint("version")?;
        let mut members = BTreeMap::new();
        for _ in 0..reader.count(MEMBERS_MAX as usize, "members")? {
            let member = Member::decode(&mut reader)?;
            if member.id.0 > MEMBERS_MAX {
                return Err(CodecError::OutOfRange { what: "member", found: u64::from(member.id.0), limit: u64::from(MEMBERS_MAX) });
            }
            members.insert(member.id, member);
        }
        state.members = Arc::new(members);
        let schema = schema_blob::decode(reader.bytes(STATE_BYTES_MAX, "schema")?);
        state.schema = Arc::new(schema.map_err(|_| CodecError::Inconsistent { what: "schema" })?);
        let mut keyspaces = BTreeMap::new();
        for _ in 0..reader.count(KEYSPACES_MAX as usize, "keyspaces")? {
            let name = reader.text("keyspace")?;
            keyspaces.insert(name, Arc::new(SlotMap::decode(&mut reader)?));
        }
        reader.end()?;
        let maps_are_the_schemas = keyspaces.keys().eq(state.schema.keyspaces.keys());
        let known = |map: &SlotMap| map.iter().all(|slot| slot.in_sync.iter().all(|node| state.members.contains_key(node)));
        let is_agreed = state.protocol_version() == protocol_version;
        if state.members.is_empty() || !is_agreed || !maps_are_the_schemas || !keyspaces.values().all(|map| known(map)) {
            return Err(CodecError::Inconsistent { what: "state" });
        }
        state.keyspaces = keyspaces;
        state.follow_members();
        state.find_due();
        Ok(state)
    }
}
