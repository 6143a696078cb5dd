//! Arithmetic operators.

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

impl Operator {
    /// The function that Cassandra has for it, with its spelling.
    #[must_use]
    pub fn function_name(self) -> &'static str {
        match self {
            Self::Add => "_add",
            Self::Subtract => "_substract",
            Self::Multiply => "_multiply",
            Self::Divide => "_divide",
            Self::Modulo => "_modulo",
        }
    }
}

impl std::fmt::Display for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        })
    }
}
