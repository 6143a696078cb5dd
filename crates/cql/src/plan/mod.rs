//! Statements resolved against a schema: names are columns, literals are bytes, and what can be decided before the values are known is
//! decided. A plan is immutable and shared by every execution of a prepared statement.

mod assignment;
mod call_planner;
mod column_mask;
mod columns;
mod keys;
mod mask;
mod masked;
mod modify;
mod modify_planner;
mod planner;
mod select;
mod select_planner;
mod term;
mod term_planner;
mod view;

pub use column_mask::column_mask;
pub use keys::{ClusteringPlan, ColumnRef, Comparator, KeyTerm, Likes, SliceBound, TupleKeys};
pub use mask::{Mask, MaskedColumn};
pub use masked::QueriedMasks;
pub use modify::{Assignment, Condition, ConditionTarget, Conditions, Modify, ModifyKind, RowTarget};
pub use planner::{Called, Masking, Planner, Prepared, constant, prepare, view_conditions, view_plans};
pub use select::{
    Aggregate, Expression, Filter, GroupBy, IndexUse, Metadata, Nearest, Output, SLOT_FIRST, SLOT_GONE, SLOT_UNREAD, Select, SortKey,
    Source, SourceColumn, Stamps, Subject, TokenBound, TokenTerm,
};
pub use term::{Call, JsonTerm, Missing, Term};
pub use view::{ViewCondition, ViewPlan};

use crate::CqlError;
use crate::language::ast;
use model::{DataType, Table};
use std::sync::Arc;

/// A statement ready to run.
#[derive(Debug)]
pub enum Statement {
    /// SELECT.
    Select(Arc<Select>),
    /// INSERT, UPDATE or DELETE.
    Modify(Arc<Modify>),
    /// BATCH.
    Batch(Batch),
    /// TRUNCATE.
    Truncate(Arc<Table>),
    /// USE.
    Use(String),
    /// A statement that changes the schema, or is about it: kept as it was written and resolved when it runs.
    Schema(Box<ast::Statement>),
    /// DESCRIBE.
    Describe(Box<ast::Describe>),
}

/// The statements of a BATCH text.
#[derive(Debug)]
pub struct Batch {
    /// How it was declared.
    pub kind: BatchKind,
    /// USING TIMESTAMP of the whole batch.
    pub timestamp: Option<Term>,
    /// Its statements.
    pub statements: Vec<Arc<Modify>>,
}

/// How a batch was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    /// All or nothing.
    Logged,
    /// No promise between partitions.
    Unlogged,
    /// Of counters only.
    Counter,
}

impl BatchKind {
    /// Whether a batch of this kind may have so many statements, so many of them about counters.
    ///
    /// # Errors
    /// When it may not, in Cassandra's words.
    pub(crate) fn check(self, counters: usize, statements: usize) -> Result<(), CqlError> {
        let others = statements - counters;
        Err(CqlError::invalid(match self {
            Self::Counter if others > 0 => "Cannot include non-counter statement in a counter batch",
            _ if counters > 0 && others > 0 => "Counter and non-counter mutations cannot exist in the same batch",
            Self::Logged if counters > 0 => "Cannot include a counter statement in a logged batch",
            _ => return Ok(()),
        }))
    }
}

/// A bind marker.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Its name: given with `:name`, else that of the column or function argument.
    pub name: String,
    /// The table of the statement that it is in; none if that is a batch.
    pub table: Option<Arc<Table>>,
    /// What must be bound.
    pub data_type: DataType,
    /// Whether the list that is bound may have nulls in it: `IF c IN ?`.
    pub has_nulls: bool,
}
