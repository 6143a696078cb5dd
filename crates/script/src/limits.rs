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
