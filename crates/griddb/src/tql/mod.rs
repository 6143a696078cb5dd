//! TQL and the selections of time series: from a text to rows or one value.
//!
//! [`parse`] resolves a statement against its container; [`Select`] says which keys to read; [`Execution`] takes the rows and gives the
//! answer. The constructors of [`Select`] serve the statements of time series that come without a text. The source is GridDB's TQL reference.

mod aggregate;
mod collect;
mod condition;
mod cut;
mod evaluate;
mod execution;
mod expression;
mod folded;
mod function;
mod geometries;
mod geometry_function;
mod index_range;
mod lexer;
mod parser;
mod range;
mod refusals;
mod sampling;
mod select;
mod time;
mod value;

pub use aggregate::{AggregateResult, Aggregation};
pub use cut::{Cut, Position, Rest};
pub use execution::{Answer, Execution};
pub use folded::{AGGREGATED_COLUMNS_MAX, can_aggregate, read_spec};
pub use index_range::IndexRange;
pub use parser::parse;
pub use range::KeyRange;
pub use select::{Explained, Interpolation, Sampling, Select, TimeOperator};
pub use time::TimeUnit;

#[cfg(test)]
mod tests;
