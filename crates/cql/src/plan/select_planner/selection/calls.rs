//! Calls of functions and operators in selectors: which one it is, and what it is applied to.

use super::{Operand, invalid};
use crate::CqlError;
use crate::language::ast::{self, ArithmeticOperator, Selector};
use crate::plan::call_planner::operator_of;
use crate::plan::select_planner::literal::may_be;
use crate::plan::select_planner::reads::Reads;
use crate::plan::term_planner::{assignable, neutral};
use crate::plan::{Aggregate, Expression, Planner};
use crate::value::function::{self, Argument, FunctionSpec};
use model::DataType;
use std::sync::Arc;

impl Planner<'_> {
    pub(super) fn function_selector(
        &mut self,
        name: &ast::FunctionName,
        arguments: &[Selector],
        receiver: Option<&DataType>,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<(Expression, DataType), CqlError> {
        if name.name == "token" && name.keyspace.as_ref().is_none_or(|keyspace| keyspace.as_str() == "system") {
            let table = Arc::clone(&reads.table);
            if arguments.len() != table.partition_key_len {
                return Err(CqlError::Invalid(format!(
                    "Invalid number of arguments in call to function system.token: {} required but {} provided",
                    table.partition_key_len,
                    arguments.len()
                )));
            }
            let mut parts = Vec::with_capacity(arguments.len());
            for (position, (argument, column)) in arguments.iter().zip(table.partition_key()).enumerate() {
                let (expression, own) = self.selector(argument, Some(&column.data_type), reads, aggregates)?;
                if !assignable(&own, &column.data_type) {
                    return Err(CqlError::Invalid(format!(
                        "Type error: {argument} cannot be passed as argument {position} of function system.token of type {}",
                        column.data_type
                    )));
                }
                parts.push(expression);
            }
            return Ok((Expression::Token(table, parts), DataType::BigInt));
        }
        let aggregates_before = aggregates.len();
        let mut operands = Vec::with_capacity(arguments.len());
        for argument in arguments {
            operands.push((argument, self.operand(argument, reads, aggregates)?));
        }
        let types: Vec<Argument<'_>> = operands.iter().map(|(selector, operand)| argument_of(selector, operand)).collect();
        let found = self.resolve_function(name, &types, receiver)?;
        if found.is_aggregate() && aggregates.len() > aggregates_before {
            return Err(CqlError::invalid("aggregate functions cannot be used as arguments of aggregate functions"));
        }
        self.function_call(found, operands, reads, aggregates)
    }

    /// A call of `function` with operands, those without a type of their own being of its arguments' types.
    fn function_call(
        &mut self,
        function: FunctionSpec,
        operands: Vec<(&Selector, Operand<'_>)>,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<(Expression, DataType), CqlError> {
        let mut arguments = Vec::with_capacity(operands.len());
        for (position, ((selector, operand), argument_type)) in operands.into_iter().zip(function.arguments()).enumerate() {
            if !may_be(selector, argument_type) {
                return Err(CqlError::Invalid(format!(
                    "Type error: {selector} cannot be passed as argument {position} of function {} of type {argument_type}",
                    function.signature().full_name()
                )));
            }
            arguments.push(match operand {
                Operand::Planned(expression, _) => expression,
                Operand::Literal(_) | Operand::Untyped => self.selector(selector, Some(argument_type), reads, aggregates)?.0,
            });
        }
        let result = function.result().clone();
        self.note_call(&function);
        if !function.is_aggregate() {
            return Ok((Expression::Call(function, arguments), result));
        }
        let counts_rows = arguments.is_empty() && function.user().is_none();
        aggregates.push(if counts_rows { Aggregate::CountRows } else { Aggregate::Of(Box::new(function), arguments) });
        Ok((Expression::Aggregate(aggregates.len() - 1), result))
    }

    /// `left + right` and the like.
    pub(super) fn arithmetic_selector(
        &mut self,
        operator: ArithmeticOperator,
        (left, right): (&Selector, &Selector),
        receiver: Option<&DataType>,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<(Expression, DataType), CqlError> {
        let operands = [(left, self.operand(left, reads, aggregates)?), (right, self.operand(right, reads, aggregates)?)];
        let found = function::operator(operator_of(operator), argument(&operands[0].1), argument(&operands[1].1), receiver)
            .map_err(|error| invalid(error.with_operands(left, right)))?;
        self.function_call(found, operands.into(), reads, aggregates)
    }

    /// `-value`
    pub(super) fn negation_selector(
        &mut self,
        value: &Selector,
        receiver: Option<&DataType>,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<(Expression, DataType), CqlError> {
        let operand = self.operand(value, reads, aggregates)?;
        let found = function::negation(argument(&operand), receiver).map_err(invalid)?;
        self.function_call(found, vec![(value, operand)], reads, aggregates)
    }
}

fn argument<'a>(operand: &'a Operand<'_>) -> Argument<'a> {
    match operand {
        Operand::Planned(_, data_type) => Argument::Type(data_type),
        Operand::Literal(literal) => neutral(literal).map_or(Argument::Unknown, Argument::Literal),
        Operand::Untyped => Argument::Unknown,
    }
}

/// The same of a function, of which a list literal may be a vector.
fn argument_of<'a>(selector: &Selector, operand: &'a Operand<'_>) -> Argument<'a> {
    match (operand, selector) {
        (Operand::Untyped, Selector::List(elements)) => Argument::List(elements.len()),
        (Operand::Untyped, Selector::Set(_) | Selector::Map(_) | Selector::Tuple(_)) => Argument::Composed,
        _ => argument(operand),
    }
}
