//! Calls of functions with what is known of the request.

use crate::CqlError;
use crate::value::function::{Environment, FunctionError, FunctionSpec};
use base::Rng;
use model::DataType;

/// Calls a function; `None` is null. `serial` tells the calls of a statement apart: two `uuid()` are two UUIDs.
pub(super) fn call(
    function: &FunctionSpec,
    arguments: &[Option<&[u8]>],
    environment: &super::Environment<'_>,
    serial: u16,
) -> Result<Option<Vec<u8>>, CqlError> {
    let context = environment.context;
    let mut random = Rng::new(context.nonce ^ (u64::from(serial) << 48));
    let mut outside = Environment { now_microseconds: context.now.wall_us, random: &mut random, meter: environment.bindings.meter() };
    let mut out = Vec::new();
    let there = function.call(arguments, &mut outside, &mut out).map_err(failure)?;
    Ok(there.then_some(out))
}

/// Why a call has no result: a mistake in the statement, or a failure of the function, which Cassandra tells apart.
pub(super) fn failure(error: FunctionError) -> CqlError {
    let message = error.to_string();
    if let FunctionError::Script { function, .. } = &error {
        let argument_types = function.arguments.iter().map(|(_, data_type)| data_type.to_string()).collect();
        let (keyspace, function) = (function.keyspace.clone(), function.name.clone());
        return CqlError::FunctionFailure { keyspace, function, argument_types, message };
    }
    let (function, argument_types) = match error {
        FunctionError::Json(_) => ("fromjson", vec![DataType::Text]),
        FunctionError::Operation { left, operator, right, .. } => (operator.function_name(), vec![left, right]),
        FunctionError::MillisecondPrecision { operator, .. } => (operator.function_name(), vec![DataType::Timestamp, DataType::Duration]),
        FunctionError::DayPrecision { operator, .. } => (operator.function_name(), vec![DataType::Date, DataType::Duration]),
        _ => return CqlError::Invalid(message),
    };
    let argument_types = argument_types.iter().map(ToString::to_string).collect();
    CqlError::FunctionFailure { keyspace: "system".to_owned(), function: function.to_owned(), argument_types, message }
}
