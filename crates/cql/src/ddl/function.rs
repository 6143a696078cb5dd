//! CREATE and DROP FUNCTION.

use super::DdlError;
use super::change::{Context, Outcome, SchemaEventTarget};
use super::error::RoutineError;
use super::types::TypeResolver;
use crate::language::ast::{self, Identifier, TypeName};
use crate::value::script::{LUA, Script};
use crate::wire::ChangeKind;
use model::{DataType, Function, Keyspace, NullInput, Table};
use std::collections::HashSet;
use std::sync::Arc;

/// How long a function's body may be.
const BODY_BYTES_MAX: usize = 64 << 10;

/// How long a module of WebAssembly may be as text: about ten times its binary form.
const WASM_BODY_BYTES_MAX: usize = 1 << 20;

/// How long all modules of WebAssembly may be together: each change of the schema stores all of it, in a command of at most 4 MiB.
const ALL_WASM_BYTES_MAX: usize = 2 << 20;

pub(super) fn create(context: &Context<'_>, statement: &ast::CreateFunction) -> Result<Outcome, DdlError> {
    if statement.or_replace && statement.if_not_exists {
        return Err(RoutineError::ReplaceIfNotExists.into());
    }
    let language = known_language(&statement.language)?;
    let keyspace = place(context, &statement.name)?;
    let function = declared(keyspace, statement, language)?;
    let types = function.argument_types();
    let name = &function.name;
    if keyspace.functions.aggregate(name, &types).is_some() {
        return Err(RoutineError::FunctionIsAggregate(name.clone()).into());
    }
    let former = keyspace.functions.function(name, &types);
    if let Some(former) = former {
        if statement.if_not_exists {
            return Ok(Outcome::unchanged());
        }
        check_replacing(former, &function, statement.or_replace)?;
        if **former == function {
            return Ok(Outcome::unchanged());
        }
    }
    check_length(context, former, &function).map_err(|why| RoutineError::FunctionBody { name: name.clone(), why })?;
    let compiled = Script::new(&Arc::new(function.clone())).check();
    compiled.map_err(|error| RoutineError::FunctionBody { name: name.clone(), why: error.to_string() })?;
    let change = if former.is_some() { ChangeKind::Updated } else { ChangeKind::Created };
    let target = target(name, &types);
    let mut keyspace = Keyspace::clone(keyspace);
    keyspace.functions.put_function(function);
    Ok(context.with_keyspace(keyspace, change, target))
}

/// Whether there is room for a function's body, and if not why.
fn check_length(context: &Context<'_>, former: Option<&Arc<Function>>, function: &Function) -> Result<(), String> {
    let is_wasm = function.language == Function::WASM;
    let limit = if is_wasm { WASM_BODY_BYTES_MAX } else { BODY_BYTES_MAX };
    if function.body.len() > limit {
        return Err(format!("it has more than {limit} bytes"));
    }
    let others = context.schema.wasm_functions().filter(|other| former.is_none_or(|former| !std::ptr::eq(former.as_ref(), *other)));
    if is_wasm && others.map(|other| other.body.len()).sum::<usize>() + function.body.len() > ALL_WASM_BYTES_MAX {
        return Err(format!("all functions in WebAssembly together would have more than {ALL_WASM_BYTES_MAX} bytes"));
    }
    Ok(())
}

/// The language as the schema has it. ScyllaDB's WebAssembly had another name at first.
fn known_language(language: &Identifier) -> Result<&'static str, DdlError> {
    match language.as_str().to_lowercase().as_str() {
        LUA => Ok(LUA),
        Function::WASM | "xwasm" => Ok(Function::WASM),
        other => Err(DdlError::Routine(RoutineError::FunctionLanguage(other.to_owned()))),
    }
}

fn declared(keyspace: &Keyspace, statement: &ast::CreateFunction, language: &str) -> Result<Function, DdlError> {
    let name = statement.name.name.as_str().to_owned();
    let mut names = HashSet::new();
    if statement.arguments.iter().any(|(argument, _)| !names.insert(argument.as_str())) {
        let all: Vec<&str> = statement.arguments.iter().map(|(argument, _)| argument.as_str()).collect();
        return Err(RoutineError::ArgumentTwice { name, arguments: all.join(", ") }.into());
    }
    let mut arguments = Vec::with_capacity(statement.arguments.len());
    for (argument, type_name) in &statement.arguments {
        arguments.push((argument.as_str().to_owned(), function_type(keyspace, type_name)?));
    }
    let null_input = match statement.null_input {
        ast::NullInput::Called => NullInput::Called,
        ast::NullInput::ReturnsNull => NullInput::ReturnsNull,
    };
    let (returns, body) = (function_type(keyspace, &statement.returns)?, statement.body.to_string());
    Ok(Function { keyspace: keyspace.name.clone(), name, arguments, returns, null_input, language: language.to_owned(), body })
}

fn check_replacing(former: &Function, function: &Function, or_replace: bool) -> Result<(), DdlError> {
    let name = || function.name.clone();
    if !or_replace {
        return Err(RoutineError::FunctionExists(name()).into());
    }
    if former.null_input != function.null_input {
        let directive = match function.null_input {
            NullInput::Called => "CALLED ON NULL INPUT",
            NullInput::ReturnsNull => "RETURNS NULL ON NULL INPUT",
        };
        return Err(RoutineError::FunctionNullInput { name: name(), directive }.into());
    }
    if former.returns.frozen() != function.returns.frozen() {
        let (new, former) = (function.returns.to_string(), former.returns.to_string());
        return Err(RoutineError::FunctionReturns { name: name(), new, former }.into());
    }
    Ok(())
}

pub(super) fn drop(context: &Context<'_>, statement: &ast::DropFunction) -> Result<Outcome, DdlError> {
    let Some((keyspace, function)) = dropped(context, statement)? else { return Ok(Outcome::unchanged()) };
    let users: Vec<String> = keyspace
        .functions
        .aggregates()
        .filter(|aggregate| aggregate.uses(function))
        .map(|aggregate| format!("{}.{}", aggregate.keyspace, aggregate.name))
        .collect();
    if !users.is_empty() {
        let name = shown(context, &statement.name, statement.arguments.as_deref())?;
        return Err(RoutineError::FunctionUsed { name, aggregates: users.join(", ") }.into());
    }
    let masked = keyspace.tables.values().filter(|table| table.view.is_none() && is_masked_by(table, function));
    let tables: Vec<&str> = masked.map(|table| table.name.as_str()).collect();
    if !tables.is_empty() {
        let name = shown(context, &statement.name, statement.arguments.as_deref())?;
        return Err(DdlError::FunctionMasks { name, tables: tables.join(", ") });
    }
    let (name, types) = (function.name.clone(), function.argument_types());
    let mut keyspace = Keyspace::clone(keyspace);
    keyspace.functions.remove_function(&name, &types);
    Ok(context.with_keyspace(keyspace, ChangeKind::Dropped, target(&name, &types)))
}

/// Whether a function masks a column of a table. As in Cassandra, one of its name is as good.
fn is_masked_by(table: &Table, function: &Function) -> bool {
    let masks = table.columns.iter().filter_map(|column| column.mask.as_ref());
    masks.into_iter().any(|mask| mask.keyspace == function.keyspace && mask.function == function.name)
}

/// A function and its keyspace.
type Found<'a> = (&'a Arc<Keyspace>, &'a Arc<Function>);

/// The function that a DROP means; none if it is not there and need not be.
pub(super) fn dropped<'a>(context: &Context<'a>, statement: &'a ast::DropFunction) -> Result<Option<Found<'a>>, DdlError> {
    let name = statement.name.name.as_str();
    let keyspace = context.schema.keyspaces.get(context.keyspace_name(statement.name.keyspace.as_ref())?);
    let found = match (keyspace, &statement.arguments) {
        (None, _) => None,
        (Some(keyspace), Some(types)) => keyspace.functions.function(name, &resolved(keyspace, types)?),
        (Some(keyspace), None) => {
            let count = keyspace.functions.functions_named(name).count() + keyspace.functions.aggregates_named(name).count();
            if count > 1 {
                return Err(RoutineError::FunctionAmbiguous { kind: "FUNCTION", name: name.to_owned() }.into());
            }
            keyspace.functions.functions_named(name).next()
        }
    };
    match (keyspace, found) {
        (Some(keyspace), Some(function)) => Ok(Some((keyspace, function))),
        _ if statement.if_exists => Ok(None),
        _ => Err(DdlError::Routine(RoutineError::UnknownFunction(shown(context, &statement.name, statement.arguments.as_deref())?))),
    }
}

/// The keyspace of a function or aggregate to make.
pub(super) fn place<'a>(context: &Context<'a>, name: &'a ast::FunctionName) -> Result<&'a Arc<Keyspace>, DdlError> {
    context.existing_keyspace(name.keyspace.as_ref())
}

/// A type as functions have it.
pub(super) fn function_type(keyspace: &Keyspace, type_name: &TypeName) -> Result<DataType, DdlError> {
    TypeResolver { keyspace: Some(&keyspace.name), types: Some(&keyspace.types) }.resolve(type_name)
}

pub(super) fn resolved(keyspace: &Keyspace, types: &[TypeName]) -> Result<Vec<DataType>, DdlError> {
    types.iter().map(|type_name| function_type(keyspace, type_name)).collect()
}

/// What a message calls a function that is not there.
pub(super) fn shown(context: &Context<'_>, name: &ast::FunctionName, types: Option<&[TypeName]>) -> Result<String, DdlError> {
    let (keyspace, own) = (context.keyspace_name(name.keyspace.as_ref())?, name.name.as_str());
    Ok(match types {
        None => format!("{keyspace}.{own}"),
        Some(types) => {
            let types: Vec<String> = types.iter().map(ToString::to_string).collect();
            format!("{keyspace}.{own}({})", types.join(", "))
        }
    })
}

fn target(name: &str, types: &[DataType]) -> SchemaEventTarget {
    SchemaEventTarget::Function { name: name.to_owned(), argument_types: types.iter().map(ToString::to_string).collect() }
}
