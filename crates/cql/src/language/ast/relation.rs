//! The parts of WHERE, and of IF, which is made of the same.

use super::{
    name::{Identifier, QualifiedName},
    term::{BindMarker, Term},
};

/// What stands after WHERE, joined by AND; empty without a WHERE.
pub type WhereClause = Vec<WhereExpression>;

/// One part of a WHERE clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhereExpression {
    /// A comparison.
    Relation(Relation),
    /// `expr(index, value)`: a query for a custom index.
    CustomIndex {
        /// The index.
        index: QualifiedName,
        /// What to ask it.
        value: Term,
    },
}

/// A comparison of something in the row with values.
///
/// | target | comparisons |
/// |---|---|
/// | `Column` in WHERE | all |
/// | `Element` in WHERE | `Compare` |
/// | `Token` | `Compare`, `Between` |
/// | `Tuple` | `Compare`, `In`, `NotIn`, `Between`; each value is a [`Term::Tuple`] or a [`Term::Marker`] |
/// | any in IF | `Compare`, `In`, `Contains`, `ContainsKey` |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// What is compared.
    pub target: RelationTarget,
    /// With what and how.
    pub comparison: Comparison,
}

/// The left side of a [`Relation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationTarget {
    /// `column`
    Column(Identifier),
    /// `column[key]`
    Element {
        /// The map or list.
        column: Identifier,
        /// The key or index.
        key: Term,
    },
    /// `column.field`; in IF only.
    Field {
        /// The column of a user-defined type.
        column: Identifier,
        /// The field.
        field: Identifier,
    },
    /// `(column, …)`; in WHERE only.
    Tuple(Vec<Identifier>),
    /// `token(column, …)`; in WHERE only.
    Token(Vec<Identifier>),
}

/// `= != < <= > >=`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named after what they mean
pub enum CompareOperator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl CompareOperator {
    /// The operator's sign.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// The operator and the right side of a [`Relation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `= value` and so on.
    Compare(CompareOperator, Term),
    /// `IN …`
    In(InValues),
    /// `NOT IN …`; in WHERE only.
    NotIn(InValues),
    /// `BETWEEN low AND high`; in WHERE only.
    Between(Term, Term),
    /// `CONTAINS value`
    Contains(Term),
    /// `CONTAINS KEY value`
    ContainsKey(Term),
    /// `NOT CONTAINS value`; in WHERE only.
    NotContains(Term),
    /// `NOT CONTAINS KEY value`; in WHERE only.
    NotContainsKey(Term),
    /// `LIKE pattern`; in WHERE only.
    Like(Term),
    /// `IS NOT NULL`; in WHERE only.
    IsNotNull,
}

/// The right side of IN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InValues {
    /// `(…)`, perhaps empty.
    List(Vec<Term>),
    /// One marker for the whole list.
    Marker(BindMarker),
}
