//! CREATE and DROP AGGREGATE.

use super::DdlError;
use super::change::{Context, Outcome, SchemaEventTarget};
use super::error::RoutineError;
use super::function::{function_type, place, resolved, shown};
use crate::language::ast;
use crate::plan::constant;
use crate::wire::ChangeKind;
use model::{DataType, Function, Keyspace, NullInput, UserAggregate};
use std::sync::Arc;

pub(super) fn create(context: &Context<'_>, statement: &ast::CreateAggregate) -> Result<Outcome, DdlError> {
    if statement.or_replace && statement.if_not_exists {
        return Err(RoutineError::ReplaceIfNotExists.into());
    }
    let keyspace = place(context, &statement.name)?;
    let aggregate = declared(context, keyspace, statement)?;
    let name = &aggregate.name;
    if keyspace.functions.function(name, &aggregate.arguments).is_some() {
        return Err(RoutineError::AggregateIsFunction(name.clone()).into());
    }
    let former = keyspace.functions.aggregate(name, &aggregate.arguments);
    if let Some(former) = former {
        if statement.if_not_exists {
            return Ok(Outcome::unchanged());
        }
        if !statement.or_replace {
            return Err(RoutineError::AggregateExists(name.clone()).into());
        }
        if former.returns.frozen() != aggregate.returns.frozen() {
            let (new, former) = (aggregate.returns.to_string(), former.returns.to_string());
            return Err(RoutineError::AggregateReturns { name: name.clone(), new, former }.into());
        }
        if **former == aggregate {
            return Ok(Outcome::unchanged());
        }
    }
    let change = if former.is_some() { ChangeKind::Updated } else { ChangeKind::Created };
    let target = target(name, &aggregate.arguments);
    let mut keyspace = Keyspace::clone(keyspace);
    keyspace.functions.put_aggregate(aggregate);
    Ok(context.with_keyspace(keyspace, change, target))
}

fn declared(context: &Context<'_>, keyspace: &Keyspace, statement: &ast::CreateAggregate) -> Result<UserAggregate, DdlError> {
    let name = statement.name.name.as_str().to_owned();
    let arguments = resolved(keyspace, &statement.arguments)?;
    let state_type = function_type(keyspace, &statement.state_type)?;
    let state_types: Vec<DataType> = std::iter::once(&state_type).chain(&arguments).cloned().collect();
    let called = |name: &str, types: &[DataType]| {
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        format!("{}.{name}({})", keyspace.name, types.join(", "))
    };
    let find = |name: &ast::Identifier, types: &[DataType]| -> Result<&Arc<Function>, String> {
        keyspace.functions.function(name.as_str(), types).ok_or_else(|| called(name.as_str(), types))
    };
    let state = find(&statement.state_function, &state_types).map_err(RoutineError::StateFunction)?;
    if state.returns.frozen() != state_type.frozen() {
        return Err(RoutineError::StateType(called(&state.name, &state_types)).into());
    }
    let one = std::slice::from_ref(&state_type);
    let last = statement.final_function.as_ref().map(|last| find(last, one)).transpose().map_err(RoutineError::FinalFunction)?;
    if let Some(reduce) = &statement.reduce_function {
        let types = [state_type.clone(), state_type.clone()];
        let found = find(reduce, &types).map_err(RoutineError::ReduceFunction)?;
        if found.returns.frozen() != state_type.frozen() {
            return Err(RoutineError::StateType(called(&found.name, &types)).into());
        }
    }
    let initial = match &statement.initial_condition {
        None => None,
        Some(term) => constant(context.schema, Some(&keyspace.name), term, &state_type)
            .map_err(|error| RoutineError::InitialCondition(error.to_string()))?,
    };
    let takes_empty = matches!(state_type, DataType::Text | DataType::Ascii | DataType::Blob);
    if initial.as_ref().is_some_and(Vec::is_empty) && !takes_empty {
        return Err(RoutineError::EmptyInitialCondition.into());
    }
    if state.null_input == NullInput::ReturnsNull && initial.is_none() {
        return Err(RoutineError::NoInitialCondition { name, function: state.name.clone() }.into());
    }
    let text = |name: &ast::Identifier| name.as_str().to_owned();
    Ok(UserAggregate {
        keyspace: keyspace.name.clone(),
        name,
        arguments,
        state_function: state.name.clone(),
        reduce_function: statement.reduce_function.as_ref().map(text),
        final_function: statement.final_function.as_ref().map(text),
        initial,
        returns: last.map_or_else(|| state_type.clone(), |last| last.returns.clone()),
        state_type,
    })
}

pub(super) fn drop(context: &Context<'_>, statement: &ast::DropAggregate) -> Result<Outcome, DdlError> {
    let Some((keyspace, aggregate)) = dropped(context, statement)? else { return Ok(Outcome::unchanged()) };
    let (name, types) = (aggregate.name.clone(), aggregate.arguments.clone());
    let mut keyspace = Keyspace::clone(keyspace);
    keyspace.functions.remove_aggregate(&name, &types);
    Ok(context.with_keyspace(keyspace, ChangeKind::Dropped, target(&name, &types)))
}

/// An aggregate and its keyspace.
type Found<'a> = (&'a Arc<Keyspace>, &'a Arc<UserAggregate>);

/// The aggregate that a DROP means; none if it is not there and need not be.
pub(super) fn dropped<'a>(context: &Context<'a>, statement: &'a ast::DropAggregate) -> Result<Option<Found<'a>>, DdlError> {
    let name = statement.name.name.as_str();
    let keyspace = context.schema.keyspaces.get(context.keyspace_name(statement.name.keyspace.as_ref())?);
    let found = match (keyspace, &statement.arguments) {
        (None, _) => None,
        (Some(keyspace), Some(types)) => keyspace.functions.aggregate(name, &resolved(keyspace, types)?),
        (Some(keyspace), None) => {
            let count = keyspace.functions.functions_named(name).count() + keyspace.functions.aggregates_named(name).count();
            if count > 1 {
                return Err(RoutineError::FunctionAmbiguous { kind: "AGGREGATE", name: name.to_owned() }.into());
            }
            keyspace.functions.aggregates_named(name).next()
        }
    };
    match (keyspace, found) {
        (Some(keyspace), Some(aggregate)) => Ok(Some((keyspace, aggregate))),
        _ if statement.if_exists => Ok(None),
        _ => Err(DdlError::Routine(RoutineError::UnknownAggregate(shown(context, &statement.name, statement.arguments.as_deref())?))),
    }
}

fn target(name: &str, types: &[DataType]) -> SchemaEventTarget {
    SchemaEventTarget::Aggregate { name: name.to_owned(), argument_types: types.iter().map(ToString::to_string).collect() }
}
