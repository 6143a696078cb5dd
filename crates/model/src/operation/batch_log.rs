//! Where it is kept what a batch over several slots will do, until all of it is done.

use base::TableId;

/// Ids of tables have this bit in none but the logs of batches; they are given out from 1 upwards.
const LOG_TABLE: u32 = 1 << 30;

/// The table that keeps batches whose first statement is about `table`. It has the replicas that `table` has, and goes with it; no client sees it.
#[must_use]
pub fn batch_log(table: TableId) -> TableId {
    TableId(table.0 | LOG_TABLE)
}
