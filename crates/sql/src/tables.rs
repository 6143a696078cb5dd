//! The seam: what a query needs of whoever has the tables.

pub use crate::values::{ColumnType, Value, ValueRef};

use model::aggregate::{Comparison, Function};
use std::sync::Arc;

/// Why tables could not be read.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// What times are to a query: what columns hold, and functions give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Milliseconds since 1970, as integers.
    Milliseconds,
    /// Texts, as [`crate::time::format`] writes them: they compare as the times do.
    Texts,
    /// Texts, as [`Moment::format`] writes them, where a column has times more precise than a millisecond: times of all precisions compare then.
    PreciseTexts,
}

/// Whose SQL statements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite's own; NULL alone is the largest value.
    Plain,
    /// GridDB's: CAST, comparisons and divisions mind types.
    GridDb,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ColumnType,
    /// Whether it always has a value.
    pub is_not_null: bool,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name, as it was first written.
    pub name: String,
    /// The schema that statements name it in; none of a table that has no schema, and [`Table::MAIN`] of one whose schema need not be named.
    pub schema: Option<String>,
    /// Its columns: at most [`Table::COLUMNS_MAX`].
    pub columns: Vec<Column>,
    /// How many of them, from the first, are the key that rows are ordered by; 0 without a key.
    pub key_len: usize,
    /// Columns by which rows are found without looking at all of them.
    pub indexed: Vec<usize>,
    /// Columns by which rows are found together.
    pub lookup: Option<Lookup>,
}

/// Columns by which rows are found once all of them are compared by `=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Those.
    pub together: Vec<usize>,
    /// Others by which fewer rows are found then, one after the other.
    pub then: Vec<usize>,
}

impl Table {
    /// The schema of tables whose schema need not be named.
    pub const MAIN: &str = "main";
    /// The most columns that a table may have: what the engine takes.
    pub const COLUMNS_MAX: usize = 2_000;

    /// Whether a comparison with a column finds rows without looking at all of them, where those that `is_equal` names are compared by `=`.
    pub(crate) fn finds(&self, column: usize, is_equal: &dyn Fn(usize) -> bool) -> bool {
        let by_lookup = self.lookup.as_ref().is_some_and(|lookup| {
            (lookup.together.contains(&column) || lookup.then.contains(&column)) && lookup.together.iter().copied().all(is_equal)
        });
        by_lookup || column < self.key_len || self.indexed.contains(&column)
    }
}

/// How a column compares with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl From<Operator> for Comparison {
    fn from(operator: Operator) -> Self {
        match operator {
            Operator::Equal => Self::Equal,
            Operator::Less => Self::Less,
            Operator::LessEqual => Self::LessEqual,
            Operator::Greater => Self::Greater,
            Operator::GreaterEqual => Self::GreaterEqual,
        }
    }
}

/// What rows have to fulfil. A scan may give others, too: they are looked at again.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The column's position: of a type that is integral, with an integer; a text, with a text; bytes, with bytes; or precise times, with a time.
    pub column: usize,
    /// How it compares.
    pub operator: Operator,
    /// With what.
    pub value: Value,
}

/// What is asked of a table's rows in place of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aggregation {
    /// The columns that make a group; without any all rows are one, also where there are none.
    pub groups: Vec<usize>,
    /// What is computed of each group, of which column.
    pub folds: Vec<(Function, usize)>,
    /// What rows have to fulfil, and all that do count: nobody looks at them again. Numbers compare with columns of any numbers; nothing compares with null.
    pub conditions: Vec<Condition>,
}

/// The order in which a scan gives rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By the key, ascending, if the table has one.
    Key,
    /// By the key, descending.
    KeyDescending,
}

/// By what SQLite knows a row again: it has to be the same in all scans of the row's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowName<'a> {
    /// A number.
    Number(i64),
    /// Bytes that no other row has.
    Bytes(&'a [u8]),
    /// Its key tells. Without a key all scans have to give the same rows.
    Key,
}

/// Rows, one at a time.
pub trait Scan {
    /// Goes to the next row, at first to the first one; false after the last.
    ///
    /// # Errors
    /// What the source says.
    fn advance(&mut self) -> Result<bool, SourceError>;

    /// A column of the row at which it is.
    fn value(&self, column: usize) -> ValueRef<'_>;

    /// What the row is called.
    fn row(&self) -> RowName<'_> {
        RowName::Key
    }
}

/// Groups that were computed, for [`Tables::aggregate`].
#[derive(Debug, Default)]
pub struct GroupRows {
    rows: std::vec::IntoIter<Vec<Value>>,
    row: Vec<Value>,
}

impl GroupRows {
    /// Before the first of these.
    #[must_use]
    pub fn new(rows: Vec<Vec<Value>>) -> Self {
        Self { rows: rows.into_iter(), row: Vec::new() }
    }
}

impl Scan for GroupRows {
    fn advance(&mut self) -> Result<bool, SourceError> {
        let next = self.rows.next();
        let is_there = next.is_some();
        self.row = next.unwrap_or_default();
        Ok(is_there)
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.row.get(column).map_or(ValueRef::Null, Value::as_ref)
    }
}

/// Whoever has the tables. All calls of one query come from its thread.
pub trait Tables: Send + Sync {
    /// Whose SQL statements are.
    fn dialect(&self) -> Dialect {
        Dialect::Plain
    }

    /// What times are. It is asked again once a table was found.
    fn times(&self) -> Times {
        Times::Milliseconds
    }

    /// The time zone of what says none: how many milliseconds later its clocks are than those of UTC.
    fn zone_ms(&self) -> i64 {
        0
    }

    /// Tables that are found whether or not a statement names them, before others: those of [`Table::MAIN`].
    ///
    /// # Errors
    /// What the source says.
    fn at_hand(&self) -> Result<Vec<Arc<Table>>, SourceError> {
        Ok(Vec::new())
    }

    /// The table of a name, whatever its capitals, with its schema before a point if the statement names one; none if there is no such.
    ///
    /// # Errors
    /// What the source says.
    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError>;

    /// The SELECT of a view, which is asked for where there is no such table; none if there is no such view either.
    ///
    /// # Errors
    /// What the source says.
    fn view(&self, name: &str) -> Result<Option<String>, SourceError> {
        let _ = name;
        Ok(None)
    }

    /// Begins to read a table that [`Tables::find`] has given. `columns` has a bit for each of the first 63 columns that is looked at, and the last bit for all others.
    ///
    /// # Errors
    /// What the source says.
    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError>;

    /// Aggregates a table's rows where they lie. The columns of the scan are those of the groups, and then what was computed; it gives the groups in the order of
    /// their values. None if that cannot be done, or not within some bound of memory: rows are read then. `is_over` is asked now and then, and once it says so
    /// nobody waits for the result.
    ///
    /// # Errors
    /// What the source says.
    fn aggregate(
        &self,
        table: &Arc<Table>,
        wanted: &Aggregation,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Box<dyn Scan>>, SourceError> {
        let _ = (table, wanted, is_over);
        Ok(None)
    }
}
