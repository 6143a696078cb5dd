//! Function calls and operators among the values of a statement.

use super::{Call, Called, Planner, Term};
use crate::CqlError;
use crate::ddl;
use crate::language::ast;
use crate::plan::term_planner::{assignable, neutral};
use crate::value::function::{self, Argument, FunctionError, FunctionSpec, Operator, UserFunctions, UserSpec};
use crate::value::literal::Literal;
use model::DataType;
use std::sync::Arc;

impl Planner<'_> {
    /// Plans `name(arguments)` for a receiver.
    pub(super) fn function(
        &mut self,
        name: &ast::FunctionName,
        arguments: &[ast::Term],
        receiver: &DataType,
        receiver_name: &str,
    ) -> Result<Term, CqlError> {
        let spec = self.resolve_call(name, arguments, Some(receiver))?;
        if !assignable(spec.result(), receiver) {
            return Err(wrong_result(&spec, receiver, receiver_name));
        }
        self.planned_call(spec, arguments)
    }

    /// Plans `left operator right` for a receiver.
    pub(super) fn arithmetic(
        &mut self,
        operator: ast::ArithmeticOperator,
        left: &ast::Term,
        right: &ast::Term,
        receiver: &DataType,
    ) -> Result<Term, CqlError> {
        // An operand that says no type by itself may get one from the receiver, if only one gives that: `1 * (1 + ?)` for a tinyint.
        let mut ambiguous = None;
        let mut own = |term: &ast::Term| {
            self.type_of(term).unwrap_or_else(|error| {
                ambiguous.get_or_insert(error);
                None
            })
        };
        let (left_type, right_type) = (own(left), own(right));
        let operands = (operand(left, left_type.as_ref()), operand(right, right_type.as_ref()));
        let spec = function::operator(operator_of(operator), operands.0, operands.1, Some(receiver))
            .map_err(|error| ambiguous.unwrap_or_else(|| CqlError::Invalid(error.to_string())))?;
        if !assignable(spec.result(), receiver) {
            let sign = operator.sign();
            return Err(CqlError::Invalid(format!("the '{sign}' operation is not supported between {left} and {right}")));
        }
        self.planned_call(spec, &[left.clone(), right.clone()])
    }

    /// Plans `-value` for a receiver.
    pub(super) fn negation(&mut self, value: &ast::Term, receiver: &DataType, receiver_name: &str) -> Result<Term, CqlError> {
        let own = self.type_of(value)?;
        let spec =
            function::negation(operand(value, own.as_ref()), Some(receiver)).map_err(|error| CqlError::Invalid(error.to_string()))?;
        if !assignable(spec.result(), receiver) {
            return Err(CqlError::Invalid(format!(
                "Type error: cannot assign a value of type {} to {receiver_name} (type {receiver})",
                spec.result()
            )));
        }
        self.planned_call(spec, std::slice::from_ref(value))
    }

    /// Plans `CAST(value AS to)` for a receiver.
    pub(super) fn cast_term(
        &mut self,
        value: &ast::Term,
        to: &DataType,
        receiver: &DataType,
        receiver_name: &str,
    ) -> Result<Term, CqlError> {
        let own = self.type_of(value)?;
        let from = match (argument(grouped(value), own.as_ref()), to) {
            // A text in quotes is whatever is cast to that and may be written so.
            (Argument::Literal(Literal::String(_)), DataType::Date) => Some(DataType::Timestamp),
            (Argument::Literal(Literal::String(_)), DataType::Timestamp) => Some(DataType::Date),
            (value, _) => value.own_type(),
        };
        let Some(from) = from else {
            return Err(CqlError::Invalid(format!(
                "Ambiguous call to function system.cast_as_{to}: use type casts to disambiguate, example '(int) ?'"
            )));
        };
        let spec = function::cast(&from, to).map_err(|error| CqlError::Invalid(error.to_string()))?;
        if !assignable(spec.result(), receiver) {
            return Err(wrong_result(&spec, receiver, receiver_name));
        }
        self.planned_call(spec, std::slice::from_ref(value))
    }

    fn planned_call(&mut self, function: FunctionSpec, arguments: &[ast::Term]) -> Result<Term, CqlError> {
        let types = function.arguments().to_vec();
        let mut planned = Vec::with_capacity(arguments.len());
        for (number, (term, data_type)) in arguments.iter().zip(&types).enumerate() {
            planned.push(self.term(term, data_type, &format!("arg{number}({})", function.signature().full_name()))?);
        }
        self.calls = self.calls.wrapping_add(1);
        let is_user = function.user().is_some();
        self.note_call(&function);
        let call = Term::Call(Box::new(Call { function, arguments: planned, serial: self.calls }));
        if is_user {
            self.user_calls.push(call.clone());
        }
        Ok(call)
    }

    fn resolve_call(
        &self,
        name: &ast::FunctionName,
        arguments: &[ast::Term],
        receiver: Option<&DataType>,
    ) -> Result<FunctionSpec, CqlError> {
        let types = arguments.iter().map(|term| self.type_of(term)).collect::<Result<Vec<_>, _>>()?;
        let known: Vec<Argument<'_>> = arguments.iter().zip(&types).map(|(term, own)| argument(term, own.as_ref())).collect();
        let spec = self.resolve_function(name, &known, receiver)?;
        if spec.is_aggregate() {
            return Err(CqlError::invalid("Aggregation function are not supported in the where clause"));
        }
        Ok(spec)
    }

    /// The function that a call means: a native one, or a user's.
    pub(super) fn resolve_function(
        &self,
        name: &ast::FunctionName,
        arguments: &[Argument<'_>],
        receiver: Option<&DataType>,
    ) -> Result<FunctionSpec, CqlError> {
        let (own, given) = (name.name.as_str(), name.keyspace.as_ref().map(ast::Identifier::as_str));
        if own == "token" && given.is_none_or(|given| given == "system") && !self.token_arguments.is_empty() {
            return function::token(&self.token_arguments, arguments).map_err(|error| CqlError::Invalid(error.to_string()));
        }
        self.find_function(name, arguments, receiver).map_err(|error| CqlError::Invalid(error.to_string()))
    }

    /// As [`Self::resolve_function`], of all but `token`.
    pub(super) fn find_function(
        &self,
        name: &ast::FunctionName,
        arguments: &[Argument<'_>],
        receiver: Option<&DataType>,
    ) -> Result<FunctionSpec, FunctionError> {
        let (own, given) = (name.name.as_str(), name.keyspace.as_ref().map(ast::Identifier::as_str));
        let keyspace = given.or(self.function_keyspace.as_deref()).or(self.keyspace);
        match keyspace.filter(|name| *name != "system").and_then(|name| self.schema.keyspaces.get_key_value(name)) {
            Some((keyspace, declared)) => {
                let users = UserFunctions { keyspace, functions: &declared.functions, and_native: given.is_none() };
                function::resolve_with(users, own, arguments, receiver)
            }
            None if given.is_none_or(|given| given == "system") => function::resolve(own, arguments, receiver),
            None => Err(FunctionError::Unknown { name: format!("{}.{own}", given.unwrap_or_default()).into() }),
        }
    }

    /// Notes what users have made of what a statement calls.
    pub(super) fn note_call(&mut self, function: &FunctionSpec) {
        let called = match function.user() {
            None => return,
            Some(UserSpec::Function(script)) => Called::Function(Arc::clone(script.function())),
            Some(UserSpec::Aggregate(aggregate)) => {
                for script in aggregate.scripts() {
                    self.note(Called::Function(Arc::clone(script.function())));
                }
                Called::Aggregate(Arc::clone(aggregate.aggregate()))
            }
        };
        self.note(called);
    }

    fn note(&mut self, called: Called) {
        if !self.called.contains(&called) {
            self.called.push(called);
        }
    }

    /// The type a term has by itself, if it says one.
    pub(super) fn type_of(&self, term: &ast::Term) -> Result<Option<DataType>, CqlError> {
        Ok(match term {
            ast::Term::TypeHint { type_name, .. } => Some(ddl::resolve_type(type_name, self.type_keyspace(), self.schema)?),
            ast::Term::Function { name, arguments } => Some(self.resolve_call(name, arguments, None)?.result().clone()),
            ast::Term::Arithmetic { operator, left, right } => {
                let (left_type, right_type) = (self.type_of(left)?, self.type_of(right)?);
                let (left, right) = (argument(grouped(left), left_type.as_ref()), argument(grouped(right), right_type.as_ref()));
                let spec = function::operator(operator_of(*operator), left, right, None);
                Some(spec.map_err(|error| CqlError::Invalid(error.to_string()))?.result().clone())
            }
            ast::Term::Negation(value) => match (grouped(value), self.type_of(value)?) {
                (ast::Term::Literal(literal), None) => neutral(literal).map(|literal| literal.natural_type()),
                (_, own) => own,
            },
            ast::Term::Cast { type_name, .. } => Some(ddl::native_type(*type_name)),
            ast::Term::Tuple(elements) => match elements.as_slice() {
                [single] => self.type_of(single)?,
                _ => None,
            },
            _ => None,
        })
    }
}

fn wrong_result(spec: &FunctionSpec, receiver: &DataType, receiver_name: &str) -> CqlError {
    CqlError::Invalid(format!(
        "Type error: cannot assign result of function {} (type {}) to {receiver_name} (type {receiver})",
        spec.shown_name(),
        spec.result()
    ))
}

/// Without parentheses around it.
fn grouped(mut term: &ast::Term) -> &ast::Term {
    while let ast::Term::Tuple(elements) = term
        && let [single] = elements.as_slice()
    {
        term = single;
    }
    term
}

/// Whether `term` computes with integer literals alone.
fn is_of_integers(term: &ast::Term) -> bool {
    match grouped(term) {
        ast::Term::Literal(literal) => matches!(neutral(literal), Some(Literal::Integer(_))),
        ast::Term::Arithmetic { left, right, .. } => is_of_integers(left) && is_of_integers(right),
        ast::Term::Negation(value) => is_of_integers(value),
        _ => false,
    }
}

/// What is known of an operator's operand that says this type by itself.
fn operand<'a>(term: &'a ast::Term, own: Option<&'a DataType>) -> Argument<'a> {
    match own {
        Some(own) if is_of_integers(term) => Argument::Integers(own),
        _ => argument(grouped(term), own),
    }
}

/// What is known of an argument that says this type by itself.
pub(super) fn argument<'a>(term: &'a ast::Term, own: Option<&'a DataType>) -> Argument<'a> {
    match (term, own) {
        (_, Some(own)) => Argument::Type(own),
        (ast::Term::Literal(literal), None) => neutral(literal).map_or(Argument::Unknown, Argument::Literal),
        (ast::Term::List(elements), None) => Argument::List(elements.len()),
        (ast::Term::Set(_) | ast::Term::Map(_) | ast::Term::UserType(_), None) => Argument::Composed,
        _ => Argument::Unknown,
    }
}

pub(super) fn operator_of(operator: ast::ArithmeticOperator) -> Operator {
    match operator {
        ast::ArithmeticOperator::Add => Operator::Add,
        ast::ArithmeticOperator::Subtract => Operator::Subtract,
        ast::ArithmeticOperator::Multiply => Operator::Multiply,
        ast::ArithmeticOperator::Divide => Operator::Divide,
        ast::ArithmeticOperator::Remainder => Operator::Modulo,
    }
}
