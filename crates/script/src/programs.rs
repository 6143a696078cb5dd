//! Compiled programs, found by their ids.

use crate::Program;
use crate::limits::PROGRAMS_MAX;
use mlua::{ChunkMode, Function, Lua};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Compiled programs of a state.
#[derive(Default)]
pub(crate) struct ProgramCache(HashMap<u128, Function>);

/// See [`ProgramCache`].
pub(crate) type Programs = Rc<RefCell<ProgramCache>>;

impl ProgramCache {
    pub(crate) fn has(&self, program: &Program) -> bool {
        self.0.contains_key(&program.id)
    }

    /// A program as a function; `charge` is called with the bytes of one that has not been compiled yet.
    pub(crate) fn compile(
        &mut self,
        lua: &Lua,
        program: &Program,
        charge: impl FnOnce(usize) -> mlua::Result<()>,
    ) -> mlua::Result<Function> {
        if let Some(function) = self.0.get(&program.id) {
            return Ok(function.clone());
        }
        let source = program.source().map_err(|error| mlua::Error::RuntimeError(error.to_string()))?;
        charge(source.len())?;
        if self.0.len() >= PROGRAMS_MAX {
            self.0.clear();
        }
        let chunk = lua.load(source).set_name(format!("={}", program.name)).set_mode(ChunkMode::Text);
        let function = chunk.into_function()?;
        self.0.insert(program.id, function.clone());
        Ok(function)
    }
}
