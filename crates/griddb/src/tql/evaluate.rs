//! The value of an expression for a row. Logic has three values: null is neither true nor false.

use super::expression::{Comparison, Node, Operator};
use super::value::Value;
use crate::row::StoredRow;
use crate::{ErrorCode, GridError};
use std::borrow::Cow;

fn undefined(message: &'static str) -> GridError {
    GridError::new(ErrorCode::TQ_OPERATION_NOT_DEFINED, message)
}

/// Whether a row fulfils a condition.
pub(super) fn is_true(node: &Node, row: &StoredRow<'_>) -> Result<bool, GridError> {
    Ok(logical(node, Some(row))?.unwrap_or(false))
}

/// The value of a node; without a row columns are null.
pub(super) fn evaluate<'a>(node: &'a Node, row: Option<&StoredRow<'a>>) -> Result<Value<'a>, GridError> {
    let of_logic = |value: Option<bool>| value.map_or(Value::Null, Value::Bool);
    Ok(match node {
        Node::Value(Value::Text(text)) => Value::Text(Cow::Borrowed(text)),
        Node::Value(value) => value.clone(),
        Node::Column(position) => match row {
            Some(row) => Value::of_cell(&row.container.definition.columns[*position], row.cell(*position)),
            None => Value::Null,
        },
        Node::Not(_) | Node::And(_) | Node::Or(_) | Node::Xor(..) => of_logic(logical(node, row)?),
        Node::Compare(comparison, left, right) => of_logic(compare(*comparison, &evaluate(left, row)?, &evaluate(right, row)?)?),
        Node::IsNull(node) => Value::Bool(evaluate(node, row)? == Value::Null),
        Node::Like(nodes) => of_logic(like(nodes, row)?),
        Node::Arithmetic(operator, left, right) => arithmetic(*operator, evaluate(left, row)?, evaluate(right, row)?)?,
        Node::Negate(node) => match evaluate(node, row)? {
            Value::Long(value) => Value::Long(value.wrapping_neg()),
            Value::Double(value) => Value::Double(-value),
            Value::Null => Value::Null,
            _ => return Err(undefined("`-` needs a number")),
        },
        Node::Function(function, arguments) => {
            let arguments = arguments.iter().map(|argument| evaluate(argument, row)).collect::<Result<Vec<_>, _>>()?;
            function.apply(&arguments)?
        }
    })
}

fn logical(node: &Node, row: Option<&StoredRow<'_>>) -> Result<Option<bool>, GridError> {
    match node {
        Node::Not(node) => Ok(logical(node, row)?.map(|value| !value)),
        Node::And(nodes) => decide(nodes, row, false),
        Node::Or(nodes) => decide(nodes, row, true),
        Node::Xor(left, right) => Ok(logical(left, row)?.zip(logical(right, row)?).map(|(left, right)| left != right)),
        _ => match evaluate(node, row)? {
            Value::Bool(value) => Ok(Some(value)),
            Value::Null => Ok(None),
            _ => Err(undefined("a condition is no BOOL")),
        },
    }
}

/// The first value that decides ends it.
fn decide(nodes: &[Node], row: Option<&StoredRow<'_>>, deciding: bool) -> Result<Option<bool>, GridError> {
    let mut value = Some(!deciding);
    for node in nodes {
        match logical(node, row)? {
            Some(found) if found == deciding => return Ok(Some(deciding)),
            Some(_) => {}
            None => value = None,
        }
    }
    Ok(value)
}

fn compare(comparison: Comparison, left: &Value<'_>, right: &Value<'_>) -> Result<Option<bool>, GridError> {
    if *left == Value::Null || *right == Value::Null {
        return Ok(None);
    }
    let is_equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
    if matches!(left, Value::Bool(_)) && !is_equality {
        return Err(undefined("values of BOOL have no order"));
    }
    let order = left.compare(right).ok_or_else(|| undefined("values of these types do not compare"))?;
    Ok(Some(comparison.holds(order)))
}

fn arithmetic<'a>(operator: Operator, left: Value<'a>, right: Value<'a>) -> Result<Value<'a>, GridError> {
    Ok(match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Value::Null,
        (Value::Text(left), Value::Text(right)) if operator == Operator::Concatenate => Value::Text(Cow::Owned(format!("{left}{right}"))),
        (Value::Long(left), Value::Long(right)) => Value::Long(match operator {
            Operator::Add => left.wrapping_add(right),
            Operator::Subtract => left.wrapping_sub(right),
            Operator::Multiply => left.wrapping_mul(right),
            Operator::Divide | Operator::Remainder if right == 0 => {
                return Err(GridError::new(ErrorCode::TQ_DIVIDE_BY_ZERO, "an integer is divided by zero"));
            }
            Operator::Divide => left.wrapping_div(right),
            Operator::Remainder => left.wrapping_rem(right),
            Operator::Concatenate => return Err(undefined("`||` needs STRINGs")),
        }),
        (Value::Long(left), Value::Double(right)) => doubles(operator, left as f64, right)?,
        (Value::Double(left), Value::Long(right)) => doubles(operator, left, right as f64)?,
        (Value::Double(left), Value::Double(right)) => doubles(operator, left, right)?,
        _ => return Err(undefined("values of these types are not computed with")),
    })
}

fn doubles(operator: Operator, left: f64, right: f64) -> Result<Value<'static>, GridError> {
    Ok(Value::Double(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::Remainder | Operator::Concatenate => return Err(undefined("`%` needs integers, `||` needs STRINGs")),
    }))
}

fn like(nodes: &[Node], row: Option<&StoredRow<'_>>) -> Result<Option<bool>, GridError> {
    let mut texts = Vec::with_capacity(3);
    for node in nodes {
        match evaluate(node, row)? {
            Value::Text(text) => texts.push(text),
            Value::Null => return Ok(None),
            _ => return Err(GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_TYPE, "LIKE needs STRINGs")),
        }
    }
    let escape = match texts.get(2) {
        None => None,
        Some(text) if text.chars().count() == 1 => text.chars().next(),
        Some(_) => return Err(GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE, "ESCAPE takes one character")),
    };
    Ok(Some(matches(&texts[0], &texts[1], escape)))
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Any,
    One,
    Is(char),
}

/// Matches a text with a pattern. Only the last `%` is tried again: what is before it has its earliest match.
fn matches(text: &str, pattern: &str, escape: Option<char>) -> bool {
    let (mut parts, mut characters) = (Vec::new(), pattern.chars());
    while let Some(character) = characters.next() {
        parts.push(match character {
            _ if Some(character) == escape => characters.next().map_or(Part::Is(character), Part::Is),
            '%' => Part::Any,
            '_' => Part::One,
            _ => Part::Is(character),
        });
    }
    if parts.is_empty() {
        return false;
    }
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut part, mut retry) = (0, 0, None);
    while at < text.len() {
        match parts.get(part) {
            Some(Part::Any) => {
                part += 1;
                retry = Some((part, at));
            }
            Some(found) if *found == Part::One || *found == Part::Is(text[at]) => (at, part) = (at + 1, part + 1),
            _ => {
                let Some((after, from)) = retry else { return false };
                (part, at) = (after, from + 1);
                retry = Some((after, from + 1));
            }
        }
    }
    parts[part..].iter().all(|part| *part == Part::Any)
}
