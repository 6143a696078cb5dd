//! A term: a value known now, or once values are bound.

use model::{DataType, Table, UserType};
use std::sync::Arc;

/// What gives a value when a statement runs.
#[derive(Clone, Debug)]
pub enum Term {
    /// Null.
    Null,
    /// Wire bytes known when the statement was prepared.
    Constant(Box<[u8]>),
    /// The value bound to this marker.
    Bind(u16),
    /// `(a, b, …)` or a literal collection with parts that are not constant.
    List(Vec<Term>),
    /// A set literal: sorted by the element type when it is built.
    Set(DataType, Vec<Term>),
    /// A map literal: sorted by the key type when it is built.
    Map(DataType, Vec<(Term, Term)>),
    /// A tuple: fields in order, a missing one is null.
    Fields(Vec<Term>),
    /// The field of this number of a tuple.
    Field(Box<Term>, u16),
    /// A user type: fields likewise.
    UserType(Arc<UserType>, Vec<Term>),
    /// A vector literal.
    Vector(DataType, Vec<Term>),
    /// A function of other terms.
    Call(Box<Call>),
    /// A column's value in a JSON object.
    Json(Box<JsonTerm>),
}

/// A call of a native function.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which function, resolved.
    pub function: crate::value::function::FunctionSpec,
    /// Its arguments.
    pub arguments: Vec<Term>,
    /// Different for each call of a statement: two `uuid()` are two UUIDs.
    pub serial: u16,
}

/// A column's value in the JSON object of `INSERT … JSON`.
#[derive(Clone, Debug)]
pub struct JsonTerm {
    /// The object's text.
    pub object: Term,
    /// The column.
    pub column: String,
    /// Its type.
    pub data_type: DataType,
    /// What a column that the object does not have becomes.
    pub missing: Missing,
    /// The table, with the first of its columns: the object may have no other names.
    pub table: Option<Arc<Table>>,
}

/// What a column that a JSON object does not have becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Null: it is deleted.
    Null,
    /// It is left alone.
    Unset,
}
