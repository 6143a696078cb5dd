//! Which keys a statement is about, and the columns and comparisons that plans are made of.

use super::term::Term;
use model::ColumnId;

/// How keys, one or many, are chosen in one column.
#[derive(Clone, Debug)]
pub enum KeyTerm {
    /// `column = term`
    Equal(Term),
    /// `column IN (term, …)`
    In(Vec<Term>),
    /// `column IN ?`: a list is bound.
    InList(Term),
}

impl KeyTerm {
    /// Whether it can give several keys.
    #[must_use]
    pub fn is_in(&self) -> bool {
        !matches!(self, Self::Equal(_))
    }
}

/// One end of a range of clustering keys: terms of a prefix of the clustering columns.
#[derive(Clone, Debug)]
pub struct SliceBound {
    /// The terms, of the columns after those fixed by equality.
    pub terms: Vec<Term>,
    /// Whether the bound itself is within.
    pub inclusive: bool,
}

/// Which clustering keys a statement is about.
#[derive(Clone, Debug, Default)]
pub struct ClusteringPlan {
    /// `=` and `IN` on the first columns.
    pub keys: Vec<KeyTerm>,
    /// `(a, b) IN ((1, 2), …)`: whole prefixes instead of `keys`; each inner vector has the same length.
    pub tuples: Option<TupleKeys>,
    /// `>` or `>=` in the column's own type order (not the table's descending order).
    pub lower: Option<SliceBound>,
    /// `<` or `<=` in the column's own type order.
    pub upper: Option<SliceBound>,
}

/// `(a, b) IN …`
#[derive(Clone, Debug)]
pub enum TupleKeys {
    /// `((1, 2), (3, 4))`
    Terms(Vec<Vec<Term>>),
    /// `(?, ?)`: each marker or term is a whole tuple.
    Tuples(Vec<Term>),
    /// `?`: a list of tuples is bound.
    List(Term),
}

impl ClusteringPlan {
    /// Whether it restricts nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.tuples.is_none() && self.lower.is_none() && self.upper.is_none()
    }
}

/// A column that a plan reads or writes.
#[derive(Clone, Debug)]
pub struct ColumnRef {
    /// Position in `Table::columns`.
    pub position: usize,
    /// Its id.
    pub id: ColumnId,
}

/// How two values are compared in WHERE and IF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `IN`
    In,
    /// `NOT IN`
    NotIn,
    /// `CONTAINS`
    Contains,
    /// `CONTAINS KEY`
    ContainsKey,
    /// `NOT CONTAINS`
    NotContains,
    /// `NOT CONTAINS KEY`
    NotContainsKey,
    /// `LIKE`, with `%` at the ends of a pattern only
    Like(Likes),
    /// `IS NOT NULL`
    IsNotNull,
}

/// Which patterns of LIKE an index looks for, besides a whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likes {
    /// What texts begin with.
    Beginnings,
    /// What texts end with or contain.
    AllButBeginnings,
    /// All of these.
    All,
}

impl Comparator {
    /// Whether it is about the elements of a collection one by one.
    pub(crate) fn is_of_elements(self) -> bool {
        matches!(self, Self::Contains | Self::ContainsKey | Self::NotContains | Self::NotContainsKey)
    }

    /// As a statement has it.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "IN",
            Self::NotIn => "NOT IN",
            Self::Contains => "CONTAINS",
            Self::ContainsKey => "CONTAINS KEY",
            Self::NotContains => "NOT CONTAINS",
            Self::NotContainsKey => "NOT CONTAINS KEY",
            Self::Like(_) => "LIKE",
            Self::IsNotNull => "IS NOT NULL",
        }
    }
}
