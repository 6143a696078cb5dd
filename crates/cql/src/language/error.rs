//! Why a text is not a CQL statement, and where: what the client sees with error code 0x2000.
//!
//! Messages start with `line L:C ` as Cassandra's do (lines from 1, columns from 0, in characters) and quote at most
//! [`QUOTED_CHARACTERS_MAX`] characters of the statement in each place.

use std::fmt;

use super::{EXPRESSION_OPERATORS_MAX, NESTING_MAX, token::TokenKind};

/// How much of the offending text a message repeats.
pub const QUOTED_CHARACTERS_MAX: usize = 60;

/// A statement that the grammar does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}:{column} {kind}")]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: usize,
    /// Characters before the fault in its line.
    pub column: usize,
    /// What is wrong there.
    pub kind: SyntaxErrorKind,
}

/// What a [`SyntaxError`] complains of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxErrorKind {
    /// Several things could stand here, but not this.
    #[error("no viable alternative at input '{found}' ({context})")]
    NoViableAlternative {
        /// The token, shortened.
        found: Box<str>,
        /// The text before it, and the token in brackets.
        context: Box<str>,
    },
    /// One thing only could stand here.
    #[error("mismatched input '{found}' expecting {expected} ({context})")]
    Mismatch {
        /// The token, shortened.
        found: Box<str>,
        /// What should stand here.
        expected: Expected,
        /// The text before it, and the token in brackets.
        context: Box<str>,
    },
    /// There is text after the end of the statement.
    #[error("missing EOF at '{found}' ({context})")]
    TextAfterEnd {
        /// The first token too many, shortened.
        found: Box<str>,
        /// The text before it, and the token in brackets.
        context: Box<str>,
    },
    /// No token starts with this character.
    #[error("no viable alternative at character '{character}'")]
    UnknownCharacter {
        /// The character.
        character: char,
    },
    /// The text ends inside a string, a quoted name or a comment.
    #[error("mismatched character '<EOF>' expecting {terminator}")]
    Unterminated {
        /// What would have ended it.
        terminator: &'static str,
    },
    /// Brackets, types and casts nest deeper than [`NESTING_MAX`].
    #[error("nesting is deeper than {NESTING_MAX} levels")]
    TooDeep,
    /// One expression has more than [`EXPRESSION_OPERATORS_MAX`] operators.
    #[error("an expression has more than {EXPRESSION_OPERATORS_MAX} operators")]
    TooManyOperators,
    /// The protocol counts bind markers in 16 bits.
    #[error("a statement can have at most {} bind markers", super::BIND_MARKERS_MAX)]
    TooManyMarkers,
    /// A `?` where a name must stand.
    #[error("Bind variables cannot be used for {place}")]
    MarkerAsName {
        /// Which kind of name.
        place: &'static str,
    },
    /// A bind marker among the options of a schema statement.
    #[error("Invalid property value: ? (bind variables are not supported in DDL queries)")]
    MarkerInProperty,
    /// An option is given twice.
    #[error("Multiple definition for property '{name}'")]
    DuplicateProperty {
        /// The option.
        name: Box<str>,
    },
    /// `a = b + …` with two different columns.
    #[error("Only expressions of the form {form} are supported.")]
    AssignmentForm {
        /// The form that would be right.
        form: &'static str,
    },
    /// A name that user-defined types must not have.
    #[error("Invalid (reserved) user type name {name}")]
    ReservedTypeName {
        /// The name.
        name: Box<str>,
    },
    /// An integer that its place cannot hold.
    #[error("integer {text} is out of range")]
    IntegerOutOfRange {
        /// The digits, shortened.
        text: Box<str>,
    },
    /// More than one of PASSWORD, HASHED PASSWORD and GENERATED PASSWORD.
    #[error("Options '{first}' and '{second}' are mutually exclusive")]
    ExclusiveRoleOptions {
        /// The one that came first.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
}

/// What [`SyntaxErrorKind::Mismatch`] would have accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected(pub TokenKind);

impl fmt::Display for Expected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TokenKind::Keyword(keyword) => write!(formatter, "K_{}", keyword.text().to_ascii_uppercase()),
            kind => formatter.write_str(kind.name()),
        }
    }
}

impl SyntaxError {
    /// The error `kind` at byte `offset` of `text`.
    pub(super) fn at(text: &str, offset: usize, kind: SyntaxErrorKind) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line, column: before[line_start..].chars().count(), kind }
    }
}

/// The first [`QUOTED_CHARACTERS_MAX`] characters of `text`.
pub(super) fn shortened(text: &str) -> &str {
    text.char_indices().nth(QUOTED_CHARACTERS_MAX).map_or(text, |(end, _)| &text[..end])
}

/// The text just before `start` and the token that starts there in brackets, on one line.
pub(super) fn context(text: &str, start: usize, found: &str) -> Box<str> {
    let before = text.get(..start).unwrap_or(text);
    let cut = before.char_indices().rev().nth(QUOTED_CHARACTERS_MAX - 1).map_or(0, |(index, _)| index);
    let ellipsis = if cut > 0 { "..." } else { "" };
    let before: String = before[cut..].chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    format!("{ellipsis}{before}[{found}]...").into()
}
