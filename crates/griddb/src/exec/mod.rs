//! What statements do: decoded, then answered at once, made to a change of the schema, or run as an operation on the container's partition.
//!
//! | statement | module |
//! |---|---|
//! | containers: make, find, describe, list, drop | [`containers`] |
//! | rows by key: put, get, delete, append | [`by_key`] |
//! | many rows of several containers of one partition | [`many`] |
//! | queries: TQL, ranges of time, aggregation, sampling | [`query`], in parts by [`part`] |
//! | sessions, which mean nothing without transactions | [`sessions`] |
//!
//! [`start`] says what must happen for a statement; those about rows are an [`Execution`].
//!
//! Whatever a statement writes is one atomic group, as a partition is on one core.

mod by_key;
mod containers;
mod failure;
mod head;
mod many;
mod operation;
mod part;
mod query;
mod request;
mod rows;
mod sessions;
mod start;
mod work;

pub use operation::Execution;
pub use request::Request;
pub use start::start;
pub use work::Work;

#[cfg(test)]
mod tests;
