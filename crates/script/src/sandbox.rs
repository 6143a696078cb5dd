//! A core's Lua state, and the calls in it.
//!
//! The state belongs to the thread, and a core is one: no call waits for another, and what one costs no other core pays.

use crate::convert::{from_lua, into_lua, register_numbers};
use crate::limits::{CALL_BYTES_MAX, CALL_INSTRUCTIONS, CALL_INSTRUCTIONS_MAX, GARBAGE_BYTES_MAX, HOOK_INSTRUCTIONS, PROGRAMS_MAX};
use crate::meter::Meter;
use crate::{Program, ScriptError, Value, strings};
use mlua::{ChunkMode, Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, VmState};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// Its result.
    pub result: Result<Value, ScriptError>,
    /// What it has cost, in instructions.
    pub instructions: u64,
}

thread_local! {
    static SANDBOX: RefCell<Option<Sandbox>> = const { RefCell::new(None) };
}

/// Calls a program, which may take so many instructions, at most [`CALL_INSTRUCTIONS_MAX`].
#[must_use]
pub fn call(program: &Program, arguments: Vec<Value>, instructions_max: u64) -> Called {
    with_sandbox(|sandbox| {
        let given: u64 = arguments.iter().map(Value::cost).sum();
        let result = sandbox.call(program, arguments, instructions_max.min(CALL_INSTRUCTIONS_MAX));
        let returned = result.as_ref().map_or(0, Value::cost);
        Called { result, instructions: sandbox.meter.spent() + CALL_INSTRUCTIONS + given + returned }
    })
}

/// Whether a program can be compiled.
///
/// # Errors
/// Why it cannot.
pub fn check(program: &Program) -> Result<(), ScriptError> {
    with_sandbox(|sandbox| sandbox.compile(program).map(|_| ()))
}

fn with_sandbox<T>(work: impl FnOnce(&mut Sandbox) -> T) -> T {
    SANDBOX.with_borrow_mut(|slot| {
        let mut sandbox = slot.take().unwrap_or_else(|| Sandbox::new().expect("a state without limits can be made"));
        let outcome = work(&mut sandbox);
        sandbox.tidy();
        // One that ran out of memory is not used any more.
        if !sandbox.is_spoilt {
            *slot = Some(sandbox);
        }
        outcome
    })
}

struct Sandbox {
    lua: Lua,
    meter: Rc<Meter>,
    /// The metatable of each call's globals.
    globals: Table,
    programs: HashMap<u128, Function>,
    /// Bytes in use after the last collection.
    settled_bytes: usize,
    is_spoilt: bool,
}

impl Sandbox {
    fn new() -> mlua::Result<Self> {
        let lua = Lua::new_with(StdLib::TABLE | StdLib::STRING | StdLib::MATH, LuaOptions::default())?;
        let meter = Rc::new(Meter::default());
        meter.begin(u64::MAX, 0);
        register_numbers(&lua, &meter)?;
        let charged = Rc::clone(&meter);
        let charge = lua.create_function(move |_, instructions: i64| charged.charge(instructions.max(0).unsigned_abs()))?;
        let patterns = strings::library(&lua, &meter)?;
        let globals = lua.load(include_str!("prelude.lua")).set_name("=prelude").call::<Table>((charge, patterns))?;
        let hooked = Rc::clone(&meter);
        lua.set_hook(HookTriggers::new().every_nth_instruction(HOOK_INSTRUCTIONS), move |lua, _| {
            hooked.look(lua.used_memory()).map(|()| VmState::Continue)
        })?;
        lua.gc_collect()?;
        lua.gc_stop();
        let settled_bytes = lua.used_memory();
        Ok(Self { lua, meter, globals, programs: HashMap::new(), settled_bytes, is_spoilt: false })
    }

    fn compile(&mut self, program: &Program) -> Result<Function, ScriptError> {
        if let Some(function) = self.programs.get(&program.id) {
            return Ok(function.clone());
        }
        if self.programs.len() >= PROGRAMS_MAX {
            self.programs.clear();
            self.collect();
        }
        let source = program.source()?;
        self.begin(CALL_INSTRUCTIONS_MAX);
        let chunk = self.lua.load(source).set_name(format!("={}", program.name)).set_mode(ChunkMode::Text);
        let function = chunk.into_function().map_err(|error| match error {
            mlua::Error::SyntaxError { message, .. } => ScriptError::Compile(message),
            other => self.failure(other),
        })?;
        self.programs.insert(program.id, function.clone());
        Ok(function)
    }

    fn call(&mut self, program: &Program, arguments: Vec<Value>, instructions_max: u64) -> Result<Value, ScriptError> {
        self.meter.begin(instructions_max, 0);
        let function = self.compile(program)?;
        let result = self.run(&function, arguments, instructions_max);
        let result = match result {
            Ok(value) => from_lua(&value),
            Err(error) => Err(self.failure(error)),
        };
        self.is_spoilt = matches!(result, Err(ScriptError::Memory(_)));
        result
    }

    fn run(&mut self, function: &Function, arguments: Vec<Value>, instructions_max: u64) -> mlua::Result<mlua::Value> {
        let lua = &self.lua;
        // Arguments are as large as they are: what the call adds is bounded.
        lua.set_memory_limit(0)?;
        let globals = lua.create_table()?;
        globals.set_metatable(Some(self.globals.clone()))?;
        function.set_environment(globals)?;
        let arguments = arguments.into_iter().map(|value| into_lua(lua, value)).collect::<mlua::Result<MultiValue>>()?;
        self.begin(instructions_max);
        function.call(arguments)
    }

    /// From here on memory and instructions count.
    fn begin(&self, instructions_max: u64) {
        let used = self.lua.used_memory();
        self.lua.set_memory_limit(used + CALL_BYTES_MAX).expect("the state has an allocator that counts");
        self.meter.begin(instructions_max, used);
    }

    fn failure(&self, error: mlua::Error) -> ScriptError {
        if let Some(failure) = self.meter.failure() {
            return failure;
        }
        match error {
            mlua::Error::MemoryError(_) => ScriptError::Memory(CALL_BYTES_MAX),
            mlua::Error::CallbackError { cause, .. } => self.failure((*cause).clone()),
            mlua::Error::RuntimeError(message) => {
                ScriptError::Raised(message.split("\nstack traceback").next().unwrap_or_default().to_owned())
            }
            other => ScriptError::Raised(other.to_string()),
        }
    }

    /// Collects garbage, if there is much of it.
    fn tidy(&mut self) {
        if !self.is_spoilt && self.lua.used_memory() > self.settled_bytes + GARBAGE_BYTES_MAX {
            self.collect();
        }
    }

    fn collect(&mut self) {
        // Finalizers of numbers are all that runs, and none fails.
        let _ = self.lua.set_memory_limit(0);
        self.is_spoilt |= self.lua.gc_collect().is_err();
        self.lua.gc_stop();
        self.settled_bytes = self.lua.used_memory();
    }
}
