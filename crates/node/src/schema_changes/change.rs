//! A change of the schema: what is asked for, what it comes to, and what came of it.

use crate::config::NodeConfig;
use crate::request_id::RequestId;
use base::{CoreId, TableId};
use cql::CqlError;
use cql::ddl::SchemaEvent;
use io::DiskError;
use model::Schema;
use model::record_set::RecordSetError;
use std::sync::Arc;

/// A change for core 0.
pub struct SchemaRequest {
    /// Where to answer.
    pub origin: CoreId,
    /// Whose request.
    pub request: RequestId,
    /// What to do.
    pub action: SchemaAction,
}

/// A change of the schema or of a whole table.
pub enum SchemaAction {
    /// A change in the terms of a protocol: resolved when its turn comes.
    Change(Box<dyn SchemaChange>),
    /// Empty these tables.
    Truncate(Vec<TableId>),
}

/// A new state of the schema.
pub struct SchemaUpdate {
    /// The whole schema.
    pub schema: Arc<Schema>,
    /// Tables that are no more.
    pub dropped: Vec<TableId>,
    /// Tables that are emptied.
    pub truncated: Vec<TableId>,
    /// What clients that asked for it are told.
    pub events: Vec<SchemaEvent>,
}

/// The outcome of a change.
pub(crate) type SchemaOutcome = Result<SchemaDone, SchemaFailure>;

/// A change that every core has applied, or one that changes nothing.
#[derive(Debug)]
pub struct SchemaDone {
    /// The events of which clients are told.
    pub(crate) events: Vec<SchemaEvent>,
    /// For the client.
    pub(crate) warnings: Vec<String>,
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum SchemaFailure {
    /// A statement of CQL that cannot be done.
    #[error(transparent)]
    Statement(#[from] CqlError),
    /// A record set that cannot be, or not have such bins.
    #[error(transparent)]
    RecordSet(#[from] RecordSetError),
    /// A protocol's own refusal, by its own code.
    #[error("{message}")]
    Rejected {
        /// For its client.
        code: i32,
        /// For people.
        message: String,
    },
    /// The disk did not take the schema.
    #[error("The schema could not be stored: {0}; nothing was changed")]
    NotStored(DiskError),
    /// The cluster has not decided.
    #[error("The cluster has not decided on the change in time; it may still be made")]
    Undecided,
    /// The cluster has refused it.
    #[error("{0}")]
    Refused(cluster::Refused),
    /// The disk did not take the mark of a truncation.
    #[error("The truncation could not be stored: {0}; the rows are gone, but may return after a restart: truncate again")]
    TruncationNotStored(DiskError),
}

/// A change of the schema in a protocol's terms.
pub trait SchemaChange: Send {
    /// Says what it comes to, on core 0 when its turn comes.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure>;
}

/// What a change may depend on besides the schema.
pub struct SchemaEnvironment<'a> {
    pub(crate) config: &'a NodeConfig,
    /// The wall clock.
    pub(crate) now_us: i64,
    /// Makes an identifier for a new table.
    pub(crate) uuid: &'a mut dyn FnMut() -> u128,
    pub(crate) in_cluster: bool,
    /// Members of the cluster; 1 without one.
    pub(crate) members: usize,
    /// Whether every member runs a program that knows roles.
    pub(crate) knows_roles: bool,
    /// Whether every member knows indexes.
    pub(crate) knows_indexes: bool,
    /// Whether every member knows permissions.
    pub(crate) knows_permissions: bool,
    /// Whether every member knows materialized views.
    pub(crate) knows_views: bool,
    /// Whether every member knows functions of users.
    pub(crate) knows_functions: bool,
    /// Whether every member knows identities of roles.
    pub(crate) knows_identities: bool,
    /// Whether every member knows what clients of Aerospike and GridDB log in by.
    pub(crate) knows_digest_logins: bool,
    /// Whether every member knows masks of columns.
    pub(crate) knows_masks: bool,
    /// Whether every member knows what limits of roles are.
    pub(crate) knows_role_limits: bool,
    /// Whether every member writes CDC logs.
    pub(crate) knows_cdc: bool,
    /// Whether every member knows indexes of record sets.
    pub(crate) knows_record_set_indexes: bool,
    /// Whether every member of the cluster knows what SPATIAL indexes of containers are.
    pub(crate) knows_spatial_indexes: bool,
    /// Whether every member of the cluster knows what partitioned tables of GridDB's clients are.
    pub(crate) knows_partitioned_containers: bool,
    /// Whether every member can run functions in WebAssembly.
    pub(crate) knows_wasm: bool,
    /// Whether every member knows transactions over several records.
    pub(crate) knows_record_transactions: bool,
    /// Whether every member knows GeoJSON as texts, and indexes of places and regions.
    pub(crate) knows_geospatial: bool,
    /// Whether every member knows vectors of more than 65,535 dimensions.
    pub(crate) knows_long_vectors: bool,
    /// Whether every member knows indexes that take texts apart.
    pub(crate) knows_analyzers: bool,
}

/// A change that can be made.
#[derive(Default)]
pub struct ResolvedChange {
    /// None if nothing changes.
    pub(crate) update: Option<SchemaUpdate>,
    /// For the client.
    pub(crate) warnings: Vec<String>,
}
