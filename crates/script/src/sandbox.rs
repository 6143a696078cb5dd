//! A core's Lua state, and the calls in it.
//!
//! The state belongs to the thread, and a core is one: no call waits for another, and what one costs no other core pays.

use crate::arithmetic::register_numbers;
use crate::dialect::Spoken;
use crate::limits::{CALL_BYTES_MAX, CALL_INSTRUCTIONS, CALL_INSTRUCTIONS_MAX, GARBAGE_BYTES_MAX, HOOK_INSTRUCTIONS};
use crate::meter::Meter;
use crate::objects::{from_lua, into_lua};
use crate::programs::Programs;
use crate::{Program, ScriptError, Value, strings};
use mlua::{Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, VmState};
use std::cell::RefCell;
use std::rc::Rc;

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Called<T = Value> {
    /// Its result.
    pub result: Result<T, ScriptError>,
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

pub(crate) fn with_sandbox<T>(work: impl FnOnce(&mut Sandbox) -> T) -> T {
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

pub(crate) struct Sandbox {
    pub(crate) lua: Lua,
    pub(crate) meter: Rc<Meter>,
    /// What all functions have: the field `__index` of the metatable of a call's globals.
    pub(crate) library: Table,
    /// The metatable of each call's globals.
    globals: Table,
    pub(crate) programs: Programs,
    pub(crate) dialects: Vec<Spoken>,
    /// Bytes in use after the last collection.
    settled_bytes: usize,
    pub(crate) is_spoilt: bool,
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
        let library = globals.raw_get("__index")?;
        Ok(Self { lua, meter, library, globals, programs: Rc::default(), dialects: Vec::new(), settled_bytes, is_spoilt: false })
    }

    fn compile(&mut self, program: &Program) -> Result<Function, ScriptError> {
        // What is wrong with an argument's name is told as it is.
        if !self.programs.borrow().has(program) {
            program.source()?;
        }
        self.begin(CALL_INSTRUCTIONS_MAX);
        let compiled = self.programs.borrow_mut().compile(&self.lua, program, |_| Ok(()));
        compiled.map_err(|error| match error {
            mlua::Error::SyntaxError { message, .. } => ScriptError::Compile(message),
            other => self.failure(other),
        })
    }

    fn call(&mut self, program: &Program, arguments: Vec<Value>, instructions_max: u64) -> Result<Value, ScriptError> {
        self.meter.begin(instructions_max, 0);
        let function = self.compile(program)?;
        let result = self.run(&function, arguments, instructions_max);
        let result = match result {
            Ok(value) => from_lua(&value, None),
            Err(error) => Err(self.failure(error)),
        };
        self.is_spoilt = matches!(result, Err(ScriptError::Memory(_)));
        result
    }

    fn run(&mut self, function: &Function, arguments: Vec<Value>, instructions_max: u64) -> mlua::Result<mlua::Value> {
        let lua = &self.lua;
        self.unbounded()?;
        let globals = lua.create_table()?;
        globals.set_metatable(Some(self.globals.clone()))?;
        function.set_environment(globals)?;
        let arguments = arguments.into_iter().map(|value| into_lua(lua, None, value)).collect::<mlua::Result<MultiValue>>()?;
        self.begin(instructions_max);
        function.call(arguments)
    }

    pub(crate) fn spent(&self) -> u64 {
        self.meter.spent()
    }

    /// Until a call begins. Arguments are as large as they are: what the call adds is bounded.
    pub(crate) fn unbounded(&self) -> mlua::Result<()> {
        self.meter.begin(u64::MAX, 0);
        self.lua.set_memory_limit(0).map(drop)
    }

    /// What is in use now stays.
    pub(crate) fn settle(&mut self) {
        self.collect();
    }

    /// From here on memory and instructions count.
    pub(crate) fn begin(&self, instructions_max: u64) {
        let used = self.lua.used_memory();
        self.lua.set_memory_limit(used + CALL_BYTES_MAX).expect("the state has an allocator that counts");
        self.meter.begin(instructions_max, used);
    }

    pub(crate) fn failure(&self, error: mlua::Error) -> ScriptError {
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
