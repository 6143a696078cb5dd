//! A statement's words; which parts one has that does not only read. Expressions stay texts: SQLite reads them.

mod definition;
mod division;
mod parser;
mod reader;
mod words;

pub(crate) use definition::type_of_name;
pub use definition::{ColumnDefinition, TableDefinition};
pub use division::{Literal, PartitionedBy, RangeClause};
pub use parser::{Statement, parse};
pub use words::{Word, WordKind, is_blank, with_units_quoted, words};

/// A statement that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SyntaxError(pub String);

#[cfg(test)]
mod tests;
