//! Commands that make an index or drop one, and what they make of the schema.

use super::definition::{Definition, IndexedPart, ValueKind};
use crate::ResultCode;
use crate::info::parameter;
use base::TableId;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Schema, Table};
use std::sync::Arc;

/// The longest name of an index.
pub const NAME_BYTES_MAX: usize = 255;

/// How many indexes the sets of a namespace may have together.
const INDEXES_MAX: usize = 256;
/// The longest place within lists and maps.
const CONTEXT_BYTES_MAX: usize = 2_048;

/// An index is to be made or dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexChange {
    /// It is to be there.
    Create {
        /// The namespace.
        namespace: String,
        /// The set; empty for records without one.
        set: String,
        /// The index's name.
        name: String,
        /// What it is of.
        definition: Definition,
    },
    /// It is to be gone.
    Drop {
        /// The namespace.
        namespace: String,
        /// The index's name.
        name: String,
    },
}

/// Why an index is not made or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexRefusal {
    /// For the client.
    pub code: ResultCode,
    /// For people.
    pub message: &'static str,
}

const fn refusal(code: ResultCode, message: &'static str) -> IndexRefusal {
    IndexRefusal { code, message }
}

const MISSING: IndexRefusal = refusal(ResultCode::INDEX_NOT_FOUND, "no index of this name");

impl IndexChange {
    /// Reads a request; `None` if it is about something else.
    ///
    /// # Errors
    /// An index that cannot be.
    pub fn of_request(names: &str) -> Option<Result<Self, IndexRefusal>> {
        let (command, parameters) = names.trim_end_matches('\n').split_once(':')?;
        match command {
            "sindex-create" => Some(Self::create(parameters)),
            "sindex-delete" => Some(Self::drop(parameters)),
            _ => None,
        }
    }

    /// The namespace that it is about.
    #[must_use]
    pub fn namespace(&self) -> &str {
        match self {
            Self::Create { namespace, .. } | Self::Drop { namespace, .. } => namespace,
        }
    }

    /// The index's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Create { name, .. } | Self::Drop { name, .. } => name,
        }
    }

    fn create(parameters: &str) -> Result<Self, IndexRefusal> {
        let (namespace, name) = names(parameters)?;
        let bin_and_kind = match (parameter(parameters, "indexdata"), parameter(parameters, "bin"), parameter(parameters, "type")) {
            (Some(data), _, _) => data.split_once(','),
            (None, bin, kind) => bin.zip(kind),
        };
        let (bin, kind) = bin_and_kind.ok_or(refusal(ResultCode::PARAMETER, "the bin or the type is missing"))?;
        let bin_bytes_max = crate::wire::BIN_NAME_BYTES_MAX;
        if bin.is_empty() || bin.len() > bin_bytes_max {
            return Err(refusal(ResultCode::PARAMETER, "the name of a bin has 1 to 15 bytes"));
        }
        let kind = ValueKind::of_name(kind).ok_or(refusal(ResultCode::PARAMETER, "the type is NUMERIC, STRING, BLOB or GEO2DSPHERE"))?;
        let part = IndexedPart::of_name(parameter(parameters, "indextype").unwrap_or("default"));
        let part = part.ok_or(refusal(ResultCode::PARAMETER, "the indextype is DEFAULT, LIST, MAPKEYS or MAPVALUES"))?;
        if parameter(parameters, "exp").is_some() {
            return Err(refusal(ResultCode::UNSUPPORTED_FEATURE, "indexes of expressions are not served"));
        }
        let context = context(parameter(parameters, "context").unwrap_or_default())?;
        let definition = Definition { bin: bin.to_owned(), kind, part, context };
        definition.bin_kind().map_err(|code| refusal(code, "the context is none that leads to one place"))?;
        let set = parameter(parameters, "set").unwrap_or_default().to_owned();
        Ok(Self::Create { namespace, set, name, definition })
    }

    fn drop(parameters: &str) -> Result<Self, IndexRefusal> {
        let (namespace, name) = names(parameters)?;
        Ok(Self::Drop { namespace, name })
    }
}

/// The namespace and the index's name.
fn names(parameters: &str) -> Result<(String, String), IndexRefusal> {
    if parameters.contains('\n') {
        return Err(refusal(ResultCode::PARAMETER, "a change of an index comes alone"));
    }
    let namespace = parameter(parameters, "ns").or(parameter(parameters, "namespace"));
    let namespace = namespace.ok_or(refusal(ResultCode::PARAMETER, "the namespace is missing"))?;
    let name = parameter(parameters, "indexname").filter(|name| !name.is_empty());
    let name = name.ok_or(refusal(ResultCode::PARAMETER, "the index's name is missing"))?;
    if name.len() > NAME_BYTES_MAX {
        return Err(refusal(ResultCode::INDEX_NAME_TOO_LONG, "the name of an index has at most 255 bytes"));
    }
    if name.contains(['/', ':']) || name.contains(char::is_control) {
        return Err(refusal(ResultCode::PARAMETER, "the name of an index has no slashes, colons and control characters"));
    }
    Ok((namespace.to_owned(), name.to_owned()))
}

fn context(text: &str) -> Result<Vec<u8>, IndexRefusal> {
    if text.len() > CONTEXT_BYTES_MAX {
        return Err(refusal(ResultCode::PARAMETER, "the context is too long"));
    }
    // Some clients leave out what only makes the length a multiple of four.
    let padded = format!("{}{}", text.trim_end_matches('='), &"==="[..(4 - text.trim_end_matches('=').len() % 4) % 4]);
    STANDARD.decode(padded).map_err(|_| refusal(ResultCode::PARAMETER, "the context is not in base 64"))
}

/// The index of a name in a namespace, and the table of its set.
#[must_use]
pub fn index_of_name<'s>(schema: &'s Schema, namespace: &str, name: &str) -> Option<(&'s Arc<Table>, Definition)> {
    let tables = schema.keyspaces.get(namespace).into_iter().flat_map(|keyspace| keyspace.tables.values());
    tables.filter_map(|table| Some((table, Definition::of(table, table.indexes.get(name)?)?))).next()
}

/// Whether the namespace has this index already.
///
/// # Errors
/// It cannot have it.
fn is_there(schema: &Schema, namespace: &str, table_name: &str, name: &str, definition: &Definition) -> Result<bool, IndexRefusal> {
    let tables = schema.keyspaces.get(namespace).into_iter().flat_map(|keyspace| keyspace.tables.values());
    let mut count = 0;
    for (table, index) in tables.flat_map(|table| table.indexes.values().map(move |index| (table, index))) {
        count += 1;
        let is_same = table.name == table_name && Definition::of(table, index).as_ref() == Some(definition);
        match (index.name == name, is_same) {
            (true, true) => return Ok(true),
            (true, false) => return Err(refusal(ResultCode::INDEX_ALREADY_EXISTS, "another index has this name")),
            (false, true) => return Err(refusal(ResultCode::INDEX_ALREADY_EXISTS, "the same index has another name")),
            (false, false) => {}
        }
    }
    if count >= INDEXES_MAX {
        return Err(refusal(ResultCode::TOO_MANY_INDEXES, "a namespace has at most 256 indexes"));
    }
    Ok(false)
}

impl Definition {
    /// Adds it to a set that has its bin; false if it was there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn add(&self, schema: &mut Schema, namespace: &str, table_name: &str, name: &str) -> Result<bool, IndexRefusal> {
        if is_there(schema, namespace, table_name, name, self)? {
            return Ok(false);
        }
        let kind = self.bin_kind().map_err(|code| refusal(code, "the context is none"))?;
        let id = schema.next_table;
        let keyspace = schema.keyspaces.get_mut(namespace).map(Arc::make_mut);
        let table = keyspace.and_then(|keyspace| keyspace.tables.get_mut(table_name)).map(Arc::make_mut);
        let column = table.as_ref().and_then(|table| table.records.as_ref()?.column(self.bin.as_bytes(), kind as u8));
        let (Some(table), Some(column)) = (table, column) else { return Err(refusal(ResultCode::INDEX_GENERIC, "the set lacks the bin")) };
        table.indexes.insert(name.to_owned(), Arc::new(self.to_index(id, name, column)));
        schema.next_table.0 += 1;
        Ok(true)
    }

    /// Takes the index of a name away; gives the name of its set's table, and the table of its entries.
    ///
    /// # Errors
    /// There is none.
    pub fn remove(schema: &mut Schema, namespace: &str, name: &str) -> Result<(String, TableId), IndexRefusal> {
        let table_name = index_of_name(schema, namespace, name).map(|(table, _)| table.name.clone()).ok_or(MISSING)?;
        let keyspace = schema.keyspaces.get_mut(namespace).map(Arc::make_mut).ok_or(MISSING)?;
        let table = keyspace.tables.get_mut(&table_name).map(Arc::make_mut).ok_or(MISSING)?;
        let index = table.indexes.remove(name).ok_or(MISSING)?;
        Ok((table_name, index.id))
    }
}
