//! From text to a statement about a container.
//!
//! Here are the words and the clauses; conditions are in `condition`.

use super::aggregate::Aggregation;
use super::lexer::{Token, syntax_error, tokens};
use super::select::{Explained, Interpolation, Sampling, Select, TimeOperator, What, time_of, time_series};
use super::time::TimeUnit;
use super::value::is_number;
use crate::container::Container;
use crate::{ErrorCode, GridError};

/// Words that end a name or an expression.
pub(super) const RESERVED: [&str; 17] =
    ["SELECT", "FROM", "WHERE", "ORDER", "BY", "LIMIT", "OFFSET", "AND", "OR", "XOR", "NOT", "LIKE", "ESCAPE", "IS", "NULL", "ASC", "DESC"];

pub(super) struct Parser<'a> {
    pub(super) tokens: &'a [Token],
    pub(super) container: &'a Container,
    pub(super) now_ms: i64,
    pub(super) depth: usize,
    pub(super) operators: usize,
}

/// Reads a statement; NOW() is `now_ms`.
///
/// # Errors
/// What is no TQL, is not served, or does not fit the container.
pub fn parse(text: &str, container: &Container, now_ms: i64) -> Result<Select, GridError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, container, now_ms, depth: 0, operators: 0 };
    let explains = parser.takes("EXPLAIN");
    let analyzes = explains && parser.takes("ANALYZE");
    parser.expect("SELECT")?;
    let mut select = Select::new(parser.what()?);
    select.explained = explains.then_some(if analyzes { Explained::Analysis } else { Explained::Plan });
    if parser.takes("FROM") {
        parser.check_from()?;
    }
    if parser.takes("WHERE") {
        select.filter = Some(parser.condition()?);
    }
    if parser.takes("ORDER") {
        parser.expect("BY")?;
        if !select.for_rows() {
            return Err(GridError::new(ErrorCode::TQ_SYNTAX_ERROR_ORDERBY_WITH_AGGREGATION, "an aggregation has no ORDER BY"));
        }
        let order = parser.order()?;
        select.sort(order, container);
    }
    if parser.takes("LIMIT") {
        select.limit = Some(parser.unsigned()?);
        if parser.takes("OFFSET") {
            select.offset = parser.unsigned()?;
        }
    }
    match parser.tokens.first() {
        None => Ok(select),
        Some(token) => Err(syntax_error(format!("{token:?} is not expected here"))),
    }
}

impl Parser<'_> {
    pub(super) fn takes(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Word(first)) if first.eq_ignore_ascii_case(word));
        self.tokens = &self.tokens[usize::from(found)..];
        found
    }

    pub(super) fn takes_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Symbol(first)) if *first == symbol);
        self.tokens = &self.tokens[usize::from(found)..];
        found
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), GridError> {
        if self.takes(word) { Ok(()) } else { Err(syntax_error(format!("{word} is expected"))) }
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Result<(), GridError> {
        if self.takes_symbol(symbol) { Ok(()) } else { Err(syntax_error(format!("`{symbol}` is expected"))) }
    }

    pub(super) fn next(&mut self) -> Result<&Token, GridError> {
        let (first, rest) = self.tokens.split_first().ok_or_else(|| syntax_error("the statement ends too early"))?;
        self.tokens = rest;
        Ok(first)
    }

    fn name(&mut self) -> Result<String, GridError> {
        match self.next()? {
            Token::Quoted(name) => Ok(name.clone()),
            Token::Word(name) if !RESERVED.iter().any(|word| word.eq_ignore_ascii_case(name)) => Ok(name.clone()),
            other => Err(syntax_error(format!("a name is expected, not {other:?}"))),
        }
    }

    fn unsigned(&mut self) -> Result<u64, GridError> {
        match self.next()? {
            Token::Long(value) => Ok(value.unsigned_abs()),
            other => Err(syntax_error(format!("a number is expected, not {other:?}"))),
        }
    }

    pub(super) fn column(&self, name: &str) -> Result<usize, GridError> {
        let unknown = || GridError::new(ErrorCode::TQ_COLUMN_NOT_FOUND, format!("there is no column {name}"));
        self.container.position(name).ok_or_else(unknown)
    }

    fn check_from(&mut self) -> Result<(), GridError> {
        let (name, own) = (self.name()?, &self.container.definition.name);
        if name.eq_ignore_ascii_case(own.base()) || name.eq_ignore_ascii_case(&own.to_string()) {
            return Ok(());
        }
        let message = format!("the statement is about {name}, the container is {own}");
        Err(GridError::new(ErrorCode::TQ_INVALID_COLLECTION_NAME, message))
    }

    fn order(&mut self) -> Result<Vec<(usize, bool)>, GridError> {
        let mut order = Vec::new();
        loop {
            let column = self.column_name()?;
            let is_descending = self.takes("DESC");
            if !is_descending {
                self.takes("ASC");
            }
            // A second time a column decides nothing.
            if !order.iter().any(|(known, _)| *known == column) {
                order.push((column, is_descending));
            }
            if !self.takes_symbol(",") {
                return Ok(order);
            }
        }
    }

    fn column_name(&mut self) -> Result<usize, GridError> {
        let name = self.name()?;
        self.column(&name)
    }

    fn what(&mut self) -> Result<What, GridError> {
        if self.takes_symbol("*") {
            return Ok(What::Rows);
        }
        let name = self.name()?.to_ascii_uppercase();
        if !self.takes_symbol("(") {
            return Err(syntax_error("a statement selects * or one function"));
        }
        let what =
            if let Some(aggregation) = Aggregation::of_name(&name) { self.aggregation(aggregation)? } else { self.selection(&name)? };
        self.expect_symbol(")")?;
        Ok(what)
    }

    fn aggregation(&mut self, aggregation: Aggregation) -> Result<What, GridError> {
        if aggregation == Aggregation::Count {
            self.expect_symbol("*")?;
            return Ok(What::Aggregate(aggregation, None));
        }
        if aggregation == Aggregation::WeightedAverage {
            time_series(self.container)?;
        }
        let column = self.column_name()?;
        aggregation.check(self.container.definition.columns.get(column))?;
        Ok(What::Aggregate(aggregation, Some(column)))
    }

    fn selection(&mut self, name: &str) -> Result<What, GridError> {
        let operator = match name {
            "MAX_ROWS" | "MIN_ROWS" => {
                let column = self.column_name()?;
                Aggregation::Maximum.check(self.container.definition.columns.get(column))?;
                return Ok(What::Extreme { column, is_largest: name == "MAX_ROWS" });
            }
            "TIME_SAMPLING" | "TIME_INTERPOLATED" => {
                time_series(self.container)?;
                return self.sampling(name == "TIME_SAMPLING").map(What::Sampling);
            }
            "TIME_PREV" => TimeOperator::Previous,
            "TIME_PREV_ONLY" => TimeOperator::PreviousOnly,
            "TIME_NEXT" => TimeOperator::Next,
            "TIME_NEXT_ONLY" => TimeOperator::NextOnly,
            _ => return Err(GridError::new(ErrorCode::TQ_FUNCTION_NOT_FOUND, format!("there is no selection {name}"))),
        };
        time_series(self.container)?;
        self.expect_symbol("*")?;
        Ok(What::Nearest(operator, self.next_time()?))
    }

    /// A comma and a time.
    fn next_time(&mut self) -> Result<i64, GridError> {
        self.expect_symbol(",")?;
        time_of(&self.sum()?)
    }

    fn sampling(&mut self, has_interval: bool) -> Result<Sampling, GridError> {
        let mut columns = Vec::new();
        if !has_interval || !self.takes_symbol("*") {
            let column = self.column_name()?;
            let definition = &self.container.definition.columns[column];
            if definition.is_array || !is_number(definition.element) {
                return Err(GridError::new(ErrorCode::TQ_CONSTRAINT_SELECTION_ABUSE, "only columns of numbers are on a line"));
            }
            columns.push(column);
        }
        let start_ms = self.next_time()?;
        let interpolation = Interpolation::LinearOrPrevious;
        let mut sampling = Sampling { start_ms, end_ms: start_ms, interval: 1, unit: TimeUnit::Millisecond, columns, interpolation };
        if has_interval {
            sampling.end_ms = self.next_time()?;
            self.expect_symbol(",")?;
            sampling.interval = i64::try_from(self.unsigned()?).unwrap_or(i64::MAX);
            self.expect_symbol(",")?;
            sampling.unit = self.unit()?;
            sampling.interval_ms()?;
        }
        Ok(sampling)
    }

    pub(super) fn unit(&mut self) -> Result<TimeUnit, GridError> {
        let name = self.name()?;
        let unknown = || GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE, format!("{name} is no unit of time"));
        TimeUnit::of_name(&name).ok_or_else(unknown)
    }
}
