//! Functions in modules that a protocol's clients have written, and what these may call.

use crate::Program;
use crate::limits::{LOG_LINE_BYTES_MAX, LOG_LINES_MAX, MODULES_PER_CALL_MAX, OBJECT_DEPTH_MAX};
use crate::meter::Meter;
use crate::objects::{Left, Objects, from_lua_part, into_lua};
use crate::programs::Programs;
use crate::{ScriptError, Value};
use mlua::{Function, Lua, Table};
use std::cell::RefCell;
use std::rc::Rc;

/// What a protocol gives its users' functions.
///
/// The prelude is run once for each state, with a table of what it may call and the library of all functions: `charge(instructions)`, `pack(value)` to a kind and
/// a string, `unpack(kind, string)`, `load(name, environment)` to a module's function or nil, `log(level, text)`. It returns a table: `run`, which is called for each
/// call with its argument, and what objects look like: `content`, `mark`, `list`, `map`, `blob`.
#[derive(Debug)]
pub struct Dialect {
    /// As messages call it.
    pub name: &'static str,
    /// In Lua.
    pub prelude: &'static str,
    /// A stored value.
    pub unpack: fn(u8, &[u8]) -> Result<Value, &'static str>,
    /// A value to be stored: its kind and its bytes.
    pub pack: fn(&Value) -> Result<Packed, &'static str>,
}

/// The kind and the bytes of a value.
pub type Packed = (u8, Vec<u8>);

/// Finds a module by its name.
pub type Find = Rc<dyn Fn(&str) -> Option<Program>>;

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Invoked {
    /// What the prelude's `run` has returned.
    pub result: Result<Value, ScriptError>,
    /// What it has cost, in instructions.
    pub instructions: u64,
    /// What it has logged: levels and lines.
    pub log: Vec<(i64, String)>,
}

/// What belongs to the call that runs.
#[derive(Default)]
pub(crate) struct Running {
    pub(crate) find: Option<Find>,
    pub(crate) loaded: usize,
    pub(crate) log: Vec<(i64, String)>,
}

/// A dialect in a state.
pub(crate) struct Spoken {
    pub(crate) dialect: &'static Dialect,
    pub(crate) run: Function,
    pub(crate) objects: Rc<RefCell<Option<Objects>>>,
    pub(crate) running: Rc<RefCell<Running>>,
}

fn raised(message: impl Into<String>) -> mlua::Error {
    mlua::Error::RuntimeError(message.into())
}

impl Spoken {
    pub(crate) fn new(lua: &Lua, library: &Table, dialect: &'static Dialect, meter: &Rc<Meter>, programs: &Programs) -> mlua::Result<Self> {
        let objects: Rc<RefCell<Option<Objects>>> = Rc::default();
        let running: Rc<RefCell<Running>> = Rc::default();
        let host = lua.create_table()?;
        let charged = Rc::clone(meter);
        host.raw_set("charge", lua.create_function(move |_, instructions: i64| charged.charge(instructions.max(0).unsigned_abs()))?)?;
        host.raw_set("pack", packer(lua, dialect, meter, &objects)?)?;
        host.raw_set("unpack", unpacker(lua, dialect, meter, &objects)?)?;
        host.raw_set("load", loader(lua, meter, programs, &running)?)?;
        let logged = Rc::clone(&running);
        host.raw_set(
            "log",
            lua.create_function(move |_, (level, text): (i64, mlua::String)| {
                let log = &mut logged.borrow_mut().log;
                if log.len() < LOG_LINES_MAX {
                    let bytes = text.as_bytes();
                    log.push((level, String::from_utf8_lossy(&bytes[..bytes.len().min(LOG_LINE_BYTES_MAX)]).into_owned()));
                }
                Ok(())
            })?,
        )?;
        let prelude = lua.load(dialect.prelude).set_name(format!("={}", dialect.name)).call::<Table>((host, library.clone()))?;
        *objects.borrow_mut() = Some(Objects::of(&prelude)?);
        Ok(Self { dialect, run: prelude.raw_get("run")?, objects, running })
    }
}

/// `pack(value)`: the value as it is now.
fn packer(lua: &Lua, dialect: &'static Dialect, meter: &Rc<Meter>, objects: &Rc<RefCell<Option<Objects>>>) -> mlua::Result<Function> {
    let (meter, objects) = (Rc::clone(meter), Rc::clone(objects));
    lua.create_function(move |lua, value: mlua::Value| {
        // What is copied is charged for before it is copied: each part costs ten.
        let mut parts = (meter.left() / 10) as usize;
        let value = {
            let objects = objects.borrow();
            let mut left = Left { levels: OBJECT_DEPTH_MAX, parts: &mut parts };
            from_lua_part(&value, objects.as_ref(), &mut left).map_err(|error| raised(error.to_string()))?
        };
        meter.charge(value.cost())?;
        let (kind, bytes) = (dialect.pack)(&value).map_err(raised)?;
        meter.bytes(bytes.len())?;
        Ok((kind, lua.create_string(bytes)?))
    })
}

/// `unpack(kind, string)`.
fn unpacker(lua: &Lua, dialect: &'static Dialect, meter: &Rc<Meter>, objects: &Rc<RefCell<Option<Objects>>>) -> mlua::Result<Function> {
    let (meter, objects) = (Rc::clone(meter), Rc::clone(objects));
    lua.create_function(move |lua, (kind, bytes): (u8, mlua::String)| {
        meter.charge(bytes.as_bytes().len() as u64 / 16)?;
        let value = (dialect.unpack)(kind, &bytes.as_bytes()).map_err(raised)?;
        meter.charge(value.cost())?;
        into_lua(lua, objects.borrow().as_ref(), value)
    })
}

/// `load(name, environment)`: the module's function, with these globals.
fn loader(lua: &Lua, meter: &Rc<Meter>, programs: &Programs, running: &Rc<RefCell<Running>>) -> mlua::Result<Function> {
    let (meter, programs, running) = (Rc::clone(meter), Rc::clone(programs), Rc::clone(running));
    lua.create_function(move |lua, (name, environment): (mlua::String, Table)| {
        let find = {
            let mut running = running.borrow_mut();
            running.loaded += 1;
            if running.loaded > MODULES_PER_CALL_MAX {
                return Err(raised(format!("a call loads at most {MODULES_PER_CALL_MAX} modules")));
            }
            running.find.clone()
        };
        let Some(program) = find.and_then(|find| find(&name.to_string_lossy())) else { return Ok(None) };
        let function = programs.borrow_mut().compile(lua, &program, |bytes| meter.charge(bytes as u64 / 4))?;
        function.set_environment(environment)?;
        Ok(Some(function))
    })
}
