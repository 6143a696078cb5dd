//! What a call may still take: shared by the hook, and by functions that are not written in Lua.

use crate::ScriptError;
use crate::limits::{CALL_BYTES_MAX, HOOK_INSTRUCTIONS};
use std::cell::{Cell, RefCell};

/// The budget of the call that runs.
#[derive(Default)]
pub(crate) struct Meter {
    budget: Cell<u64>,
    spent: Cell<u64>,
    /// Bytes of the state when the hook last looked.
    seen_bytes: Cell<usize>,
    /// Bytes of numbers and replaced texts, which are not in the state's memory.
    outside_bytes: Cell<usize>,
    failure: RefCell<Option<ScriptError>>,
}

impl Meter {
    pub(crate) fn begin(&self, budget: u64, used_bytes: usize) {
        self.budget.set(budget);
        self.spent.set(0);
        self.seen_bytes.set(used_bytes);
        self.outside_bytes.set(0);
        self.failure.take();
    }

    pub(crate) fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// What is left of the budget.
    pub(crate) fn left(&self) -> u64 {
        self.budget.get().saturating_sub(self.spent.get())
    }

    pub(crate) fn failure(&self) -> Option<ScriptError> {
        self.failure.take()
    }

    /// Takes instructions off the budget.
    pub(crate) fn charge(&self, instructions: u64) -> mlua::Result<()> {
        let spent = self.spent.get().saturating_add(instructions);
        self.spent.set(spent);
        if spent <= self.budget.get() { Ok(()) } else { self.fail(ScriptError::Instructions(self.budget.get())) }
    }

    /// Some instructions have passed. Memory shrinks only when there was none left and all garbage was collected for the next allocation: then the call has had what it
    /// may have.
    pub(crate) fn look(&self, used_bytes: usize) -> mlua::Result<()> {
        let seen = self.seen_bytes.replace(used_bytes);
        if used_bytes + CALL_BYTES_MAX / 2 < seen {
            return self.fail(ScriptError::Memory(CALL_BYTES_MAX));
        }
        self.charge(u64::from(HOOK_INSTRUCTIONS))
    }

    /// Bytes were taken that are not in the state's memory.
    pub(crate) fn bytes(&self, bytes: usize) -> mlua::Result<()> {
        let bytes = self.outside_bytes.get() + bytes;
        self.outside_bytes.set(bytes);
        if bytes > CALL_BYTES_MAX { self.fail(ScriptError::Memory(CALL_BYTES_MAX)) } else { Ok(()) }
    }

    /// A number was made.
    pub(crate) fn number(&self, bits: u64) -> mlua::Result<()> {
        self.bytes(64 + (bits / 8) as usize)?;
        // Multiplication is the dearest: as the square of the digits.
        let words = bits / 64 + 1;
        self.charge(words * words / 16 + 8)
    }

    fn fail<T>(&self, failure: ScriptError) -> mlua::Result<T> {
        let message = failure.to_string();
        self.failure.borrow_mut().get_or_insert(failure);
        Err(mlua::Error::RuntimeError(message))
    }
}
