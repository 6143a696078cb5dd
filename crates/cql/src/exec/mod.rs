//! Running plans.
//!
//! [`Execution`] is one statement with its values: it says where it must run and is a [`model::operation::Operation`] there. What needs
//! several partitions is driven by a [`model::operation::Coordinator`] on the core that holds the connection.
//!
//! A statement's way: [`Bindings`] (values against markers) → keys (`keys`) → on the shard `modify` or `fetch` → the reply.

mod batch;
mod batch_log;
mod bindings;
mod condition;
mod element;
mod execution;
mod failure;
mod fetch;
mod function;
mod keys;
mod length;
mod level;
mod modify;
mod rows;
mod select;
mod start;
mod store;
mod term;
mod view;
mod writer;

pub use batch::{BatchCoordinator, BatchLimits, BatchStatement, part_of_batch, part_of_modification, start_many};
pub use batch_log::{FoundEntry, LoggedBatch, delete_entry, find_entries, found_entries};
pub use bindings::{Bindings, Bound, Environment, OwnedValues, check_query};
pub use execution::{Execution, Options};
pub use failure::Failure;
pub use keys::{KeyRange, clustering_ranges, partition_keys, single_partition_key};
pub use level::check_serial;
pub(crate) use rows::{Cover, range_of_deletion};
pub use select::{aggregating, can_aggregate, part_of_select};
pub use start::{Work, start};
pub use store::MemoryStore;
pub use view::{
    BuildState, Entries as ViewEntries, PendingEntries, ViewCoordinator, build_state, find_view_entries, is_view_part, view_part,
};
