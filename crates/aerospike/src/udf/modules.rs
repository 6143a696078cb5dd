//! All modules: functions of the schema in a keyspace of their own, so that they are stored and agreed on as those are.

use model::{DataType, Function, Keyspace, NullInput, Schema};
use ripemd::{Digest, Ripemd160};
use script::Program;
use std::sync::Arc;

/// The keyspace that they are in.
pub const KEYSPACE: &str = "aerospike_udf";

/// What the language of a function is called that is a module.
const LANGUAGE: &str = "aerospike-lua";

/// What a name of a module ends with that clients leave out when they call its functions.
const SUFFIX: &str = ".lua";

/// The modules at a time.
#[derive(Clone, Debug, Default)]
pub struct Modules(Option<Arc<Keyspace>>);

impl Modules {
    /// Those of a schema.
    #[must_use]
    pub fn of(schema: &Schema) -> Self {
        Self(schema.keyspaces.get(KEYSPACE).cloned())
    }

    /// Names and sources, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let functions = self.0.iter().flat_map(|keyspace| keyspace.functions.functions());
        functions.filter(|function| function.language == LANGUAGE).map(|function| (function.name.as_str(), function.body.as_str()))
    }

    /// A module's source.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, source)| source)
    }

    /// The module that functions know by this name: a file's, with or without its ending.
    pub(super) fn program(&self, name: &str) -> Option<Program> {
        let file = format!("{name}{SUFFIX}");
        let (name, source) = self.iter().find(|(known, _)| *known == file || *known == name)?;
        Some(program(name, source))
    }
}

/// A module as a program.
pub(super) fn program(name: &str, source: &str) -> Program {
    let hash = hash(&[name, source]);
    let id = u128::from_be_bytes(hash[..16].try_into().expect("a hash has 20 bytes"));
    Program { id, name: name.into(), arguments: Vec::new(), body: source.into() }
}

/// A hash of texts and their lengths.
pub(super) fn hash(texts: &[&str]) -> [u8; 20] {
    let mut hasher = Ripemd160::new();
    for text in texts {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().into()
}

/// A module as a function of the schema.
pub(super) fn function(name: &str, source: &str) -> Function {
    Function {
        keyspace: KEYSPACE.to_owned(),
        name: name.to_owned(),
        arguments: Vec::new(),
        returns: DataType::Blob,
        null_input: NullInput::Called,
        language: LANGUAGE.to_owned(),
        body: source.to_owned(),
    }
}
