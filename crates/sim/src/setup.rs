//! What a simulated node is made of.

use crate::planted::Planted;
use base::NodeId;
use cluster::Versions;
use cql::exec::BatchLimits;
use engine::{Config, LogKey, SegmentCipher};
use io::{Now, Placement};
use node::{AerospikeConfig, Board, ClusterConfig, Listening, NodeConfig, Protocol};
use shard::Durability;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

/// Open and not yet durable segments, as the server has.
pub(crate) const MIRRORS: usize = 3;
/// The store's id: known here, so that what is on a disk can be read by others than the engine.
const STORE: u64 = 0x7A5E;

/// Where nodes listen, in the order of their listeners: CQL, its shard-aware port, Aerospike, other nodes, GridDB.
pub(crate) const LISTENERS: [(u16, Placement); 5] = [
    (9042, Placement::Spread),
    (19042, Placement::ByClientPort),
    (3000, Placement::Spread),
    (NODE_PORT, Placement::ByClientPort),
    (10001, Placement::Spread),
];
/// Where nodes listen for one another.
pub const NODE_PORT: u16 = 7000;

/// Sizes and policies of a node.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Seeds the machine's randomness.
    pub seed: u64,
    /// Cores, each with a shard, a file and stable memory.
    pub cores: u16,
    /// Bytes of a segment.
    pub segment_bytes: u32,
    /// How long each core's file may become.
    pub capacity_bytes: u64,
    /// The memory of each core's engine.
    pub memory_bytes: usize,
    /// A checkpoint of the index is written when the log has grown by so much.
    pub checkpoint_bytes_min: u64,
    /// Rows of a page at most; 0 for no pages.
    pub page_rows_max: usize,
    /// When writes are acknowledged.
    pub durability: Durability,
    /// Replies that a connection may leave unread.
    pub unsent_bytes_max: usize,
    /// What requests may hold on a core.
    pub requests_bytes_max: usize,
    /// The most that time advances between two events that are both due.
    pub step_us: u64,
    /// A bug, to see whether it is found.
    pub planted: Option<Planted>,
    /// Disks and stable memories have ciphertext only.
    pub encrypted: bool,
    /// The identity of the data directory.
    pub host_id: u128,
    /// By how much moving rows may lengthen a request.
    pub migration_latency_us: u64,
    /// How it takes part in a cluster; none for a node by itself.
    pub cluster: Option<ClusterSetup>,
}

/// How a node takes part in a cluster.
#[derive(Clone, Debug)]
pub struct ClusterSetup {
    /// Where the machine is.
    pub address: IpAddr,
    /// Whom it asks to be taken in; nobody if it founds a cluster.
    pub join: Vec<SocketAddr>,
    /// The member whose place it takes.
    pub replaces: Option<NodeId>,
    /// What its program knows of the nodes' protocol.
    pub protocol_versions: Versions,
    /// A bug, to see whether it is found.
    pub planted: Option<node::Planted>,
}

impl Setup {
    /// Small enough that a few hundred rows reach the device, leave memory and are defragmented.
    #[must_use]
    pub fn small(seed: u64) -> Self {
        Self {
            seed,
            cores: 1 + (seed % 3) as u16,
            segment_bytes: 64 << 10,
            capacity_bytes: 4 << 20,
            memory_bytes: 1 << 20,
            checkpoint_bytes_min: 256 << 10,
            page_rows_max: 16,
            durability: if seed.is_multiple_of(4) { Durability::Device } else { Durability::Memory },
            unsent_bytes_max: 256 << 10,
            requests_bytes_max: 1 << 20,
            step_us: 60,
            planted: None,
            encrypted: false,
            host_id: 1,
            migration_latency_us: 1_000,
            cluster: None,
        }
    }

    pub(crate) fn engine_config(&self, core: u16, file_bytes: u64) -> Config {
        let mut config = Config::new(STORE, u32::from(core), file_bytes, self.capacity_bytes, self.memory_bytes);
        config.segment_bytes = self.segment_bytes;
        config.read_unit = if self.seed.is_multiple_of(2) { base::SECTOR_BYTES } else { base::BLOCK_BYTES };
        config.checkpoint_bytes_min = self.checkpoint_bytes_min;
        config.leaf_rows_max = 8;
        config.page_rows_max = self.page_rows_max;
        config.log_key = self.log_key();
        config
    }

    fn log_key(&self) -> Option<LogKey> {
        self.encrypted.then(|| LogKey::new([0x7A; 32]))
    }

    /// Makes a core's disk readable for others than the engine.
    pub(crate) fn decrypt(&self, core: u16, file: &mut [u8]) {
        if let Some(key) = self.log_key() {
            let cipher = SegmentCipher::new(&key, STORE, u32::from(core));
            file.chunks_mut(self.segment_bytes as usize).for_each(|segment| cipher.decrypt_segment(segment));
        }
    }

    /// How old an acknowledged write is at most that a loss of power may take.
    #[must_use]
    pub fn loss_us(&self) -> u64 {
        match self.durability {
            Durability::Memory => self.engine_config(0, 0).flush_interval_us,
            Durability::Device => 0,
        }
    }

    pub(crate) fn node_config(&self, now: Now, incarnation: u64, boot: u64) -> NodeConfig {
        let listening = OnceLock::new();
        let cluster = self.cluster.as_ref().map(|cluster| {
            let [cql, shard_aware, aerospike, node, griddb] = LISTENERS.map(|(port, _)| SocketAddr::new(cluster.address, port));
            let _ = listening.set(Listening {
                cql,
                shard_aware_port: shard_aware.port(),
                aerospike: Some(aerospike),
                aerospike_tls: None,
                griddb: Some(griddb),
                node: Some(node),
            });
            ClusterConfig {
                join: cluster.join.clone(),
                replaces: cluster.replaces,
                incarnation,
                version: "simulated".to_owned(),
                protocol_versions: cluster.protocol_versions,
                boot: u128::from(boot),
                migration_latency_us: self.migration_latency_us,
                tls: None,
                planted: cluster.planted,
            }
        });
        NodeConfig {
            role_uses: Arc::default(),
            live: Arc::new(BatchLimits::default().into()),
            requires_login: false,
            certificates: None,
            first_superuser: None,
            checks_permissions: false,
            client_tls: None,
            audit: None,
            cluster_name: "machine".to_owned(),
            data_center: "datacenter1".to_owned(),
            rack: "rack1".to_owned(),
            host_id: self.host_id,
            listeners: [Protocol::Cql, Protocol::Cql, Protocol::Aerospike, Protocol::Node, Protocol::GridDb].map(Into::into).to_vec(),
            aerospike: AerospikeConfig::new(self.host_id, vec!["test".to_owned()], 2),
            cluster,
            board: self.cluster.is_some().then(|| Arc::new(Board::new(true))),
            listening,
            started_s: now.wall_s() as u32,
            frame_body_bytes_max: 1 << 20,
            unsent_bytes_max: self.unsent_bytes_max,
            requests_bytes_max: self.requests_bytes_max,
        }
    }
}
