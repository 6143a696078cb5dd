//! A call: an instance of a module, arguments into its memory, and the result out of it.

use super::module::{ABI, Abi, FREE, MALLOC, MEMORY, Module};
use super::value::{WasmProgram, WasmType, WasmValue};
use crate::ScriptError;
use crate::limits::{CALL_BYTES_MAX, CALL_INSTRUCTIONS_MAX, TABLE_ELEMENTS_MAX, TABLES_MAX};
use wasmi::errors::{ErrorKind, InstantiationError, MemoryError, TableError};
use wasmi::{Error, Memory, Store, StoreLimits, StoreLimitsBuilder, TrapCode, Val};

/// Bytes of a page of memory.
const PAGE_BYTES: usize = 64 << 10;

/// Calls the function: its result, and what that has taken.
pub(super) fn call(module: &Module, program: &WasmProgram, arguments: &[WasmValue], budget: u64) -> (Result<WasmValue, ScriptError>, u64) {
    let given: usize = arguments.iter().map(|value| if let WasmValue::Bytes(Some(bytes)) = value { bytes.len() + 8 } else { 0 }).sum();
    match Instance::new(module, program, budget, given) {
        Ok(mut instance) => (instance.call(arguments), instance.spent()),
        // It has started, or wanted more memory than there is.
        Err(error @ ScriptError::Instructions(_)) => (Err(error), budget),
        Err(error) => (Err(error), 0),
    }
}

/// How values get room: the version is in memory, where the module's data are.
pub(super) fn version(module: &Module, program: &WasmProgram) -> Result<Abi, ScriptError> {
    let instance = Instance::new(module, program, CALL_INSTRUCTIONS_MAX, 0).map_err(|error| ScriptError::Compile(error.to_string()))?;
    match instance.version() {
        Some(1) => Ok(Abi::Grow),
        Some(2) => Ok(Abi::Malloc),
        Some(other) => Err(ScriptError::Compile(format!("'{ABI}' says version {other}: there are 1 and 2"))),
        None => Err(ScriptError::Compile(format!("'{ABI}' is an address outside its memory"))),
    }
}

/// A module with memory of its own, and a budget.
struct Instance<'a> {
    program: &'a WasmProgram,
    abi: Abi,
    budget: u64,
    store: Store<StoreLimits>,
    instance: wasmi::Instance,
    memory: Memory,
}

impl<'a> Instance<'a> {
    /// Makes one, and runs its function `start`. Beside what any call may have, `given` bytes of arguments have room in its memory.
    fn new(module: &Module, program: &'a WasmProgram, budget: u64, given: usize) -> Result<Self, ScriptError> {
        // The room for arguments is whole pages.
        let given = given.div_ceil(PAGE_BYTES) * PAGE_BYTES;
        let limits = StoreLimitsBuilder::new()
            .memory_size(CALL_BYTES_MAX + given)
            .table_elements(TABLE_ELEMENTS_MAX as usize)
            .tables(TABLES_MAX as usize)
            .memories(1)
            .instances(1)
            .trap_on_grow_failure(true);
        let engine = module.module.engine();
        let mut store = Store::new(engine, limits.build());
        store.limiter(|limits| limits);
        let made = store.set_fuel(budget).and_then(|()| module.linker.instantiate_and_start(&mut store, &module.module));
        let instance = made.map_err(|error| failure(program, budget, &error))?;
        let memory = instance.get_memory(&store, MEMORY).ok_or(ScriptError::Result("the module has no memory"))?;
        Ok(Self { program, abi: module.abi, budget, store, instance, memory })
    }

    /// Instructions so far.
    fn spent(&self) -> u64 {
        self.budget.saturating_sub(self.store.get_fuel().unwrap_or(0))
    }

    /// What the global of the version points to; none if that is outside the memory.
    fn version(&self) -> Option<u32> {
        let address = self.instance.get_global(&self.store, ABI)?.get(&self.store).i32()?;
        let start = address.cast_unsigned() as usize;
        let bytes = self.memory.data(&self.store).get(start..start.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    fn call(&mut self, arguments: &[WasmValue]) -> Result<WasmValue, ScriptError> {
        let mut places = self.places(arguments)?.into_iter();
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(match argument {
                WasmValue::I32(value) => Val::I32(*value),
                WasmValue::I64(value) => Val::I64(*value),
                WasmValue::F32(value) => Val::from(*value),
                WasmValue::F64(value) => Val::from(*value),
                WasmValue::Bytes(bytes) => self.put(places.next().unwrap_or(0), bytes.as_deref())?,
            });
        }
        let result = self.run(&self.program.export, &values)?;
        match (self.program.result, result) {
            (WasmType::I32, Some(Val::I32(value))) => Ok(WasmValue::I32(value)),
            (WasmType::I64, Some(Val::I64(value))) => Ok(WasmValue::I64(value)),
            (WasmType::F32, Some(Val::F32(value))) => Ok(WasmValue::F32(value.into())),
            (WasmType::F64, Some(Val::F64(value))) => Ok(WasmValue::F64(value.into())),
            (WasmType::Bytes, Some(Val::I64(value))) => self.take(value).map(WasmValue::Bytes),
            _ => Err(ScriptError::Result("the result is of another type than the function's")),
        }
    }

    /// Addresses of room for each argument that is bytes or null.
    fn places(&mut self, arguments: &[WasmValue]) -> Result<Vec<u32>, ScriptError> {
        let lengths: Vec<usize> = arguments
            .iter()
            .filter_map(|argument| if let WasmValue::Bytes(bytes) = argument { Some(bytes.as_ref().map_or(0, Vec::len)) } else { None })
            .collect();
        match self.abi {
            Abi::Malloc => lengths.into_iter().map(|length| self.allocated(length)).collect(),
            Abi::Grow if lengths.is_empty() => Ok(Vec::new()),
            Abi::Grow => self.grown(&lengths),
        }
    }

    /// Room from the module. A null has some, too: the function is to free what it got.
    fn allocated(&mut self, length: usize) -> Result<u32, ScriptError> {
        let wanted = i32::try_from(length.max(1)).map_err(|_| ScriptError::Memory(CALL_BYTES_MAX))?;
        match self.run(MALLOC, &[Val::I32(wanted)])? {
            Some(Val::I32(address)) => Ok(address.cast_unsigned()),
            _ => Err(ScriptError::Result("the module's function for memory returns no address")),
        }
    }

    /// Room in pages that are added.
    fn grown(&mut self, lengths: &[usize]) -> Result<Vec<u32>, ScriptError> {
        let aligned = |length: &usize| length.next_multiple_of(8);
        let pages = lengths.iter().map(aligned).sum::<usize>().div_ceil(PAGE_BYTES).max(1);
        let before = self.memory.grow(&mut self.store, pages as u64).map_err(|_| ScriptError::Memory(CALL_BYTES_MAX))?;
        let mut next = before as usize * PAGE_BYTES;
        let start = |length| {
            let start = next;
            next += aligned(length);
            u32::try_from(start).map_err(|_| ScriptError::Memory(CALL_BYTES_MAX))
        };
        lengths.iter().map(start).collect()
    }

    /// Copies an argument into memory; what stands for it is its length and address.
    fn put(&mut self, address: u32, bytes: Option<&[u8]>) -> Result<Val, ScriptError> {
        let length = match bytes {
            None => u32::MAX,
            Some(bytes) => {
                let copied = self.memory.write(&mut self.store, address as usize, bytes);
                copied.map_err(|_| self.raised(&format!("{} bytes of room at {address} are outside of memory", bytes.len())))?;
                bytes.len() as u32
            }
        };
        Ok(Val::I64((u64::from(length) << 32 | u64::from(address)).cast_signed()))
    }

    /// Copies a result out of memory, which is then freed.
    fn take(&mut self, value: i64) -> Result<Option<Vec<u8>>, ScriptError> {
        let (length, address) = ((value >> 32) as i32, value as u32);
        if length == -1 {
            return Ok(None);
        }
        let start = address as usize;
        let bytes = usize::try_from(length).ok().and_then(|length| self.memory.data(&self.store).get(start..start.checked_add(length)?));
        let bytes = bytes.map(<[u8]>::to_vec);
        let bytes = bytes.ok_or_else(|| self.raised(&format!("the result of {length} bytes at {address} is outside of memory")))?;
        if self.abi == Abi::Malloc {
            self.run(FREE, &[Val::I32(address.cast_signed())])?;
        }
        Ok(Some(bytes))
    }

    /// Runs a function of the module, which returns one value or none.
    fn run(&mut self, name: &str, arguments: &[Val]) -> Result<Option<Val>, ScriptError> {
        let function = self.instance.get_func(&self.store, name).ok_or(ScriptError::Result("the module has lost a function"))?;
        let mut results = [Val::I32(0)];
        let count = function.ty(&self.store).results().len().min(1);
        let outcome = function.call(&mut self.store, arguments, &mut results[..count]);
        outcome.map_err(|error| failure(self.program, self.budget, &error))?;
        Ok(results.into_iter().take(count).next())
    }

    fn raised(&self, message: &str) -> ScriptError {
        ScriptError::Raised(format!("{}: {message}", self.program.name))
    }
}

/// What has ended a call.
fn failure(program: &WasmProgram, budget: u64, error: &Error) -> ScriptError {
    let no_room = matches!(
        error.kind(),
        ErrorKind::Memory(MemoryError::ResourceLimiterDeniedAllocation | MemoryError::OutOfSystemMemory)
            | ErrorKind::Table(TableError::ResourceLimiterDeniedAllocation | TableError::OutOfSystemMemory)
            | ErrorKind::Instantiation(InstantiationError::FailedToInstantiateMemory(_) | InstantiationError::FailedToInstantiateTable(_))
    );
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => ScriptError::Instructions(budget),
        Some(TrapCode::GrowthOperationLimited | TrapCode::OutOfSystemMemory) => ScriptError::Memory(CALL_BYTES_MAX),
        _ if no_room => ScriptError::Memory(CALL_BYTES_MAX),
        _ => ScriptError::Raised(format!("{}: {error}", program.name)),
    }
}
