//! What statements know of a connection, and how much it may still have coming.

use crate::clients::{ClientState, ConnectedClient, Encryption};
use crate::permissions::Rights;
use crate::wire::ProtocolVersion;
use std::net::SocketAddr;
use std::sync::Arc;

/// The option of STARTUP with which a client says that nobody waits for its requests, if its value is [`BACKGROUND`].
pub const WORKLOAD: &str = "WORKLOAD";
/// The value of [`WORKLOAD`] of readers of change feeds and of other clients that may be slow.
pub const BACKGROUND: &str = "background";

/// A client's certificate: the authority that has signed it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Certificate {
    /// There is none.
    #[default]
    None,
    /// It does not say whose it is.
    WithoutIdentity,
    /// It is of this identity.
    Of(Arc<str>),
}

/// What statements need to know of the connection, and may change.
#[derive(Clone, Debug)]
pub struct Client {
    /// The connection's protocol version.
    pub version: ProtocolVersion,
    /// As whom it has logged in; none where nobody has to.
    pub role: Option<Arc<str>>,
    /// What that role may do, once it has been looked up: for who checks statements, who also sees whether it is still so.
    pub rights: Option<Arc<Rights>>,
    /// The keyspace that USE chose.
    pub keyspace: Option<String>,
    /// Whether it sees masks in place of masked columns, of a request that another member has sent on: only that one knows for whom.
    pub is_masked: bool,
    /// Where the client is.
    pub address: SocketAddr,
    /// Whether it wants to hear where partitions are: [`TABLETS_ROUTING`].
    pub wants_tablets: bool,
    /// Whether its requests give way to those of others: [`WORKLOAD`].
    pub is_background: bool,
    /// How it speaks TLS, if it does.
    pub encryption: Option<Encryption>,
    /// What it has shown of itself by TLS, where certificates log in.
    pub certificate: Certificate,
    /// What others see of it, once it has sent STARTUP.
    pub(super) connected: Option<Arc<ConnectedClient>>,
    /// Requests whose reply has not been given yet.
    pub in_flight: u32,
    /// How large replies that came later have been: decays towards those of late.
    reply_bytes: usize,
}

/// The size that a connection's first late replies are taken to have.
const REPLY_BYTES_FIRST: usize = 256 << 10;

impl Client {
    /// The client of a request that another member has sent on.
    #[must_use]
    pub fn elsewhere(version: ProtocolVersion, keyspace: Option<String>) -> Self {
        let address = (std::net::Ipv4Addr::UNSPECIFIED, 0).into();
        Self {
            version,
            role: None,
            rights: None,
            keyspace,
            is_masked: false,
            address,
            wants_tablets: false,
            is_background: false,
            encryption: None,
            certificate: Certificate::None,
            connected: None,
            in_flight: 0,
            reply_bytes: REPLY_BYTES_FIRST,
        }
    }

    /// A client that has not said anything yet.
    pub(super) fn connecting(address: SocketAddr) -> Self {
        Self { address, ..Self::elsewhere(ProtocolVersion::HIGHEST, None) }
    }

    /// It uses this keyspace from now on.
    pub fn use_keyspace(&mut self, keyspace: &str) {
        self.keyspace = Some(keyspace.to_owned());
        self.show(|state| state.keyspace = Some(keyspace.to_owned()));
    }

    pub(super) fn show(&self, change: impl FnOnce(&mut ClientState)) {
        if let Some(connected) = &self.connected {
            connected.change(change);
        }
    }

    /// How large the replies that are still to come may be together.
    #[must_use]
    pub fn outstanding_bytes(&self) -> usize {
        (self.in_flight as usize).saturating_mul(self.reply_bytes)
    }

    /// Whether what is to be sent, with the replies that are outstanding, may exceed `bytes_max`. One reply is always possible, unless
    /// nothing is.
    pub(super) fn has_enough(&self, unsent_bytes: usize, bytes_max: usize) -> bool {
        let holds = unsent_bytes > 0 || self.in_flight > 0 || bytes_max == 0;
        holds && unsent_bytes.saturating_add(self.outstanding_bytes()) >= bytes_max
    }

    /// A reply came later.
    pub(super) fn note_reply(&mut self, bytes: usize) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.reply_bytes = bytes.max(self.reply_bytes - self.reply_bytes / 16);
    }
}
