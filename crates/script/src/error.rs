//! Why a program has no result.

/// Why a program has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// It is not Lua, or an argument's name is no name of a variable in Lua; it is no module of WebAssembly, or lacks what calls need.
    #[error("{0}")]
    Compile(String),
    /// It has raised an error.
    #[error("{0}")]
    Raised(String),
    /// It has used up its instructions.
    #[error("the budget of {0} instructions is used up")]
    Instructions(u64),
    /// It has allocated too much.
    #[error("more than {0} bytes of memory were used")]
    Memory(usize),
    /// Its result has too many levels or parts, or is nothing that can be a value.
    #[error("{0}")]
    Result(&'static str),
}
