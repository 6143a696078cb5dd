//! One core's data: runs operations against the engine, and parks those that need a row from the device.
//!
//! An operation's way: [`Shard::run`] → rows in memory → staged writes → one atomic group in the log → reply. When a row is missing the caller
//! parks the operation; the shard reads the row and runs it again, and gives the reply through [`Shard::next_finished`]. A write that need not
//! know the row is kept as a delta instead (`deltas`).

mod deltas;
mod error;
mod parked;
mod shard;
mod store;

pub use deltas::stored_tables;
pub use error::ShardError;
pub use shard::{Durability, Outcome, Shard, Ticket, decode_truncations};
