//! Programs, and the values that go into them and come out.

use wasmi::ValType;

/// A function in WebAssembly as its user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WasmProgram {
    /// Different for different programs, what they take and return included: compiled ones are found by it.
    pub id: u128,
    /// As messages call it.
    pub name: Box<str>,
    /// What the module exports it as.
    pub export: Box<str>,
    /// The module in the text format.
    pub text: Box<str>,
    /// What it takes.
    pub arguments: Vec<WasmType>,
    /// What it returns.
    pub result: WasmType,
}

/// How a value goes into a function, or comes out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WasmType {
    /// An integer of 32 bits.
    I32,
    /// An integer of 64 bits.
    I64,
    /// A float of 32 bits.
    F32,
    /// A float of 64 bits.
    F64,
    /// Bytes in the module's memory, or null: an integer of 64 bits, the upper half of which is the length, and the lower one the address.
    Bytes,
}

impl WasmType {
    /// The same as the engine has it.
    pub(super) fn in_wasm(self) -> ValType {
        match self {
            Self::I32 => ValType::I32,
            Self::I64 | Self::Bytes => ValType::I64,
            Self::F32 => ValType::F32,
            Self::F64 => ValType::F64,
        }
    }
}

/// A value of a [`WasmType`].
#[derive(Clone, Debug, PartialEq)]
pub enum WasmValue {
    /// An integer of 32 bits.
    I32(i32),
    /// An integer of 64 bits.
    I64(i64),
    /// A float of 32 bits.
    F32(f32),
    /// A float of 64 bits.
    F64(f64),
    /// Bytes, or null.
    Bytes(Option<Vec<u8>>),
}

impl WasmValue {
    /// What it costs to convert it, in instructions: as [`crate::Value::cost`].
    pub(super) fn cost(&self) -> u64 {
        match self {
            Self::Bytes(Some(bytes)) => 10 + bytes.len() as u64 / 64,
            _ => 10,
        }
    }
}
