//! What a core keeps for GridDB's clients.

use griddb::Catalog;
use griddb::exec::Purges;
use model::Schema;
use std::sync::Arc;

/// What a core keeps for GridDB's clients.
#[derive(Default)]
pub(crate) struct CoreState {
    pub(super) catalog: Arc<Catalog>,
    /// When to look for transactions that are over time.
    pub(super) overdue_at_us: u64,
    /// In how many of the containers, in this round.
    pub(super) overdue_seen: usize,
    /// What is known of data partitions that were dropped, whose rows are deleted.
    pub(super) purges: Purges,
    /// Whether there is any.
    pub(super) has_dropped: bool,
    /// When to look for such rows.
    pub(super) purge_at_us: u64,
    /// How many of the data partitions were looked at since they were others.
    pub(super) purged: usize,
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
        self.has_dropped = self.catalog.dropped().next().is_some();
        (self.purge_at_us, self.purged) = (0, 0);
    }
}
