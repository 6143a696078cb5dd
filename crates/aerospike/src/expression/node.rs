//! The tree of an expression.

use super::pattern::Pattern;
use super::value::{Type, Value};
use crate::geo::Shape;

/// A part of an expression.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Unknown,
    Value(Value<'a>),
    Bin(Type, &'a [u8]),
    BinType(&'a [u8]),
    Key(Type),
    /// A command about the record.
    About(i64),
    DigestModulo(u32),
    Matches(Box<(Pattern, Node<'a>)>),
    /// Whether one is a region, and the other a point in it.
    Geo(Box<[GeoSide<'a>; 2]>),
    /// Conditions and actions in turn, then the action if none holds.
    Cond(Vec<Node<'a>>),
    /// What variables stand for, then the expression in which they do.
    Let(Vec<Node<'a>>),
    /// A variable by its place among those that are known.
    Variable(usize),
    Call(Box<Call<'a>>),
    Apply(i64, Vec<Node<'a>>),
}

/// A point or a region: one that the client has written, or what an expression gives.
#[derive(Debug)]
pub(super) enum GeoSide<'a> {
    Known(Shape),
    Given(Node<'a>),
}

/// An operation on a list, map, blob or sketch within an expression: its arguments are expressions, what it changes is a copy.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// The operation as bins have it.
    pub(super) operation: u8,
    /// The path to a nested container, as the operation has it.
    pub(super) path: Option<&'a [u8]>,
    pub(super) code: i64,
    pub(super) arguments: Vec<Node<'a>>,
    pub(super) about: Node<'a>,
    pub(super) result: Type,
}
