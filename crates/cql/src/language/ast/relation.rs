//! The parts of WHERE, and of IF, which is made of the same.

use std::fmt;

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

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare(operator, term) => write!(formatter, "{} {term}", operator.sign()),
            Self::In(values) => write!(formatter, "IN {values}"),
            Self::NotIn(values) => write!(formatter, "NOT IN {values}"),
            Self::Between(low, high) => write!(formatter, "BETWEEN {low} AND {high}"),
            Self::Contains(term) => write!(formatter, "CONTAINS {term}"),
            Self::ContainsKey(term) => write!(formatter, "CONTAINS KEY {term}"),
            Self::NotContains(term) => write!(formatter, "NOT CONTAINS {term}"),
            Self::NotContainsKey(term) => write!(formatter, "NOT CONTAINS KEY {term}"),
            Self::Like(term) => write!(formatter, "LIKE {term}"),
            Self::IsNotNull => formatter.write_str("IS NOT NULL"),
        }
    }
}

/// The right side of IN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InValues {
    /// `(…)`, perhaps empty.
    List(Vec<Term>),
    /// One marker for the whole list.
    Marker(BindMarker),
}

impl fmt::Display for InValues {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::List(terms) = self else { return formatter.write_str("?") };
        formatter.write_str("(")?;
        for (position, term) in terms.iter().enumerate() {
            write!(formatter, "{}{term}", if position > 0 { ", " } else { "" })?;
        }
        formatter.write_str(")")
    }
}
