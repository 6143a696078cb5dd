//! What statements do: decoded, then answered at once, made to a change of the schema, or run as an operation on the container's partition.
//!
//! | statement | module |
//! |---|---|
//! | containers: make, find, describe, list, drop | [`containers`] |
//! | indexes: make, drop | [`indexes`] |
//! | rows by key: put, get, delete, append | [`by_key`] |
//! | rows by the number that a query for update has given them | [`by_id`] |
//! | many rows of several containers of one partition | [`many`] |
//! | queries: TQL, geometries ([`geometries`]), ranges of time, aggregation, sampling | [`query`], in parts by [`part`], by indexes with [`lookup`] |
//! | row sets that come in parts | [`row_set`], [`fetch`] |
//! | sessions | [`sessions`] |
//! | the ends of transactions | [`ending`] |
//! | transactions that are over time | [`overdue`] |
//! | data partitions: expired ones have no rows ([`unexpired`]), those of dropped ones are deleted ([`purge`]), and they are made for rows that are put | [`unmade`] |
//!
//! [`start`] says what must happen for a statement; those about rows are an [`Execution`].
//!
//! Whatever a statement writes is one atomic group, as a partition is on one core.

mod by_id;
mod by_key;
mod containers;
mod ending;
mod explain;
mod fetch;
mod geometries;
mod head;
mod indexes;
mod lookup;
mod many;
mod many_queries;
mod one;
mod operation;
mod overdue;
mod part;
mod purge;
mod query;
mod request;
mod row_set;
mod rows;
mod sessions;
mod start;
mod unexpired;
mod unmade;
mod work;

pub use crate::transaction::LOCK_WAIT_US;
pub use operation::Execution;
pub use overdue::{end_overdue, may_have_transactions};
pub use purge::Purges;
pub(crate) use query::RESUME;
pub use request::{Access, Request};
pub use start::start;
pub use work::Work;

#[cfg(test)]
mod tests;
