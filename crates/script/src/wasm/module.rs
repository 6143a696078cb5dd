//! A module: from its text to what can be called.

use super::scan::{WASI, scan};
use super::value::{WasmProgram, WasmType};
use crate::ScriptError;
use crate::limits::{CALL_DEPTH_MAX, MODULE_BYTES_MAX, STACK_BYTES_MAX, WASM_CALL_INSTRUCTIONS};
use wasmi::{CompilationMode, Config, Engine, Error, ExternType, FuncType, Linker, OperatorCost, StoreLimits, ValType};

/// The exported global that holds the address of the version.
pub(super) const ABI: &str = "_scylla_abi";
/// The exported memory.
pub(super) const MEMORY: &str = "memory";
/// What version 2 has for the memory of values.
pub(super) const MALLOC: &str = "_scylla_malloc";
pub(super) const FREE: &str = "_scylla_free";

/// How values get room in the module's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Abi {
    /// The memory grows for them.
    Grow,
    /// The module has functions for it.
    Malloc,
}

/// A compiled module whose function can be called.
pub(super) struct Module {
    pub(super) module: wasmi::Module,
    /// What it imports.
    pub(super) linker: Linker<StoreLimits>,
    pub(super) abi: Abi,
    /// How long its binary form is.
    pub(super) bytes: usize,
    /// What making an instance takes, in instructions.
    pub(super) start_cost: u64,
}

/// Without what makes results differ from machine to machine, or takes more than it costs: no threads, vectors, 64-bit memories, tail calls.
pub(super) fn engine() -> Engine {
    let costs = OperatorCost { call: WASM_CALL_INSTRUCTIONS, call_indirect: WASM_CALL_INSTRUCTIONS, ..OperatorCost::default() };
    let mut config = Config::default();
    config.consume_fuel(true).operator_cost(costs).ignore_custom_sections(true);
    // At once: the first call is to cost what any other costs.
    config.compilation_mode(CompilationMode::Eager);
    config.wasm_multi_memory(false).wasm_tail_call(false).wasm_custom_page_sizes(false).wasm_wide_arithmetic(false);
    config.set_max_stack_height(STACK_BYTES_MAX).set_max_recursion_depth(CALL_DEPTH_MAX);
    Engine::new(&config)
}

fn wrong<T>(why: impl Into<String>) -> Result<T, ScriptError> {
    Err(ScriptError::Compile(why.into()))
}

impl Module {
    /// What is in a text, but for the version, which takes an instance.
    pub(super) fn compile(engine: &Engine, program: &WasmProgram) -> Result<Self, ScriptError> {
        let binary = binary(&program.text)?;
        if binary.len() > MODULE_BYTES_MAX {
            return wrong(format!("the module has {} bytes in binary form, and may have {MODULE_BYTES_MAX}", binary.len()));
        }
        let start_cost = scan(&binary)?;
        let module = wasmi::Module::new(engine, &binary).map_err(|error| ScriptError::Compile(error.to_string()))?;
        let linker = linker(engine, &module)?;
        let module = Self { module, linker, abi: Abi::Grow, bytes: binary.len(), start_cost };
        module.check_exports(program)?;
        Ok(module)
    }

    /// Whether there is what version 2 needs.
    pub(super) fn check_memory_functions(&self) -> Result<(), ScriptError> {
        self.check_function(MALLOC, &FuncType::new([ValType::I32], [ValType::I32]))?;
        self.check_function(FREE, &FuncType::new([ValType::I32], []))
    }

    fn check_exports(&self, program: &WasmProgram) -> Result<(), ScriptError> {
        let types = program.arguments.iter().copied().map(WasmType::in_wasm);
        self.check_function(&program.export, &FuncType::new(types, [program.result.in_wasm()]))?;
        if !matches!(self.module.get_export(MEMORY), Some(ExternType::Memory(_))) {
            return wrong(format!("it exports no memory called '{MEMORY}'"));
        }
        match self.module.get_export(ABI) {
            Some(ExternType::Global(global)) if global.content() == ValType::I32 => Ok(()),
            _ => wrong(format!("it exports no global of the type i32 called '{ABI}', which is the address of the version, 1 or 2")),
        }
    }

    fn check_function(&self, name: &str, wanted: &FuncType) -> Result<(), ScriptError> {
        match self.module.get_export(name) {
            Some(ExternType::Func(found)) if found == *wanted => Ok(()),
            Some(ExternType::Func(found)) => wrong(format!("its function '{name}' is {}, and is to be {}", shown(&found), shown(wanted))),
            _ => wrong(format!("it exports no function called '{name}'")),
        }
    }
}

/// Functions of a system that a module imports: there is none, so they fail.
fn linker(engine: &Engine, module: &wasmi::Module) -> Result<Linker<StoreLimits>, ScriptError> {
    let mut linker = Linker::new(engine);
    // One may be imported twice.
    linker.allow_shadowing(true);
    for import in module.imports() {
        let ExternType::Func(function) = import.ty() else { continue };
        let called = format!("it has called '{}' of '{WASI}': functions have no system", import.name());
        let made = linker.func_new(import.module(), import.name(), function.clone(), move |_, _, _| Err(Error::new(called.clone())));
        made.map_err(|error| ScriptError::Compile(error.to_string()))?;
    }
    Ok(linker)
}

/// The binary form of a text. Messages of what is wrong with it are of the first line: others show the text, however long its lines.
fn binary(text: &str) -> Result<Vec<u8>, ScriptError> {
    wat::parse_str(text).map_err(|error| {
        let message = error.to_string();
        let mut lines = message.lines().map(str::trim);
        let first: String = lines.next().unwrap_or_default().chars().take(200).collect();
        let place = lines.next().and_then(|line| line.strip_prefix("--> <anon>:")).and_then(|place| place.split_once(':'));
        ScriptError::Compile(match place {
            Some((line, column)) => format!("line {line}, column {column}: {first}"),
            None => first,
        })
    })
}

/// A function's type as the text format has it.
fn shown(function: &FuncType) -> String {
    let all = |word: &str, types: &[ValType]| {
        let types: Vec<String> = types.iter().take(16).map(|one| format!("{one:?}").to_lowercase()).collect();
        if types.is_empty() { String::new() } else { format!(" ({word} {})", types.join(" ")) }
    };
    format!("(func{}{})", all("param", function.params()), all("result", function.results()))
}
