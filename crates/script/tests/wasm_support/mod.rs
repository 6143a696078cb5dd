//! Modules for tests.
#![allow(dead_code)]

use script::{ScriptError, WasmProgram, WasmType, WasmValue, call_wasm, check_wasm};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a module of version 1 has beside its function.
pub(crate) const ABI_1: &str =
    "(memory (export \"memory\") 1) (global (export \"_scylla_abi\") i32 (i32.const 1024)) (data (i32.const 1024) \"\\01\\00\\00\\00\")";

/// What one of version 2 has: room that is given from the bottom up, page by page, and never taken back.
pub(crate) const ABI_2: &str =
    "(memory (export \"memory\") 1) (global (export \"_scylla_abi\") i32 (i32.const 1024)) (data (i32.const 1024) \"\\02\\00\\00\\00\")
    (global $top (mut i32) (i32.const 0))
    (func (export \"_scylla_malloc\") (param $size i32) (result i32)
      (global.set $top (i32.shl (memory.grow (i32.add (i32.shr_u (local.get $size) (i32.const 16)) (i32.const 1))) (i32.const 16)))
      (global.get $top))
    (func (export \"_scylla_free\") (param i32))";

pub(crate) fn program(arguments: &[WasmType], result: WasmType, text: &str) -> WasmProgram {
    let mut hasher = DefaultHasher::new();
    (text, format!("{arguments:?}{result:?}")).hash(&mut hasher);
    let (id, arguments) = (u128::from(hasher.finish()), arguments.to_vec());
    WasmProgram { id, name: "ks.f".into(), export: "f".into(), text: text.into(), arguments, result }
}

pub(crate) fn bytes(bytes: &[u8]) -> WasmValue {
    WasmValue::Bytes(Some(bytes.to_vec()))
}

pub(crate) fn run(program: &WasmProgram, arguments: &[WasmValue]) -> Result<WasmValue, ScriptError> {
    call_wasm(program, arguments, u64::MAX).result
}

/// What a function without arguments that returns an i32 fails with.
pub(crate) fn error(text: &str) -> ScriptError {
    run(&program(&[], WasmType::I32, text), &[]).expect_err(text)
}

/// What is wrong with a module whose function has no arguments and returns an i32.
pub(crate) fn refused(text: &str) -> String {
    check_wasm(&program(&[], WasmType::I32, text)).expect_err(text).to_string()
}
