//! `name = value` after WITH in schema statements.

use super::{name::Identifier, term::Literal};

/// One option of a schema statement; a statement has each at most once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The option.
    pub name: Identifier,
    /// Its value.
    pub value: PropertyValue,
}

/// The value of a [`Property`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyValue {
    /// A constant.
    Literal(Literal),
    /// A bare word of the grammar that is not reserved, in lower case.
    Word(Identifier),
    /// `{'key': value, …}`, in the text's order; a key is there at most once.
    Map(Vec<(Literal, Literal)>),
}
