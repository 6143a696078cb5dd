//! One core's data: runs operations against the engine, and parks those that need a row from the device.
//!
//! An operation's way: [`Shard::run`] → rows in memory → staged writes → one atomic group in the log → reply. When a row is missing the caller
//! parks the operation; the shard reads the row and runs it again, and gives the reply through [`Shard::next_finished`]. A write that need not
//! know the row is kept as a delta instead (`deltas`).
//!
//! In a cluster the node says which slots are served here ([`Shard::serve`]), sends what was written ([`Shard::written`]) and says how far
//! others have it ([`Shard::set_committed`]); until then replies wait (`held`). A secondary writes what it is sent ([`Shard::apply_received`]).
//! Rows that another member lacks are given by slot or by key (`catch_up`). Which partitions operations ask for most is known by samples (`hot`).
//! Graphs of vectors follow the rows (`vectors`).

mod apply;
mod backup;
mod catch_up;
mod damage;
mod damage_calls;
mod dead_runs;
mod deltas;
mod error;
mod held;
mod hot;
mod kept;
mod merged_scan;
mod observers;
mod outcome;
mod parked;
mod replicated;
mod replication;
mod reruns;
mod shard;
mod store;
mod table_state;
mod tables;
mod vectors;
mod waiters;

#[cfg(test)]
mod tests;

pub use backup::BACKUP_SCAN;
pub use catch_up::{Chunk, Enough, RowKey, SlotDigest, SlotScan, TailWalk};
pub use deltas::stored_tables;
pub use error::{Refusal, ShardError};
pub use hot::{HotPartition, HotPartitions, HotReport, NOTED_ONE_IN};
pub use kept::KeptFault;
pub use observers::{DerivedTruncation, Observation};
pub use outcome::{Durability, Outcome, Ticket};
pub use replicated::Receipt;
pub use replication::{Access, KeyspaceNumber, Serving, SetId, Written};
pub use shard::Shard;
pub use tables::decode_truncations;
pub use vectors::{VECTORS_SCAN, VectorFigures, VectorImages, VectorIndex, VectorPart};
