//! One core of a node: its connections, its shard, and the requests between them and other cores.
//!
//! Bytes come in through [`io::Handler`]; a request runs at once when its partition is here and in memory, and its reply is written straight
//! into the connection's output. Everything else waits in [`Requests`] and is answered later. Nothing here blocks or reads a clock.

use crate::audit::CoreAudit;
use crate::background::Background;
use crate::backup::{CoreBackup, Restores};
use crate::cluster::{ClusterCore, Figures, MetadataBlobs};
use crate::config::NodeConfig;
use crate::connections::Connections;
use crate::handshakes::Handshakes;
use crate::lifecycle::{Lifecycle, OnFailure, OnReady};
use crate::limits::CoreLimits;
use crate::logins::Logins;
use crate::part_sizes::PartSizes;
use crate::pending_clients::PendingClients;
use crate::protocol::cql::SharedStatements;
use crate::protocol::{CoreStates, Workspaces};
use crate::requests::{RequestId, Requests};
use crate::schema_changes::{Marks, SchemaChanges};
use crate::script_log::ScriptLog;
use crate::transport::TlsBuffers;
use base::{BufferPool, CoreId, TableId};
use io::{ConnectionId, Reactor};
use model::Schema;
use model::operation::Context;
use shard::Shard;
use std::collections::VecDeque;
use std::sync::Arc;

/// What buffers for requests that no connection uses hold at most; less where requests have little.
const IDLE_BUFFERS_BYTES_MAX: usize = 4 << 20;

/// One core.
pub struct Core {
    pub(crate) core: CoreId,
    pub(crate) cores: u16,
    pub(crate) config: Arc<NodeConfig>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) shard: Shard,
    pub(crate) protocols: CoreStates,
    pub(crate) requests: Requests,
    /// Only on core 0.
    pub(crate) changes: Option<SchemaChanges>,
    pub(crate) connections: Connections,
    pub(crate) pending: PendingClients,
    pub(crate) workspaces: Option<Box<Workspaces>>,
    /// For requests that come in several pieces.
    pub(crate) buffers: BufferPool,
    pub(crate) tls_buffers: TlsBuffers,
    pub(crate) handshakes: Handshakes,
    pub(crate) background: Background,
    /// When a client's TLS was last complained of.
    pub(crate) tls_failure_logged_us: Option<u64>,
    /// Requests whose parts are all back.
    pub(crate) continuations: VecDeque<RequestId>,
    /// Requests that wait for a time on the monotonic clock.
    pub(crate) delayed: Vec<(u64, RequestId)>,
    /// How much functions of users may still log.
    pub(crate) script_log: ScriptLog,
    pub(crate) parts: PartSizes,
    /// Error frames of requests that were refused while their connection may be in the middle of being served.
    pub(crate) refusals: Vec<(ConnectionId, Vec<u8>)>,
    pub(crate) marks: Marks,
    pub(crate) logins: Logins,
    pub(crate) limits: CoreLimits,
    /// None where nothing is audited.
    pub(crate) audit: Option<Box<CoreAudit>>,
    pub(crate) cluster: Option<Box<ClusterCore>>,
    /// Clients have to go to other nodes: connections are closed as they fall quiet, and all of them then.
    pub(crate) send_away_until_us: Option<u64>,
    /// When to look again for clients that do not read; only while there is too much to send.
    pub(crate) stalls_due_us: Option<u64>,
    pub(crate) figures: Figures,
    pub(crate) lifecycle: Lifecycle,
    /// On core 0: whether one of them has found stored data damaged.
    pub(crate) is_damaged: bool,
    pub(crate) backup: Option<Box<CoreBackup>>,
    pub(crate) restores: Restores,
    /// The index of whose graph a part is being stored.
    pub(crate) vector_part_in_flight: Option<TableId>,
}

/// What a core is made of.
pub struct CoreParts {
    /// Which core.
    pub core: CoreId,
    /// Of how many.
    pub cores: u16,
    /// The node's configuration.
    pub config: Arc<NodeConfig>,
    /// The schema as it was stored.
    pub schema: Arc<Schema>,
    /// The core's shard, recovering.
    pub shard: Shard,
    /// The node's prepared statements.
    pub statements: Arc<SharedStatements>,
    /// With clustering: the blob of this core, if there is one.
    pub replication: Option<Vec<u8>>,
    /// For core 0 of a node with clustering.
    pub metadata: MetadataBlobs,
    /// On core 0: called once, when the node serves clients.
    pub on_ready: Option<OnReady>,
}

impl Core {
    /// A core that accepts clients once all cores have recovered.
    #[must_use]
    pub fn new(parts: CoreParts) -> Self {
        let cluster = parts.config.cluster.clone().map(|config| {
            let metadata = (parts.core == CoreId(0)).then_some(parts.metadata);
            let (name, host_id) = (parts.config.cluster_name.clone(), parts.config.host_id);
            Box::new(ClusterCore::new(config, name, host_id, metadata, parts.replication.as_deref()))
        });
        let buffers = BufferPool::new((parts.config.requests_bytes_max / 16).min(IDLE_BUFFERS_BYTES_MAX));
        let mut core = Self {
            protocols: CoreStates::new(Arc::clone(&parts.statements), &parts.schema),
            changes: (parts.core == CoreId(0)).then(SchemaChanges::default),
            audit: parts.config.audit.clone().map(|config| Box::new(CoreAudit::new(config))),
            core: parts.core,
            cores: parts.cores,
            config: parts.config,
            schema: parts.schema,
            shard: parts.shard,
            requests: Requests::default(),
            connections: Connections::default(),
            pending: PendingClients::default(),
            workspaces: None,
            buffers,
            tls_buffers: TlsBuffers::default(),
            handshakes: Handshakes::default(),
            background: Background::default(),
            tls_failure_logged_us: None,
            continuations: VecDeque::new(),
            delayed: Vec::new(),
            script_log: ScriptLog::default(),
            parts: PartSizes::default(),
            refusals: Vec::new(),
            marks: Marks::default(),
            logins: Logins::default(),
            limits: CoreLimits::default(),
            cluster,
            send_away_until_us: None,
            stalls_due_us: None,
            figures: Figures::default(),
            lifecycle: Lifecycle::new(parts.on_ready),
            is_damaged: false,
            backup: None,
            restores: Restores::default(),
            vector_part_in_flight: None,
        };
        if core.cluster.is_some() {
            // A process that starts anew has its tables, and does not know yet whose they are.
            core.shard.set_replicated(std::iter::empty());
        }
        let schema = Arc::clone(&core.schema);
        core.take_tables(&schema);
        core.tell_board_of_schema();
        if let Some(board) = &core.config.board {
            board.add_hot(core.core, core.shard.hot_partitions());
        }
        core
    }

    /// How many logged batches it has found that their coordinators left unfinished and that are not finished yet.
    #[must_use]
    pub fn unfinished_batches(&self) -> u64 {
        self.protocols.cql.batches.unfinished()
    }

    /// The core's shard, to look at.
    #[must_use]
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// For messages: what is under way of the core's part in a cluster.
    #[must_use]
    pub fn describe_cluster(&self) -> String {
        self.cluster.as_ref().map_or_else(String::new, |cluster| cluster.describe())
    }

    /// On core 0: what this node knows of its cluster.
    #[must_use]
    pub fn cluster_state(&self) -> Option<Arc<cluster::State>> {
        self.cluster.as_ref().map(|cluster| cluster.newest_state())
    }

    /// On core 0: who votes in the metadata's group, as far as this node knows.
    #[must_use]
    pub fn cluster_voters(&self) -> Vec<base::NodeId> {
        self.cluster.as_ref().map(|cluster| cluster.voters()).unwrap_or_default()
    }

    /// Whether the cluster knows of this process, and this core acts as a member.
    #[must_use]
    pub fn takes_part(&self) -> bool {
        self.cluster.as_ref().is_none_or(|cluster| cluster.view.version() > 0)
    }

    /// On core 0: who leads it, as far as this node knows.
    #[must_use]
    pub fn cluster_leader(&self) -> Option<base::NodeId> {
        self.cluster.as_ref().and_then(|cluster| cluster.leader())
    }

    /// Calls `on_failure` once if the shard turns out not to be recoverable. Without it, or when it returns, the core waits for ever.
    #[must_use]
    pub fn with_on_failure(mut self, on_failure: OnFailure) -> Self {
        self.lifecycle.on_failure = Some(on_failure);
        self
    }

    /// A context for work that starts now.
    pub(crate) fn context<R: Reactor>(&mut self, reactor: &R) -> Context {
        self.shard.context(reactor.now())
    }

    /// What moves or copies rows goes about it more slowly, and background clients wait.
    #[inline]
    pub(crate) fn client_came(&mut self) {
        self.background.client_came();
        if let Some(cluster) = &mut self.cluster {
            cluster.client_came();
        } else if let Some(backup) = &mut self.backup {
            backup.client_came();
        }
    }
}
