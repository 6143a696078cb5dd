//! What a core keeps for CQL.

use super::batch_logs::BatchLogs;
use super::coverings::Coverings;
use super::prepared::{CoreStatements, SharedStatements};
use super::rights::RightsOfRoles;
use super::slot_builds::SlotBuilds;
use super::view_updates::ViewUpdates;
use crate::cluster::Ring;
use crate::request_id::RequestId;
use cql::plan::Prepared;
use model::Schema;
use std::sync::Arc;

/// What a core keeps for CQL.
pub(crate) struct CoreState {
    pub(super) statements: CoreStatements,
    pub(crate) rights: RightsOfRoles,
    pub(crate) batches: BatchLogs,
    /// Of indexes.
    pub(crate) backfills: SlotBuilds,
    /// Of indexes, too.
    pub(super) coverings: Coverings,
    pub(crate) view_updates: ViewUpdates,
    pub(crate) view_builds: SlotBuilds,
    /// What builds the current slot of a view.
    pub(super) view_build: Option<RequestId>,
    /// Without a cluster.
    pub(super) ring: Ring,
}

impl CoreState {
    pub(crate) fn new(shared: Arc<SharedStatements>) -> Self {
        Self {
            statements: CoreStatements::new(shared),
            rights: RightsOfRoles::default(),
            batches: BatchLogs::default(),
            backfills: SlotBuilds::default(),
            coverings: Coverings::default(),
            view_updates: ViewUpdates::default(),
            view_builds: SlotBuilds::default(),
            view_build: None,
            ring: Ring::default(),
        }
    }

    /// The prepared statement of this id, if it is still there.
    pub(crate) fn prepared(&mut self, id: &[u8; 16], schema: &Schema) -> Option<&Arc<Prepared>> {
        self.statements.prepared(id, schema)
    }
}
