//! What is in a module, validated and counted before it is compiled.
//!
//! The engine validates, too, but while it compiles, and some of its checks on the way are assertions, which malformed modules reach.

use crate::ScriptError;
use crate::limits::{FUNCTION_LOCALS_MAX, IMPORTS_MAX, MODULE_PARTS_MAX, PAGE_INSTRUCTIONS, TABLE_ELEMENTS_MAX, TABLES_MAX};
use wasmparser::{
    BinaryReaderError, CompositeInnerType, DataSectionReader, ElementItems, ElementSectionReader, FunctionBody, Parser, Payload, TypeRef,
    Validator, WasmFeatures,
};

/// Where functions of a system are imported from. Compilers put some of them into modules for when they fail.
pub(super) const WASI: &str = "wasi_snapshot_preview1";

/// What modules may use: what compilers write unless they are told otherwise, and no threads, vectors, 64-bit memories, tail calls, exceptions.
const FEATURES: WasmFeatures = WasmFeatures::MUTABLE_GLOBAL
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::BULK_MEMORY)
    .union(WasmFeatures::REFERENCE_TYPES)
    .union(WasmFeatures::GC_TYPES)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::FLOATS);

/// What making an instance takes, in instructions: its functions, memory, and what is copied there.
pub(super) fn scan(binary: &[u8]) -> Result<u64, ScriptError> {
    let wrong = |error: BinaryReaderError| ScriptError::Compile(error.message().chars().take(200).collect());
    Validator::new_with_features(FEATURES).validate_all(binary).map_err(wrong)?;
    let mut scan = Scan::default();
    for payload in Parser::new(0).parse_all(binary) {
        payload.and_then(|payload| scan.add(payload)).map_err(wrong)?;
        if let Some(import) = scan.import.take() {
            return Err(ScriptError::Compile(format!(
                "it imports {import}: there is nothing to import but functions of {WASI}, which fail when they are called. Compile for wasm32-unknown-unknown"
            )));
        }
    }
    for (what, found, limit) in [
        ("functions", scan.functions.len() as u64, MODULE_PARTS_MAX),
        ("types", scan.arguments.len() as u64, MODULE_PARTS_MAX),
        ("globals", scan.globals, MODULE_PARTS_MAX),
        ("exports", scan.exports, MODULE_PARTS_MAX),
        ("imports", scan.imports, IMPORTS_MAX),
        ("segments", scan.segments, MODULE_PARTS_MAX),
        ("tables", scan.tables, TABLES_MAX),
        ("elements of tables", scan.table_elements, TABLE_ELEMENTS_MAX),
    ] {
        if found > limit {
            return Err(ScriptError::Compile(format!("it has {found} {what}, and there may be {limit}")));
        }
    }
    if scan.most_locals > FUNCTION_LOCALS_MAX {
        let found = scan.most_locals;
        return Err(ScriptError::Compile(format!("one of its functions has {found} locals, and there may be {FUNCTION_LOCALS_MAX}")));
    }
    Ok(scan.cost.saturating_add(scan.table_elements + 10 * (scan.functions.len() as u64 + scan.imports + scan.globals + scan.segments)))
}

#[derive(Default)]
struct Scan {
    cost: u64,
    /// What is imported and cannot be.
    import: Option<String>,
    imports: u64,
    /// How many arguments each type of a function has.
    arguments: Vec<u64>,
    /// Each function's number of arguments.
    functions: Vec<u64>,
    globals: u64,
    exports: u64,
    segments: u64,
    tables: u64,
    table_elements: u64,
    bodies: usize,
    most_locals: u64,
}

impl Scan {
    fn add(&mut self, payload: Payload<'_>) -> Result<(), BinaryReaderError> {
        match payload {
            Payload::ImportSection(imports) => {
                for import in imports {
                    let import = import?;
                    self.imports += 1;
                    if import.module != WASI || !matches!(import.ty, TypeRef::Func(_)) {
                        self.import.get_or_insert_with(|| format!("'{}' of '{}'", shortened(import.name), shortened(import.module)));
                    }
                }
            }
            Payload::TypeSection(groups) => {
                for group in groups {
                    self.arguments.extend(group?.types().map(|one| match &one.composite_type.inner {
                        CompositeInnerType::Func(function) => function.params().len() as u64,
                        _ => 0,
                    }));
                }
            }
            Payload::FunctionSection(types) => {
                for index in types {
                    self.functions.push(self.arguments.get(index? as usize).copied().unwrap_or(0));
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    self.cost = self.cost.saturating_add(memory?.initial.saturating_mul(PAGE_INSTRUCTIONS));
                }
            }
            Payload::TableSection(tables) => {
                for table in tables {
                    self.tables += 1;
                    self.table_elements = self.table_elements.saturating_add(table?.ty.initial);
                }
            }
            Payload::GlobalSection(globals) => self.globals += u64::from(globals.count()),
            Payload::ExportSection(exports) => self.exports += u64::from(exports.count()),
            Payload::DataSection(segments) => self.data(segments)?,
            Payload::ElementSection(segments) => self.elements(segments)?,
            Payload::CodeSectionEntry(body) => self.body(&body)?,
            _ => {}
        }
        Ok(())
    }

    fn data(&mut self, segments: DataSectionReader<'_>) -> Result<(), BinaryReaderError> {
        for segment in segments {
            self.segments += 1;
            self.cost += segment?.data.len() as u64 / 64;
        }
        Ok(())
    }

    fn elements(&mut self, segments: ElementSectionReader<'_>) -> Result<(), BinaryReaderError> {
        for segment in segments {
            self.segments += 1;
            let count = match segment?.items {
                ElementItems::Functions(functions) => functions.count(),
                ElementItems::Expressions(_, expressions) => expressions.count(),
            };
            self.cost += 2 * u64::from(count);
        }
        Ok(())
    }

    fn body(&mut self, body: &FunctionBody<'_>) -> Result<(), BinaryReaderError> {
        let mut locals = self.functions.get(self.bodies).copied().unwrap_or(0);
        self.bodies += 1;
        for group in body.get_locals_reader()? {
            locals += u64::from(group?.0);
        }
        self.most_locals = self.most_locals.max(locals);
        Ok(())
    }
}

/// A name for a message.
fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}
