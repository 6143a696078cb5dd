//! The sandbox of functions that users write: Lua 5.4, one state for each core, and WebAssembly, one engine for each core.
//!
//! On the path: a protocol turns a value's bytes into a [`Value`], has a [`Program`] run by [`call`], and turns the result back. What a call costs
//! comes back with it, in instructions: the caller sums it up, and cuts long work into slices by it.
//!
//! A protocol whose functions come in modules and call what it gives them has a [`Dialect`]: a prelude in Lua, and its values as bytes. Its modules' functions
//! are called by [`invoke`].
//!
//! A module of WebAssembly is a [`WasmProgram`], and is called by [`call_wasm`]: the same bounds in the same units, and bytes in place of Lua's values.
//!
//! Invariants:
//! - A call ends. A hook counts instructions, what works on whole strings in C is charged for its length, and nothing in the sandbox catches the error that a
//!   used-up budget raises.
//! - A call takes at most [`limits::CALL_BYTES_MAX`], what it has dropped again included: nothing is collected while it runs.
//! - Nothing leaks from a call into another one. Each has globals of its own over libraries that cannot be written to; there are no metatables to change.
//! - The same arguments give the same result: there is no clock, no randomness, no file, no address. (The order of `pairs` is not defined, as in all of Lua.)

mod arithmetic;
mod dialect;
mod error;
mod invoke;
pub mod limits;
mod meter;
mod number;
mod objects;
mod pattern;
mod program;
mod programs;
mod sandbox;
mod strings;
mod value;
mod wasm;

pub use dialect::{Dialect, Find, Invoked, Packed};
pub use error::ScriptError;
pub use invoke::invoke;
pub use number::Number;
pub use program::Program;
pub use sandbox::{Called, call, check};
pub use value::Value;
pub use wasm::{WasmProgram, WasmType, WasmValue, call_wasm, check_wasm};
