//! Functions in WebAssembly: values go in and come out as ScyllaDB passes them.
//!
//! Of a function that is not called on null the numbers of the table in `docs/compat/cql.md` go as they are. All else is the value's bytes.

use crate::value::normalize;
use md5::{Digest, Md5};
use model::{DataType, Function, NullInput};
use script::{WasmProgram, WasmType, WasmValue};
use std::cell::RefCell;
use std::sync::{Arc, Weak};

/// Functions that a core keeps as programs.
const KEPT_MAX: usize = 64;

thread_local! {
    /// Modules are long, and each statement that calls one looks for it: what was made of the schema's functions is kept.
    static KEPT: RefCell<Vec<(Weak<Function>, Arc<WasmProgram>)>> = const { RefCell::new(Vec::new()) };
}

/// A function as the sandbox has it.
pub(super) fn program(function: &Arc<Function>) -> Arc<WasmProgram> {
    KEPT.with_borrow_mut(|kept| {
        // The address of one that is gone is not another's as long as it is here.
        if let Some((_, program)) = kept.iter().find(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(function))) {
            return Arc::clone(program);
        }
        kept.retain(|(known, _)| known.strong_count() > 0);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        let program = Arc::new(new_program(function));
        kept.push((Arc::downgrade(function), Arc::clone(&program)));
        program
    })
}

/// How values of a type go in and come out.
fn passed(function: &Function, data_type: &DataType) -> WasmType {
    match data_type {
        _ if function.null_input == NullInput::Called => WasmType::Bytes,
        DataType::BigInt => WasmType::I64,
        DataType::Boolean | DataType::Int | DataType::SmallInt | DataType::TinyInt => WasmType::I32,
        DataType::Float => WasmType::F32,
        DataType::Double => WasmType::F64,
        _ => WasmType::Bytes,
    }
}

fn new_program(function: &Function) -> WasmProgram {
    let arguments: Vec<WasmType> = function.arguments.iter().map(|(_, data_type)| passed(function, data_type)).collect();
    let result = passed(function, &function.returns);
    let mut hasher = Md5::new();
    let types = format!("{arguments:?}{result:?}");
    for part in [&function.language, &function.keyspace, &function.name, &function.body, &types] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    let digest: [u8; 16] = hasher.finalize().into();
    WasmProgram {
        id: u128::from_be_bytes(digest),
        name: format!("{}.{}", function.keyspace, function.name).into(),
        export: function.name.as_str().into(),
        text: function.body.as_str().into(),
        arguments,
        result,
    }
}

/// Calls it within a budget and appends the result: what that has cost, and false for null, or why there is no result.
pub(super) fn call(
    function: &Function,
    program: &WasmProgram,
    arguments: &[Option<&[u8]>],
    budget: u64,
    out: &mut Vec<u8>,
) -> (u64, Result<bool, String>) {
    match values(function, program, arguments) {
        Ok(None) => (0, Ok(false)),
        Err(error) => (0, Err(error)),
        Ok(Some(values)) => {
            let called = script::call_wasm(program, &values, budget);
            let there = called.result.map_err(|error| error.to_string()).and_then(|value| put(&function.returns, value, out));
            (called.instructions, there)
        }
    }
}

/// Arguments as the function takes them; none where one is null for which it is not called.
fn values(function: &Function, program: &WasmProgram, arguments: &[Option<&[u8]>]) -> Result<Option<Vec<WasmValue>>, String> {
    let mut values = Vec::with_capacity(arguments.len());
    for (((_, data_type), wanted), bytes) in function.arguments.iter().zip(&program.arguments).zip(arguments) {
        let there = bytes.filter(|bytes| !bytes.is_empty() || has_empty(data_type));
        values.push(match (wanted, there) {
            (WasmType::Bytes, there) => WasmValue::Bytes(there.map(<[u8]>::to_vec)),
            // Nothing that a number says null with: as a null.
            (_, None) => return Ok(None),
            (_, Some(bytes)) => number(data_type, bytes).ok_or_else(|| format!("an argument is no value of type {data_type}"))?,
        });
    }
    Ok(Some(values))
}

/// Appends a result's bytes; false is null.
fn put(returns: &DataType, result: WasmValue, out: &mut Vec<u8>) -> Result<bool, String> {
    match result {
        WasmValue::Bytes(None) => return Ok(false),
        WasmValue::Bytes(Some(bytes)) => {
            let value = normalize(returns, &bytes);
            out.extend_from_slice(&value.map_err(|error| format!("the result is no value of type {returns}: {error}"))?);
        }
        WasmValue::I32(value) => match returns {
            DataType::Boolean => out.push(u8::from(value != 0)),
            // The lower bits, as ScyllaDB.
            DataType::TinyInt => out.push(value as u8),
            DataType::SmallInt => out.extend_from_slice(&(value as i16).to_be_bytes()),
            _ => out.extend_from_slice(&value.to_be_bytes()),
        },
        WasmValue::I64(value) => out.extend_from_slice(&value.to_be_bytes()),
        WasmValue::F32(value) => out.extend_from_slice(&value.to_be_bytes()),
        WasmValue::F64(value) => out.extend_from_slice(&value.to_be_bytes()),
    }
    Ok(true)
}

fn number(data_type: &DataType, bytes: &[u8]) -> Option<WasmValue> {
    Some(match data_type {
        DataType::Boolean => WasmValue::I32(i32::from(*bytes.first()? != 0)),
        DataType::TinyInt => WasmValue::I32(i8::from_be_bytes(bytes.try_into().ok()?).into()),
        DataType::SmallInt => WasmValue::I32(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        DataType::Int => WasmValue::I32(i32::from_be_bytes(bytes.try_into().ok()?)),
        DataType::BigInt => WasmValue::I64(i64::from_be_bytes(bytes.try_into().ok()?)),
        DataType::Float => WasmValue::F32(f32::from_be_bytes(bytes.try_into().ok()?)),
        DataType::Double => WasmValue::F64(f64::from_be_bytes(bytes.try_into().ok()?)),
        _ => return None,
    })
}

/// Whether no bytes are a value of the type. Of others they are as null, as in Lua.
fn has_empty(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Text | DataType::Ascii | DataType::Blob | DataType::Custom(_) | DataType::Tuple(_) | DataType::Udt(..))
}
