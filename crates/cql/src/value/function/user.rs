//! Calls of functions that users have made, beside native ones.

use super::argument::Argument;
use super::resolve::{check, choose, overloads, resolve};
use super::spec::{FunctionSpec, Operation, UserSpec};
use super::{FunctionError, Signature};
use crate::value::script::{Script, ScriptAggregate};
use model::{DataType, Functions};
use std::sync::Arc;

/// Where a call may find functions of users.
#[derive(Clone, Copy, Debug)]
pub struct UserFunctions<'a> {
    /// The keyspace.
    pub keyspace: &'a str,
    /// Its functions.
    pub functions: &'a Functions,
    /// Whether native ones are meant, too: the call names no keyspace.
    pub and_native: bool,
}

impl UserFunctions<'_> {
    fn named(self, name: &str) -> Vec<FunctionSpec> {
        let spec = |arguments, result: &DataType, user| FunctionSpec {
            signature: Signature { keyspace: self.keyspace.into(), name: name.into(), arguments, result: result.clone() },
            operation: Operation::User,
            user: Some(user),
        };
        let functions = self.functions.functions_named(name).map(|function| {
            let script = UserSpec::Function(Arc::new(Script::new(function)));
            spec(function.argument_types(), &function.returns, script)
        });
        let aggregates = self.functions.aggregates_named(name).filter_map(|aggregate| {
            let script = UserSpec::Aggregate(Arc::new(ScriptAggregate::new(aggregate, self.functions)?));
            Some(spec(aggregate.arguments.clone(), &aggregate.returns, script))
        });
        functions.chain(aggregates).collect()
    }
}

/// As [`resolve`], with the functions of users.
///
/// # Errors
/// When there is none, or more than one.
pub fn resolve_with(
    users: UserFunctions<'_>,
    name: &str,
    arguments: &[Argument<'_>],
    receiver: Option<&DataType>,
) -> Result<FunctionSpec, FunctionError> {
    let mut candidates = users.named(name);
    if candidates.is_empty() && users.and_native {
        return resolve(name, arguments, receiver);
    }
    if users.and_native {
        candidates.extend(overloads(name));
    }
    let shown = if users.and_native { name.to_owned() } else { format!("{}.{name}", users.keyspace) };
    match candidates.len() {
        0 => Err(FunctionError::Unknown { name: shown.into() }),
        1 => check(candidates.remove(0), arguments),
        _ => choose(&shown, candidates, arguments, receiver),
    }
}
