//! Change data capture: the log of a table's changes, as applications of ScyllaDB read it.
//!
//! A table `t` with `cdc = {'enabled': true}` has a log, the table `t_scylla_cdc_log` of the same keyspace. Each write of `t` adds rows to it,
//! in the atomic group of the row that is written and in its slot: so the log has the replicas of the rows, moves with them, and misses nothing.
//!
//! - [`options`]: what `cdc = {…}` may say.
//! - [`stream`]: the streams of the log, one for each slot, and their ids.
//! - [`log_table`]: the log's columns, and how they follow those of the table.
//! - [`delta`]: what a write has changed in a row.
//! - [`log_row`]: the rows of the log that say so.
//! - [`recorder`]: the observer that writes them.
//!
//! Invariants:
//! - The times of a stream's rows rise in the order in which its slot's primary has written them, whatever timestamps clients send: who has read up to
//!   a time has missed nothing before it.
//! - The log, replayed in this order, gives what the table says; `docs/decisions/0047-change-data-capture.md` says how it differs from ScyllaDB's.

pub mod delta;
pub mod log_row;
pub mod log_table;
pub mod options;
pub mod recorder;
pub mod stream;

pub use log_table::{base_of, generation_ms, log_name, log_of};
pub use options::{CdcOptionError, CdcOptions};
pub use recorder::Recorder;
