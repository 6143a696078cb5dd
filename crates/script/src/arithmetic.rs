//! What Lua can do with numbers that it has none of.

use crate::Number;
use crate::meter::Meter;
use mlua::{Lua, MetaMethod, UserDataMethods, UserDataRef, UserDataRegistry};
use std::cmp::Ordering;
use std::rc::Rc;

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
