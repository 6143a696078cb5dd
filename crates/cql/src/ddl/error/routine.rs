//! Why a statement about a function or an aggregate is refused.

use super::kind::DdlErrorKind;

/// Why a statement about a function or an aggregate is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the fields are what the messages name
pub enum RoutineError {
    #[error("Function '{0}' doesn't exist")]
    UnknownFunction(String),
    #[error("Aggregate '{0}' doesn't exist")]
    UnknownAggregate(String),
    #[error("Cannot use both 'OR REPLACE' and 'IF NOT EXISTS' directives")]
    ReplaceIfNotExists,
    /// ScyllaDB's words: Cassandra has functions in Java.
    #[error("Language '{0}' is not supported")]
    FunctionLanguage(String),
    #[error("Duplicate argument names for given function {name} with argument names [{arguments}]")]
    ArgumentTwice { name: String, arguments: String },
    #[error("Function '{0}' cannot replace an aggregate")]
    FunctionIsAggregate(String),
    #[error("Function '{0}' already exists")]
    FunctionExists(String),
    #[error("Function '{name}' must have {directive} directive")]
    FunctionNullInput { name: String, directive: &'static str },
    #[error(
        "Cannot replace function '{name}', the new return type {new} is not compatible with the return type {former} of existing function"
    )]
    FunctionReturns { name: String, new: String, former: String },
    #[error("Could not compile function '{name}': {why}")]
    FunctionBody { name: String, why: String },
    #[error(
        "'DROP {kind} {name}' matches multiple function definitions; specify the argument types by issuing a statement like \
         'DROP {kind} {name} (type, type, ...)'. You can use cqlsh 'DESCRIBE {kind} {name}' command to find all overloads"
    )]
    FunctionAmbiguous { kind: &'static str, name: String },
    #[error("Function '{name}' is still referenced by aggregates {aggregates}")]
    FunctionUsed { name: String, aggregates: String },
    #[error("Aggregate '{0}' cannot replace a function")]
    AggregateIsFunction(String),
    #[error("Aggregate '{0}' already exists")]
    AggregateExists(String),
    #[error(
        "Cannot replace aggregate '{name}', the new return type {new} isn't compatible with the return type {former} of existing function"
    )]
    AggregateReturns { name: String, new: String, former: String },
    #[error("State function {0} doesn't exist")]
    StateFunction(String),
    #[error("State function {0} return type must be the same as the first argument type - check STYPE, argument and return types")]
    StateType(String),
    #[error("Final function {0} doesn't exist")]
    FinalFunction(String),
    #[error("Reduce function {0} doesn't exist")]
    ReduceFunction(String),
    #[error("{0}")]
    InitialCondition(String),
    #[error("INITCOND must not be empty for all types except TEXT, ASCII, BLOB")]
    EmptyInitialCondition,
    #[error("Cannot create aggregate '{name}' without INITCOND because state function {function} does not accept 'null' arguments")]
    NoInitialCondition { name: String, function: String },
}

impl RoutineError {
    /// Its error code.
    #[must_use]
    pub fn kind(&self) -> DdlErrorKind {
        DdlErrorKind::Invalid
    }
}
