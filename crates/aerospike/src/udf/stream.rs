//! One call of a stream function: on the records of a slice, or on what slices came to.

use super::call::{Call, CalledRecord, field, particle_of, shortened, stored};
use super::modules::Modules;
use crate::value::Particle;
use script::{Invoked, ScriptError, Value};

/// A stream function that is to be called.
#[derive(Clone, Debug)]
pub(crate) struct StreamCall {
    pub(crate) modules: Modules,
    pub(crate) module: Vec<u8>,
    pub(crate) name: Vec<u8>,
    /// A list in msgpack.
    pub(crate) arguments: Vec<u8>,
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Given {
    pub(crate) values: Vec<Particle<'static>>,
    /// Whether the function joins values in the end: so those of several calls may be joined.
    pub(crate) reduces: bool,
}

/// Why it has given nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamFailure {
    /// It took too much: it may do with fewer records.
    TooMuch(String),
    Other(String),
}

impl StreamCall {
    /// Calls it for some records.
    pub(crate) fn run(&self, records: &[CalledRecord<'_>], now_ms: i64) -> (Result<Given, StreamFailure>, Vec<(i64, String)>) {
        self.call("records", records.iter().map(CalledRecord::value), now_ms)
    }

    /// Joins what it has given for others.
    pub(crate) fn join(&self, values: &[Particle<'static>], now_ms: i64) -> (Result<Given, StreamFailure>, Vec<(i64, String)>) {
        self.call("values", values.iter().map(|value| stored(value.kind as u8, &value.bytes)), now_ms)
    }

    fn call(&self, of: &str, subjects: impl Iterator<Item = Value>, now_ms: i64) -> (Result<Given, StreamFailure>, Vec<(i64, String)>) {
        let call = Call { modules: &self.modules, module: &self.module, name: &self.name, arguments: &self.arguments, now_ms };
        let Invoked { result, log, .. } = call.invoke([(of, Value::sequence(subjects))]);
        let given = match result {
            Ok(value) => given(&value).ok_or_else(|| StreamFailure::Other("the function's values cannot be read".to_owned())),
            Err(error @ (ScriptError::Instructions(_) | ScriptError::Memory(_))) => Err(StreamFailure::TooMuch(error.to_string())),
            Err(error) => Err(StreamFailure::Other(shortened(error.to_string()))),
        };
        (given, log)
    }
}

fn given(value: &Value) -> Option<Given> {
    let Value::Table(mut entries) = field(value, "given") else { return None };
    // Tables have no order.
    entries.sort_by_key(|(position, _)| if let Value::Integer(position) = position { *position } else { 0 });
    let values = entries.iter().map(|(_, value)| particle_of(value)).collect::<Option<_>>()?;
    Some(Given { values, reduces: field(value, "reduces") == Value::Boolean(true) })
}
