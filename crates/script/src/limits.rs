//! What a call may take.

/// Instructions of one call: 4 to 10 ms.
pub const CALL_INSTRUCTIONS_MAX: u64 = 1_000_000;

/// What a call costs besides its instructions and the values that are converted: its globals are made.
pub const CALL_INSTRUCTIONS: u64 = 400;

/// Bytes that a call may allocate, over all of its run.
pub const CALL_BYTES_MAX: usize = 8 << 20;

/// Levels of tables in a result.
pub const RESULT_DEPTH_MAX: usize = 40;

/// Values in a result, those in tables included.
pub const RESULT_PARTS_MAX: usize = 200_000;

/// Bits of a varint or decimal that is computed.
pub const NUMBER_BITS_MAX: u64 = 1 << 16;

/// Compiled programs that a core keeps.
pub const PROGRAMS_MAX: usize = 256;

/// So many instructions pass between two looks at the budget.
pub(crate) const HOOK_INSTRUCTIONS: u32 = 250;

/// Garbage that may lie about between calls.
pub(crate) const GARBAGE_BYTES_MAX: usize = 1 << 20;

/// Lists and maps that may be in each other in a value of a dialect.
pub const OBJECT_DEPTH_MAX: usize = 128;

/// Modules that a call may load.
pub const MODULES_PER_CALL_MAX: usize = 16;

/// Lines that a call may log.
pub const LOG_LINES_MAX: usize = 16;

/// How long each of them may be.
pub const LOG_LINE_BYTES_MAX: usize = 512;

/// How long a module of WebAssembly may be in binary form.
pub const MODULE_BYTES_MAX: usize = 256 << 10;

/// Bytes of compiled modules' binary forms that a core keeps.
pub(crate) const MODULES_BYTES_MAX: usize = 4 << 20;

/// Functions, types, globals, exports and segments of a module: so many of each.
pub(crate) const MODULE_PARTS_MAX: u64 = 10_000;

/// What a module may import, of what fails when it is called.
pub(crate) const IMPORTS_MAX: u64 = 64;

/// Locals and arguments of one function: each call sets all of them, however few instructions it runs.
pub(crate) const FUNCTION_LOCALS_MAX: u64 = 1000;

/// Elements of all tables of a module.
pub(crate) const TABLE_ELEMENTS_MAX: u64 = 10_000;

/// Tables of a module.
pub(crate) const TABLES_MAX: u64 = 4;

/// Calls in each other.
pub(crate) const CALL_DEPTH_MAX: usize = 4000;

/// Bytes of the stack that those take.
pub(crate) const STACK_BYTES_MAX: usize = 512 << 10;

/// What a page of a module's memory costs each call, in instructions: it is new, and cleared (decision 0067).
pub(crate) const PAGE_INSTRUCTIONS: u64 = 4096;

/// What a call costs that sets its locals, in instructions.
pub(crate) const WASM_CALL_INSTRUCTIONS: u8 = 10;
