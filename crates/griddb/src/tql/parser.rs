//! From text to a statement about a container.
//!
//! The tree's depth is bounded: by brackets within each other, and by operators of the whole statement.

use super::aggregate::Aggregation;
use super::evaluate::evaluate;
use super::expression::{Comparison, Node, Operator};
use super::function::Function;
use super::lexer::{Token, syntax_error, tokens};
use super::select::{Interpolation, Sampling, Select, TimeOperator, What, is_number, time_of, time_series};
use super::time::TimeUnit;
use super::value::Value;
use crate::container::Container;
use crate::{ErrorCode, GridError};

/// Brackets within each other.
const DEPTH_MAX: usize = 64;
/// Operators that make a tree deeper.
const OPERATORS_MAX: usize = 512;

/// Words that end a name or an expression.
const RESERVED: [&str; 17] =
    ["SELECT", "FROM", "WHERE", "ORDER", "BY", "LIMIT", "OFFSET", "AND", "OR", "XOR", "NOT", "LIKE", "ESCAPE", "IS", "NULL", "ASC", "DESC"];

struct Parser<'a> {
    tokens: &'a [Token],
    container: &'a Container,
    now_ms: i64,
    depth: usize,
    operators: usize,
}

/// Reads a statement; NOW() is `now_ms`.
///
/// # Errors
/// What is no TQL, is not served, or does not fit the container.
pub fn parse(text: &str, container: &Container, now_ms: i64) -> Result<Select, GridError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, container, now_ms, depth: 0, operators: 0 };
    if parser.takes("EXPLAIN") {
        return Err(GridError::new(ErrorCode::TQ_INTERNAL_NOT_IMPLEMENTED, "EXPLAIN is not supported yet"));
    }
    parser.expect("SELECT")?;
    let mut select = Select::new(parser.what()?);
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
    fn takes(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Word(first)) if first.eq_ignore_ascii_case(word));
        self.tokens = &self.tokens[usize::from(found)..];
        found
    }

    fn takes_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Symbol(first)) if *first == symbol);
        self.tokens = &self.tokens[usize::from(found)..];
        found
    }

    fn expect(&mut self, word: &str) -> Result<(), GridError> {
        if self.takes(word) { Ok(()) } else { Err(syntax_error(format!("{word} is expected"))) }
    }

    fn expect_symbol(&mut self, symbol: &str) -> Result<(), GridError> {
        if self.takes_symbol(symbol) { Ok(()) } else { Err(syntax_error(format!("`{symbol}` is expected"))) }
    }

    fn next(&mut self) -> Result<&Token, GridError> {
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

    fn column(&self, name: &str) -> Result<usize, GridError> {
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

    fn unit(&mut self) -> Result<TimeUnit, GridError> {
        let name = self.name()?;
        let unknown = || GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE, format!("{name} is no unit of time"));
        TimeUnit::of_name(&name).ok_or_else(unknown)
    }

    fn enter(&mut self) -> Result<(), GridError> {
        self.depth += 1;
        if self.depth <= DEPTH_MAX {
            return Ok(());
        }
        Err(syntax_error(format!("more than {DEPTH_MAX} brackets are within each other")))
    }

    fn count_operator(&mut self) -> Result<(), GridError> {
        self.operators += 1;
        if self.operators <= OPERATORS_MAX {
            return Ok(());
        }
        Err(syntax_error(format!("a statement has at most {OPERATORS_MAX} operators that compute")))
    }

    fn condition(&mut self) -> Result<Node, GridError> {
        self.enter()?;
        let mut node = self.conjunction()?;
        loop {
            if self.takes("OR") {
                let next = self.conjunction()?;
                match &mut node {
                    Node::Or(nodes) => nodes.push(next),
                    _ => node = Node::Or(vec![node, next]),
                }
            } else if self.takes("XOR") {
                self.count_operator()?;
                node = Node::Xor(Box::new(node), Box::new(self.conjunction()?));
            } else {
                break;
            }
        }
        self.depth -= 1;
        Ok(node)
    }

    fn conjunction(&mut self) -> Result<Node, GridError> {
        let mut nodes = vec![self.negation()?];
        while self.takes("AND") {
            nodes.push(self.negation()?);
        }
        Ok(if nodes.len() == 1 { nodes.swap_remove(0) } else { Node::And(nodes) })
    }

    fn negation(&mut self) -> Result<Node, GridError> {
        let mut is_not = false;
        while self.takes("NOT") {
            is_not = !is_not;
        }
        let node = self.comparison()?;
        Ok(if is_not { Node::Not(Box::new(node)) } else { node })
    }

    fn comparison(&mut self) -> Result<Node, GridError> {
        let left = self.sum()?;
        let negated = |is_not: bool, node: Node| if is_not { Node::Not(Box::new(node)) } else { node };
        if self.takes("IS") {
            let is_not = self.takes("NOT");
            self.expect("NULL")?;
            return Ok(negated(is_not, Node::IsNull(Box::new(left))));
        }
        let is_not = self.takes("NOT");
        if self.takes("LIKE") {
            let mut nodes = vec![left, self.sum()?];
            if self.takes("ESCAPE") {
                nodes.push(self.sum()?);
            }
            return Ok(negated(is_not, Node::Like(nodes)));
        }
        if is_not {
            return Err(syntax_error("LIKE is expected after NOT"));
        }
        let comparisons = [
            ("=", Comparison::Equal),
            ("==", Comparison::Equal),
            ("<>", Comparison::NotEqual),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessEqual),
            (">=", Comparison::GreaterEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        for (symbol, comparison) in comparisons {
            if self.takes_symbol(symbol) {
                return Ok(Node::Compare(comparison, Box::new(left), Box::new(self.sum()?)));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Node, GridError> {
        let operators = [("+", Operator::Add), ("-", Operator::Subtract), ("||", Operator::Concatenate)];
        self.chain(&operators, Self::product)
    }

    fn product(&mut self) -> Result<Node, GridError> {
        let operators = [("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)];
        self.chain(&operators, Self::operand)
    }

    fn chain(&mut self, operators: &[(&str, Operator)], operand: fn(&mut Self) -> Result<Node, GridError>) -> Result<Node, GridError> {
        let mut node = operand(self)?;
        while let Some((_, operator)) = operators.iter().find(|(symbol, _)| self.takes_symbol(symbol)) {
            self.count_operator()?;
            node = fold(Node::Arithmetic(*operator, Box::new(node), Box::new(operand(self)?)))?;
        }
        Ok(node)
    }

    fn operand(&mut self) -> Result<Node, GridError> {
        let mut is_negative = false;
        loop {
            if self.takes_symbol("-") {
                is_negative = !is_negative;
            } else if !self.takes_symbol("+") {
                break;
            }
        }
        let node = if self.takes_symbol("(") {
            let node = self.condition()?;
            self.expect_symbol(")")?;
            node
        } else {
            let token = self.next()?.clone();
            self.atom(token)?
        };
        if is_negative { fold(Node::Negate(Box::new(node))) } else { Ok(node) }
    }

    fn atom(&mut self, token: Token) -> Result<Node, GridError> {
        let constant = |value| Ok(Node::Value(value));
        match token {
            Token::Long(value) => constant(Value::Long(value)),
            Token::Double(value) => constant(Value::Double(value)),
            Token::Text(text) => constant(Value::Text(text.into())),
            Token::Quoted(name) => self.column(&name).map(Node::Column),
            Token::Word(name) if self.takes_symbol("(") => self.function(&name.to_ascii_uppercase()),
            Token::Word(name) => match &name.to_ascii_uppercase()[..] {
                "TRUE" => constant(Value::Bool(true)),
                "FALSE" => constant(Value::Bool(false)),
                "NULL" => constant(Value::Null),
                word if RESERVED.contains(&word) => Err(syntax_error(format!("{name} is not expected here"))),
                "NAN" if self.container.position(&name).is_none() => constant(Value::Double(f64::NAN)),
                "INF" if self.container.position(&name).is_none() => constant(Value::Double(f64::INFINITY)),
                _ => self.column(&name).map(Node::Column),
            },
            other @ Token::Symbol(_) => Err(syntax_error(format!("a value is expected, not {other:?}"))),
        }
    }

    /// A function whose opening bracket has been read.
    fn function(&mut self, name: &str) -> Result<Node, GridError> {
        self.enter()?;
        let unit = if Function::takes_unit(name) { Some(self.unit()?) } else { None };
        if unit.is_some() {
            self.expect_symbol(",")?;
        }
        let mut arguments = Vec::new();
        if !self.takes_symbol(")") {
            loop {
                arguments.push(self.sum()?);
                if !self.takes_symbol(",") {
                    break;
                }
            }
            self.expect_symbol(")")?;
        }
        self.depth -= 1;
        let is_now = name == "NOW";
        let (function, counts) = match Function::of_name(name, unit) {
            Some(found) => found,
            None if is_now && arguments.is_empty() => return Ok(Node::Value(Value::Time(self.now_ms))),
            None if name.starts_with("ST_") => {
                return Err(GridError::new(ErrorCode::TQ_INTERNAL_NOT_IMPLEMENTED, "functions of GEOMETRY are not supported yet"));
            }
            None if !is_now => return Err(GridError::new(ErrorCode::TQ_FUNCTION_NOT_FOUND, format!("there is no function {name}"))),
            None => (Function::Concat, 1..=0),
        };
        if !counts.contains(&arguments.len()) {
            let message = format!("{name} has another number of arguments");
            return Err(GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_COUNT, message));
        }
        fold(Node::Function(function, arguments))
    }
}

/// The value of a node whose operands are values.
fn fold(node: Node) -> Result<Node, GridError> {
    let is_value = |node: &Node| matches!(node, Node::Value(_));
    let is_constant = match &node {
        Node::Arithmetic(_, left, right) => is_value(left) && is_value(right),
        Node::Negate(operand) => is_value(operand),
        Node::Function(_, arguments) => arguments.iter().all(is_value),
        _ => false,
    };
    if is_constant {
        return Ok(Node::Value(evaluate(&node, None)?.into_owned()));
    }
    Ok(node)
}
