//! Values into Lua and out of it.

use crate::limits::{RESULT_DEPTH_MAX, RESULT_PARTS_MAX};
use crate::meter::Meter;
use crate::{Number, ScriptError, Value};
use mlua::{Lua, MetaMethod, UserDataMethods, UserDataRef, UserDataRegistry};
use std::cmp::Ordering;
use std::rc::Rc;

/// A value as Lua has it.
pub(crate) fn into_lua(lua: &Lua, value: Value) -> mlua::Result<mlua::Value> {
    Ok(match value {
        Value::Nil => mlua::Value::Nil,
        Value::Boolean(value) => mlua::Value::Boolean(value),
        Value::Integer(value) => mlua::Value::Integer(value),
        Value::Float(value) => mlua::Value::Number(value),
        Value::Bytes(bytes) => mlua::Value::String(lua.create_string(bytes)?),
        Value::Number(number) => mlua::Value::UserData(lua.create_any_userdata(number)?),
        Value::Table(entries) => {
            let table = lua.create_table_with_capacity(0, 0)?;
            for (key, value) in entries {
                table.raw_set(into_lua(lua, key)?, into_lua(lua, value)?)?;
            }
            mlua::Value::Table(table)
        }
    })
}

/// What a program has returned. Tables may contain themselves: levels and parts are bounded.
pub(crate) fn from_lua(value: &mlua::Value) -> Result<Value, ScriptError> {
    let mut parts_left = RESULT_PARTS_MAX;
    part(value, RESULT_DEPTH_MAX, &mut parts_left)
}

fn part(value: &mlua::Value, levels_left: usize, parts_left: &mut usize) -> Result<Value, ScriptError> {
    let too_many = ScriptError::Result("the result has too many levels or parts");
    let (Some(levels), Some(parts)) = (levels_left.checked_sub(1), parts_left.checked_sub(1)) else { return Err(too_many) };
    *parts_left = parts;
    Ok(match value {
        mlua::Value::Nil => Value::Nil,
        mlua::Value::Boolean(value) => Value::Boolean(*value),
        mlua::Value::Integer(value) => Value::Integer(*value),
        mlua::Value::Number(value) => Value::Float(*value),
        mlua::Value::String(text) => {
            // A string may be in a table many times.
            *parts_left = parts_left.checked_sub(text.as_bytes().len() / 64).ok_or(too_many)?;
            Value::Bytes(text.as_bytes().to_vec())
        }
        mlua::Value::UserData(data) => match data.borrow::<Number>() {
            Ok(number) => Value::Number(number.clone()),
            Err(_) => return Err(ScriptError::Result("the result is nothing that can be a value")),
        },
        mlua::Value::Table(table) => {
            let mut entries = Vec::with_capacity(table.raw_len().min(parts));
            for entry in table.pairs::<mlua::Value, mlua::Value>() {
                let (key, value) = entry.map_err(|error| ScriptError::Raised(error.to_string()))?;
                entries.push((part(&key, levels, parts_left)?, part(&value, levels, parts_left)?));
            }
            Value::Table(entries)
        }
        _ => return Err(ScriptError::Result("the result is nothing that can be a value")),
    })
}

/// An operand: a number of ours, or one of Lua's.
fn operand(value: &mlua::Value) -> mlua::Result<Number> {
    let number = match value {
        mlua::Value::Integer(value) => Some(Number::integer(*value)),
        mlua::Value::Number(value) => Number::from_float(*value),
        mlua::Value::String(text) => text.to_str().ok().and_then(|text| Number::parse(&text)),
        mlua::Value::UserData(data) => data.borrow::<Number>().ok().map(|number| number.clone()),
        _ => None,
    };
    number.ok_or_else(|| mlua::Error::RuntimeError(format!("arithmetic on a decimal and a {} value", value.type_name())))
}

fn too_long() -> mlua::Error {
    mlua::Error::RuntimeError("a number has too many digits".to_owned())
}

type Comparison = fn(Ordering) -> bool;
type Binary = fn(&Number, &Number) -> Option<Number>;

/// What Lua can do with numbers.
pub(crate) fn register_numbers(lua: &Lua, meter: &Rc<Meter>) -> mlua::Result<()> {
    lua.register_userdata_type::<Number>(|registry: &mut UserDataRegistry<Number>| {
        let operations: [(MetaMethod, Binary); 3] =
            [(MetaMethod::Add, Number::add), (MetaMethod::Sub, Number::subtract), (MetaMethod::Mul, Number::multiply)];
        for (method, compute) in operations {
            let meter = Rc::clone(meter);
            registry.add_meta_function(method, move |lua, (one, two): (mlua::Value, mlua::Value)| {
                let (one, two) = (operand(&one)?, operand(&two)?);
                meter.number(one.bits().max(two.bits()) + u64::from(one.scale.abs_diff(two.scale)).saturating_mul(4).min(1 << 20))?;
                let result = compute(&one, &two).ok_or_else(too_long)?;
                meter.number(result.bits())?;
                lua.create_any_userdata(result)
            });
        }
        let comparisons: [(MetaMethod, Comparison); 3] =
            [(MetaMethod::Eq, Ordering::is_eq), (MetaMethod::Lt, Ordering::is_lt), (MetaMethod::Le, Ordering::is_le)];
        for (method, holds) in comparisons {
            let meter = Rc::clone(meter);
            registry.add_meta_function(method, move |_, (one, two): (mlua::Value, mlua::Value)| {
                let (one, two) = (operand(&one)?, operand(&two)?);
                meter.number(one.bits().max(two.bits()) + u64::from(one.scale.abs_diff(two.scale)).saturating_mul(4).min(1 << 20))?;
                one.compare(&two).map(holds).ok_or_else(too_long)
            });
        }
        registry.add_meta_function(MetaMethod::Unm, |lua, number: UserDataRef<Number>| lua.create_any_userdata(number.negate()));
        let texts = Rc::clone(meter);
        registry.add_meta_function(MetaMethod::ToString, move |_, number: UserDataRef<Number>| {
            texts.number(number.bits())?;
            Ok(number.to_string())
        });
        let texts = Rc::clone(meter);
        registry.add_meta_function(MetaMethod::Concat, move |lua, (one, two): (mlua::Value, mlua::Value)| {
            let text = |value: &mlua::Value| match value {
                mlua::Value::UserData(data) => {
                    let number = data.borrow::<Number>()?;
                    texts.number(number.bits())?;
                    Ok(number.to_string().into_bytes())
                }
                mlua::Value::String(text) => Ok(text.as_bytes().to_vec()),
                mlua::Value::Integer(_) | mlua::Value::Number(_) => value.to_string().map(String::into_bytes),
                other => Err(mlua::Error::RuntimeError(format!("attempt to concatenate a {} value", other.type_name()))),
            };
            lua.create_string([text(&one)?, text(&two)?].concat())
        });
    })
}
