//! Changes of the schema that wait or are under way, as core 0 keeps them; and what every core knows of its truncation marks.

use super::change::{SchemaDone, SchemaRequest, SchemaUpdate};
use io::DiskError;
use std::collections::VecDeque;
use std::sync::Arc;

/// Waiting changes, on core 0.
#[derive(Default)]
pub(crate) struct SchemaChanges {
    pub(super) waiting: VecDeque<SchemaRequest>,
    pub(super) current: Option<Change>,
    /// In a cluster: the change that has been proposed.
    pub(super) proposed: Option<Proposed>,
    /// In a cluster: decided changes that some member does not have yet.
    pub(super) decided: Vec<Decided>,
    /// When to store a schema again that could not be stored.
    pub(super) store_due_us: Option<u64>,
}

impl SchemaChanges {
    /// Whether cores are taking a change.
    pub(crate) fn is_under_way(&self) -> bool {
        self.current.is_some()
    }
}

/// A change that is proposed to the cluster.
pub(super) struct Proposed {
    pub(super) request: SchemaRequest,
    pub(super) done: SchemaDone,
    /// The schema's version with the change.
    pub(super) version: u128,
}

/// A change that the cluster has decided.
pub(super) struct Decided {
    pub(super) request: SchemaRequest,
    pub(super) done: SchemaDone,
    /// Of the metadata.
    pub(super) version: u64,
    pub(super) schema_version: u128,
}

/// On every core: writes of the blob with its truncation marks.
#[derive(Default)]
pub(crate) struct Marks {
    pub(super) in_flight: u32,
    /// When to store again after a failure.
    pub(super) due_us: Option<u64>,
}

/// The change that is under way.
pub(super) struct Change {
    /// The request; none if the change came from the cluster.
    pub(super) request: Option<SchemaRequest>,
    pub(super) update: Arc<SchemaUpdate>,
    pub(super) warnings: Vec<String>,
    pub(super) stage: Stage,
    pub(super) cores_left: u16,
    /// The first failure of a core to store its part.
    pub(super) failure: Option<DiskError>,
}

/// Who is applying a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Shards,
    Cores,
}

impl Change {
    pub(super) fn new(request: Option<SchemaRequest>, update: Arc<SchemaUpdate>, warnings: Vec<String>, cores: u16) -> Self {
        Self { request, update, warnings, stage: Stage::Shards, cores_left: cores, failure: None }
    }
}
