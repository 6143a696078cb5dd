//! Functions in WebAssembly, called as ScyllaDB calls them.
//!
//! A module is text. It exports the function under the function's name, its memory, and in the global `_scylla_abi` the address of the version of what it
//! expects. Numbers go in and come out as they are; every other value, and each that may be null, is its bytes in the module's memory.
//!
//! Invariants, beside those of the crate:
//! - A module computes, and that is all it can do: what it may import, functions of WASI, fails when it is called.
//! - Each call has an instance of its own, so nothing remains of it.
//! - What is compiled depends on the module alone, and is counted before: what a call costs does not depend on what ran before it.

mod call;
mod module;
mod scan;
mod value;

use crate::limits::{CALL_INSTRUCTIONS, CALL_INSTRUCTIONS_MAX, MODULES_BYTES_MAX, PROGRAMS_MAX};
use crate::{Called, ScriptError};
use module::{Abi, Module};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use wasmi::Engine;

pub use value::{WasmProgram, WasmType, WasmValue};

/// A core's engine, and the modules that were compiled for it.
struct Machine {
    engine: Engine,
    modules: HashMap<u128, Rc<Module>>,
    bytes: usize,
}

thread_local! {
    static MACHINE: RefCell<Option<Machine>> = const { RefCell::new(None) };
}

impl Machine {
    fn compiled(&mut self, program: &WasmProgram) -> Result<Rc<Module>, ScriptError> {
        if let Some(module) = self.modules.get(&program.id) {
            return Ok(Rc::clone(module));
        }
        let mut module = Module::compile(&self.engine, program)?;
        module.abi = call::version(&module, program)?;
        if module.abi == Abi::Malloc {
            module.check_memory_functions()?;
        }
        let module = Rc::new(module);
        if self.modules.len() >= PROGRAMS_MAX || self.bytes + module.bytes > MODULES_BYTES_MAX {
            self.modules.clear();
            self.bytes = 0;
        }
        self.bytes += module.bytes;
        self.modules.insert(program.id, Rc::clone(&module));
        Ok(module)
    }
}

fn compiled(program: &WasmProgram) -> Result<Rc<Module>, ScriptError> {
    MACHINE.with_borrow_mut(|slot| {
        let new = || Machine { engine: module::engine(), modules: HashMap::new(), bytes: 0 };
        slot.get_or_insert_with(new).compiled(program)
    })
}

/// Calls a function in WebAssembly, which may take so many instructions, at most [`CALL_INSTRUCTIONS_MAX`].
#[must_use]
pub fn call_wasm(program: &WasmProgram, arguments: &[WasmValue], instructions_max: u64) -> Called<WasmValue> {
    let module = match compiled(program) {
        Ok(module) => module,
        // No schema has such a function; to find that out takes as long as the text is.
        Err(error) => return Called { result: Err(error), instructions: CALL_INSTRUCTIONS + program.text.len() as u64 },
    };
    let given: u64 = arguments.iter().map(WasmValue::cost).sum();
    let (result, spent) = call::call(&module, program, arguments, instructions_max.min(CALL_INSTRUCTIONS_MAX));
    let returned = result.as_ref().map_or(0, WasmValue::cost);
    Called { result, instructions: spent + CALL_INSTRUCTIONS + module.start_cost + given + returned }
}

/// Whether a module can be compiled and has the function, and what calls need.
///
/// # Errors
/// Why it cannot, or what it lacks.
pub fn check_wasm(program: &WasmProgram) -> Result<(), ScriptError> {
    compiled(program).map(drop)
}
