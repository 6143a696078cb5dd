//! Aggregates of users: a state that goes through their functions.

use super::{Meter, Script};
use crate::value::function::FunctionError;
use model::{Functions, NullInput, UserAggregate};
use std::sync::Arc;

/// An aggregate with its functions, ready to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptAggregate {
    aggregate: Arc<UserAggregate>,
    next: Script,
    last: Option<Script>,
}

impl ScriptAggregate {
    /// The aggregate's; none if a function of it is not there, which no schema allows.
    #[must_use]
    pub fn new(aggregate: &Arc<UserAggregate>, functions: &Functions) -> Option<Self> {
        let next = Script::new(functions.function(&aggregate.state_function, &aggregate.state_arguments())?);
        let state = std::slice::from_ref(&aggregate.state_type);
        let last = match &aggregate.final_function {
            Some(name) => Some(Script::new(functions.function(name, state)?)),
            None => None,
        };
        Some(Self { aggregate: Arc::clone(aggregate), next, last })
    }

    /// The aggregate.
    #[must_use]
    pub fn aggregate(&self) -> &Arc<UserAggregate> {
        &self.aggregate
    }

    /// Its functions.
    pub fn scripts(&self) -> impl Iterator<Item = &Script> {
        [&self.next].into_iter().chain(&self.last)
    }

    /// The state before the first row.
    #[must_use]
    pub fn begin(self: &Arc<Self>) -> ScriptState {
        ScriptState { aggregate: Arc::clone(self), state: self.aggregate.initial.clone() }
    }
}

/// What an aggregate has of the rows so far.
#[derive(Clone, Debug)]
pub struct ScriptState {
    aggregate: Arc<ScriptAggregate>,
    state: Option<Vec<u8>>,
}

impl ScriptState {
    /// Adds a row. One with a null argument leaves the state as it is where the state function is not called on null.
    ///
    /// # Errors
    /// As [`Script::call`].
    pub fn add(&mut self, arguments: &[Option<&[u8]>], meter: &Meter) -> Result<(), FunctionError> {
        let next = &self.aggregate.next;
        if next.function().null_input == NullInput::ReturnsNull && arguments.iter().any(Option::is_none) {
            return Ok(());
        }
        let all: Vec<Option<&[u8]>> = std::iter::once(self.state.as_deref()).chain(arguments.iter().copied()).collect();
        let mut out = Vec::new();
        let there = next.call(&all, meter, &mut out)?;
        self.state = there.then_some(out);
        Ok(())
    }

    /// The result.
    ///
    /// # Errors
    /// As [`Script::call`].
    pub fn finish(self, meter: &Meter) -> Result<Option<Vec<u8>>, FunctionError> {
        let Some(last) = &self.aggregate.last else { return Ok(self.state) };
        let mut out = Vec::new();
        let there = last.call(&[self.state.as_deref()], meter, &mut out)?;
        Ok(there.then_some(out))
    }
}
