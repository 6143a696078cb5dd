//! A node's figures, as they are shown and served.

use crate::cluster::rebuild::progress::RebuildReport;
use crate::request_figures::RequestFigures;
use base::TableId;
use engine::{Stats as EngineStats, TableSizes};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A node's figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Whether the node was started as a member of a cluster.
    pub clustered: bool,
    /// The cluster as this node knows it; none before it has recovered.
    pub cluster: Option<ClusterReport>,
    /// Of each core that has written its figures.
    pub cores: Vec<CoreReport>,
}

/// The cluster as a member knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterReport {
    /// Its name.
    pub name: String,
    /// Its id, in hexadecimal digits.
    pub id: String,
    /// This member; none before it has joined.
    pub node: Option<u32>,
    /// The newest entry of the metadata's log that this member has.
    pub version: u64,
    /// The version of the nodes' protocol that the cluster goes by: the latest that all members know.
    #[serde(default)]
    pub protocol_version: u16,
    /// The leader of the metadata's group, if one is known.
    pub leader: Option<u32>,
    /// How long this member's lease lasts, in milliseconds; none if it has no end, as that of a member that is alone.
    pub lease_ms: Option<u64>,
    /// All members that are not removed.
    pub members: Vec<MemberReport>,
    /// Slots, over all keyspaces, whose primary is not up.
    pub unavailable_slots: u32,
    /// Slots with fewer replicas in sync than their keyspace asks for.
    pub short_slots: u32,
}

/// A member. Slots are counted over all keyspaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberReport {
    /// Its id.
    pub id: u32,
    /// `up`, `down` or `draining`.
    pub state: String,
    /// Whether it is to be emptied; it may be down meanwhile.
    pub leaving: bool,
    /// Whether it votes in the metadata's group, of which a majority must be up.
    pub votes: bool,
    /// Where other nodes reach it.
    pub address: String,
    /// Where CQL's clients reach it.
    pub cql_address: String,
    /// Its rack.
    pub rack: String,
    /// Its data centre.
    pub data_center: String,
    /// Its program's version.
    pub version: String,
    /// The oldest and the latest version of the nodes' protocol that its program knows.
    #[serde(default)]
    pub protocol_versions: [u16; 2],
    /// How many cores it has.
    pub cores: u16,
    /// Slots that it is the primary of.
    pub primaries: u32,
    /// Slots that it is in sync in, as primary or secondary.
    pub replicas: u32,
    /// Slots that it is being rebuilt with.
    pub learners: u32,
}

/// A core's figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreReport {
    /// Its number.
    pub core: u16,
    /// Rows that the index knows, tombstones included.
    pub rows: u64,
    /// Bytes of records that are not obsolete.
    pub live_bytes: u64,
    /// Bytes of the device that are in use, obsolete records included.
    pub device_used_bytes: u64,
    /// Bytes of the device that may be used.
    pub device_capacity_bytes: u64,
    /// Bytes of memory of the engine.
    pub memory_bytes: u64,
    /// Whether the device, or the memory that the index may have, is full: writes that need room are refused.
    #[serde(default)]
    pub is_full: bool,
    /// Records found damaged since the start.
    pub damaged_records: u64,
    /// Of these: those that the start found. What other replicas have of them was copied from there.
    #[serde(default)]
    pub damaged_at_start: u64,
    /// Slots with damaged rows that were found since the start and are not repaired yet.
    #[serde(default)]
    pub slots_to_repair: u32,
    /// Slots whose rows were copied from other replicas, since damage was found in them.
    #[serde(default)]
    pub slots_repaired: u64,
    /// As primary: by member, in how many slots it has damaged rows and is yet to get them anew.
    #[serde(default)]
    pub damaged_members: BTreeMap<u32, u32>,
    /// Logged batches that their coordinators have not brought to an end, and that are not at one yet.
    #[serde(default)]
    pub unfinished_batches: u64,
    /// Log-ins that have failed since the start.
    #[serde(default)]
    pub logins_failed: u64,
    /// How long operations of its device took.
    #[serde(skip)]
    pub disk: io::DiskLatencies,
    /// Clients that were cut before they had done the handshake of TLS or had logged in.
    pub clients_cut: u64,
    /// Requests that took longer than `slow_query_threshold_ms` since the start.
    #[serde(default)]
    pub slow_requests: u64,
    /// Lines of the audit log that were dropped since the start.
    #[serde(default)]
    pub audit_dropped: u64,
    /// Indexes that all its slots with rows have completely, by number.
    #[serde(default)]
    pub indexes_built: BTreeSet<u32>,
    /// Slots that still have to be indexed, counted by index.
    #[serde(default)]
    pub slots_to_index: u32,
    /// Vectors that graphs of its indexes on vectors have.
    #[serde(default)]
    pub vectors_linked: u64,
    /// Of these: vectors that came with what was stored of the graphs before the start.
    #[serde(default)]
    pub vectors_restored: u64,
    /// Vectors that are yet to be linked, and rows that are yet to be looked at for them.
    #[serde(default)]
    pub vectors_left: u64,
    /// Bytes of memory of these graphs.
    #[serde(default)]
    pub vector_bytes: u64,
    /// Indexes on vectors for whose graphs there is no memory: they compare all rows.
    #[serde(default)]
    pub vector_indexes_refused: u64,
    /// Slots that materialized views still have to be built from, counted by view.
    #[serde(default)]
    pub view_slots_left: u32,
    /// Slots with writes that have not reached their views, and whose coordinators have given up: they are delivered again.
    #[serde(default)]
    pub views_behind: u32,
    /// Slots that it is the primary of.
    pub primaries: u32,
    /// Slots that it is a secondary of.
    pub secondaries: u32,
    /// Slots that it is being rebuilt with.
    pub learners: u32,
    /// Slots that it is the primary of and does not serve yet.
    pub unserved: u32,
    /// As primary: replicas that have to be rebuilt, counted by slot.
    pub to_rebuild: u32,
    /// Requests of its clients, and parts of such, that it has sent on to other members since the start.
    #[serde(default)]
    pub forwarded: u64,
    /// As primary: members that are to be rebuilt, and those that were.
    #[serde(default)]
    pub rebuilds: Vec<RebuildReport>,
    /// Slots whose rows of before have to go: those of learners before they are rebuilt, and those that are another member's now.
    #[serde(default)]
    pub to_wipe: u32,
    /// All that its engine tells.
    #[serde(skip)]
    pub engine: EngineStats,
    /// Requests of its clients.
    #[serde(skip)]
    pub requests: RequestFigures,
    /// Its clients' connections.
    #[serde(default)]
    pub connections: u32,
    /// Requests that wait for the device, for other cores or members.
    #[serde(default)]
    pub requests_waiting: u64,
    /// Bytes that requests hold which wait for the device, for other cores or members.
    #[serde(default)]
    pub waiting_bytes: u64,
    /// Tables of which it has something.
    #[serde(skip)]
    pub tables: BTreeMap<TableId, TableSizes>,
    /// What other members have not acknowledged.
    pub pending: Vec<PendingReport>,
    /// Members for whose return it keeps what they have missed.
    pub absent: Vec<u32>,
}

/// What a member has not acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingReport {
    /// The member.
    pub node: u32,
    /// How many bytes.
    pub bytes: u64,
}
