//! `find`, `match`, `gmatch` and `gsub` of the string library, by [`crate::pattern`].

use crate::meter::Meter;
use crate::pattern::{Capture, Match, Pattern, Stopped};
use mlua::{Function, Lua, MultiValue, String, Table, Value};
use std::cell::Cell;
use std::rc::Rc;

/// So many steps of a search are charged together, as an instruction each.
const STEPS: u64 = 64;

/// What a search costs besides its steps: what it finds is copied.
const SEARCH_INSTRUCTIONS: u64 = 50;

/// The functions, for the prelude.
pub(crate) fn library(lua: &Lua, meter: &Rc<Meter>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let charged = Rc::clone(meter);
    table.raw_set(
        "find",
        lua.create_function(move |lua, (text, part, start, plain): (String, String, Option<i64>, Option<bool>)| {
            let bytes = text.as_bytes();
            let Some(from) = start_of(start.unwrap_or(1), bytes.len()) else { return nothing() };
            if plain.unwrap_or(false) {
                return Ok(find_plain(&charged, &bytes, &part.as_bytes(), from)?.map_or_else(empty, positions));
            }
            let pattern = read(&part.as_bytes(), true)?;
            let Some(found) = search(&charged, &pattern, &bytes, from)? else { return nothing() };
            let mut all = positions((found.start, found.end));
            for capture in &found.captures {
                all.push_back(captured(lua, &bytes, *capture)?);
            }
            Ok(all)
        })?,
    )?;
    let charged = Rc::clone(meter);
    table.raw_set(
        "match",
        lua.create_function(move |lua, (text, part, start): (String, String, Option<i64>)| {
            let bytes = text.as_bytes();
            let Some(from) = start_of(start.unwrap_or(1), bytes.len()) else { return nothing() };
            let pattern = read(&part.as_bytes(), true)?;
            search(&charged, &pattern, &bytes, from)?.map_or_else(nothing, |found| captures(lua, &bytes, &found))
        })?,
    )?;
    let charged = Rc::clone(meter);
    table.raw_set("gmatch", lua.create_function(move |lua, (text, part): (String, String)| gmatch(lua, &charged, text, &part))?)?;
    let charged = Rc::clone(meter);
    table.raw_set("gsub", lua.create_function(move |lua, arguments| gsub(lua, &charged, arguments))?)?;
    Ok(table)
}

fn empty() -> MultiValue {
    MultiValue::from_iter([Value::Nil])
}

fn nothing() -> mlua::Result<MultiValue> {
    Ok(empty())
}

fn failed(message: &str) -> mlua::Error {
    mlua::Error::RuntimeError(message.to_owned())
}

fn read(pattern: &[u8], anchors: bool) -> mlua::Result<Pattern> {
    Pattern::read(pattern, anchors).map_err(failed)
}

/// Where to start, from 0, as Lua counts positions; none beyond the end.
fn start_of(start: i64, length: usize) -> Option<usize> {
    let length = length as i64;
    let from = if start < 0 { (length + start).max(0) } else { (start - 1).max(0) };
    usize::try_from(from).ok().filter(|_| from <= length)
}

fn positions((start, end): (usize, usize)) -> MultiValue {
    MultiValue::from_iter([Value::Integer(start as i64 + 1), Value::Integer(end as i64)])
}

fn search(meter: &Meter, pattern: &Pattern, text: &[u8], from: usize) -> mlua::Result<Option<Match>> {
    let mut steps = 0u64;
    let mut step = || {
        steps += 1;
        if steps.is_multiple_of(STEPS) { meter.charge(STEPS) } else { Ok(()) }
    };
    let found = pattern.find(text, from, &mut step).map_err(|stopped| match stopped {
        Stopped::Caller(error) => error,
        Stopped::Pattern(message) => failed(message),
    })?;
    meter.charge(SEARCH_INSTRUCTIONS + steps % STEPS)?;
    Ok(found)
}

fn find_plain(meter: &Meter, text: &[u8], part: &[u8], from: usize) -> mlua::Result<Option<(usize, usize)>> {
    meter.charge((text.len() as u64 * (part.len() as u64 / 32 + 1)) / 8)?;
    if part.is_empty() {
        return Ok(Some((from, from)));
    }
    let found = text[from..].windows(part.len()).position(|window| window == part);
    Ok(found.map(|at| (from + at, from + at + part.len())))
}

fn captured(lua: &Lua, text: &[u8], capture: Capture) -> mlua::Result<Value> {
    match capture {
        Capture::Part(start, end) => Ok(Value::String(lua.create_string(&text[start..end])?)),
        Capture::Position(at) => Ok(Value::Integer(at as i64 + 1)),
        Capture::Open(_) => Err(failed("unfinished capture")),
    }
}

/// What a match gives: its captures, or the whole of it.
fn captures(lua: &Lua, text: &[u8], found: &Match) -> mlua::Result<MultiValue> {
    if found.captures.is_empty() {
        return Ok(MultiValue::from_iter([captured(lua, text, Capture::Part(found.start, found.end))?]));
    }
    found.captures.iter().map(|capture| captured(lua, text, *capture)).collect()
}

fn gmatch(lua: &Lua, meter: &Rc<Meter>, text: String, part: &String) -> mlua::Result<Function> {
    let pattern = read(&part.as_bytes(), false)?;
    let meter = Rc::clone(meter);
    let (from, last_end) = (Cell::new(0), Cell::new(None));
    lua.create_function(move |lua, ()| {
        let bytes = text.as_bytes();
        while from.get() <= bytes.len() {
            let Some(found) = search(&meter, &pattern, &bytes, from.get())? else { break };
            // An empty match right behind the one before is none.
            if found.end == found.start && last_end.get() == Some(found.end) {
                from.set(found.end + 1);
                continue;
            }
            from.set(found.end);
            last_end.set(Some(found.end));
            return captures(lua, &bytes, &found);
        }
        from.set(bytes.len() + 1);
        nothing()
    })
}

type Substitution = (String, String, Value, Option<i64>);

fn gsub(lua: &Lua, meter: &Rc<Meter>, (text, part, by, most): Substitution) -> mlua::Result<(String, i64)> {
    let pattern = read(&part.as_bytes(), true)?;
    let bytes = text.as_bytes();
    let (mut out, mut count, mut at, mut last_end) = (Vec::new(), 0i64, 0, None);
    while count < most.unwrap_or(i64::MAX) && at <= bytes.len() {
        let Some(found) = search(meter, &pattern, &bytes, at)? else { break };
        if found.end == found.start && last_end == Some(found.end) {
            out.extend(bytes.get(at));
            at += 1;
            continue;
        }
        out.extend_from_slice(&bytes[at..found.start]);
        let replaced = replacement(lua, &bytes, &found, &by)?;
        meter.charge(replaced.len() as u64 / 16)?;
        meter.bytes(replaced.len())?;
        out.extend_from_slice(&replaced);
        (count, at, last_end) = (count + 1, found.end, Some(found.end));
        if pattern.is_anchored() {
            break;
        }
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    Ok((lua.create_string(out)?, count))
}

/// What takes the place of a match: by a text with `%1` and the like, a table or a function.
fn replacement(lua: &Lua, text: &[u8], found: &Match, by: &Value) -> mlua::Result<Vec<u8>> {
    let whole = || text[found.start..found.end].to_vec();
    let value = match by {
        Value::String(template) => return filled(lua, text, found, &template.as_bytes()),
        Value::Integer(_) | Value::Number(_) => return Ok(by.to_string()?.into_bytes()),
        Value::Table(table) => table.get::<Value>(captures(lua, text, found)?.pop_front().unwrap_or(Value::Nil))?,
        Value::Function(function) => function.call::<Value>(captures(lua, text, found)?)?,
        _ => return Err(failed("bad argument #3 to 'gsub' (string/function/table expected)")),
    };
    match &value {
        Value::Nil | Value::Boolean(false) => Ok(whole()),
        Value::String(replaced) => Ok(replaced.as_bytes().to_vec()),
        Value::Integer(_) | Value::Number(_) => Ok(value.to_string()?.into_bytes()),
        other => Err(failed(&format!("invalid replacement value (a {})", other.type_name()))),
    }
}

fn filled(lua: &Lua, text: &[u8], found: &Match, template: &[u8]) -> mlua::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = template.iter();
    while let Some(byte) = rest.next() {
        if *byte != b'%' {
            out.push(*byte);
            continue;
        }
        match rest.next() {
            Some(b'%') => out.push(b'%'),
            Some(b'0') => out.extend_from_slice(&text[found.start..found.end]),
            Some(digit @ b'1'..=b'9') => {
                let all: Vec<Value> = captures(lua, text, found)?.into_iter().collect();
                let value = all.get(usize::from(digit - b'1')).ok_or_else(|| failed("invalid capture index in replacement string"))?;
                out.extend_from_slice(value.to_string()?.as_bytes());
            }
            _ => return Err(failed("invalid use of '%' in replacement string")),
        }
    }
    Ok(out)
}
