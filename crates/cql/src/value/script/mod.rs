//! Functions of users as functions of values: bytes become values of the sandbox, and its results bytes.
//!
//! A [`Script`] is a function ready to be called, a [`ScriptAggregate`] an aggregate with its functions. What calls cost is summed up in a [`Meter`]: a
//! statement may take [`RUN_INSTRUCTIONS_MAX`] at a stretch.

mod aggregate;
mod from_lua;
mod into_lua;
mod wasm;

pub use aggregate::{ScriptAggregate, ScriptState};

use super::function::FunctionError;
use from_lua::from_lua;
use into_lua::into_lua;
use md5::{Digest, Md5};
use model::{DataType, Function, NullInput};
use script::limits::CALL_INSTRUCTIONS_MAX;
use script::{Program, ScriptError, Value, WasmProgram};
use std::cell::Cell;
use std::sync::Arc;

/// The language that most functions are written in; the other one is [`Function::WASM`].
pub const LUA: &str = "lua";

/// What all calls together may take for the values of a statement, or for one row of a result.
pub const RUN_INSTRUCTIONS_MAX: u64 = 2 * CALL_INSTRUCTIONS_MAX;

/// What calls have cost.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    spent: Cell<u64>,
    row_began_at: Cell<u64>,
}

impl Meter {
    /// All that calls have cost, in instructions.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// The next row may take as much as any.
    pub fn begin_row(&self) {
        self.row_began_at.set(self.spent.get());
    }

    /// Takes over what others have cost.
    pub fn carry(&self, spent: u64) {
        self.spent.set(spent);
    }

    fn left(&self) -> u64 {
        RUN_INSTRUCTIONS_MAX.saturating_sub(self.spent.get() - self.row_began_at.get())
    }

    fn add(&self, instructions: u64) {
        self.spent.set(self.spent.get().saturating_add(instructions));
    }
}

/// A function of a user, ready to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    function: Arc<Function>,
    source: Source,
}

/// What a function was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Lua(Program),
    Wasm(Arc<WasmProgram>),
}

impl Script {
    /// The function's.
    #[must_use]
    pub fn new(function: &Arc<Function>) -> Self {
        if function.language == Function::WASM {
            return Self { function: Arc::clone(function), source: Source::Wasm(wasm::program(function)) };
        }
        let mut hasher = Md5::new();
        // Lengths keep apart what would read alike.
        for part in [&function.keyspace, &function.name, &function.body].into_iter().chain(function.arguments.iter().map(|(name, _)| name))
        {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        let digest: [u8; 16] = hasher.finalize().into();
        let program = Program {
            id: u128::from_be_bytes(digest),
            name: format!("{}.{}", function.keyspace, function.name).into(),
            arguments: function.arguments.iter().map(|(name, _)| name.clone()).collect(),
            body: function.body.as_str().into(),
        };
        Self { function: Arc::clone(function), source: Source::Lua(program) }
    }

    /// The function.
    #[must_use]
    pub fn function(&self) -> &Arc<Function> {
        &self.function
    }

    /// Whether its body can be compiled.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check(&self) -> Result<(), ScriptError> {
        match &self.source {
            Source::Lua(program) => script::check(program),
            Source::Wasm(program) => script::check_wasm(program),
        }
    }

    /// Calls it and appends the result; false is null.
    ///
    /// # Errors
    /// When it fails, takes too much, or its result is no value of its type.
    pub fn call(&self, arguments: &[Option<&[u8]>], meter: &Meter, out: &mut Vec<u8>) -> Result<bool, FunctionError> {
        let function = &*self.function;
        if function.null_input == NullInput::ReturnsNull && arguments.iter().any(Option::is_none) {
            return Ok(false);
        }
        let program = match &self.source {
            Source::Lua(program) => program,
            Source::Wasm(program) => {
                let (instructions, there) = wasm::call(function, program, arguments, meter.left(), out);
                meter.add(instructions);
                return there.map_err(|detail| self.failed(detail));
            }
        };
        let value = |((_, data_type), bytes): (&(String, DataType), &Option<&[u8]>)| match bytes {
            Some(bytes) => into_lua(data_type, bytes),
            None => Value::Nil,
        };
        let values = function.arguments.iter().zip(arguments).map(value).collect();
        let called = script::call(program, values, meter.left());
        meter.add(called.instructions);
        let result = called.result.map_err(|error| self.failed(error.to_string()))?;
        if result == Value::Nil {
            return Ok(false);
        }
        from_lua(&function.returns, &result, out).map_err(|error| self.failed(error.to_string()))?;
        Ok(true)
    }

    fn failed(&self, detail: String) -> FunctionError {
        FunctionError::Script { function: Arc::clone(&self.function), detail: detail.into() }
    }
}
