//! Values into Lua and out of it; lists, maps and bytes of a dialect are tables that only its prelude can look into.
//!
//! Such an object is a table with one of the prelude's metatables. What is in it is under a key that no function of a user has: of a list a table with the
//! elements and their number `n`, of a map a table, in which the first key stands for nil, of bytes a string. Under a second key is how it is kept, or what the bytes are.

use crate::limits::{RESULT_DEPTH_MAX, RESULT_PARTS_MAX};
use crate::{Number, ScriptError, Value};
use mlua::{Lua, Table};

/// What the prelude's objects look like.
pub(crate) struct Objects {
    content: Table,
    mark: Table,
    list: Table,
    map: Table,
    blob: Table,
}

/// What is left of the levels and parts that a value may have.
pub(crate) struct Left<'a> {
    pub(crate) levels: usize,
    pub(crate) parts: &'a mut usize,
}

const TOO_MANY: ScriptError = ScriptError::Result("the result has too many levels or parts");

fn broken(error: &mlua::Error) -> ScriptError {
    ScriptError::Raised(error.to_string())
}

impl Objects {
    /// From what a prelude has returned.
    pub(crate) fn of(prelude: &Table) -> mlua::Result<Self> {
        let table = |name: &str| prelude.raw_get::<Table>(name);
        Ok(Self { content: table("content")?, mark: table("mark")?, list: table("list")?, map: table("map")?, blob: table("blob")? })
    }

    fn object(&self, lua: &Lua, metatable: &Table, content: mlua::Value, mark: u8) -> mlua::Result<mlua::Value> {
        let object = lua.create_table()?;
        object.raw_set(&self.content, content)?;
        object.raw_set(&self.mark, mark)?;
        object.set_metatable(Some(metatable.clone()))?;
        Ok(mlua::Value::Table(object))
    }

    pub(crate) fn list(&self, lua: &Lua, order: u8, items: Vec<Value>) -> mlua::Result<mlua::Value> {
        let content = lua.create_table_with_capacity(items.len(), 1)?;
        content.raw_set("n", items.len())?;
        for (position, item) in (1..).zip(items) {
            content.raw_seti(position, into_lua(lua, Some(self), item)?)?;
        }
        self.object(lua, &self.list, mlua::Value::Table(content), order)
    }

    pub(crate) fn map(&self, lua: &Lua, order: u8, entries: Vec<(Value, Value)>) -> mlua::Result<mlua::Value> {
        let content = lua.create_table()?;
        for (key, value) in entries {
            // Tables have no nil: what nobody else has stands for it.
            let value = if value == Value::Nil { mlua::Value::Table(self.content.clone()) } else { into_lua(lua, Some(self), value)? };
            content.raw_set(into_lua(lua, Some(self), key)?, value)?;
        }
        self.object(lua, &self.map, mlua::Value::Table(content), order)
    }

    pub(crate) fn blob(&self, lua: &Lua, kind: u8, bytes: &[u8]) -> mlua::Result<mlua::Value> {
        self.object(lua, &self.blob, mlua::Value::String(lua.create_string(bytes)?), kind)
    }

    /// What an object is; none of another table.
    pub(crate) fn read(&self, table: &Table, left: &mut Left<'_>) -> Result<Option<Value>, ScriptError> {
        let Some(metatable) = table.metatable() else { return Ok(None) };
        let order: u8 = table.raw_get(&self.mark).unwrap_or(0);
        if metatable == self.list {
            let content: Table = table.raw_get(&self.content).map_err(|error| broken(&error))?;
            let count: usize = content.raw_get("n").map_err(|error| broken(&error))?;
            if count > *left.parts {
                return Err(TOO_MANY);
            }
            let mut items = Vec::with_capacity(count);
            for position in 1..=count {
                let item = content.raw_get::<mlua::Value>(position).map_err(|error| broken(&error))?;
                items.push(from_lua_part(&item, Some(self), left)?);
            }
            return Ok(Some(Value::List { order, items }));
        }
        if metatable == self.map {
            let content: Table = table.raw_get(&self.content).map_err(|error| broken(&error))?;
            let mut entries = Vec::new();
            for entry in content.pairs::<mlua::Value, mlua::Value>() {
                let (key, value) = entry.map_err(|error| broken(&error))?;
                let value = if matches!(&value, mlua::Value::Table(table) if *table == self.content) { mlua::Value::Nil } else { value };
                entries.push((from_lua_part(&key, Some(self), left)?, from_lua_part(&value, Some(self), left)?));
            }
            return Ok(Some(Value::Map { order, entries }));
        }
        if metatable == self.blob {
            let content: mlua::String = table.raw_get(&self.content).map_err(|error| broken(&error))?;
            *left.parts = left.parts.checked_sub(content.as_bytes().len() / 64).ok_or(TOO_MANY)?;
            return Ok(Some(Value::Blob { kind: order, bytes: content.as_bytes().to_vec() }));
        }
        Ok(None)
    }
}

/// A value as Lua has it; those of a dialect need its objects.
pub(crate) fn into_lua(lua: &Lua, objects: Option<&Objects>, value: Value) -> mlua::Result<mlua::Value> {
    let objects_of_dialect = || objects.ok_or_else(|| mlua::Error::RuntimeError("a value of another dialect".to_owned()));
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
                table.raw_set(into_lua(lua, objects, key)?, into_lua(lua, objects, value)?)?;
            }
            mlua::Value::Table(table)
        }
        Value::List { order, items } => objects_of_dialect()?.list(lua, order, items)?,
        Value::Map { order, entries } => objects_of_dialect()?.map(lua, order, entries)?,
        Value::Blob { kind, bytes } => objects_of_dialect()?.blob(lua, kind, &bytes)?,
    })
}

/// What a program has returned. Tables may contain themselves: levels and parts are bounded.
pub(crate) fn from_lua(value: &mlua::Value, objects: Option<&Objects>) -> Result<Value, ScriptError> {
    from_lua_part(value, objects, &mut Left { levels: RESULT_DEPTH_MAX, parts: &mut { RESULT_PARTS_MAX } })
}

/// A value with what is in it, as far as levels and parts are left.
pub(crate) fn from_lua_part(value: &mlua::Value, objects: Option<&Objects>, left: &mut Left<'_>) -> Result<Value, ScriptError> {
    let too_many = ScriptError::Result("the result has too many levels or parts");
    let (Some(levels), Some(parts)) = (left.levels.checked_sub(1), left.parts.checked_sub(1)) else { return Err(too_many) };
    *left.parts = parts;
    Ok(match value {
        mlua::Value::Nil => Value::Nil,
        mlua::Value::Boolean(value) => Value::Boolean(*value),
        mlua::Value::Integer(value) => Value::Integer(*value),
        mlua::Value::Number(value) => Value::Float(*value),
        mlua::Value::String(text) => {
            // A string may be in a table many times.
            *left.parts = left.parts.checked_sub(text.as_bytes().len() / 64).ok_or(too_many)?;
            Value::Bytes(text.as_bytes().to_vec())
        }
        mlua::Value::UserData(data) => match data.borrow::<Number>() {
            Ok(number) => Value::Number(number.clone()),
            Err(_) => return Err(ScriptError::Result("the result is nothing that can be a value")),
        },
        mlua::Value::Table(table) => {
            let mut left = Left { levels, parts: left.parts };
            if let Some(object) = objects.map(|objects| objects.read(table, &mut left)).transpose()?.flatten() {
                return Ok(object);
            }
            let mut entries = Vec::with_capacity(table.raw_len().min(parts));
            for entry in table.pairs::<mlua::Value, mlua::Value>() {
                let (key, value) = entry.map_err(|error| ScriptError::Raised(error.to_string()))?;
                entries.push((from_lua_part(&key, objects, &mut left)?, from_lua_part(&value, objects, &mut left)?));
            }
            Value::Table(entries)
        }
        _ => return Err(ScriptError::Result("the result is nothing that can be a value")),
    })
}
