//! What statements about functions and aggregates need, and what their makers get.

use super::DdlError;
use super::change::Context;
use super::function::{function_type, resolved};
use super::{aggregate, function};
use crate::language::ast::{Statement, TypeName};
use model::{DataType, Keyspace, Permission, Resource};

/// The permissions that a statement needs; none of statements about other things, and where there is nothing to change.
pub(super) fn needs(context: &Context<'_>, statement: &Statement) -> Result<Vec<(Permission, Resource)>, DdlError> {
    Ok(match statement {
        Statement::CreateFunction(create) => {
            let keyspace = function::place(context, &create.name)?;
            let types = create.arguments.iter().map(|(_, type_name)| function_type(keyspace, type_name)).collect::<Result<Vec<_>, _>>()?;
            let exists = keyspace.functions.function(&create.name.name, &types).is_some();
            vec![to_make(keyspace, &create.name.name, &types, exists && create.or_replace)]
        }
        Statement::CreateAggregate(create) => {
            let keyspace = function::place(context, &create.name)?;
            let types = resolved(keyspace, &create.arguments)?;
            let exists = keyspace.functions.aggregate(&create.name.name, &types).is_some();
            let mut needed = vec![to_make(keyspace, &create.name.name, &types, exists && create.or_replace)];
            let state = function_type(keyspace, &create.state_type)?;
            let state_types: Vec<DataType> = std::iter::once(&state).chain(&types).cloned().collect();
            let both = [state.clone(), state.clone()];
            let parts = [
                (Some(&create.state_function), state_types.as_slice()),
                (create.final_function.as_ref(), std::slice::from_ref(&state)),
                (create.reduce_function.as_ref(), &both),
            ];
            for (name, types) in parts {
                // One that is not there is another mistake.
                let found = name.and_then(|name| keyspace.functions.function(name.as_str(), types));
                needed.extend(found.map(|found| (Permission::Execute, Resource::function(&keyspace.name, &found.name, types))));
            }
            needed
        }
        Statement::DropFunction(drop) => match function::dropped(context, drop)? {
            Some((keyspace, found)) => {
                vec![(Permission::Drop, Resource::function(&keyspace.name, &found.name, &found.argument_types()))]
            }
            None => Vec::new(),
        },
        Statement::DropAggregate(drop) => match aggregate::dropped(context, drop)? {
            Some((keyspace, found)) => vec![(Permission::Drop, Resource::function(&keyspace.name, &found.name, &found.arguments))],
            None => Vec::new(),
        },
        _ => Vec::new(),
    })
}

fn to_make(keyspace: &Keyspace, name: &str, types: &[DataType], replaces: bool) -> (Permission, Resource) {
    if replaces {
        (Permission::Alter, Resource::function(&keyspace.name, name, types))
    } else {
        (Permission::Create, Resource::AllFunctionsIn(keyspace.name.clone()))
    }
}

/// What a statement has made.
pub(super) fn made(context: &Context<'_>, statement: &Statement) -> Option<Resource> {
    let resource = |name: &crate::language::ast::FunctionName, types: Vec<&TypeName>| {
        let keyspace = function::place(context, name).ok()?;
        let types = types.into_iter().map(|type_name| function_type(keyspace, type_name)).collect::<Result<Vec<_>, _>>().ok()?;
        Some(Resource::function(&keyspace.name, &name.name, &types))
    };
    match statement {
        Statement::CreateFunction(create) => resource(&create.name, create.arguments.iter().map(|(_, type_name)| type_name).collect()),
        Statement::CreateAggregate(create) => resource(&create.name, create.arguments.iter().collect()),
        _ => None,
    }
}
