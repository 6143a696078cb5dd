//! A function's source.

use crate::ScriptError;

/// A function as its user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Different for different programs: compiled ones are found by it.
    pub id: u128,
    /// As messages call it.
    pub name: Box<str>,
    /// The names of its arguments.
    pub arguments: Vec<String>,
    /// Its body: what it returns is its result.
    pub body: Box<str>,
}

/// Words that cannot be names in Lua.
const KEYWORDS: [&str; 22] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil", "not", "or", "repeat",
    "return", "then", "true", "until", "while",
];

impl Program {
    /// A chunk that takes the arguments, on the body's first line so that lines in messages are those of the body.
    pub(crate) fn source(&self) -> Result<String, ScriptError> {
        if let Some(name) = self.arguments.iter().find(|name| !is_name(name)) {
            return Err(ScriptError::Compile(format!("an argument cannot be called '{name}' in Lua")));
        }
        if self.arguments.is_empty() {
            return Ok(self.body.to_string());
        }
        Ok(format!("local {} = ...; {}", self.arguments.join(", "), self.body))
    }
}

fn is_name(name: &str) -> bool {
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word && !KEYWORDS.contains(&name)
}
