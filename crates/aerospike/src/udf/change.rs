//! Commands that register a module or take it away, and those that tell of modules.

use super::modules::{KEYSPACE, Modules, function, hash, program};
use crate::ResultCode;
use crate::info::parameter;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::Schema;
use script::ScriptError;
use std::sync::Arc;

/// The longest source of a module.
const SOURCE_BYTES_MAX: usize = 128 << 10;

/// What all sources together may have: each change of the schema stores them.
const ALL_BYTES_MAX: usize = 1 << 20;

/// How many modules there may be.
const MODULES_MAX: usize = 64;

/// The longest name.
const NAME_BYTES_MAX: usize = 127;

/// A module is to be registered or taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleChange {
    /// It is to be there, in place of one of its name.
    Put {
        /// Its file's name.
        name: String,
        /// Lua.
        source: String,
    },
    /// It is to be gone.
    Remove {
        /// Its file's name.
        name: String,
    },
}

/// Why a module is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRefusal {
    /// For the client.
    pub code: ResultCode,
    /// For people.
    pub message: String,
}

fn refused(code: ResultCode, message: impl Into<String>) -> ModuleRefusal {
    ModuleRefusal { code, message: message.into() }
}

impl ModuleRefusal {
    /// The value that is answered. Clients look for `error=`, not for the code.
    #[must_use]
    pub fn answer(&self) -> String {
        match self.code {
            ResultCode::NOT_FOUND => format!("error={}", self.message),
            ResultCode::UDF_BAD_RESPONSE => self.message.clone(),
            code => format!("ERROR:{}:{}", code.0, self.message),
        }
    }
}

impl ModuleChange {
    /// Reads a request; `None` if it is about something else.
    ///
    /// # Errors
    /// The value that is answered to a module that cannot be.
    pub fn of_request(names: &str) -> Option<Result<Self, String>> {
        let (command, parameters) = names.trim_end_matches('\n').split_once(':')?;
        let change = match command {
            "udf-put" => Self::put(parameters),
            "udf-remove" => file_name(parameters).map(|name| Self::Remove { name }),
            _ => return None,
        };
        Some(change.map_err(|refusal| refusal.answer()))
    }

    /// The module's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Put { name, .. } | Self::Remove { name } => name,
        }
    }

    fn put(parameters: &str) -> Result<Self, ModuleRefusal> {
        let name = file_name(parameters)?;
        if parameter(parameters, "udf-type").is_some_and(|kind| !kind.eq_ignore_ascii_case("LUA")) {
            return Err(refused(ResultCode::PARAMETER, "the udf-type is LUA"));
        }
        let content = parameter(parameters, "content").ok_or(refused(ResultCode::PARAMETER, "the content is missing"))?;
        let length = parameter(parameters, "content-len");
        if length.is_some_and(|length| length.parse() != Ok(content.len())) {
            return Err(refused(ResultCode::PARAMETER, "the content-len is not the content's"));
        }
        let source = STANDARD.decode(content).map_err(|_| refused(ResultCode::PARAMETER, "the content is not in base 64"))?;
        if source.len() > SOURCE_BYTES_MAX {
            return Err(refused(ResultCode::PARAMETER, format!("a module has at most {SOURCE_BYTES_MAX} bytes")));
        }
        let source = String::from_utf8(source).map_err(|_| refused(ResultCode::PARAMETER, "the module is not in UTF-8"))?;
        compile(&name, &source)?;
        Ok(Self::Put { name, source })
    }

    /// Changes the modules of a schema that has their keyspace; false if nothing changes.
    ///
    /// # Errors
    /// A module that cannot be.
    pub fn apply(&self, schema: &mut Schema) -> Result<bool, ModuleRefusal> {
        let modules = Modules::of(schema);
        match self {
            Self::Put { name, source } => {
                if modules.source(name) == Some(source) {
                    return Ok(false);
                }
                let others = || modules.iter().filter(|(known, _)| known != name);
                if others().count() >= MODULES_MAX {
                    return Err(refused(ResultCode::FORBIDDEN, format!("there are at most {MODULES_MAX} modules")));
                }
                if others().map(|(_, source)| source.len()).sum::<usize>() + source.len() > ALL_BYTES_MAX {
                    return Err(refused(ResultCode::FORBIDDEN, format!("all modules together have at most {ALL_BYTES_MAX} bytes")));
                }
            }
            Self::Remove { name } if modules.source(name).is_none() => return Err(refused(ResultCode::NOT_FOUND, "file_not_found")),
            Self::Remove { .. } => {}
        }
        let keyspace = schema.keyspaces.get_mut(KEYSPACE).map(Arc::make_mut);
        let keyspace = keyspace.ok_or(refused(ResultCode::SERVER_ERROR, "the modules' keyspace is missing"))?;
        match self {
            Self::Put { name, source } => keyspace.functions.put_function(function(name, source)),
            Self::Remove { name } => keyspace.functions.remove_function(name, &[]),
        }
        Ok(true)
    }
}

fn file_name(parameters: &str) -> Result<String, ModuleRefusal> {
    if parameters.contains('\n') {
        return Err(refused(ResultCode::PARAMETER, "a change of a module comes alone"));
    }
    let name = parameter(parameters, "filename").ok_or(refused(ResultCode::PARAMETER, "the filename is missing"))?;
    let is_name = |c: char| c.is_alphanumeric() || "._-/ ".contains(c);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_name) {
        return Err(refused(ResultCode::PARAMETER, "a filename has 1 to 127 bytes: letters, digits, dots, slashes, blanks, - and _"));
    }
    Ok(name.to_owned())
}

/// Refuses what is not Lua.
fn compile(name: &str, source: &str) -> Result<(), ModuleRefusal> {
    script::check(&program(name, source)).map_err(|error| {
        let message = match &error {
            ScriptError::Compile(message) => message.clone(),
            other => other.to_string(),
        };
        // `file:line: message`.
        let rest = message.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')).and_then(|rest| rest.split_once(": "));
        let (line, what) = rest.unwrap_or(("0", &message));
        let encoded = STANDARD.encode(what);
        let answer = format!("error=compile_error;file={name};line={line};message={encoded}");
        refused(ResultCode::UDF_BAD_RESPONSE, answer)
    })
}

/// The value of `udf-list`.
pub(crate) fn list(modules: &Modules) -> String {
    modules.iter().fold(String::new(), |mut all, (name, source)| {
        all.push_str(&format!("filename={name},hash={},type=LUA;", hash_text(source)));
        all
    })
}

/// The value of `udf-get`.
pub(crate) fn get(modules: &Modules, parameters: &str) -> String {
    match parameter(parameters, "filename").map(|name| modules.source(name)) {
        None => "error=no_filename".to_owned(),
        Some(None) => "error=not_found".to_owned(),
        Some(Some(source)) => format!("gen={};type=LUA;content={};", hash_text(source), STANDARD.encode(source)),
    }
}

fn hash_text(source: &str) -> String {
    hash(&[source]).iter().map(|byte| format!("{byte:02x}")).collect()
}
