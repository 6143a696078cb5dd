//! What a core keeps for Aerospike's clients.

use crate::request_id::RequestId;
use base::TableId;

/// What a core keeps for Aerospike's clients.
#[derive(Default)]
pub(crate) struct CoreState {
    /// Of the namespaces in which there have been transactions: names, and the tables of monitors; none if the schema was not looked at yet.
    pub(super) monitors: Option<Vec<(String, TableId)>>,
    /// When to look for transactions that their clients have left.
    pub(super) sweep_at_us: u64,
    /// The sweeps that are under way.
    pub(super) sweeping: Vec<RequestId>,
}

impl CoreState {
    /// The schema is another one now.
    pub(super) fn schema_changed(&mut self) {
        self.monitors = None;
    }
}
