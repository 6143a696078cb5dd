//! What SELECT computes from a row: columns, parts of them, functions, casts, arithmetic.

use std::fmt;

use super::{
    list::write_enclosed,
    name::{FunctionName, Identifier},
    term::{ArithmeticOperator, BindMarker, Literal, Term, write_entries},
    type_name::{NativeType, TypeName},
};

/// A selector and the name that the statement gives its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorItem {
    /// What to compute.
    pub selector: Selector,
    /// `AS alias`
    pub alias: Option<Identifier>,
}

/// What a cell has besides its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellAttribute {
    /// `WRITETIME(…)`
    WriteTime,
    /// `MAXWRITETIME(…)`
    MaxWriteTime,
    /// `TTL(…)`
    Ttl,
}

impl CellAttribute {
    /// The function's name as result columns carry it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::WriteTime => "writetime",
            Self::MaxWriteTime => "maxwritetime",
            Self::Ttl => "ttl",
        }
    }
}

/// An expression over the columns of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Selector {
    /// A column.
    Column(Identifier),
    /// A constant.
    Literal(Literal),
    /// `?` or `:name`
    Marker(BindMarker),
    /// `count(*)`, and `count(1)` or of any other constant, which mean the same.
    CountRows,
    /// `name(…)`, `count(column)` and `token(…)` among them.
    Function {
        /// The function.
        name: FunctionName,
        /// Its arguments.
        arguments: Vec<Selector>,
    },
    /// `WRITETIME(c)`, `TTL(m['k'])`, `MAXWRITETIME(u.f)`, …
    CellAttribute {
        /// Which attribute.
        attribute: CellAttribute,
        /// A column, or an element, slice or field of one.
        of: Box<Selector>,
    },
    /// `CAST(x AS type)`: converts.
    Cast {
        /// What to convert.
        value: Box<Selector>,
        /// The type to convert to.
        type_name: NativeType,
    },
    /// `(type) x`: says which type a literal is written for.
    TypeHint {
        /// The type.
        type_name: TypeName,
        /// The value.
        value: Box<Selector>,
    },
    /// `x.field`
    Field {
        /// What has the field.
        of: Box<Selector>,
        /// The field.
        field: Identifier,
    },
    /// `x[key]`
    Element {
        /// What has the element.
        of: Box<Selector>,
        /// Its key or index.
        key: Term,
    },
    /// `x[from..to]`, both ends included and either left out.
    Slice {
        /// What has the elements.
        of: Box<Selector>,
        /// The first key.
        from: Option<Term>,
        /// The last key.
        to: Option<Term>,
    },
    /// `left + right` and so on.
    Arithmetic {
        /// What to do.
        operator: ArithmeticOperator,
        /// The left operand.
        left: Box<Selector>,
        /// The right operand.
        right: Box<Selector>,
    },
    /// `-x` of something that is not a number's literal.
    Negation(Box<Selector>),
    /// `[…]`: a list or a vector.
    List(Vec<Selector>),
    /// `{…}`: a set; when empty, a set or a map.
    Set(Vec<Selector>),
    /// `{key: value, …}`: a map, or a user-defined type, whose field names then stand here as columns.
    Map(Vec<(Selector, Selector)>),
    /// `(…)`: a tuple; with one element, a tuple of one if a tuple is wanted, else just brackets.
    Tuple(Vec<Selector>),
}

/// As Cassandra names the result column that has no alias, functions without the keyspace that resolving them adds; names
/// are not quoted.
impl fmt::Display for Selector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(name) => formatter.write_str(name.as_str()),
            Self::Literal(literal) => write!(formatter, "{literal}"),
            Self::Marker(_) => formatter.write_str("?"),
            Self::CountRows => formatter.write_str("count"),
            Self::Function { name, arguments } => {
                if let Some(keyspace) = &name.keyspace {
                    write!(formatter, "{}.", keyspace.as_str())?;
                }
                formatter.write_str(name.name.as_str())?;
                write_enclosed(formatter, '(', arguments, ')')
            }
            Self::CellAttribute { attribute, of } => write!(formatter, "{}({of})", attribute.text()),
            Self::Cast { value, type_name } => write!(formatter, "cast({value} as {})", type_name.text()),
            Self::TypeHint { type_name, value } => write!(formatter, "({type_name}){value}"),
            Self::Field { of, field } => write!(formatter, "{of}.{}", field.as_str()),
            Self::Element { of, key } => write!(formatter, "{of}[{key}]"),
            Self::Slice { of, from, to } => {
                write!(formatter, "{of}[")?;
                if let Some(from) = from {
                    write!(formatter, "{from}")?;
                }
                formatter.write_str("..")?;
                if let Some(to) = to {
                    write!(formatter, "{to}")?;
                }
                formatter.write_str("]")
            }
            Self::Arithmetic { operator, left, right } => write!(formatter, "{left} {} {right}", operator.sign()),
            Self::Negation(value) => write!(formatter, "-{value}"),
            Self::List(elements) => write_enclosed(formatter, '[', elements, ']'),
            Self::Set(elements) => write_enclosed(formatter, '{', elements, '}'),
            Self::Map(entries) => write_entries(formatter, entries),
            Self::Tuple(elements) => write_enclosed(formatter, '(', elements, ')'),
        }
    }
}
