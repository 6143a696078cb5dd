//! INSERT, UPDATE and DELETE.

use super::{ClusteringPlan, ColumnRef, Comparator, KeyTerm, Mask, Term, ViewPlan};
use model::Table;
use std::sync::Arc;

/// A planned INSERT, UPDATE or DELETE.
#[derive(Clone, Debug)]
pub struct Modify {
    /// The table.
    pub table: Arc<Table>,
    /// Which statement it was.
    pub kind: ModifyKind,
    /// A term for each column of the partition key.
    pub partition: Vec<KeyTerm>,
    /// What it writes to.
    pub target: RowTarget,
    /// Clustering keys; empty for a table without, or a statement about static columns or the whole partition.
    pub clustering: ClusteringPlan,
    /// USING TIMESTAMP.
    pub timestamp: Option<Term>,
    /// USING TTL.
    pub ttl: Option<Term>,
    /// What happens to static columns, by ascending column id.
    pub static_assignments: Vec<(ColumnRef, Assignment)>,
    /// What happens to the row's columns, by ascending column id.
    pub assignments: Vec<(ColumnRef, Assignment)>,
    /// Calls of functions of users among its values.
    pub user_calls: Vec<Term>,
    /// IF.
    pub conditions: Conditions,
    /// What is shown in place of masked columns where a condition does not hold.
    pub masks: Arc<[Arc<Mask>]>,
    /// The views that follow the table.
    pub views: Arc<[ViewPlan]>,
    /// Whether every assignment is [`Assignment::Set`] of a column with one cell and the keys are plain: nothing needs the old row but the
    /// merge.
    pub simple: bool,
}

/// Which statement it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModifyKind {
    /// Makes the row exist.
    Insert,
    /// Sets cells.
    Update,
    /// Deletes cells, rows, ranges or the partition.
    Delete,
}

impl ModifyKind {
    /// What messages call it with IF.
    pub(crate) fn conditional(self) -> &'static str {
        if self == Self::Delete { "deletions" } else { "updates" }
    }
}

/// What a statement writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowTarget {
    /// The rows whose whole clustering key is given.
    Rows,
    /// Only the partition's static columns.
    Static,
    /// DELETE of all rows between two bounds.
    Range,
    /// DELETE of the whole partition.
    Partition,
}

/// What happens to one column.
#[derive(Clone, Debug)]
pub enum Assignment {
    /// `c = v`; null deletes. A collection's elements are all replaced.
    Set(Term),
    /// `DELETE c`
    Delete,
    /// `c = c + v` of a counter; `negative` for `-`.
    Count {
        /// How much.
        by: Term,
        /// Whether it is subtracted.
        negative: bool,
    },
    /// `c = c + v`: appends to a list, adds to a set or map.
    Append(Term),
    /// `c = v + c` of a list.
    Prepend(Term),
    /// `c = c - v`: removes elements of a list or set, keys of a map.
    Remove(Term),
    /// `c[k] = v`: a map's key or a list's index.
    SetElement(Term, Term),
    /// `DELETE c[k]`
    DeleteElement(Term),
    /// `c.f = v`: a field of a user type, by its number.
    SetField(u16, Term),
}

/// IF.
#[derive(Clone, Debug)]
pub enum Conditions {
    /// No condition.
    None,
    /// IF NOT EXISTS
    NotExists,
    /// IF EXISTS
    Exists,
    /// IF column …
    Columns(Vec<Condition>),
}

/// One comparison after IF.
#[derive(Clone, Debug)]
pub struct Condition {
    /// What is compared.
    pub column: ColumnRef,
    /// Which part of it.
    pub target: ConditionTarget,
    /// How.
    pub operator: Comparator,
    /// With what; several for IN.
    pub values: Vec<Term>,
    /// `IN ?`: the one value is a list.
    pub in_list: bool,
}

/// Which part of a column a condition compares.
#[derive(Clone, Debug)]
pub enum ConditionTarget {
    /// The whole.
    Column,
    /// An element.
    Element(Term),
    /// A field of a user type.
    Field(u16),
}

impl Modify {
    /// Whether it marks rows as there, so that they are without any other column.
    #[must_use]
    pub fn marks_rows(&self) -> bool {
        self.kind == ModifyKind::Insert && self.table.has_row_markers()
    }

    /// Whether it has an IF.
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        !matches!(self.conditions, Conditions::None)
    }
}
