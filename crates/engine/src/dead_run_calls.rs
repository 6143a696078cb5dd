//! What readers tell the engine of dead runs, and ask it ([`crate::dead_runs`]).

use crate::dead_runs::DeadRun;
use crate::engine::Engine;
use base::{TableId, Token};

impl Engine {
    /// Rows of a table may show something that they did not show before.
    pub fn forget_dead_runs(&mut self, table: TableId) {
        self.dead_runs.forget(table);
    }

    /// The run that is known of a partition.
    #[inline]
    #[must_use]
    pub fn dead_run(&self, table: TableId, token: Token, partition: &[u8]) -> Option<DeadRun> {
        self.dead_runs.find(table, token, partition)
    }

    /// Keeps a run that a read of all its rows has found. It joins the one that is known, or takes its place if it is longer.
    pub fn keep_dead_run(&self, table: TableId, token: Token, partition: &[u8], run: DeadRun) {
        self.dead_runs.keep(table, token, partition, run);
    }
}
