//! What a core keeps for CQL.

use super::backfills::Backfills;
use super::batch_logs::BatchLogs;
use super::prepared::{CoreStatements, SharedStatements};
use super::rights::RightsOfRoles;
use super::view_builds::ViewBuilds;
use super::view_updates::ViewUpdates;
use crate::cluster::Ring;
use std::sync::Arc;

/// What a core keeps for CQL.
pub(crate) struct CoreState {
    pub(super) statements: CoreStatements,
    pub(super) rights: RightsOfRoles,
    pub(crate) batches: BatchLogs,
    pub(crate) backfills: Backfills,
    pub(crate) view_updates: ViewUpdates,
    pub(crate) view_builds: ViewBuilds,
    /// Without a cluster.
    pub(super) ring: Ring,
}

impl CoreState {
    pub(crate) fn new(shared: Arc<SharedStatements>) -> Self {
        Self {
            statements: CoreStatements::new(shared),
            rights: RightsOfRoles::default(),
            batches: BatchLogs::default(),
            backfills: Backfills::default(),
            view_updates: ViewUpdates::default(),
            view_builds: ViewBuilds::default(),
            ring: Ring::default(),
        }
    }
}
