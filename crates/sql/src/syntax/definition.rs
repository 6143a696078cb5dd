//! What CREATE TABLE says.

use super::SyntaxError;
use super::division::{Literal, PartitionedBy};
use super::reader::Parser;
use crate::tables::ColumnType;

/// A table that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDefinition {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ColumnDefinition>,
    /// Names of those that make the key.
    pub key: Vec<String>,
    /// Whether its rows are a series in time.
    pub is_time_series: bool,
    /// Whether it may be there already.
    pub if_not_exists: bool,
    /// What WITH says.
    pub properties: Vec<(String, Literal)>,
    /// How its rows are divided, if they are.
    pub partitioned_by: Option<PartitionedBy>,
}

/// A column that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ColumnType,
    /// Whether it always has a value.
    pub is_not_null: bool,
}

/// Names of types, and what others mean the same.
const TYPES: [(&str, ColumnType); 17] = [
    ("BOOL", ColumnType::Bool),
    ("BOOLEAN", ColumnType::Bool),
    ("BYTE", ColumnType::Byte),
    ("TINYINT", ColumnType::Byte),
    ("SHORT", ColumnType::Short),
    ("SMALLINT", ColumnType::Short),
    ("INTEGER", ColumnType::Integer),
    ("LONG", ColumnType::Long),
    ("BIGINT", ColumnType::Long),
    ("FLOAT", ColumnType::Float),
    ("REAL", ColumnType::Double),
    ("DOUBLE", ColumnType::Double),
    ("TIMESTAMP", ColumnType::Timestamp),
    ("DATETIME", ColumnType::Timestamp),
    ("STRING", ColumnType::Text),
    ("TEXT", ColumnType::Text),
    ("BLOB", ColumnType::Blob),
];

/// What names of types have in them that are no names of their own: the first that fits counts, as GridDB's manual lists them.
const PARTS: [(&str, ColumnType); 8] = [
    ("INT", ColumnType::Integer),
    ("CHAR", ColumnType::Text),
    ("CLOB", ColumnType::Text),
    ("TEXT", ColumnType::Text),
    ("BLOB", ColumnType::Blob),
    ("REAL", ColumnType::Double),
    ("DOUB", ColumnType::Double),
    ("FLOA", ColumnType::Float),
];

/// The type that a name means, with the number that is behind it in brackets, if one is.
///
/// # Errors
/// There is no such type.
pub(crate) fn type_of_name(written: &str, size: Option<u64>) -> Result<ColumnType, SyntaxError> {
    let upper = written.to_ascii_uppercase();
    let known = TYPES.iter().find(|(known, _)| *known == upper);
    let kind = known.or_else(|| PARTS.iter().find(|(part, _)| upper.contains(part))).map(|(_, kind)| *kind);
    match (kind, size) {
        (Some(ColumnType::Timestamp), None | Some(3)) => Ok(ColumnType::Timestamp),
        (Some(ColumnType::Timestamp), Some(6)) => Ok(ColumnType::MicroTimestamp),
        (Some(ColumnType::Timestamp), Some(9)) => Ok(ColumnType::NanoTimestamp),
        (Some(ColumnType::Timestamp), Some(size)) => {
            Err(SyntaxError(format!("there is no TIMESTAMP({size}): TIMESTAMP(3), (6) and (9) are")))
        }
        (Some(kind), _) => Ok(kind),
        (None, _) => Err(SyntaxError(format!("{written} is no type of a column"))),
    }
}

impl TableDefinition {
    /// Reads what follows CREATE TABLE.
    pub(super) fn read(parser: &mut Parser<'_>) -> Result<Self, SyntaxError> {
        let if_not_exists = parser.takes_all(&["IF", "NOT", "EXISTS"])?;
        let name = parser.name()?;
        let (columns, key, properties) = (Vec::new(), Vec::new(), Vec::new());
        let mut table = Self { name, columns, key, is_time_series: false, if_not_exists, properties, partitioned_by: None };
        parser.expect_symbol('(')?;
        loop {
            if parser.takes("PRIMARY") {
                parser.expect("KEY")?;
                table.set_key(parser.names()?)?;
            } else {
                table.read_column(parser)?;
            }
            if !parser.takes_symbol(',') {
                break;
            }
        }
        parser.expect_symbol(')')?;
        if parser.takes("USING") {
            table.is_time_series = parser.takes("TIMESERIES");
            if !table.is_time_series {
                parser.expect("COLLECTION")?;
            }
        }
        table.properties = parser.properties()?;
        table.partitioned_by = parser.partitioned_by()?;
        Ok(table)
    }

    fn read_column(&mut self, parser: &mut Parser<'_>) -> Result<(), SyntaxError> {
        let column = ColumnDefinition::read(parser)?;
        let name = column.0.name.clone();
        self.columns.push(column.0);
        if column.1 { self.set_key(vec![name]) } else { Ok(()) }
    }

    fn set_key(&mut self, key: Vec<String>) -> Result<(), SyntaxError> {
        if !self.key.is_empty() {
            return Err(SyntaxError("a table has one PRIMARY KEY".to_owned()));
        }
        self.key = key;
        Ok(())
    }
}

impl ColumnDefinition {
    /// Reads a column, and whether it is the key.
    pub(super) fn read(parser: &mut Parser<'_>) -> Result<(Self, bool), SyntaxError> {
        let name = parser.name()?;
        let written = parser.name()?;
        let mut size = None;
        if parser.takes_symbol('(') {
            size = Some(parser.number()?);
            parser.expect_symbol(')')?;
        }
        let kind = type_of_name(&written, size)?;
        let (mut is_not_null, mut is_key) = (false, false);
        loop {
            if parser.takes("NOT") {
                parser.expect("NULL")?;
                is_not_null = true;
            } else if parser.takes("PRIMARY") {
                parser.expect("KEY")?;
                (is_not_null, is_key) = (true, true);
            } else if !parser.takes("NULL") {
                return Ok((Self { name, kind, is_not_null }, is_key));
            }
        }
    }
}
