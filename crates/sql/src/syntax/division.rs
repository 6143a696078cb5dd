//! What CREATE TABLE says after the columns: WITH, PARTITION BY; and ALTER TABLE about data partitions.

use super::SyntaxError;
use super::reader::Parser;
use super::words::WordKind;

/// How a table's rows are divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionedBy {
    /// By intervals of a column: so many values, or units of time.
    pub range: Option<RangeClause>,
    /// By a hash of a column: its name, and how many data partitions.
    pub hash: Option<(String, u64)>,
}

/// `RANGE (column) EVERY (every, unit)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeClause {
    /// The column.
    pub column: String,
    /// How wide intervals are.
    pub every: u64,
    /// The unit of time, if there is one.
    pub unit: Option<String>,
}

/// A value of WITH, or of a data partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(String),
}

impl Parser<'_> {
    /// `WITH (key = value, …)`: keys in lower case.
    pub(super) fn properties(&mut self) -> Result<Vec<(String, Literal)>, SyntaxError> {
        let mut properties: Vec<(String, Literal)> = Vec::new();
        if !self.takes("WITH") {
            return Ok(properties);
        }
        self.expect_symbol('(')?;
        loop {
            let key = self.name()?.to_ascii_lowercase();
            self.expect_symbol('=')?;
            if properties.iter().any(|(known, _)| *known == key) {
                return Err(SyntaxError(format!("WITH has {key} twice")));
            }
            properties.push((key, self.literal()?));
            if !self.takes_symbol(',') {
                break;
            }
        }
        self.expect_symbol(')')?;
        Ok(properties)
    }

    /// `PARTITION BY …`; none without it.
    pub(super) fn partitioned_by(&mut self) -> Result<Option<PartitionedBy>, SyntaxError> {
        if !self.takes_all(&["PARTITION", "BY"])? {
            return Ok(None);
        }
        if self.takes("HASH") {
            let hash = Some(self.hash("PARTITIONS")?);
            return Ok(Some(PartitionedBy { range: None, hash }));
        }
        self.expect("RANGE")?;
        let column = self.column_of_division()?;
        self.expect("EVERY")?;
        self.expect_symbol('(')?;
        let every = self.number()?;
        let unit = if self.takes_symbol(',') { Some(self.name()?.to_ascii_uppercase()) } else { None };
        self.expect_symbol(')')?;
        let range = Some(RangeClause { column, every, unit });
        let hash = if self.takes_all(&["SUBPARTITION", "BY", "HASH"])? { Some(self.hash("SUBPARTITIONS")?) } else { None };
        Ok(Some(PartitionedBy { range, hash }))
    }

    /// A column and a count after HASH.
    fn hash(&mut self, keyword: &str) -> Result<(String, u64), SyntaxError> {
        let column = self.column_of_division()?;
        self.expect(keyword)?;
        Ok((column, self.number()?))
    }

    /// A column, in brackets or not.
    fn column_of_division(&mut self) -> Result<String, SyntaxError> {
        if !self.takes_symbol('(') {
            return self.name();
        }
        let column = self.name()?;
        self.expect_symbol(')')?;
        Ok(column)
    }

    /// `(value)` after PARTITION FOR.
    pub(super) fn value_in_brackets(&mut self) -> Result<Literal, SyntaxError> {
        self.expect_symbol('(')?;
        let value = self.literal()?;
        self.expect_symbol(')')?;
        Ok(value)
    }

    fn literal(&mut self) -> Result<Literal, SyntaxError> {
        let text =
            self.words.first().filter(|word| word.kind == WordKind::Text).and_then(|word| word.text.strip_prefix('\'')?.strip_suffix('\''));
        if let Some(text) = text {
            self.words = &self.words[1..];
            return Ok(Literal::Text(text.replace("''", "'")));
        }
        let sign = if self.takes_symbol('-') { "-" } else { "" };
        let number = self.words.first().filter(|word| word.kind == WordKind::Number);
        let number =
            number.and_then(|word| format!("{sign}{}", word.text).parse().ok()).ok_or_else(|| self.expected("a whole number or a text"))?;
        self.words = &self.words[1..];
        Ok(Literal::Integer(number))
    }
}
