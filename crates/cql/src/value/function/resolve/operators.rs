//! What operators and negations mean, by the types of their operands.

use super::{NUMBERS, spec};
use crate::value::function::argument::{Argument, assignable};
use crate::value::function::number::{is_numeric, result_type};
use crate::value::function::spec::{FunctionSpec, Operation};
use crate::value::function::{FunctionError, Operator, Signature};
use crate::value::literal::{Fit, Literal};
use model::DataType;

/// Finds what an operator does to its operands.
///
/// Literals take the type of the receiver if they can, so that `1 + 2` for a bigint is one; else the type they have by themselves.
///
/// # Errors
/// When an operand does not say its type, or the operator does not take these.
pub fn operator(
    operator: Operator,
    left: Argument<'_>,
    right: Argument<'_>,
    receiver: Option<&DataType>,
) -> Result<FunctionSpec, FunctionError> {
    let ambiguous = || FunctionError::AmbiguousOperation { operator, left: left.shown(), right: right.shown() };
    let (Some(left_type), Some(right_type)) = (left.own_type(), right.own_type()) else {
        return receiver.and_then(|receiver| only_operation(operator, &left, &right, receiver)).ok_or_else(ambiguous);
    };
    let towards = |argument: &Argument<'_>, own: &DataType| match (argument, receiver) {
        (Argument::Literal(_) | Argument::Integers(_), Some(receiver)) if argument.fit(receiver) != Fit::None => receiver.clone(),
        _ => own.clone(),
    };
    let given = (towards(&left, &left_type), towards(&right, &right_type));
    let own = (left_type, right_type);
    if let Some(found) = operation(operator, &given.0, &given.1)
        && receiver.is_none_or(|receiver| assignable(found.result(), receiver))
    {
        return Ok(found);
    }
    if let Some(found) = operation(operator, &own.0, &own.1) {
        return Ok(found);
    }
    match (left, &own.1) {
        (Argument::Literal(Literal::String(_)), DataType::Duration) => Err(ambiguous()),
        _ => Err(FunctionError::NotSupported { operator, left: left.shown(), right: right.shown() }),
    }
}

/// The operation that gives the receiver's type, if only one does: `1 + ?` for a tinyint adds two of them.
fn only_operation(operator: Operator, left: &Argument<'_>, right: &Argument<'_>, receiver: &DataType) -> Option<FunctionSpec> {
    let may_be = |argument: &Argument<'_>, wanted: &DataType| match argument {
        Argument::Literal(_) | Argument::Integers(_) => argument.fit(wanted) != Fit::None,
        Argument::Unknown => true,
        other => other.own_type().is_some_and(|own| own == *wanted),
    };
    let of = |argument| NUMBERS.iter().chain(&OPERANDS_NO_NUMBERS).filter(move |wanted| may_be(argument, wanted));
    let mut found = of(left)
        .flat_map(|left| of(right).map(move |right| (left, right)))
        .filter_map(|(left, right)| operation(operator, left, right))
        .filter(|found| assignable(found.result(), receiver));
    found.next().filter(|_| found.next().is_none())
}

/// What operators take besides numbers.
const OPERANDS_NO_NUMBERS: [DataType; 5] = [DataType::Ascii, DataType::Text, DataType::Timestamp, DataType::Date, DataType::Duration];

fn operation(operator: Operator, left: &DataType, right: &DataType) -> Option<FunctionSpec> {
    let name = match operator {
        Operator::Add => "_add",
        Operator::Subtract => "_subtract",
        Operator::Multiply => "_multiply",
        Operator::Divide => "_divide",
        Operator::Modulo => "_modulo",
    };
    let types = [left.clone(), right.clone()];
    if let Some(result) = result_type(left, right) {
        return Some(spec(name, &types, result, Operation::Arithmetic(operator)));
    }
    match (operator, left, right) {
        (Operator::Add, DataType::Ascii, DataType::Ascii) => Some(spec(name, &types, DataType::Ascii, Operation::Concatenate)),
        (Operator::Add, DataType::Ascii | DataType::Text, DataType::Ascii | DataType::Text) => {
            Some(spec(name, &types, DataType::Text, Operation::Concatenate))
        }
        (Operator::Add | Operator::Subtract, DataType::Timestamp | DataType::Date, DataType::Duration) => {
            Some(spec(name, &types, left.clone(), Operation::Shift(operator)))
        }
        _ => None,
    }
}

/// Finds the negation of a number.
///
/// # Errors
/// When the operand does not say its type, or is not a number.
pub fn negation(operand: Argument<'_>, receiver: Option<&DataType>) -> Result<FunctionSpec, FunctionError> {
    let ty = match (operand, receiver) {
        (Argument::List(_) | Argument::Composed | Argument::Unknown, None) => return Err(FunctionError::AmbiguousNegation),
        (Argument::List(_) | Argument::Composed | Argument::Unknown, Some(receiver)) => receiver.clone(),
        (Argument::Literal(_) | Argument::Integers(_), Some(receiver)) if operand.fit(receiver) != Fit::None => receiver.clone(),
        (Argument::Literal(literal), _) => literal.natural_type(),
        (Argument::Type(ty) | Argument::Integers(ty), _) => ty.clone(),
    };
    let signatures = || {
        let each = |ty: &DataType| Signature {
            keyspace: "system".into(),
            name: "_negate".into(),
            arguments: vec![ty.clone()],
            result: ty.clone(),
        };
        NUMBERS.iter().map(each).collect()
    };
    if is_numeric(&ty) {
        Ok(spec("_negate", std::slice::from_ref(&ty), ty.clone(), Operation::Negate))
    } else {
        Err(FunctionError::NoMatch { name: "_negate".into(), signatures: signatures() })
    }
}
