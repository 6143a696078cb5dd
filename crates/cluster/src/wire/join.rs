//! A process asks to be a member.

use crate::codec::{CodecError, Reader, Writer};
use crate::state::{MEMBERS_MAX, Profile};
use base::NodeId;

/// The request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// What it says of itself.
    pub profile: Profile,
    /// The member whose place it takes.
    pub replaces: Option<NodeId>,
}

/// The answer: it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinReply {
    /// The cluster's name.
    pub cluster_name: String,
    /// The cluster's id.
    pub cluster_id: u128,
    /// What it is from now on.
    pub node: NodeId,
    /// All members and where they are reached.
    pub members: Vec<(NodeId, String)>,
}

impl Join {
    /// The body of a `JOIN` frame, for a link that speaks `version`.
    #[must_use]
    pub fn encode(&self, version: u16) -> Vec<u8> {
        let mut writer = Writer::new();
        self.profile.encode(&mut writer, version);
        writer.optional_node(self.replaces);
        writer.bytes
    }

    /// From the body of a frame.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(body: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(body);
        let join = Self { profile: Profile::decode(&mut reader)?, replaces: reader.optional_node("replaced member")? };
        reader.end()?;
        Ok(join)
    }
}

impl JoinReply {
    /// The body of a `JOIN_REPLY` frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.text(&self.cluster_name);
        writer.u128(self.cluster_id);
        writer.node(self.node);
        writer.varint(self.members.len() as u64);
        for (node, address) in &self.members {
            writer.node(*node);
            writer.text(address);
        }
        writer.bytes
    }

    /// From the body of a frame.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(body: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(body);
        let mut reply = Self {
            cluster_name: reader.text("cluster name")?,
            cluster_id: reader.u128("cluster id")?,
            node: reader.node("member")?,
            members: Vec::new(),
        };
        for _ in 0..reader.count(MEMBERS_MAX as usize, "members")? {
            reply.members.push((reader.node("member")?, reader.text("node address")?));
        }
        reader.end()?;
        Ok(reply)
    }
}
