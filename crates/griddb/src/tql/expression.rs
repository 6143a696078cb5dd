//! Conditions and values that have been read: columns are positions in the container.

use super::function::Function;
use super::value::Value;
use std::cmp::Ordering;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Value(Value<'static>),
    Column(usize),
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Xor(Box<Node>, Box<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    IsNull(Box<Node>),
    /// Text, pattern and escape.
    Like(Vec<Node>),
    Arithmetic(Operator, Box<Node>, Box<Node>),
    Negate(Box<Node>),
    Function(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Concatenate,
}

impl Comparison {
    /// The same with the sides exchanged.
    pub(super) fn turned(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
        }
    }

    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEqual => order.is_ge(),
        }
    }
}
