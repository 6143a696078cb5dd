//! SQL over tables that somebody else has: SQLite plans and computes, [`Tables`] gives the rows.
//!
//! | module | what |
//! |---|---|
//! | [`tables`] | the seam: tables, conditions, scans |
//! | `values` | what columns hold, and values are |
//! | `virtual_table` | a table as SQLite sees it: what of a query's conditions its scan is told |
//! | [`spill`] | what is too much for memory |
//! | [`query`] | one statement that reads: prepared, bound, stepped; interrupted from another thread |
//! | `aggregates` | statements whose table aggregates its rows itself |
//! | `opening` | the SQLite of a statement, and what it may do |
//! | `schemas` | where a statement finds a table |
//! | `views` | views that a statement names |
//! | `names` | numbers by which SQLite knows a row again |
//! | `kept` | rows that are kept for a join |
//! | `ranges` | GROUP BY RANGE, written as SQLite knows it |
//! | `result_types` | what else a statement's words tell of its result |
//! | `statement` | SQLite's prepared statement, owned |
//! | `expressions` | a statement written anew where GridDB's SQL is another than SQLite's; types of expressions |
//! | `form` | what times are to a statement |
//! | `functions` | functions that SQLite has not |
//! | [`time`] | times as texts, and parts of them |
//! | [`syntax`] | a statement's words; which parts a statement that writes has |
//!
//! A query has a SQLite of its own, in memory and without a table of its own, so that nothing of one is left for the next. What it may do is to read: no file, no
//! `ATTACH`, no `PRAGMA`. All queries of the process together have at most [`memory::MEMORY_MAX`] bytes, sorting included, and as many that are
//! kept for joins; sorts and tables of their own beyond some of it are put where [`spill`] says.

pub mod memory;
pub mod query;
pub mod spill;
pub mod syntax;
pub mod tables;
pub mod time;

mod aggregates;
mod expressions;
mod form;
mod functions;
mod kept;
mod names;
mod opening;
mod ranges;
mod result_types;
mod schemas;
mod statement;
#[cfg(test)]
mod testing;
mod values;
mod views;
mod virtual_table;

pub use kept::KEPT_BYTES_MAX;
pub use query::{Interrupter, Query, QueryError, ResultColumn};
pub use tables::{
    Aggregation, Column, ColumnType, Condition, Dialect, GroupRows, Lookup, Operator, Order, RowName, Scan, SourceError, Table, Tables,
    Times, Value, ValueRef,
};
pub use views::{EXPANSIONS_MAX, VIEWS_MAX};
