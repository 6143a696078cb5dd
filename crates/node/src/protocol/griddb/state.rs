//! What a core keeps for GridDB's clients.

use griddb::Catalog;
use model::Schema;
use std::sync::Arc;

/// What a core keeps for GridDB's clients.
#[derive(Default)]
pub(crate) struct CoreState {
    pub(super) catalog: Arc<Catalog>,
    /// When to look for transactions that are over time.
    pub(super) overdue_at_us: u64,
}

impl CoreState {
    pub(crate) fn new(schema: &Schema) -> Self {
        let mut state = Self::default();
        state.follow(schema);
        state
    }

    /// The schema is another one now.
    pub(super) fn follow(&mut self, schema: &Schema) {
        Arc::make_mut(&mut self.catalog).follow(schema);
    }
}
