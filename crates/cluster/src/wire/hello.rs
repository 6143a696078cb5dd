//! Who is at the other end of a connection, and whether to talk to it.

use crate::codec::{CodecError, Reader, Writer};
use crate::raft_log::Identity;
use crate::state::{MemberState, State};
use crate::version_codec::read;
use crate::versions::Versions;
use base::NodeId;

const TEXT_BYTES: usize = 1024;

/// The first frame in each direction. Every version can read it, and what refuses it: it only grows, at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// What the sender knows of the nodes' protocol.
    pub protocol_versions: Versions,
    /// The cluster that it means.
    pub cluster_name: String,
    /// The cluster that it belongs to; 0 while it joins.
    pub cluster_id: u128,
    /// Its id; none while it joins.
    pub node: Option<NodeId>,
    /// Its data directory.
    pub host_id: u128,
    /// Its process.
    pub incarnation: u64,
    /// Its core at this end.
    pub core: u16,
    /// How many cores it has.
    pub cores: u16,
    /// The core that it wants to talk to.
    pub target_core: u16,
    /// Where it listens for other nodes; none from releases that do not say it. A member that has moved is found by it.
    pub node_address: Option<String>,
}

impl Hello {
    /// The body of a `HELLO` or `WELCOME` frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.varint(u64::from(self.protocol_versions.latest()));
        writer.text(&self.cluster_name);
        writer.u128(self.cluster_id);
        writer.optional_node(self.node);
        writer.u128(self.host_id);
        writer.u64(self.incarnation);
        for number in [self.core, self.cores, self.target_core] {
            writer.varint(u64::from(number));
        }
        writer.varint(u64::from(self.protocol_versions.oldest()));
        writer.text(self.node_address.as_deref().unwrap_or_default());
        writer.bytes
    }

    /// From the body of a frame. What a later version has behind the fields of this one is not read. Version 2 did not say which one is its oldest: it knew no other.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(body: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(body);
        let latest = read(&mut reader)?;
        let mut hello = Self {
            protocol_versions: Versions::checked(latest, latest)?,
            cluster_name: reader.text("cluster name")?,
            cluster_id: reader.u128("cluster id")?,
            node: reader.optional_node("member")?,
            host_id: reader.u128("host id")?,
            incarnation: reader.u64("incarnation")?,
            core: reader.varint_up_to(u64::from(u16::MAX), "core")? as u16,
            cores: reader.varint_up_to(u64::from(u16::MAX), "cores")? as u16,
            target_core: reader.varint_up_to(u64::from(u16::MAX), "core")? as u16,
            node_address: None,
        };
        if !reader.is_at_end() {
            hello.protocol_versions = Versions::checked(read(&mut reader)?, latest)?;
        }
        if !reader.is_at_end() {
            hello.node_address = Some(reader.text("node address")?).filter(|address| !address.is_empty());
        }
        if hello.cores == 0 || hello.core >= hello.cores {
            return Err(CodecError::Inconsistent { what: "core" });
        }
        Ok(hello)
    }
}

/// Why a node does not talk to another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It knows no version of the nodes' protocol that is known here.
    #[error(
        "it speaks version {theirs} of the nodes' protocol, this node {ours}; upgrade {} first to a release that knows versions of both",
        if theirs.latest() < ours.oldest() { "it" } else { "this node" }
    )]
    Version {
        /// What it knows.
        theirs: Versions,
        /// What is known here.
        ours: Versions,
    },
    /// It does not know the version that its cluster goes by.
    #[error(
        "it speaks version {theirs} of the nodes' protocol, and all members know version {agreed}, which the cluster goes by; start it with a release that knows {agreed}"
    )]
    Outdated {
        /// What it knows.
        theirs: Versions,
        /// The cluster's version.
        agreed: u16,
    },
    /// It means another cluster.
    #[error("it belongs to cluster '{theirs}', this node to '{ours}'; check the configured cluster name and addresses")]
    ClusterName {
        /// Its name.
        theirs: String,
        /// Ours.
        ours: String,
    },
    /// It belongs to another cluster of the same name.
    #[error("it belongs to another cluster named '{name}', with id {theirs:032x}; this one has {ours:032x}")]
    ClusterId {
        /// The name of both.
        name: String,
        /// Its id.
        theirs: u128,
        /// Ours.
        ours: u128,
    },
    /// This node is not yet a member itself.
    #[error("this node is not yet a member of a cluster itself; name one that is")]
    NotYetMember,
    /// It was removed.
    #[error("member {} was removed from the cluster; empty its data directory to join as a new one", node.0)]
    Gone {
        /// What it says it is.
        node: NodeId,
    },
    /// Another data directory is that member.
    #[error("member {} is host {ours:032x}, not {theirs:032x}", node.0)]
    OtherHost {
        /// What it says it is.
        node: NodeId,
        /// Its data directory.
        theirs: u128,
        /// The member's.
        ours: u128,
    },
    /// A newer process of that member has been seen.
    #[error("a newer process of member {} is running", node.0)]
    OldProcess {
        /// What it says it is.
        node: NodeId,
    },
    /// This node has no such core.
    #[error("there is no core {core} here, only {cores}")]
    NoSuchCore {
        /// What it wants.
        core: u16,
        /// How many there are.
        cores: u16,
    },
    /// It is this node.
    #[error("this is the node itself; name another member's address")]
    Myself,
}

impl Refusal {
    /// The number that stands for it in a frame.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Version { .. } => 1,
            Self::ClusterName { .. } => 2,
            Self::ClusterId { .. } => 3,
            Self::NotYetMember => 4,
            Self::Gone { .. } => 5,
            Self::OtherHost { .. } => 6,
            Self::OldProcess { .. } => 7,
            Self::NoSuchCore { .. } => 8,
            Self::Myself => 9,
            Self::Outdated { .. } => 10,
        }
    }

    /// What is sent for it.
    #[must_use]
    pub fn message(&self) -> RefusalMessage {
        RefusalMessage { code: self.code(), text: self.to_string() }
    }
}

/// Why the other node does not talk to this one, or why a request to join was refused (code 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalMessage {
    /// [`Refusal::code`]; 0 for anything else.
    pub code: u8,
    /// For people.
    pub text: String,
}

impl RefusalMessage {
    /// The body of a `REFUSAL` frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u8(self.code);
        let mut len = self.text.len().min(TEXT_BYTES);
        while !self.text.is_char_boundary(len) {
            len -= 1;
        }
        writer.text(&self.text[..len]);
        writer.bytes
    }

    /// From the body of a frame.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(body: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(body);
        let message = Self { code: reader.u8("refusal")?, text: reader.text("refusal")? };
        reader.end()?;
        Ok(message)
    }
}

/// The version that a link speaks between a program that knows `ours`, in a cluster of which `state` is known, and one that knows `theirs`.
///
/// # Errors
/// When there is none, or the other program does not know what the cluster goes by. That it is too new for that is not said here: what is known here may be old.
pub fn link_version(theirs: Versions, ours: Versions, state: &State) -> Result<u16, Refusal> {
    let version = ours.shared_with(theirs).ok_or(Refusal::Version { theirs, ours })?;
    let agreed = state.protocol_version();
    if theirs.latest() < agreed { Err(Refusal::Outdated { theirs, agreed }) } else { Ok(version) }
}

/// Whether a node that belongs to `me`, knows the versions `ours`, has `cores` cores and knows `state` talks to who has connected and says `hello`; in which
/// version, if it does.
///
/// # Errors
/// Why it does not.
pub fn accept(hello: &Hello, me: &Identity, ours: Versions, cores: u16, state: &State) -> Result<u16, Refusal> {
    let version = link_version(hello.protocol_versions, ours, state)?;
    if hello.cluster_name != me.cluster_name {
        return Err(Refusal::ClusterName { theirs: hello.cluster_name.clone(), ours: me.cluster_name.clone() });
    }
    if hello.host_id == me.host_id {
        return Err(Refusal::Myself);
    }
    if hello.target_core >= cores {
        return Err(Refusal::NoSuchCore { core: hello.target_core, cores });
    }
    let Some(node) = hello.node else {
        let is_member = state.member(me.node).is_some();
        return if is_member { Ok(version) } else { Err(Refusal::NotYetMember) };
    };
    if hello.cluster_id != me.cluster_id {
        return Err(Refusal::ClusterId { name: me.cluster_name.clone(), theirs: hello.cluster_id, ours: me.cluster_id });
    }
    match state.members.get(&node) {
        // It is newer than what is known here, and it may be who leads and brings what is newer.
        None => Ok(version),
        Some(member) if member.state == MemberState::Removed => Err(Refusal::Gone { node }),
        Some(member) if member.profile.host_id != hello.host_id => {
            Err(Refusal::OtherHost { node, theirs: hello.host_id, ours: member.profile.host_id })
        }
        Some(member) if member.previous_incarnation == hello.incarnation => Err(Refusal::OldProcess { node }),
        Some(_) => Ok(version),
    }
}
