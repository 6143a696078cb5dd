//! Names: of columns and fields, of things within a keyspace, of functions.

use std::{borrow::Borrow, fmt, ops::Deref};

use super::super::quote::quote_identifier;

/// One name as the schema holds it: folded to lower case if it was written without quotes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identifier(Box<str>);

impl Identifier {
    /// The name `text`, taken as it is.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The name's text, without quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Identifier {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Identifier {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Identifier {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl PartialEq<str> for Identifier {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Identifier {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

/// As CQL writes it: quoted when it needs quotes.
impl fmt::Display for Identifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&quote_identifier(&self.0))
    }
}

/// The name of a table, view, index or type, perhaps with its keyspace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QualifiedName {
    /// The keyspace, if the statement names it; else the session's.
    pub keyspace: Option<Identifier>,
    /// The name within the keyspace.
    pub name: Identifier,
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_qualified(formatter, self.keyspace.as_ref(), &self.name)
    }
}

/// The name of a function or aggregate, perhaps with its keyspace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunctionName {
    /// The keyspace, if the statement names it.
    pub keyspace: Option<Identifier>,
    /// The name within the keyspace, or among the native functions.
    pub name: Identifier,
}

impl fmt::Display for FunctionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_qualified(formatter, self.keyspace.as_ref(), &self.name)
    }
}

fn write_qualified(formatter: &mut fmt::Formatter<'_>, keyspace: Option<&Identifier>, name: &Identifier) -> fmt::Result {
    if let Some(keyspace) = keyspace {
        write!(formatter, "{keyspace}.")?;
    }
    write!(formatter, "{name}")
}
