//! Ordered reads: the rows of a partition, and the rows of a table in (token, partition key, clustering key) order.
//!
//! A cursor borrows the engine for one turn. When records are missing it reports as many of the following ones as `read_ahead`
//! allows in one `Miss`, so that they come from the device together; the caller fetches them and runs the operation again, from its
//! start or from the position after the last row it has taken.

mod ahead;
mod bounds;
mod partition;
mod table;

pub use ahead::READ_AHEAD_MAX;
pub use bounds::{Direction, PartitionScan, TablePosition, TableRow, TableScan};
pub use partition::PartitionCursor;
pub use table::TableCursor;
