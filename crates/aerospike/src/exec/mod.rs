//! Running requests about records.
//!
//! [`start`] says what must happen for a request: run it on the shard that owns its record ([`RecordRequest`] is a
//! `model::operation::Operation`), coordinate a batch or scan over many, or first declare a set or bins that it is the first to write.
//!
//! Starting a request again after a declaration is safe: nothing of it has run.

mod apply;
mod aside;
mod batch;
mod elsewhere;
mod failure;
mod need;
mod options;
mod read;
mod request;
mod scan;
mod sets;
mod single;
mod start;
mod target;
mod transaction;
mod work;
mod write;

pub use need::{Need, declaration_failure};
pub use options::{IsPrimary, MayRead, Namespace, Options};
pub use scan::UDF_OF_STREAM;
pub use single::RecordRequest;
pub use start::{Shape, part, start};
pub use transaction::sweep;
pub use work::{RecordCoordinator, Work};

#[cfg(test)]
mod tests;
