//! Conditions and values of a statement: the part of the parser that calls itself.
//!
//! The tree's depth is bounded: by brackets within each other, and by operators of the whole statement.

use super::evaluate::evaluate;
use super::expression::{Comparison, Node, Operator};
use super::function::Function;
use super::lexer::{Token, syntax_error};
use super::parser::{Parser, RESERVED};
use super::value::Value;
use crate::{ErrorCode, GridError};

/// Brackets within each other.
const DEPTH_MAX: usize = 64;
/// Operators that make a tree deeper.
const OPERATORS_MAX: usize = 512;

impl Parser<'_> {
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

    pub(super) fn condition(&mut self) -> Result<Node, GridError> {
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

    pub(super) fn sum(&mut self) -> Result<Node, GridError> {
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
        let wrong_count = || {
            let message = format!("{name} has another number of arguments");
            GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_COUNT, message)
        };
        if name == "NOW" {
            return if arguments.is_empty() { Ok(Node::Value(Value::Time(self.now_ms))) } else { Err(wrong_count()) };
        }
        let (function, counts) = match Function::of_name(name, unit) {
            Some(found) => found,
            None => return Err(GridError::new(ErrorCode::TQ_FUNCTION_NOT_FOUND, format!("there is no function {name}"))),
        };
        if !counts.contains(&arguments.len()) {
            return Err(wrong_count());
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
