//! A node's configuration.

use crate::audit::AuditConfig;
use crate::cluster::{Board, ClusterConfig};
use crate::first_superuser::FirstSuperuser;
use crate::limits::RoleUses;
use crate::live_settings::LiveSettings;
use crate::logins::{HashedFor, SessionKey};
use crate::protocol::Protocol;
use crate::transport::ClientTlsConfig;
use aerospike::exec::Namespace;
use aerospike::jobs::Jobs;
use cql::wire::FRAME_BODY_BYTES_MAX;
use io::ListenerId;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use tls::IdentityKind;

/// The same for all cores of a node.
#[derive(Debug)]
pub struct NodeConfig {
    /// The cluster's name, as drivers see it.
    pub cluster_name: String,
    /// The data centre's name, as drivers see it.
    pub data_center: String,
    /// The rack's name, as drivers see it.
    pub rack: String,
    /// What may change while it runs.
    pub live: Arc<LiveSettings>,
    /// This node's identity, made at first start.
    pub host_id: u128,
    /// Whether clients have to log in as a role.
    pub requires_login: bool,
    /// How clients' certificates log them in, if they do.
    pub certificates: Option<CertificateLogins>,
    /// What the first superuser is made with, where clients have to log in and there may be none.
    pub first_superuser: Option<Arc<FirstSuperuser>>,
    /// Whether roles need permissions; they do not where nobody has to log in.
    pub checks_permissions: bool,
    /// How clients speak TLS, if they can.
    pub client_tls: Option<ClientTlsConfig>,
    /// How requests are audited, if they are.
    pub audit: Option<AuditConfig>,
    /// What is spoken on each listener, in the order in which they were opened; CQL on all others.
    pub listeners: Vec<Speaks>,
    /// What Aerospike clients are told.
    pub aerospike: AerospikeConfig,
    /// What limited roles use of it.
    pub role_uses: Arc<RoleUses>,
    /// Its part in a cluster; none for a single node.
    pub cluster: Option<ClusterConfig>,
    /// Where operators read figures and leave orders.
    pub board: Option<Arc<Board>>,
    /// Where clients connect: known once the listeners are open,
    /// which is before there are clients.
    pub listening: OnceLock<Listening>,
    /// When the process started, in seconds since the epoch.
    pub started_s: u32,
    /// A request frame's body may have this many bytes.
    pub frame_body_bytes_max: u32,
    /// A connection whose client leaves this many bytes of replies unread is not served until it has taken them.
    pub unsent_bytes_max: usize,
    /// What a core's connections may hold in requests that have arrived only in part or wait, and again in replies that are not sent or
    /// still to come. Beyond it, connections that hold some are served less and at last not at all, and those whose clients do not read
    /// are cut off; what is held stays below one and a half times this in requests, and again in replies.
    pub requests_bytes_max: usize,
}

/// What is spoken on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speaks {
    /// Whose clients connect there.
    pub protocol: Protocol,
    /// Whether those who do not speak TLS are refused there, even if other listeners serve them.
    pub is_tls_only: bool,
}

impl From<Protocol> for Speaks {
    fn from(protocol: Protocol) -> Self {
        Self { protocol, is_tls_only: false }
    }
}

/// How certificates log clients in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateLogins {
    /// What of a certificate is its identity.
    pub identity: IdentityKind,
    /// Whether clients that have no certificate are asked for a password.
    pub or_password: bool,
}

/// What Aerospike clients are told of a node.
#[derive(Clone, Debug, Default)]
pub struct AerospikeConfig {
    /// The namespaces there are.
    pub(crate) namespaces: Vec<Namespace>,
    /// The node's name.
    pub(crate) node_name: String,
    /// The replication factor of namespaces that are new, in a cluster.
    pub(crate) replication_factor: u8,
    /// What the tokens of clients' sessions are signed with.
    pub(crate) session_key: SessionKey,
    /// Scans and queries of all cores that clients may ask after.
    pub(crate) jobs: Arc<Jobs>,
}

impl AerospikeConfig {
    /// The node's name follows from its identity; records of these namespaces last until they are deleted, unless a client says otherwise.
    #[must_use]
    pub fn new(host_id: u128, namespaces: Vec<String>, replication_factor: u8) -> Self {
        let namespaces = namespaces.into_iter().map(|name| Namespace { name, default_ttl_s: 0 }).collect();
        Self {
            namespaces,
            node_name: aerospike_name(host_id),
            replication_factor,
            session_key: SessionKey::default(),
            jobs: Arc::default(),
        }
    }

    pub(crate) fn has_namespace(&self, name: &str) -> bool {
        self.namespaces.iter().any(|namespace| namespace.name == name)
    }
}

/// The name by which Aerospike clients know a node.
pub(crate) fn aerospike_name(host_id: u128) -> String {
    format!("{:016X}", host_id as u64)
}

/// Where a node listens.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    /// For CQL.
    pub cql: SocketAddr,
    /// The shard-aware port.
    pub shard_aware_port: u16,
    /// For Aerospike, if anybody listens.
    pub aerospike: Option<SocketAddr>,
    /// For Aerospike's clients that speak TLS, if they have a port of their own.
    pub aerospike_tls: Option<SocketAddr>,
    /// For GridDB, if anybody listens.
    pub griddb: Option<SocketAddr>,
    /// For other nodes, if clustering is on.
    pub node: Option<SocketAddr>,
}

impl NodeConfig {
    /// A result without pages may have this many bytes: what a frame holds, less its head, and half of what the core's connections may
    /// hold.
    pub(crate) fn result_bytes_max(&self) -> u32 {
        (self.requests_bytes_max / 2).min(FRAME_BODY_BYTES_MAX as usize - (1 << 20)) as u32
    }

    /// For whom passwords that are set here are hashed, besides those who send them.
    pub(crate) fn hashed_for(&self) -> HashedFor {
        HashedFor { aerospike: !self.aerospike.namespaces.is_empty(), griddb: self.listeners.contains(&Protocol::GridDb.into()) }
    }

    pub(crate) fn speaks(&self, listener: ListenerId) -> Speaks {
        self.listeners.get(usize::from(listener.0)).copied().unwrap_or(Protocol::Cql.into())
    }

    pub(crate) fn listening(&self) -> Listening {
        let cql = (Ipv4Addr::LOCALHOST, 0).into();
        let nowhere = Listening { cql, shard_aware_port: 0, aerospike: None, aerospike_tls: None, griddb: None, node: None };
        self.listening.get().copied().unwrap_or(nowhere)
    }
}

/// Name of the blob that holds the schema.
pub const SCHEMA_BLOB: &str = "schema.json";

/// Name of the blob in which a core keeps what it knows of replicas that are away.
#[must_use]
pub fn replication_blob(core: base::CoreId) -> String {
    format!("replication-{}", core.0)
}

/// Name of the blob in which a core keeps up to where each truncated table is empty.
#[must_use]
pub fn truncations_blob(core: base::CoreId) -> String {
    format!("truncations-{}", core.0)
}
