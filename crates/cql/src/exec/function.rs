//! Calls of native functions with what is known of the request.

use crate::CqlError;
use crate::value::function::{Environment, FunctionSpec};
use base::Rng;
use model::operation::Context;

/// Calls a function; `None` is null. `serial` tells the calls of a statement apart: two `uuid()` are two UUIDs.
pub(super) fn call(
    function: &FunctionSpec,
    arguments: &[Option<&[u8]>],
    context: &Context,
    serial: u16,
) -> Result<Option<Vec<u8>>, CqlError> {
    let mut random = Rng::new(context.nonce ^ (u64::from(serial) << 48));
    let mut outside = Environment { now_microseconds: context.now.wall_us, random: &mut random };
    let mut out = Vec::new();
    let there = function.call(arguments, &mut outside, &mut out).map_err(|error| CqlError::Invalid(error.to_string()))?;
    Ok(there.then_some(out))
}
