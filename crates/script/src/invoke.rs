//! Calls of a dialect's functions in a core's state.

use crate::dialect::{Dialect, Find, Invoked, Running, Spoken};
use crate::limits::{CALL_INSTRUCTIONS, CALL_INSTRUCTIONS_MAX};
use crate::objects::{from_lua, into_lua};
use crate::sandbox::{Sandbox, with_sandbox};
use crate::{ScriptError, Value};

/// Runs a dialect's prelude on an argument: so a function of a module is called.
#[must_use]
pub fn invoke(dialect: &'static Dialect, find: Find, argument: Value) -> Invoked {
    with_sandbox(|sandbox| {
        let given = argument.cost();
        let (result, log) = sandbox.invoke(dialect, find, argument);
        let returned = result.as_ref().map_or(0, Value::cost);
        Invoked { result, instructions: sandbox.spent() + CALL_INSTRUCTIONS + given + returned, log }
    })
}

impl Sandbox {
    fn invoke(&mut self, dialect: &'static Dialect, find: Find, argument: Value) -> (Result<Value, ScriptError>, Vec<(i64, String)>) {
        let position = match self.speak(dialect) {
            Ok(position) => position,
            Err(error) => return (Err(self.failure(error)), Vec::new()),
        };
        *self.dialects[position].running.borrow_mut() = Running { find: Some(find), ..Running::default() };
        let result = self.run_dialect(position, argument);
        let result = match result {
            Ok(value) => from_lua(&value, self.dialects[position].objects.borrow().as_ref()),
            Err(error) => Err(self.failure(error)),
        };
        self.is_spoilt |= matches!(result, Err(ScriptError::Memory(_)));
        let running = std::mem::take(&mut *self.dialects[position].running.borrow_mut());
        (result, running.log)
    }

    /// Where a dialect is among those of the state, which gets it if it has not.
    fn speak(&mut self, dialect: &'static Dialect) -> mlua::Result<usize> {
        if let Some(position) = self.dialects.iter().position(|spoken| std::ptr::eq(spoken.dialect, dialect)) {
            return Ok(position);
        }
        self.unbounded()?;
        let spoken = Spoken::new(&self.lua, &self.library, dialect, &self.meter, &self.programs)?;
        self.dialects.push(spoken);
        self.settle();
        Ok(self.dialects.len() - 1)
    }

    fn run_dialect(&self, position: usize, argument: Value) -> mlua::Result<mlua::Value> {
        self.unbounded()?;
        let spoken = &self.dialects[position];
        let argument = into_lua(&self.lua, spoken.objects.borrow().as_ref(), argument)?;
        self.begin(CALL_INSTRUCTIONS_MAX);
        spoken.run.call(argument)
    }
}
