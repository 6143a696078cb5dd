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
    #[error("Multiple definitions for property '{name}'")]
    DuplicateProperty {
        /// The option, shortened.
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
    #[error("NumberFormatException For input string: \"{text}\"")]
    IntegerOutOfRange {
        /// The digits with their sign, shortened.
        text: Box<str>,
    },
    /// A number with a point or an exponent that no double can hold.
    #[error("number {text} is too large for a double")]
    FloatOutOfRange {
        /// The number, shortened.
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

/// An error before its message is made: the parser makes some that nobody sees, so they must cost nothing.
#[derive(Debug)]
pub(super) struct Fault {
    /// Byte offset of the offending token or character.
    pub(super) start: usize,
    /// Byte offset after it.
    pub(super) end: usize,
    /// What is wrong.
    pub(super) reason: Reason,
}

/// Why a [`Fault`] is one.
#[derive(Debug)]
pub(super) enum Reason {
    /// [`SyntaxErrorKind::NoViableAlternative`]
    NoViableAlternative,
    /// [`SyntaxErrorKind::Mismatch`]
    Mismatch(TokenKind),
    /// Any other.
    Kind(SyntaxErrorKind),
}

impl Fault {
    /// The error for a client that sent `text`.
    pub(super) fn into_error(self, text: &str) -> SyntaxError {
        let before = text.get(..self.start).unwrap_or(text);
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before[line_start..].chars().count();
        let found = if self.start < text.len() { shortened(text.get(self.start..self.end).unwrap_or_default()) } else { "<EOF>" };
        let context = || context(before, found, text.get(self.end..).unwrap_or_default());
        let kind = match self.reason {
            Reason::NoViableAlternative => SyntaxErrorKind::NoViableAlternative { found: found.into(), context: context() },
            Reason::Mismatch(expected) => {
                SyntaxErrorKind::Mismatch { found: found.into(), expected: Expected(expected), context: context() }
            }
            Reason::Kind(kind) => kind,
        };
        SyntaxError { line, column, kind }
    }
}

/// The first [`QUOTED_CHARACTERS_MAX`] characters of `text`.
pub(super) fn shortened(text: &str) -> &str {
    text.char_indices().nth(QUOTED_CHARACTERS_MAX).map_or(text, |(end, _)| &text[..end])
}

/// The text just before a token and the token in brackets, on one line, with dots where text was left out.
fn context(before: &str, found: &str, after: &str) -> Box<str> {
    let cut = before.char_indices().rev().nth(QUOTED_CHARACTERS_MAX - 1).map_or(0, |(index, _)| index);
    let head = if cut > 0 { "..." } else { "" };
    let tail = if after.trim().is_empty() { "" } else { "..." };
    let before: String = before[cut..].chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    format!("{head}{before}[{found}]{tail}").into()
}
